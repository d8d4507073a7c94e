package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// steps is a table like that of a run's steps: cells of 64 samples of 100 tokens.
func steps(tb testing.TB, rows int) *Table {
	r := rand.New(rand.NewPCG(1, 2))
	cell, sample, step, token, piece := make([]string, rows), make([]int64, rows), make([]int64, rows), make([]int64, rows), make([]string, rows)
	vocabulary := make([]string, 5000)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprintf(" piece%d", i)
	}
	for i := range rows {
		cell[i], sample[i], step[i] = fmt.Sprintf("temperature=%d", i/6400), int64(i/100%64), int64(i%100)
		token[i] = int64(float64(len(vocabulary)) * math.Pow(r.Float64(), 3))
		piece[i] = vocabulary[token[i]]
	}
	cols := []Named{{"cell", Of(cell)}, {"sample", Of(sample)}, {"step", Of(step)}, {"token", Of(token)}, {"piece", Of(piece)}}
	for _, name := range []string{"surprisal_bits", "entropy_bits", "p", "q", "kept_mass", "kl_bits", "tv", "seconds"} {
		v := make([]float64, rows)
		for i := range v {
			v[i] = r.ExpFloat64()
		}
		cols = append(cols, Named{name, Of(v)})
	}
	t, err := New(cols...)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// The wanted ratio of reading and grouping a million rows to reading them is at
// most 3.
func BenchmarkReadAndGroup(b *testing.B) {
	path := filepath.Join(b.TempDir(), "steps.parquet")
	if err := steps(b, 1_000_000).Save(path); err != nil {
		b.Fatal(err)
	}
	var read, both time.Duration
	for b.Loop() {
		begin := time.Now()
		t, err := ReadFile(path, CSV{})
		if err != nil {
			b.Fatal(err)
		}
		read += time.Since(begin)
		g, err := t.Group("cell", "sample")
		if err != nil {
			b.Fatal(err)
		}
		var list []Aggregation
		for _, name := range t.Names()[5:] {
			list = append(list, Aggregation{Name: name, Function: "mean", Column: name})
		}
		if _, err := g.Aggregate(list...); err != nil {
			b.Fatal(err)
		}
		both += time.Since(begin)
	}
	b.ReportMetric(both.Seconds()/read.Seconds(), "read+group/read")
	b.ReportMetric(read.Seconds()/float64(b.N), "read-s")
}

func BenchmarkOperations(b *testing.B) {
	t := steps(b, 1_000_000)
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"sort by a float", func() error { _, err := t.Sort(Key{"p", true}); return err }},
		{"derive by an expression", func() error { _, err := t.Evaluate("-log2(p) * q + 1"); return err }},
		{"where", func() error { _, err := t.Where(Condition{"step", "<", int64(10)}); return err }},
		{"join by token", func() error {
			u, err := t.Unique("token")
			if err != nil {
				return err
			}
			_, err = t.Join(u, Join{On: []string{"token"}, Kind: "left"})
			return err
		}},
		{"medians", func() error {
			g, err := t.Group("cell", "sample")
			if err != nil {
				return err
			}
			_, err = g.Aggregate(Aggregation{Name: "m", Function: "median", Column: "p"})
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
