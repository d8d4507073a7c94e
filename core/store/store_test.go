package store

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lab/core/trace"
)

// made is a record that is a function of its place alone.
func made(cell, sample int) Record {
	rng := rand.New(rand.NewPCG(uint64(cell), uint64(sample)))
	r := Record{Cell: cell, Sample: sample, PromptTokens: rng.IntN(9), Trace: trace.Sample{Sample: uint64(sample), Tokens: []int32{},
		Text: strings.Repeat("é", rng.IntN(9)), Stop: trace.Stop{Reason: trace.StopString, String: "\n", Offset: rng.IntN(300)}}}
	if rng.IntN(3) == 0 {
		r.Trace.Raw = []byte{0xff, byte(rng.Uint32())}
	}
	real := func() trace.Real {
		switch rng.IntN(20) {
		case 0:
			return trace.Real(math.Inf(1))
		case 1:
			return trace.Real(math.Copysign(0, -1))
		}
		return trace.Real(rng.NormFloat64())
	}
	side := func() *trace.Side {
		if rng.IntN(8) == 0 {
			return nil
		}
		return &trace.Side{Prob: real(), SurprisalBits: real(), Rank: rng.IntN(1 << 18), EntropyBits: real(), Support: rng.IntN(1 << 18)}
	}
	for i := range rng.IntN(7) {
		s := trace.Step{Step: i, Token: int32(rng.IntN(1 << 18)), Piece: []byte(fmt.Sprint("p", i)), Model: side(), Sampling: side()}
		for j := range rng.IntN(4) {
			s.Stages = append(s.Stages, trace.Stage{Stage: fmt.Sprint("stage", j), Plugin: "samplers", SupportBefore: rng.IntN(100), SupportAfter: rng.IntN(1 << 18),
				KeptMass: real(), EntropyBeforeBits: real(), EntropyAfterBits: real(), KLBits: real(), TV: real(), Truncation: rng.IntN(2) == 0,
				ChosenRankBefore: rng.IntN(50), ChosenRankAfter: rng.IntN(50), ChosenProbBefore: real(), ChosenProbAfter: real()})
		}
		r.Trace.Tokens = append(r.Trace.Tokens, s.Token)
		r.Trace.Steps = append(r.Trace.Steps, s)
	}
	if rng.IntN(8) > 0 {
		x := func() float64 { return float64(rng.IntN(1<<20)) / 64 }
		r.Cost = &trace.Cost{PrefillTokens: x(), DecodeTokens: x(), CachedTokens: x(), PrefillSeconds: x(), DecodeSeconds: x(), FLOPs: x(), BytesMoved: x(),
			CacheBytes: rng.Int64N(1 << 40), Batch: x()}
	}
	return r
}

func manifest(cells, samples int) Manifest {
	return Manifest{Name: "test", Spec: json.RawMessage(`{"grid":[]}`), Axes: []string{"temperature"}, Cells: cells, Samples: samples, Ledger: true,
		Used: json.RawMessage(`{}`), Lab: "test"}
}

func columns(cells int) []Column {
	c := []Column{{Name: "temperature"}, {Name: "top_p.min_keep"}, {Name: "mixed"}, {Name: "none"}}
	for i := range cells {
		var mixed any = int64(i)
		if i%2 == 1 {
			mixed = "odd"
		}
		for j, v := range []any{float64(i) / 2, int64(i), mixed, nil} {
			c[j].Values = append(c[j].Values, v)
		}
	}
	return c
}

