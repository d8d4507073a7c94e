package kernel

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"strconv"

	"lab/core/fault"
)

// Connection is what a connection file says: where the sockets are and how
// messages are signed.
type Connection struct {
	Transport string `json:"transport"` // "tcp"
	IP        string `json:"ip"`
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	Heartbeat int    `json:"hb_port"`
	Key       string `json:"key"`              // of the signatures; empty: they are not signed
	Scheme    string `json:"signature_scheme"` // "hmac-sha256"
}

const maxConnection = 64 << 10 // bytes of a connection file

// ReadConnection reads a connection file and refuses, with kind usage, one that
// this kernel cannot or must not serve.
func ReadConnection(path string) (Connection, error) {
	var c Connection
	f, err := os.Open(path)
	if err != nil {
		return c, fault.Wrap(err, fault.Usage, "kernel", "connection file").Fix("Jupyter starts the kernel by itself, once lab kernel install has run")
	}
	defer f.Close() // was only read from
	data, err := io.ReadAll(io.LimitReader(f, maxConnection+1))
	if err != nil {
		return c, fault.Wrap(err, fault.Usage, "kernel", "connection file")
	}
	if len(data) > maxConnection {
		return c, wrong("it is larger than %d bytes", maxConnection)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, wrong("it is not JSON of the expected form: %v", err)
	}
	return c, c.Validate()
}

func wrong(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "kernel", "connection file", format, args...)
}

// Validate returns an error of kind usage when the connection cannot be served.
func (c Connection) Validate() error {
	if c.Transport != "tcp" {
		return wrong("transport %s is not tcp", fault.Quote(c.Transport, 20)).Fix("let Jupyter use tcp")
	}
	if ip := net.ParseIP(c.IP); c.IP != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return wrong("ip %s is not a loopback address: whoever reaches the ports could run cells", fault.Quote(c.IP, 60)).
			Fix("use 127.0.0.1, and a tunnel for another machine")
	}
	if c.Scheme != "hmac-sha256" && (c.Scheme != "" || c.Key != "") {
		return wrong("signature_scheme %s is not hmac-sha256", fault.Quote(c.Scheme, 30))
	}
	seen := map[int]bool{}
	for _, p := range []struct {
		name string
		port int
	}{{"shell_port", c.Shell}, {"iopub_port", c.IOPub}, {"stdin_port", c.Stdin}, {"control_port", c.Control}, {"hb_port", c.Heartbeat}} {
		if p.port < 1 || p.port > 65535 {
			return wrong("%s = %d is outside 1 to 65535", p.name, p.port)
		}
		if seen[p.port] {
			return wrong("%s = %d is that of another socket", p.name, p.port)
		}
		seen[p.port] = true
	}
	return nil
}

func (c Connection) address(port int) string {
	return scheme + "://" + net.JoinHostPort(c.IP, strconv.Itoa(port))
}
