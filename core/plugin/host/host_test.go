//go:build unix

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/sampler"
)

// difference says how two rows differ, to the bit.
func difference(a, b *dist.Scores) string {
	switch {
	case a.Vocab != b.Vocab || a.Unlisted != b.Unlisted || a.Dense() != b.Dense() || len(a.Values) != len(b.Values):
		return fmt.Sprintf("shapes differ: %d/%d %g %t, %d/%d %g %t", len(a.Values), a.Vocab, a.Unlisted, a.Dense(),
			len(b.Values), b.Vocab, b.Unlisted, b.Dense())
	case !slices.Equal(a.IDs, b.IDs):
		return "ids differ"
	}
	for i := range a.Values {
		if math.Float32bits(a.Values[i]) != math.Float32bits(b.Values[i]) {
			return fmt.Sprintf("score %d is %v, not %v", i, b.Values[i], a.Values[i])
		}
	}
	return ""
}

// stages returns stages by name, without settings.
func stages(names ...string) []sampler.Stage {
	var out []sampler.Stage
	for _, n := range names {
		out = append(out, sampler.Stage{Sampler: n})
	}
	return out
}

func inline(o *host.Options) { o.Inline = true }

func TestTwoHostsAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	results := make([][]dist.Scores, 2)
	for i := range results {
		f := newHost(t, nil, "good")
		m, err := f.OpenModel(context.Background(), "chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { results[i] = drive(t, m, func(int) {}) })
	}
	wg.Wait()
	for i := range results[0] {
		mustEqual(t, "row", &results[0][i], &results[1][i])
	}
}

func TestClosedHostRefusesAndCleansUp(t *testing.T) {
	dir := t.TempDir()
	f := newHost(t, func(o *host.Options) { o.SocketDir, o.PlaneDir = dir, dir }, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	drive(t, m, func(int) {})
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Fatalf("%d folders while the host lives, want one for sockets and one for planes", len(entries))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve")}); err != nil && fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
	if _, err := f.Plugin(ctx, "good"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed host answers: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestByHandExplainsItself(t *testing.T) {
	argv := host.Self(serveWord, "good")
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr, stdout bytes.Buffer
	cmd.Stderr, cmd.Stdout = &stderr, &stdout
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(stderr.String(), "is a plugin of lab") || stdout.Len() != 0 {
		t.Errorf("%v, stderr %q, stdout %q", err, stderr.String(), stdout.String())
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, builtins := range map[string][]host.Command{
		"bad name": {{Name: "Bad", Argv: []string{"x"}}}, "no command": {{Name: "a"}}, "twice": {{Name: "a", Argv: []string{"x"}}, {Name: "a", Argv: []string{"x"}}},
	} {
		if _, err := host.New(host.Options{Builtins: builtins}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSearchPathOrder(t *testing.T) {
	t.Setenv("LAB_PLUGIN_PATH", "/b"+string(filepath.ListSeparator)+"/c")
	t.Setenv("XDG_DATA_HOME", "/data")
	want := []string{"/a", "/b", "/c", filepath.Join("/p", ".lab", "plugins"), filepath.Join("/data", "lab", "plugins")}
	if got := host.SearchPath([]string{"/a"}, "/p"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A host that is closed leaves no goroutine and no open file behind, whatever
// its plugins went through.
func TestCloseLeavesNothingOpen(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	once := func() {
		f := newHost(t, nil, "good", "exits", "loud")
		ctx := context.Background()
		f.Plugins(ctx)
		m, err := f.OpenModel(ctx, "chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		drive(t, m, func(int) { f.arm("model-kill") })
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	once() // what the runtime opens once
	goroutines, open := runtime.NumGoroutine(), files()
	for range 3 {
		once()
	}
	eventually(t, "goroutines and files are as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && files() <= open
	})
}
