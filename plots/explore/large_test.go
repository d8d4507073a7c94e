package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/seed"
)

var update = flag.Bool("update", false, "rewrite testdata/large.json")

// large is what the core makes of a row of the largest usual vocabulary. The test
// in a browser computes the row by the same rule and holds the page to it.
type large struct {
	Vocab  int         `json:"vocab"`
	Trials []largeCase `json:"trials"`
}

type largeCase struct {
	Chain   string  `json:"chain"`
	Support []int   `json:"support"` // after each stage
	Drawn   []int32 `json:"drawn"`   // under seeds 0, 1, … for the prompt "p"
}

// largeRow is a row of bell-shaped scores: a sum of four numbers of the
// congruential generator of Numerical Recipes for each token.
func largeRow(vocab int) []float32 {
	row, x := make([]float32, vocab), uint32(8)
	for i := range row {
		sum := 0.0
		for range 4 {
			x = x*1664525 + 1013904223
			sum += float64(x) / (1 << 32)
		}
		row[i] = float32((sum - 2) * 6)
	}
	return row
}

func TestLargeRowsForTheBrowserAreTheCores(t *testing.T) {
	const file = "testdata/large.json"
	got := large{Vocab: 262144}
	row := largeRow(got.Vocab)
	for _, text := range []string{"temperature:1", "temperature:0.7", "top_k:200", "top_p:0.9", "min_p:0.01", "typical:0.9", "top_n_sigma:2.5",
		"temperature:1.3 | top_k:20000 | typical:0.95 | top_p:0.9 | min_p:0.001 | top_n_sigma:3"} {
		r := largeCase{Chain: text}
		for n := range uint64(20) {
			in := &chain.Row{Scores: dist.NewDense(slices.Clone(row)), History: []int32{0}, Prompt: 1, Stream: seed.New(n, []byte("p"))}
			if err := build(t, text).Apply(context.Background(), []*chain.Row{in}, chain.Options{Ledger: n == 0}); err != nil {
				t.Fatal(err)
			}
			r.Drawn = append(r.Drawn, in.Chosen)
			if n == 0 {
				for _, l := range in.Ledger[:len(in.Ledger)-1] {
					r.Support = append(r.Support, l.Change.SupportAfter)
				}
			}
		}
		got.Trials = append(got.Trials, r)
	}
	data, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("%s is not what the core gives; look why, then run with -update", file)
	}
}
