package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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
	r, err := Create(dir, manifest(cells, samples), columns(cells))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, r)
	return contents(t, dir)
}

func TestRecordsComeBack(t *testing.T) {
	const cells, samples = 40, 9
	dir := t.TempDir()
	r, err := Create(dir, manifest(cells, samples), columns(cells))
	if err != nil {
		t.Fatal(err)
	}
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
	r, err := Create(dir, manifest(cells, samples), columns(cells))
	if err != nil {
		t.Fatal(err)
	}
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

// cut is a log that fails after so many bytes, having written a part.
type cut struct {
	*os.File
	left *int64
}

var errNoSpace = errors.New("no space left on device")

func (c cut) WriteAt(p []byte, off int64) (int, error) {
	if *c.left -= int64(len(p)); *c.left < 0 {
		n := max(0, len(p)+int(*c.left))
		_, err := c.File.WriteAt(p[:n], off)
		return n, errors.Join(errNoSpace, err)
	}
	return c.File.WriteAt(p, off)
}

func (c cut) Truncate(size int64) error {
	if *c.left < 0 {
		return errNoSpace // the torn frame stays
	}
	return c.File.Truncate(size)
}

// Wherever the disk is full, what was kept before is kept, and the run can be
// finished when there is room again.
func TestFullDiskAtEveryByte(t *testing.T) {
	const cells, samples = 3, 2
	want := undisturbed(t, cells, samples)
	size := int64(0)
	for i := range cells * samples {
		var e encoder
		r := made(i/samples, i%samples)
		b, err := e.frame(&r)
		if err != nil {
			t.Fatal(err)
		}
		size += int64(len(b))
	}
	plain := openToWrite
	t.Cleanup(func() { openToWrite = plain })
	for at := int64(0); at < size; at += 1 + size/200 {
		dir := t.TempDir()
		left := at
		openToWrite = func(path string) (file, error) {
			f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
			return cut{f, &left}, err
		}
		r, err := Create(dir, manifest(cells, samples), columns(cells))
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for i := range cells * samples {
			if err = r.Put(made(i/samples, i%samples)); err != nil {
				break
			}
			kept++
		}
		if !errors.Is(err, errNoSpace) {
			t.Fatalf("byte %d: %v", at, err)
		}
		if err := r.Put(made(0, 0)); !errors.Is(err, errNoSpace) {
			t.Fatalf("byte %d: it went on: %v", at, err)
		}
		_ = r.Close(Session{})
		openToWrite = plain
		r, err = Resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := r.Stored(); n != kept || len(r.Problems) > 0 {
			t.Fatalf("byte %d: %d records, %d were kept; %v", at, n, kept, r.Problems)
		}
		fill(t, r)
		sameFiles(t, contents(t, dir), want)
	}
}

// Damage in the middle of a log costs the records it hit and is named.
func TestDamagedLog(t *testing.T) {
	const cells, samples = 8, 3
	want := undisturbed(t, cells, samples)
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 40 {
		dir := t.TempDir()
		r, err := Create(dir, manifest(cells, samples), columns(cells))
		if err != nil {
			t.Fatal(err)
		}
		for i := range cells * samples {
			if err := r.Put(made(i/samples, i%samples)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(Session{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, logFile)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := bytes.LastIndex(data, mark)
		at := rng.IntN(last) // in a frame with a whole one behind it
		data[at] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err = Resume(dir); err != nil {
			t.Fatal(err)
		}
		n, _ := r.Stored()
		if len(r.Problems) == 0 || n != cells*samples-1 {
			t.Fatalf("round %d, byte %d: %d records, problems %v", round, at, n, r.Problems)
		}
		fill(t, r)
		sameFiles(t, contents(t, dir), want)
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("LAB_STORE_CHILD"); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

const childCells, childSamples = 60, 20

// child works at a run until it is done or killed.
func child(dir string) {
	r, err := Resume(dir)
	if err != nil {
		r, err = Create(dir, manifest(childCells, childSamples), columns(childCells))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for cell := range childCells {
		for sample := range childSamples {
			if !r.Has(cell, sample) {
				if err := r.Put(made(cell, sample)); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
			}
		}
	}
	if _, err := r.Finish(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_ = r.Close(Session{})
}

// A process that is killed at any moment, while it makes the folder, puts, writes
// tables or removes the log, and is started again until it ends by itself, leaves
// the bytes of one that was not.
func TestKilledAtAnyMoment(t *testing.T) {
	want := undisturbed(t, childCells, childSamples)
	dir := filepath.Join(t.TempDir(), "run")
	rng := rand.New(rand.NewPCG(5, 6))
	kills := 0
	for start := 0; ; start++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LAB_STORE_CHILD="+dir)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait := time.Duration(rng.IntN(5+start*2)) * time.Millisecond
		if start > 200 {
			wait = time.Minute
		}
		timer := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if out.Len() > 0 {
			t.Fatal(out.String())
		}
		if err == nil {
			if kills >= 20 {
				break
			}
			if err := os.RemoveAll(dir); err != nil { // it was quicker than we are: again
				t.Fatal(err)
			}
			continue
		}
		kills++
	}
	t.Logf("%d kills", kills)
	sameFiles(t, contents(t, dir), want)
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, manifest(2, 2), columns(2))
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	if _, err := Resume(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) || !strings.Contains(err.Error(), host) {
		t.Errorf("got %v", err)
	}
	if w := writer(dir); w == nil || w.PID != os.Getpid() {
		t.Errorf("the writer is %+v", w)
	}
	if err := r.Close(Session{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(`{"host":"elsewhere","pid":7}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir); err == nil || !strings.Contains(err.Error(), "process 7 on \"elsewhere\"") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), fmt.Appendf(nil, `{"host":%q,"pid":7}`, host), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(dir); err != nil { // it died
		t.Fatal(err)
	}
	fill(t, r)
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

// A damaged table is named and never a panic; the others can be read.
func TestDamagedTables(t *testing.T) {
	dir := t.TempDir()
	r, err := Create(dir, manifest(6, 4), columns(6))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, r)
	good := contents(t, dir)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	caught := 0
	for range 300 {
		data := []byte(good[StepsFile])
		switch rng.IntN(3) {
		case 0:
			data = data[:rng.IntN(len(data))]
		case 1:
			for range 1 + rng.IntN(8) {
				data[rng.IntN(len(data))] = byte(rng.Uint32())
			}
		default:
			tail := data[len(data)-min(len(data), 2000):]
			tail[rng.IntN(len(tail))] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(filepath.Join(dir, StepsFile), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.Records(true, func(*Record) error { return nil }); err != nil {
			caught++
			if !strings.Contains(err.Error(), StepsFile) {
				t.Fatalf("it is not named: %v", err)
			}
		}
		n := 0
		if err := s.Records(false, func(*Record) error { n++; return nil }); err != nil || n != 24 {
			t.Fatalf("samples: %d, %v", n, err)
		}
	}
	if caught < 150 {
		t.Errorf("%d of 300 damaged files were noticed", caught)
	}
}

func FuzzScan(f *testing.F) {
	var e encoder
	var log []byte
	for i := range 4 {
		r := made(i, i)
		b, err := e.frame(&r)
		if err != nil {
			f.Fatal(err)
		}
		log = append(log, b...)
	}
	f.Add(log)
	f.Add(log[:len(log)-3])
	f.Add(append([]byte("xx"), log...))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := scan(bytes.NewReader(data), int64(len(data)), "log", &Manifest{Cells: mostCells, Samples: mostSamples})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range x.places {
			payload := data[p.offset+headBytes:][:p.length]
			if r, err := decode(payload); err == nil {
				again, err := new(encoder).frame(&r)
				if err != nil {
					t.Fatal(err)
				}
				back, err := decode(again[headBytes:])
				if err != nil {
					t.Fatalf("what was decoded cannot be encoded: %v", err)
				}
				third, err := new(encoder).frame(&back)
				if err != nil || !bytes.Equal(again, third) {
					t.Fatalf("%q became %q, %v", again, third, err)
				}
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	var e encoder
	for i := range 6 {
		r := made(i, 1)
		b, err := e.frame(&r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(b[headBytes:]))
		r = madeWithScores(i, 1, 5)
		if b, err = e.frame(&r); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(b[headBytes:]))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := decode(payload)
		if err != nil {
			return
		}
		var once, twice encoder
		once.record(&r)
		back, err := decode(once.b)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		if twice.record(&back); !bytes.Equal(once.b, twice.b) {
			t.Fatalf("%q became %q", once.b, twice.b)
		}
	})
}

// BenchmarkPut reports what keeping a step with three stages costs.
func BenchmarkPut(b *testing.B) {
	r := Record{Trace: trace.Sample{Tokens: make([]int32, 64)}}
	for i := range 64 {
		s := trace.Step{Step: i, Piece: []byte(" word"), Model: &trace.Side{}, Sampling: &trace.Side{}}
		for _, n := range []string{"temperature", "top_p", "sample"} {
			s.Stages = append(s.Stages, trace.Stage{Stage: n, Plugin: "samplers"})
		}
		r.Trace.Steps = append(r.Trace.Steps, s)
	}
	run, err := Create(b.TempDir(), manifest(1000, 1000), columns(1000))
	if err != nil {
		b.Fatal(err)
	}
	at := 0
	for b.Loop() {
		r.Cell, r.Sample = at/1000%1000, at%1000
		at++
		if err := run.Put(r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/step")
	b.ReportMetric(float64(run.end)/float64(at)/64, "B/step")
	if err := run.Close(Session{}); err != nil {
		b.Fatal(err)
	}
}
