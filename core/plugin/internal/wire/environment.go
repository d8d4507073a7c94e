package wire

import (
	"slices"
	"strings"

	"lab/core/fault"
)

// handshakeEnv are the variables of the handshake, which the host alone sets.
var handshakeEnv = []string{CookieEnv, SocketDirEnv, "LAB_PLUGIN_LIFELINE", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_CLIENT_CERT",
	"PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_GROUP", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT"}

// IsHandshakeEnv reports whether an environment variable belongs to the
// handshake.
func IsHandshakeEnv(name string) bool { return slices.Contains(handshakeEnv, name) }

// Bounds of the names that a plugin declares.
const (
	mostEnv    = 64
	longestEnv = 128
)

// CheckEnvironment returns a plugin error when names of environment variables
// cannot be what a plugin declares: too many, malformed, twice the same, or one
// of the handshake.
func CheckEnvironment(names []string) error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Plugin, "", "environment", format, args...)
	}
	if len(names) > mostEnv {
		return bad("%d variables are declared, more than %d", len(names), mostEnv)
	}
	seen := map[string]bool{}
	for _, n := range names {
		switch {
		case !isEnvName(n):
			return bad("%s is no name of a variable (letters, digits and '_', no digit first, at most %d bytes)", fault.Quote(n, 64), longestEnv)
		case IsHandshakeEnv(n):
			return bad("%q belongs to the handshake", n)
		case seen[n]:
			return bad("%q is declared twice", n)
		}
		seen[n] = true
	}
	return nil
}

func isEnvName(s string) bool {
	if s == "" || len(s) > longestEnv || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}
