package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/host"
	"lab/core/plugin/param"
	"lab/core/trace"
)

const weatherChain = "temperature:0.9 | top_k:50 | top_p:0.95 | sample"

// session opens a session over the real built-in plugins.
func session(t *testing.T, change func(*host.Options)) *experiment.Session {
	t.Helper()
	opt := host.Options{Builtins: builtins()}
	if change != nil {
		change(&opt)
	}
	s, err := experiment.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func weatherJobs(t *testing.T, s *experiment.Session, n int) []generate.Job {
	t.Helper()
	c, err := s.Chain(context.Background(), weatherChain, "test")
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]generate.Job, n)
	for i := range jobs {
		jobs[i] = generate.Job{Prompt: []byte("The weather today is"), Chain: c, Seed: 11, Sample: uint64(i), MaxTokens: 24}
	}
	return jobs
}

func samples(t *testing.T, s *experiment.Session, threads int64, jobs []generate.Job, opt generate.Options) []trace.Sample {
	t.Helper()
	var given []param.Setting
	if threads > 0 {
		given = []param.Setting{{Name: "threads", Value: threads, Origin: "test"}}
	}
	m, err := s.Model(context.Background(), "tiny", given)
	if err != nil {
		t.Fatal(err)
	}
	opt.Ledger = true
	r, err := m.Run(context.Background(), jobs, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r.Samples
}

// The same seed gives the same bytes, ledger included: at batch size 1, 7 and
// 64, alone or among 64, with one thread or two, over shared memory or inline,
// with TLS or without.
func TestSameSeedSameBytes(t *testing.T) {
	ref := session(t, nil)
	want := samples(t, ref, 1, weatherJobs(t, ref, 64), generate.Options{Batch: 64})
	distinct := map[string]bool{}
	for _, s := range want {
		distinct[s.Text] = true
	}
	if len(distinct) < 40 {
		t.Fatalf("only %d of 64 samples are distinct", len(distinct))
	}
	rows := []struct {
		name    string
		threads int64
		batch   int
		change  func(*host.Options)
	}{
		{"batch 1", 1, 1, nil},
		{"batch 7", 1, 7, nil},
		{"two threads, batch 64", 2, 64, nil},
		{"two threads, batch 7", 2, 7, nil},
		{"inline rows", 2, 32, func(o *host.Options) { o.Inline = true }},
		{"TLS", 2, 32, func(o *host.Options) { o.TLS = true }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := session(t, r.change)
			got := samples(t, s, r.threads, weatherJobs(t, s, 64), generate.Options{Batch: r.batch})
			if !reflect.DeepEqual(got, want) {
				t.Error("samples differ")
			}
		})
	}
	t.Run("sample 3 alone", func(t *testing.T) {
		s := session(t, nil)
		got := samples(t, s, 2, weatherJobs(t, s, 4)[3:], generate.Options{})
		if !reflect.DeepEqual(got, want[3:4]) {
			t.Error("the sample differs")
		}
	})
}

// children lists the plugin processes of this process, by what they serve.
func children(t *testing.T, serves string) []int {
	t.Helper()
	var out []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		after := stat[bytes.LastIndexByte(stat, ')')+1:]
		fields := strings.Fields(string(after))
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte(serveWord+"\x00"+serves)) {
			out = append(out, pid)
		}
	}
	return out
}

// Plugins are killed in the middle of a run, once each and then both: the
// output is that of an undisturbed run, ledger included.
func TestAKilledPluginChangesNothing(t *testing.T) {
	ref := session(t, nil)
	want := samples(t, ref, 0, weatherJobs(t, ref, 8), generate.Options{Batch: 4})
	if _, err := ref.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := session(t, nil)
	kills := map[int][]string{10: {"samplers"}, 40: {"models"}, 80: {"samplers", "models"}}
	killed := 0
	got := samples(t, s, 0, weatherJobs(t, s, 8), generate.Options{Batch: 4, OnStep: func(_, tokens int) {
		for at, names := range kills {
			if tokens < at {
				continue
			}
			delete(kills, at)
			for _, name := range names {
				for _, pid := range children(t, name) {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Errorf("kill %s: %v", name, err)
					}
					killed++
				}
			}
		}
	}})
	if killed != 4 {
		t.Fatalf("%d plugins were killed, want 4", killed)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("samples differ from the undisturbed run")
	}
	record, err := s.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range record.Plugins {
		if p.Restarts != 2 {
			t.Errorf("plugin %s: the record says %d restarts, want 2", p.Name, p.Restarts)
		}
	}
	if r := record.Models[0]; r.DigestOpen == "" || r.DigestOpen != r.DigestEnd {
		t.Errorf("digests %q and %q", r.DigestOpen, r.DigestEnd)
	}
}

