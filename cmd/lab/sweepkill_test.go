package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const killedSweep = `prompt: The weather today is
max_tokens: 40
samples: 12
seed: 5
grid:
  temperature: [0.5, 1, 1.5, 2]
  top_p: [0.9, off]
`

// sweepProcess starts lab sweep as a process of its own.
func sweepProcess(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	path, err := exec.LookPath("lab") // the test binary under that name, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "grid.yaml")
	if _, err := os.Stat(file); err != nil { // others may be reading it
		if err := os.WriteFile(file, []byte(killedSweep), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, append([]string{"sweep", file}, args...)...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// runFiles returns the files of a run but for what was measured and its lock.
func runFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "sessions.jsonl" || f.Name() == "costs.parquet" || f.Name() == "lock" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = string(data)
	}
	return out
}

func sameRun(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s differs from that of the undisturbed run", name)
		}
	}
}

// A sweep that is killed at 20 random moments, while plugins start, samples are
// made or tables written, and started again each time, generates no sample twice
// and ends with the bytes of one that nobody disturbed.
func TestKilledSweepsEndWithTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	cmd, out := sweepProcess(t, dir, "--out", "undisturbed")
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err, out)
	}
	whole := time.Since(began)
	want := runFiles(t, filepath.Join(dir, "undisturbed"))

	rng := rand.New(rand.NewPCG(9, 9))
	kills := 0
	for kills < 20 {
		target := filepath.Join(dir, fmt.Sprint("killed-", kills))
		for {
			cmd, out := sweepProcess(t, dir, "--out", target, "--batch", "16")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(rng.Int64N(int64(2*whole))), func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			timer.Stop()
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), "killed") {
				t.Fatal(err, out)
			}
			kills++
		}
		sameRun(t, runFiles(t, target), want)
	}
	t.Logf("%d kills, %v undisturbed", kills, whole)
}

// The first interrupt finishes what is under way and says how to go on; nothing
// is lost, and the same command ends the run.
func TestInterruptedSweepGoesOn(t *testing.T) {
	dir := t.TempDir()
	cmd, out := sweepProcess(t, dir, "--out", "undisturbed")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, out)
	}
	want := runFiles(t, filepath.Join(dir, "undisturbed"))
	cmd, out = sweepProcess(t, dir, "--out", "run", "--batch", "2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "run", "log")
	for range 2000 { // until it has kept something
		if info, err := os.Stat(log); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 {
		t.Fatalf("%v, exit code %d: %s", err, cmd.ProcessState.ExitCode(), out)
	}
	for _, wanted := range []string{"finishing the samples under way", "run: interrupted, ", "of 96 samples are there; the same command goes on with the others"} {
		if !strings.Contains(out.String(), wanted) {
			t.Errorf("it does not say %q: %s", wanted, out)
		}
	}
	cmd, out = sweepProcess(t, dir, "--out", "run")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, out)
	}
	if !strings.Contains(out.String(), "complete, 96 of 96") || strings.Contains(out.String(), "now 96 samples") {
		t.Errorf("got %s", out)
	}
	sameRun(t, runFiles(t, filepath.Join(dir, "run")), want)
}

// Processes that share a folder of shards, as the jobs of an array do, end with
// the bytes of one run.
func TestShardsSideBySide(t *testing.T) {
	dir := t.TempDir()
	cmd, out := sweepProcess(t, dir, "--out", "undisturbed")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, out)
	}
	var jobs []*exec.Cmd
	var merge []string
	for i := range 4 {
		folder := fmt.Sprint("shards/", i)
		cmd, _ := sweepProcess(t, dir, "--shard", fmt.Sprintf("%d/4", i+1), "--out", folder)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		jobs, merge = append(jobs, cmd), append(merge, folder)
	}
	for _, j := range jobs {
		if err := j.Wait(); err != nil {
			t.Fatal(err, j.Stdout)
		}
	}
	path, err := exec.LookPath("lab")
	if err != nil {
		t.Fatal(err)
	}
	join := exec.Command(path, append([]string{"runs", "merge", "--out", "whole"}, merge...)...)
	join.Dir = dir
	if text, err := join.CombinedOutput(); err != nil {
		t.Fatal(err, string(text))
	}
	sameRun(t, runFiles(t, filepath.Join(dir, "whole")), runFiles(t, filepath.Join(dir, "undisturbed")))
}
