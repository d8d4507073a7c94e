//go:build python && linux

package python

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

func open(t testing.TB, dir string, change func(*host.Options)) *host.Host {
	t.Helper()
	opt := host.Options{Dirs: []string{dir}}
	if change != nil {
		change(&opt)
	}
	h, err := host.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// processes returns the numbers of processes whose command line names a path
// below dir.
func processes(dir string) []int {
	var out []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		line, err := os.ReadFile(path)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		if err != nil || !bytes.Contains(line, []byte(dir)) || bytes.Contains(stat, []byte(") Z ")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		out = append(out, pid)
	}
	return out
}

func kill(t *testing.T, dir string) {
	t.Helper()
	all := processes(dir)
	if len(all) != 1 {
		t.Fatalf("%d plugin processes of %s are running", len(all), dir)
	}
	if err := syscall.Kill(all[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// A plugin that is killed between two steps is started again, and nothing is
// different: not a sampler's row, not a model's, whose sequences are fed anew.
func TestAKilledPythonPluginChangesNothing(t *testing.T) {
	ctx := context.Background()
	t.Run("sampler", func(t *testing.T) {
		dir := layOut(t, "entropy", samplerExample, "entropy_temperature.py")
		run := open(t, dir, nil).Runner("entropy")
		apply := func() []float32 {
			it := &sampler.Item{Scores: ramp(500)}
			call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: "edt"}}, Ledger: true}
			if err := run.Run(ctx, call); err != nil {
				t.Fatal(err)
			}
			return it.Scores.Values
		}
		want := apply()
		kill(t, dir)
		equal(t, apply(), want)
	})
	t.Run("model", func(t *testing.T) {
		dir := layOut(t, "ngram", modelExample, "byte_ngram.py")
		m, err := open(t, dir, nil).OpenModel(ctx, "byte_ngram", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		forward := func(seq uint64, start int, text string) []float32 {
			in := model.Input{Seq: seq, Start: start, Want: model.Last, Scores: m.Rows(1)}
			for _, b := range []byte(text) {
				in.Tokens = append(in.Tokens, int32(b))
			}
			if _, err := m.Forward(ctx, []model.Input{in}); err != nil {
				t.Fatal(err)
			}
			return in.Scores[0].Clone().Values
		}
		want := forward(1, 0, "The harbou")
		forward(2, 0, "The harb")
		if err := m.Edit(ctx, []model.Edit{{Op: model.Fork, Seq: 2, To: 3, Length: 4}}); err != nil {
			t.Fatal(err)
		}
		kill(t, dir)
		equal(t, forward(2, 8, "ou"), want)
		equal(t, forward(3, 4, "harbou"), want)
		if m.Restarts() != 1 {
			t.Errorf("%d restarts", m.Restarts())
		}
	})
}

func equal(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d scores, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("score %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// When lab itself is killed, its Python plugins end, with what they started.
func TestNoPythonPluginOutlivesLab(t *testing.T) {
	project := t.TempDir()
	const text = `import lab_plugin, subprocess, time
from lab_plugin import sampler, serve

@sampler(summary="Never answers.", source="none")
def hang(scores, row):
    subprocess.Popen(["sh", "-c", "sleep 3600; : " + __file__])
    time.sleep(3600)

serve("hang", version="1", samplers=[hang])
`
	if err := os.WriteFile(filepath.Join(project, "hang.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := layOut(t, "hang", project, "hang.py")
	cmd := exec.Command(built, "next", "The", "--plugin-dir", dir, "--chain", "hang")
	cmd.Dir = t.TempDir() // where lab keeps its lock file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	below := dir + "/lab-plugin-hang.d"
	wait(t, "the plugin and its child to run", func() bool { return len(processes(below)) >= 2 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	wait(t, "all of them to end", func() bool { return len(processes(below)) == 0 })
}

// wait polls until what it waits for is so. The limit is long: a busy machine
// must not decide a test.
func wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// What goes wrong in Python reaches the user with its kind and its place.
func TestPythonMistakesAreSaid(t *testing.T) {
	rows := []struct{ name, text, says string }{
		{"prints before the import", "print('hello', flush=True)\nimport lab_plugin\n", `printed "hello" to standard output before the handshake`},
		{"does not parse", "import lab_plugin\ndef f(:\n", "SyntaxError"},
		{"declares nothing", "from lab_plugin import serve\nserve('x', version='1')\n", "it offers neither samplers nor models"},
		{"declares badly", "from lab_plugin import sampler, serve\nsampler(name='Bad', summary='s', source='s')(print)\n", "is not snake_case"},
		{"never serves", "import lab_plugin\n", "ended before the handshake (exit status 0)"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			project := t.TempDir()
			if err := os.WriteFile(filepath.Join(project, "x.py"), []byte(r.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, layOut(t, "x", project, "x.py"), nil).Plugin(context.Background(), "x")
			if fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), r.says) {
				t.Errorf("got %v, want %s", err, r.says)
			}
		})
	}
}

// Log records keep their level and fields, and what is printed is one, too.
func TestPythonLogsAreRecords(t *testing.T) {
	project := t.TempDir()
	const text = `import logging
from lab_plugin import sampler, serve

@sampler(summary="Talks.", source="none")
def talk(scores, row):
    logging.getLogger("mine").warning("step %d", row.step, extra={"answer": 42})
    print("printed")
    return scores

serve("talk", version="1", samplers=[talk])
`
	if err := os.WriteFile(filepath.Join(project, "talk.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	h, err := host.New(host.Options{Dirs: []string{layOut(t, "talk", project, "talk.py")}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	it := &sampler.Item{Scores: ramp(4), Step: 7}
	call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: "talk"}}}
	if err := h.Runner("talk").Run(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil { // all output is read when the process has ended
		t.Fatal(err)
	}
	for _, want := range []string{"level=WARN msg=\"step 7\"", "answer=42", "msg=printed"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no record has %s:\n%s", want, log.String())
		}
	}
}

// A row that lies in shared memory takes the inline road for a Python plugin,
// and comes back to where it lay.
func TestRowsOnThePlaneReachPython(t *testing.T) {
	ctx := context.Background()
	dir := layOut(t, "touch", "testdata", "touch.py")
	h, err := host.New(host.Options{Dirs: []string{dir, layOut(t, "ngram", modelExample, "byte_ngram.py")}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m, err := h.OpenModel(ctx, "byte_ngram", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(1)
	in := model.Input{Seq: 1, Tokens: []int32{84, 104}, Want: model.Last, Scores: rows}
	if _, err := m.Forward(ctx, []model.Input{in}); err != nil {
		t.Fatal(err)
	}
	before := rows[0].Clone()
	it := &sampler.Item{Scores: rows[0]}
	call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: "touch"}}, Ledger: true}
	if err := h.Runner("touch").Run(ctx, call); err != nil {
		t.Fatal(err)
	}
	if &it.Scores.Values[0] != &rows[0].Values[0] {
		t.Error("the row lies elsewhere now")
	}
	before.Values[0]++
	equal(t, it.Scores.Values, before.Values)
	var ws dist.Workspace
	before.Values[0]--
	change, err := dist.Compare(&before, &it.Scores, &ws)
	if err != nil {
		t.Fatal(err)
	}
	sameChange(t, it.Changes[0], change)
}

// A plugin is given the variables that it names, and of the user's others none.
func TestPythonGetsTheEnvironmentItNames(t *testing.T) {
	t.Setenv("LAB_TEST_KEY", "42")
	t.Setenv("LAB_TEST_OTHER", "1000")
	project := t.TempDir()
	const text = `import os
from lab_plugin import sampler, serve

@sampler(summary="Adds what the environment says.", source="none")
def add(scores, row):
    scores[0] = sum(float(os.environ.get(name, 0)) for name in ("LAB_TEST_KEY", "LAB_TEST_OTHER"))
    return scores

serve("add", version="1", samplers=[add], environment=["LAB_TEST_KEY"])
`
	if err := os.WriteFile(filepath.Join(project, "add.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	it := &sampler.Item{Scores: ramp(2)}
	call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: "add"}}}
	if err := open(t, layOut(t, "add", project, "add.py"), nil).Runner("add").Run(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	if it.Scores.Values[0] != 42 {
		t.Errorf("the plugin saw %v, want 42", it.Scores.Values[0])
	}
}