// After the session is closed no plugin is left.
func TestClosingLeavesNoPlugin(t *testing.T) {
	s := session(t, nil)
	samples(t, s, 0, weatherJobs(t, s, 1), generate.Options{})
	if len(children(t, "models")) != 1 || len(children(t, "samplers")) != 1 {
		t.Fatal("the plugins are not running as children of their own")
	}
	if _, err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := append(children(t, "models"), children(t, "samplers")...); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// A weight file that changes under an open model is noticed at the end of the
// run: frozen means frozen.
func TestChangedWeightsAreNoticed(t *testing.T) {
	weights, err := os.ReadFile("../../plugins/models/transformer/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mine.gguf")
	if err := os.WriteFile(path, weights, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := experiment.Open(host.Options{Builtins: builtins()})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Model(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := m.Verify(context.Background()); err != nil || now != m.Info().Digest {
		t.Fatalf("before the change: %q, %v", now, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(len(weights) - 1)
	if _, err := f.WriteAt([]byte{weights[last] ^ 1}, last); err != nil {
		t.Fatal(err)
	}
	f.Close()
	record, err := s.Close(context.Background())
	if fault.KindOf(err) != fault.Model || !strings.Contains(err.Error(), "changed during the run") {
		t.Errorf("got %v", err)
	}
	if r := record.Models[0]; r.DigestEnd == "" || r.DigestEnd == r.DigestOpen {
		t.Errorf("the record has digests %q and %q", r.DigestOpen, r.DigestEnd)
	}
}

// What --json prints reads back into its own type, with no other field, and
// names its schema.
func TestJSONReadsBack(t *testing.T) {
	rows := []struct {
		schema string
		args   []string
		into   any
	}{
		{"lab/next/1", []string{"next", "The weather today is", "--chain", "top_k:3"}, &nextReport{}},
		{"lab/next/1", []string{"next", "The weather today is", "--model", "grammar"}, &nextReport{}},
		{"lab/generate/1", []string{"generate", "The weather today is", "--samples", "2", "--max-tokens", "5"}, &generateReport{}},
		{"lab/generate/1", []string{"generate", "The weather today is", "--model", "grammar", "--max-tokens", "5"}, &generateReport{}},
		{"lab/model-info/1", []string{"model", "info", "tiny"}, &modelJSON{}},
		{"lab/sampler-info/1", []string{"sampler", "info", "greedy"}, &struct {
			Schema string `json:"schema"`
			samplerJSON
		}{}},
		{"lab/plugin-list/1", []string{"plugin", "list"}, &struct {
			Schema   string       `json:"schema"`
			Plugins  []pluginJSON `json:"plugins"`
			Warnings []string     `json:"warnings"`
		}{}},
	}
	for _, r := range rows {
		t.Run(strings.Join(r.args, " "), func(t *testing.T) {
			var out, errOut bytes.Buffer
			if code := execute(context.Background(), append(r.args, "--json"), &out, &errOut); code != 0 {
				t.Fatalf("exit code %d: %s", code, errOut.String())
			}
			if !strings.Contains(out.String(), `"schema": "`+r.schema+`"`) {
				t.Errorf("the output does not name schema %s", r.schema)
			}
			d := json.NewDecoder(&out)
			d.DisallowUnknownFields()
			if err := d.Decode(r.into); err != nil {
				t.Error(err)
			}
		})
	}
}
