//go:build unix

package conform_test

import (
	"os"
	"strings"
	"testing"

	"lab/core/plugin"
	"lab/core/plugin/conform"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
)

// serveWord is the hidden subcommand under which the test binary is a plugin.
const serveWord = "plugin-serve"

// TestMain makes this binary the plugins of its own tests: real processes, one
// of them sound and the others broken in ways that the laws must find.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == serveWord {
		serveAs(os.Args[2])
		os.Exit(99) // unreachable
	}
	// A process with the race detector sleeps for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func serveAs(role string) {
	switch role {
	case "sound":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: soundSamplers(), Models: []model.Backend{&talker{name: "talk"}}})
	case "broken":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: brokenSamplers(), Models: brokenModels()})
	case "later":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: lateSamplers()})
	case "stuck":
		plugin.Serve(plugin.Plugin{Name: role, Version: "1", Samplers: stuckSamplers()})
	case "silent":
		os.Exit(3)
	default:
		serveRaw(strings.TrimPrefix(role, "raw-"))
	}
}

// newHost returns a host with one plugin, which is this binary in a role.
func newHost(t *testing.T, role string) *host.Host {
	t.Helper()
	h, err := host.New(host.Options{Builtins: []host.Command{{Name: role, Argv: host.Self(serveWord, role)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// ask runs the kit over a plugin of this binary.
func ask(t *testing.T, role string, opt conform.Options) *conform.Report {
	t.Helper()
	r, err := conform.Run(t.Context(), newHost(t, role), role, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// find returns the check of a law and subject.
func find(t *testing.T, r *conform.Report, law, subject string) conform.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Law == law && c.Subject == subject {
			return c
		}
	}
	t.Fatalf("the law %q was not asked of %q", law, subject)
	return conform.Check{}
}
