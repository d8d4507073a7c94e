//go:build unix

package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/sampler"
)

func TestListingsNameEveryPlugin(t *testing.T) {
	ctx := context.Background()
	f := newHost(t, nil, "good", "exits", "other")
	infos := f.Plugins(ctx)
	if len(infos) != 3 || infos[0].Err != nil || infos[2].Err != nil || infos[1].Err == nil {
		t.Fatalf("plugins: %+v", infos)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := infos[0]
	if got.Name != "good" || got.Version != "1.2.3" || got.Protocol != 1 || !got.Builtin || !got.Plane || got.Path != exe ||
		len(got.SHA256) != 64 || !strings.HasPrefix(got.Language, "go 1.") {
		t.Errorf("info: %+v", got)
	}
	samplers, backends := f.Samplers(ctx), f.Backends(ctx)
	if n := len(testSamplers()); len(samplers) != 2*n || samplers[0].Qualified() != "good/halve" || samplers[n].Qualified() != "other/halve" {
		t.Errorf("%d samplers, first %v", len(samplers), samplers[0])
	}
	if len(backends) != 2 || backends[1].Qualified() != "other/chatter" {
		t.Errorf("backends: %+v", backends)
	}
	for i, s := range testSamplers() {
		if want := s.Declare(); !reflect.DeepEqual(want, samplers[i].Declaration) && fmt.Sprintf("%+v", want) != fmt.Sprintf("%+v", samplers[i].Declaration) {
			t.Errorf("declaration changed on its way:\n%+v\n%+v", want, samplers[i].Declaration)
		}
	}
}

func TestLookupsResolveNames(t *testing.T) {
	ctx := context.Background()
	f := newHost(t, nil, "good", "other")
	for _, tt := range []struct{ name, want string }{
		{"halve", "good/halve"}, {"half", "good/halve"}, {"other/halve", "other/halve"}, {"other/half", "other/halve"},
	} {
		if s, err := f.Sampler(ctx, tt.name); err != nil || s.Qualified() != tt.want {
			t.Errorf("%s is %s (%v), want %s", tt.name, s.Qualified(), err, tt.want)
		}
	}
	for _, tt := range []struct{ ref, want string }{
		{"chatter", "good/chatter"}, {"other/chatter", "other/chatter"}, {"some/folder/X.CHAT", "good/chatter"}, {"other/x.chat", "good/chatter"},
	} {
		if b, err := f.Backend(ctx, tt.ref); err != nil || b.Qualified() != tt.want {
			t.Errorf("%s is %s (%v), want %s", tt.ref, b.Qualified(), err, tt.want)
		}
	}
	for name, says := range map[string]string{
		"halvee": `did you mean "halve"`, "good/halvee": `did you mean "halve"`, "zzzzzz": "known:",
	} {
		_, err := f.Sampler(ctx, name)
		if err == nil || !strings.Contains(err.Error(), says) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Backend(ctx, "other/chater"); err == nil || !strings.Contains(err.Error(), `did you mean "chatter"`) {
		t.Errorf("backend: %v", err)
	}
	if _, err := f.Plugin(ctx, "goof"); err == nil || !strings.Contains(err.Error(), `did you mean "good"`) {
		t.Errorf("plugin: %v", err)
	}
	if err := f.Runner("goof").Run(ctx, &sampler.Call{Stages: stages("halve")}); fault.KindOf(err) != fault.Usage {
		t.Errorf("runner: %v", err)
	}
}

// script writes an executable plugin that runs this binary in a role.
func script(t *testing.T, dir, name, role string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lab-plugin-"+name)
	// A stranger is not given what TestMain sets, and would sleep at its exit.
	text := fmt.Sprintf("#!/bin/sh\nexport GORACE=atexit_sleep_ms=0\nexec %q %s %s\n", exe, serveWord, role)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiscoveryTakesTheFirstAndWarns(t *testing.T) {
	ctx := context.Background()
	a, b := t.TempDir(), t.TempDir()
	script(t, a, "mine", "other")
	script(t, b, "mine", "good")
	script(t, b, "good", "other")
	script(t, a, "Bad Name", "good")
	if err := os.WriteFile(filepath.Join(a, "readme.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newHost(t, func(o *host.Options) {
		o.Dirs = []string{a, filepath.Join(a, "absent"), b, filepath.Join(a, "readme.txt")}
	}, "good")
	infos := f.Plugins(ctx)
	if len(infos) != 2 || infos[1].Name != "mine" || infos[1].Err != nil || infos[1].Builtin || filepath.Dir(infos[1].Path) != a {
		t.Fatalf("plugins: %+v", infos)
	}
	all := strings.Join(f.Warnings(), "\n")
	for _, says := range []string{`"mine" at ` + b, `"good" at ` + b, "the built-in one comes first", "no legal name", "readme.txt", `calls itself "other"`} {
		if !strings.Contains(all, says) {
			t.Errorf("warnings lack %q:\n%s", says, all)
		}
	}
	// A built-in goes before a stranger of the same sampler name.
	if s, err := f.Sampler(ctx, "halve"); err != nil || s.Plugin != "good" {
		t.Errorf("halve is of %q (%v)", s.Plugin, err)
	}
	if s, err := f.Sampler(ctx, "mine/halve"); err != nil || s.Plugin != "mine" {
		t.Errorf("mine/halve is of %q (%v)", s.Plugin, err)
	}
}

// Strangers are started only for names that no built-in has, and one that is
// broken is named when the name is not found.
func TestStrangersAreAskedLast(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	script(t, dir, "broken", "exits")
	f := newHost(t, func(o *host.Options) { o.Dirs = []string{dir} }, "good")
	if _, err := f.Sampler(ctx, "halve"); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.logs.find("cannot find my weights"); ok {
		t.Error("the stranger was started for a built-in sampler")
	}
	_, err := f.Sampler(ctx, "mirostat")
	if err == nil || !strings.Contains(err.Error(), `plugin "broken"`) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error: %v", err)
	}
}

func TestChangedBinaryIsNotStartedAgain(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := script(t, dir, "mine", "good")
	f := newHost(t, func(o *host.Options) { o.Dirs = []string{dir} })
	row := dist.NewDense([]float32{1, 2})
	call := &sampler.Call{Stages: stages("report"), Items: []*sampler.Item{{Scores: row}}}
	if err := f.Runner("mine").Run(ctx, call); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "# changed\n"...), 0o755); err != nil {
		t.Fatal(err)
	}
	killPlugin(t, call.Items[0].States[0])
	call.Items[0].States = nil
	err = f.Runner("mine").Run(ctx, call)
	if err == nil || !strings.Contains(err.Error(), "its files changed") || fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
}
