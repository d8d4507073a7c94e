//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/internal/child"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// environ leaves the names and values of its environment as its state.
type environ struct{}

func (environ) Declare() sampler.Declaration { return declare("environ", sampler.Reshape) }

func (environ) Apply(r *sampler.Row, _ param.Values) error {
	r.State = []byte(strings.Join(os.Environ(), "\x00"))
	return nil
}

// seen returns the environment that a plugin sees.
func seen(t *testing.T, f *fixture, plugin string) map[string]string {
	t.Helper()
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := f.Runner(plugin).Run(context.Background(), &sampler.Call{Stages: stages("environ"), Items: []*sampler.Item{it}}); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, kv := range strings.Split(string(it.States[0]), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		out[name] = value
	}
	return out
}

// A plugin sees what every program needs, what it declares, what its command
// adds and what belongs to the handshake; and nothing else.
func TestPluginsSeeOnlyTheEnvironmentTheyDeclare(t *testing.T) {
	basis := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_NUMERIC", "TZ", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	handshake := []string{"LAB_PLUGIN_COOKIE", "LAB_PLUGIN_LIFELINE", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR",
		"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT"} // the last two are go-plugin's, for systems without unix sockets
	secrets := []string{"AWS_SECRET_ACCESS_KEY", "LAB_PLUGIN_PATH", "PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LANGUAGE", "PATHX", "LC", "XDG_DATA_HOME", "SSH_AUTH_SOCK"}
	tmp := t.TempDir()
	for _, name := range slices.Concat(basis, secrets, []string{"LAB_TEST_DECLARED"}) {
		switch name {
		case "PATH":
		case "TMPDIR":
			t.Setenv(name, tmp)
		default:
			t.Setenv(name, "value of "+name)
		}
	}
	t.Setenv("PLUGIN_CLIENT_CERT", "left over") // this process may be a plugin itself
	dir := t.TempDir()
	script(t, dir, "plain", "good")
	script(t, dir, "needy", "needy")
	for _, tt := range []struct {
		plugin string
		also   []string // besides the basis and the handshake
	}{
		{"good", []string{"LAB_TEST_DIR", "GORACE"}},
		{"needy-builtin", []string{"LAB_TEST_DIR", "GORACE", "LAB_TEST_DECLARED"}},
		{"plain", []string{"PWD", "OLDPWD", "SHLVL", "_", "GORACE"}}, // the shell's own
		{"needy", []string{"PWD", "OLDPWD", "SHLVL", "_", "GORACE", "LAB_TEST_DECLARED"}},
	} {
		t.Run(tt.plugin, func(t *testing.T) {
			f := newHost(t, func(o *host.Options) {
				o.Dirs = []string{dir}
				o.Builtins = append(o.Builtins, host.Command{Name: "needy-builtin", Argv: host.Self(serveWord, "needy"), Env: []string{"LAB_TEST_DIR=" + tmp}})
			}, "good")
			got := seen(t, f, tt.plugin)
			for _, name := range basis {
				if got[name] != os.Getenv(name) {
					t.Errorf("%s is %q, not %q", name, got[name], os.Getenv(name))
				}
			}
			for name, value := range got {
				if !slices.Contains(slices.Concat(basis, handshake, tt.also), name) {
					t.Errorf("it sees %s=%s", name, value)
				}
			}
			for _, name := range handshake {
				if got[name] == "" {
					t.Errorf("%s is missing", name)
				}
			}
			if _, ok := got["LAB_TEST_DECLARED"]; ok != strings.HasPrefix(tt.plugin, "needy") {
				t.Errorf("the declared variable: %t", ok)
			}
		})
	}
}

// What a plugin declares costs it one start more, once: not when nothing of it is
// set, and not again after a crash.
func TestDeclaredEnvironmentCostsOneStart(t *testing.T) {
	for _, tt := range []struct {
		name         string
		set          bool
		starts, more int // at first, and after a crash
	}{{"set", true, 2, 1}, {"unset", false, 1, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.set {
				t.Setenv("LAB_TEST_DECLARED", "secret")
			}
			f := newHost(t, nil, "needy")
			starts := func() int {
				entries, err := filepath.Glob(filepath.Join(f.dir, "start-*"))
				if err != nil {
					t.Fatal(err)
				}
				return len(entries)
			}
			got := seen(t, f, "needy")
			if got["LAB_TEST_DECLARED"] != os.Getenv("LAB_TEST_DECLARED") || starts() != tt.starts {
				t.Errorf("it sees %q after %d starts, want %d", got["LAB_TEST_DECLARED"], starts(), tt.starts)
			}
			info, err := f.Plugin(context.Background(), "needy")
			if err != nil || info.Restarts != 0 || !slices.Equal(info.Environment, []string{"LAB_TEST_DECLARED", "LAB_TEST_NEVER_SET"}) {
				t.Errorf("info: %+v, %v", info, err)
			}
			f.arm("kill")
			it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
			if err := f.Runner("needy").Run(context.Background(), &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{it}}); err != nil {
				t.Fatal(err)
			}
			if got := seen(t, f, "needy"); got["LAB_TEST_DECLARED"] != os.Getenv("LAB_TEST_DECLARED") || starts() != tt.starts+tt.more {
				t.Errorf("after a crash it sees %q, %d starts in all", got["LAB_TEST_DECLARED"], starts())
			}
		})
	}
}

// The variables of the handshake cannot be had by declaring them, on either
// side of the wire.
func TestHandshakeCannotBeDeclared(t *testing.T) {
	for role, says := range map[string]string{
		"greedy":                `"LAB_PLUGIN_COOKIE" belongs to the handshake`,
		"hostile-describe-env":  `"PLUGIN_CLIENT_CERT" belongs to the handshake`,
		"hostile-describe-envs": "more than 64",
	} {
		f := newHost(t, nil, role)
		_, err := f.Plugin(context.Background(), role)
		if err == nil || !strings.Contains(err.Error(), says) || fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s: %v", role, err)
		}
	}
	if !wire.IsHandshakeEnv(child.LifelineEnv) {
		t.Error("the lifeline is not among them")
	}
}
