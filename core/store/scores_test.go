package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lab/core/dist"
)

// madeWithScores is made with a row of scores for every token, each a function of
// its place alone: dense with removed tokens, sparse, or sparse with a tail.
func madeWithScores(cell, sample, vocabulary int) Record {
	r := made(cell, sample)
	rng := rand.New(rand.NewPCG(uint64(cell), uint64(sample)+1<<32))
	for range r.Trace.Tokens {
		values := make([]float32, vocabulary)
		for i := range values {
			if values[i] = float32(rng.NormFloat64() * 3); rng.IntN(9) == 0 {
				values[i] = float32(math.Inf(-1))
			}
		}
		values[rng.IntN(vocabulary)] = float32(math.Copysign(0, -1))
		row := dist.NewDense(values)
		switch rng.IntN(3) {
		case 0:
			row.KeepFrom(0)
		case 1:
			var err error
			if row, err = (Recording{top: 4}).Row(&row); err != nil {
				panic(err)
			}
		}
		r.Scores = append(r.Scores, row)
	}
	return r
}

func fillWithScores(t testing.TB, r *Run, vocabulary int) {
	t.Helper()
	for i := range r.Manifest.Cells * r.Manifest.Samples {
		cell, sample := i/r.Manifest.Samples, i%r.Manifest.Samples
		if r.Manifest.Mine(cell) && !r.Has(cell, sample) {
			if err := r.Put(madeWithScores(cell, sample, vocabulary)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(t, r)
}

func createWithScores(t testing.TB, dir string, m Manifest, scores string) *Run {
	t.Helper()
	m.Scores = scores
	return createRun(t, dir, m)
}

// What the model gave comes back to the bit, from the log and from the tables,
// and only to those who want it.
func TestScoresComeBack(t *testing.T) {
	const cells, samples, vocabulary = 7, 5, 33
	for _, ledger := range []bool{true, false} {
		dir := t.TempDir()
		m := manifest(cells, samples)
		m.Ledger = ledger
		r := createWithScores(t, dir, m, "dense")
		check := func(when string) {
			t.Helper()
			s, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			n, rows := 0, 0
			err = s.WithScores(func(got *Record) error {
				want := madeWithScores(n/samples, n%samples, vocabulary)
				if !reflect.DeepEqual(got.Scores, want.Scores) { // -0 is told from 0 below
					return fmt.Errorf("%s, record %d has\n%+v, want\n%+v", when, n, got.Scores, want.Scores)
				}
				var e, f encoder
				for i := range want.Scores {
					e.scores(&got.Scores[i])
					f.scores(&want.Scores[i])
				}
				if string(e.b) != string(f.b) {
					return fmt.Errorf("%s, record %d has other bits", when, n)
				}
				rows += len(got.Scores)
				n++
				return nil
			})
			if err != nil || n != cells*samples || rows < cells*samples {
				t.Fatalf("%s: %d records, %d rows, %v", when, n, rows, err)
			}
			err = s.Records(true, func(got *Record) error {
				if got.Scores != nil {
					return fmt.Errorf("%s: scores nobody wanted", when)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		for i := range cells * samples {
			if err := r.Put(madeWithScores(i/samples, i%samples, vocabulary)); err != nil {
				t.Fatal(err)
			}
		}
		check("in the log")
		fill(t, r)
		check("in tables")
	}
}

// Interrupted anywhere, put in another order or in parts, the scores' table has
// the bytes of the undisturbed run.
func TestScoresDependOnTheRecordsAlone(t *testing.T) {
	const cells, samples, vocabulary = 6, 3, 20
	whole := t.TempDir()
	fillWithScores(t, createWithScores(t, whole, manifest(cells, samples), "dense"), vocabulary)
	want := contents(t, whole)

	torn := t.TempDir()
	r := createWithScores(t, torn, manifest(cells, samples), "dense")
	for i := cells*samples - 1; i >= 0; i-- {
		if err := r.Put(madeWithScores(i/samples, i%samples, vocabulary)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(Session{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(torn, logFile)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(log) - 1; cut > 0; cut -= 1 + len(log)/40 {
		if err := os.WriteFile(path, log[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err = Resume(torn); err != nil {
			t.Fatal(err)
		}
		fillWithScores(t, r, vocabulary)
		sameFiles(t, contents(t, torn), want)
	}

	root := t.TempDir()
	var parts []string
	for i := range 2 {
		m := manifest(cells, samples)
		m.Part = &Part{Index: i, Of: 2}
		parts = append(parts, filepath.Join(root, fmt.Sprint(i)))
		fillWithScores(t, createWithScores(t, parts[i], m, "dense"), vocabulary)
	}
	merged := filepath.Join(root, "whole")
	if err := Merge(merged, parts); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, contents(t, merged), want)
}

// Rows of many scores lie in groups of their own, and are all there.
func TestScoresOfManyTokens(t *testing.T) {
	const vocabulary, steps = 1 << 18, 70 // 70 MiB: two groups
	dir := t.TempDir()
	m := manifest(1, 1)
	m.Ledger = false
	r := createWithScores(t, dir, m, "dense")
	rec := Record{}
	for i := range steps {
		values := make([]float32, vocabulary)
		for j := range values {
			values[j] = float32(i*j%97) / 8
		}
		rec.Trace.Tokens = append(rec.Trace.Tokens, int32(i))
		rec.Scores = append(rec.Scores, dist.NewDense(values))
	}
	if err := r.Put(rec); err != nil {
		t.Fatal(err)
	}
	if done, err := r.Finish(); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := r.Close(Session{}); err != nil {
		t.Fatal(err)
	}
	f, err := openTable[scoreRow](filepath.Join(dir, scoresFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.r.File().RowGroups()); n != 2 {
		t.Errorf("%d row groups", n)
	}
	f.close()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = s.WithScores(func(got *Record) error {
		if !reflect.DeepEqual(got.Scores, rec.Scores) {
			t.Error("they differ")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The N likeliest keep their probabilities, ties by ascending id, and the mass of
// the others is what is left.
func TestTopKeepsProbabilities(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for round := range 200 {
		values := make([]float32, 2+rng.IntN(60))
		for i := range values {
			values[i] = float32(rng.IntN(6)) * 1.5 // with ties
		}
		whole := dist.NewDense(values)
		n := 1 + rng.IntN(len(values))
		row, err := Recording{top: n}.Row(&whole)
		if err != nil {
			t.Fatal(err)
		}
		if n == len(values) {
			if !reflect.DeepEqual(row, whole) {
				t.Fatalf("round %d: a row of %d tokens changed", round, n)
			}
			continue
		}
		want, err := dist.Softmax(&whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dist.Softmax(&row)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range row.IDs {
			// A float32 logarithm below 32 is off by at most 2^-20.
			if p := want.P(id); !(math.Abs(got.P(id)-p) <= 2e-6*p) {
				t.Errorf("round %d: token %d has %v, want %v", round, id, got.P(id), p)
			}
			if rank := want.Rank(id); rank > n {
				t.Errorf("round %d: token %d of rank %d is kept by top:%d", round, id, rank, n)
			}
		}
		if len(row.IDs) != n {
			t.Errorf("round %d: %d tokens of %d", round, len(row.IDs), n)
		}
		if _, rest := want.Top(n); row.Unlisted != rest {
			t.Errorf("round %d: unlisted %v, want %v", round, row.Unlisted, rest)
		}
	}
}

func TestRecordingsAreRead(t *testing.T) {
	for _, text := range []string{"", "dense", "top:1", "top:1048576"} {
		r, err := ParseRecording(text)
		if err != nil || r.String() != text || r.Any() != (text != "") {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"sparse", "top", "top:", "top:0", "top:-1", "top:007", "top:1048577", "top:9e9", "Dense", "top: 3"} {
		if _, err := ParseRecording(text); err == nil || !strings.Contains(err.Error(), "is no recording") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Create(t.TempDir(), Manifest{Cells: 1, Samples: 1, Scores: "most"}, nil); err == nil {
		t.Error("a run keeps most")
	}
}

// Scores that are not what the run keeps are refused when they are put.
func TestScoresThatAreRefused(t *testing.T) {
	good := func() Record {
		r := Record{}
		r.Trace.Tokens = []int32{0}
		r.Scores = []dist.Scores{{Vocab: 5, IDs: []int32{1, 3}, Values: []float32{1, 2}}}
		return r
	}
	rows := []struct {
		name, scores string
		change       func(*Record)
		wants        string
	}{
		{"none are kept", "", func(*Record) {}, "1 rows of scores, not 0"},
		{"a row is missing", "top:2", func(r *Record) { r.Scores = nil }, "0 rows of scores, not 1"},
		{"a failure has some", "top:2", func(r *Record) { r.Failure = "no" }, "1 rows of scores, not 0"},
		{"too many tokens", "top:1", func(*Record) {}, "lists 2 tokens, more than the 1"},
		{"no number", "dense", func(r *Record) { r.Scores[0].Values[1] = float32(math.NaN()) }, "token 3 has score NaN"},
		{"out of order", "dense", func(r *Record) { r.Scores[0].IDs[0] = 4 }, "out of order"},
		{"fits", "top:2", func(*Record) {}, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := createWithScores(t, t.TempDir(), manifest(1, 1), row.scores)
			rec := good()
			row.change(&rec)
			err := r.Put(rec)
			if row.wants == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wants(t, err, row.wants)
		})
	}
}

// The estimates are what the log and the table take, but for what a record has
// beside scores.
func TestBytesPerStep(t *testing.T) {
	const vocabulary, steps = 5000, 100
	for _, scores := range []string{"dense", "top:40"} {
		keep, err := ParseRecording(scores)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		r := createWithScores(t, dir, manifest(1, 1), scores)
		rng := rand.New(rand.NewPCG(2, 3))
		var rec Record
		var e encoder
		for range steps {
			values := make([]float32, vocabulary)
			for i := range values {
				values[i] = float32(rng.NormFloat64() * 2.5)
			}
			whole := dist.NewDense(values)
			row, err := keep.Row(&whole)
			if err != nil {
				t.Fatal(err)
			}
			e.scores(&row)
			rec.Trace.Tokens, rec.Scores = append(rec.Trace.Tokens, 0), append(rec.Scores, row)
		}
		if err := r.Put(rec); err != nil {
			t.Fatal(err)
		}
		fill(t, r)
		// Ids take 1 to 3 bytes in the log, 4 in memory.
		if got, want := len(e.b), steps*int(keep.BytesPerStep(vocabulary)); got > want || got < want/2 {
			t.Errorf("%s: %d bytes in the log, estimated %d", scores, got, want)
		}
		info, err := os.Stat(filepath.Join(dir, scoresFile))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := float64(info.Size()), float64(steps*keep.TypicalFileBytesPerStep(vocabulary)); !(math.Abs(got/want-1) <= 0.25) { // typical is no more than that
			t.Errorf("%s: %v bytes in the table, estimated %v", scores, got, want)
		}
	}
}

// A run whose scores differ in one bit is told from the other, at the step.
func TestCompareScores(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	fillWithScores(t, createWithScores(t, a, manifest(3, 2), "dense"), 12)
	r := createWithScores(t, b, manifest(3, 2), "dense")
	other := madeWithScores(1, 0, 12)
	if len(other.Scores) < 2 {
		t.Fatal("choose another record")
	}
	v := &other.Scores[1].Values[0]
	*v = math.Nextafter32(*v, float32(math.Inf(-1)))
	if err := r.Put(other); err != nil {
		t.Fatal(err)
	}
	fillWithScores(t, r, 12)
	x, err := Open(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(x, y)
	if err != nil || c.Same != 5 || c.First == nil || c.First.Cell != 1 || c.First.Step != 1 || c.First.What != "the model gave other scores" {
		t.Errorf("%v, %v", c, err)
	}
}
