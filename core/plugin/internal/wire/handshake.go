package wire

import (
	"strconv"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
)

// Protocol is the version of the contract in lab.proto that this code speaks.
const Protocol = 1

// MaxMessage bounds one message in either direction, in bytes.
const MaxMessage = 1 << 30

// What a plugin finds in its environment; see lab.proto.
const (
	CookieEnv    = "LAB_PLUGIN_COOKIE"
	CookieValue  = "lab.plugin:3f9c2d71b6a84e05"
	SocketDirEnv = goplugin.EnvUnixSocketDir
)

// setName is the name under which go-plugin keeps our one set of services.
const setName = "lab"

func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{ProtocolVersion: Protocol, MagicCookieKey: CookieEnv, MagicCookieValue: CookieValue}
}

// Greeting is a handshake line taken apart.
type Greeting struct {
	Version  int // of the protocol; meaningful when Sound
	Network  string
	Address  string
	Protocol string
	Sound    bool // it has the form of a handshake line
}

// ParseGreeting reads the first line a plugin printed.
func ParseGreeting(line string) Greeting {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[0] != strconv.Itoa(goplugin.CoreProtocolVersion) {
		return Greeting{}
	}
	version, err := strconv.Atoi(parts[1])
	if err != nil {
		return Greeting{}
	}
	return Greeting{Version: version, Network: parts[2], Address: parts[3], Protocol: parts[4], Sound: true}
}
