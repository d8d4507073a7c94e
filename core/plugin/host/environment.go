package host

import (
	"os"
	"slices"
	"strings"

	"lab/core/plugin/internal/wire"
)

// everybody are the environment variables that each plugin is given, besides
// those that begin with LC_: what a program needs to find its files and to know
// the user's language, and nothing that a secret is kept in.
var everybody = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "TZ", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// ours are given to the built-in plugins too: they are this program, and are to
// run as it runs.
var ours = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK", "GORACE", "GOCOVERDIR"}

// environment returns what the plugin is started with: the variables of
// everybody, those it has declared and that are set here, and those of its
// command. What is left of a handshake with this process, which may be a plugin
// itself, is not passed on.
func (p *plug) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return wire.IsHandshakeEnv(name) || !p.given(name)
	})
	return append(env, p.cmd.Env...)
}

// given reports whether the plugin is started with a variable of this process.
func (p *plug) given(name string) bool {
	return slices.Contains(everybody, name) || strings.HasPrefix(name, "LC_") ||
		p.builtin && slices.Contains(ours, name) || slices.Contains(p.granted, name)
}

// unmet returns those of the declared variables that are set here and that the
// plugin was started without.
func (p *plug) unmet(declared []string) []string {
	var out []string
	for _, name := range declared {
		if _, set := os.LookupEnv(name); set && !p.given(name) {
			out = append(out, name)
		}
	}
	return out
}