// fill puts what a run lacks and finishes it.
func fill(t testing.TB, r *Run) {
	t.Helper()
	for cell := range r.Manifest.Cells {
		for sample := range r.Manifest.Samples {
			if r.Manifest.Mine(cell) && !r.Has(cell, sample) {
				if err := r.Put(made(cell, sample)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if _, err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(Session{Outcome: "complete"}); err != nil {
		t.Fatal(err)
	}
}

// contents returns the files of a folder but for the sessions and the lock.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == sessionsFile || f.Name() == lockFile {
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

func sameFiles(t testing.TB, got, want map[string]string) {
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

// undisturbed returns the files of a run from start to end.
func undisturbed(t testing.TB, cells, samples int) map[string]string {
	t.Helper()
	dir := t.TempDir()
	r := create(t, dir, cells, samples)
	fill(t, r)
	return contents(t, dir)
}

func TestRecordsComeBack(t *testing.T) {
	const cells, samples = 40, 9
	dir := t.TempDir()
	r := create(t, dir, cells, samples)
	check := func(when string) {
		t.Helper()
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = s.Records(true, func(got *Record) error {
			if want := made(n/samples, n%samples); !reflect.DeepEqual(*got, want) {
				return fmt.Errorf("%s, record %d is\n%+v, want\n%+v", when, n, *got, want)
			}
			n++
			return nil
		})
		if err != nil || n != cells*samples {
			t.Fatalf("%d records, %v", n, err)
		}
	}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(cells * samples) {
		if err := r.Put(made(i/samples, i%samples)); err != nil {
			t.Fatal(err)
		}
	}
	check("in the log")
	fill(t, r)
	check("in tables")
}

func TestTablesDependOnTheRecordsAlone(t *testing.T) {
	const cells, samples = 12, 5
	want := undisturbed(t, cells, samples)
	dir := t.TempDir()
	r := create(t, dir, cells, samples)
	for i := cells*samples - 1; i >= 0; i-- {
		if i%7 == 0 { // a failure that is tried again
			if err := r.Put(Record{Cell: i / samples, Sample: i % samples, Failure: "no"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.ForgetFailures()
	fill(t, r)
	sameFiles(t, contents(t, dir), want)
}

func TestMergedPartsAreTheWhole(t *testing.T) {
	const cells, samples = 11, 4
	want := undisturbed(t, cells, samples)
	root := t.TempDir()
	var parts []string
	for i := range 3 {
		m := manifest(cells, samples)
		m.Part = &Part{Index: i, Of: 3}
		dir := filepath.Join(root, fmt.Sprint(i))
		r, err := Create(dir, m, columns(cells))
		if err != nil {
			t.Fatal(err)
		}
		fill(t, r)
		parts = append([]string{dir}, parts...)
	}
	whole := filepath.Join(root, "whole")
	for name, bad := range map[string][]string{"one is missing": parts[:2], "one twice": {parts[0], parts[1], parts[1]}, "none": nil} {
		if err := Merge(whole, bad); err == nil {
			t.Errorf("%s: merged", name)
		}
		if _, err := os.Stat(whole); err == nil {
			t.Errorf("%s: it left a folder", name)
		}
	}
	if err := Merge(whole, parts); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, contents(t, whole), want)
	if err := Merge(whole, parts); err == nil {
		t.Error("merged into a folder with a run")
	}
	s, err := Open(whole)
	if err != nil || len(s.Sessions) != 3 {
		t.Errorf("%d sessions, %v", len(s.Sessions), err)
	}
}

func TestFoldersThatAreRefused(t *testing.T) {
	rows := []struct{ name, manifest, wants string }{
		{"nothing", "", "there is no run.json"},
		{"newer", `{"schema":"lab/sweep/9","cells":1,"samples":1,"lab":"v9"}`, "newer lab wrote it"},
		{"another record", `{"schema":"lab/run/1"}`, "not the record of a sweep"},
		{"no JSON", `{"schema":`, "damaged"},
		{"no cells", `{"schema":"lab/sweep/1","cells":0,"samples":1}`, "damaged"},
		{"too many", `{"schema":"lab/sweep/1","cells":100000000,"samples":1}`, "damaged"},
		{"too many samples in all", `{"schema":"lab/sweep/1","cells":1000000,"samples":1000000}`, "are more than"},
		{"odd part", `{"schema":"lab/sweep/1","cells":1,"samples":1,"shard":{"index":3,"of":2}}`, "damaged"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			if r.manifest != "" {
				if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(r.manifest), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, open := range []func() error{
				func() error { _, err := Open(dir); return err },
				func() error { _, err := Resume(dir); return err },
			} {
				if err := open(); err == nil || !strings.Contains(err.Error(), r.wants) {
					t.Errorf("got %v, want %q", err, r.wants)
				}
			}
		})
	}
}
