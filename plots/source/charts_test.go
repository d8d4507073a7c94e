package source

import (
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/store"
	"lab/plots"
)

// pick returns some columns of a figure's table.
func pick(t *testing.T, r Request, names ...string) [][]string {
	t.Helper()
	f, err := Draw(r)
	if err != nil {
		t.Fatal(err)
	}
	table := f.Table()
	var out [][]string
	for _, row := range table.Rows {
		var cells []string
		for _, name := range names {
			i := slices.Index(table.Header, name)
			if i < 0 {
				t.Fatalf("no column %s in %q", name, table.Header)
			}
			cells = append(cells, row[i])
		}
		out = append(out, cells)
	}
	return out
}

// Cell c of the made run has the entropy c, takes 1 token of prefill, 10, 11 and
// 12 of decode, c seconds of decode and 100 (c + 1) FLOP; cell 1 failed.
func TestChartsOfARun(t *testing.T) {
	runs := []*store.Stored{stored(t, true)}
	entropy := map[string]string{"value": "sampling_entropy_bits"}
	with := func(more ...string) map[string]string {
		set := map[string]string{"value": "sampling_entropy_bits"}
		for i := 0; i < len(more); i += 2 {
			set[more[i]] = more[i+1]
		}
		return set
	}
	for _, c := range []struct {
		name, figure string
		set          map[string]string
		columns      []string
		want         [][]string
	}{
		{"a bar for every cell", "bar", entropy, []string{"temperature, top_k", "sampling_entropy_bits"},
			[][]string{{"temperature␣2␣·␣top_k␣40", "0"}, {"temperature␣2␣·␣top_k␣5", "NaN"}, {"temperature␣0.5␣·␣top_k␣40", "2"},
				{"temperature␣0.5␣·␣top_k␣5", "3"}, {"temperature␣none␣·␣top_k␣40", "4"}, {"temperature␣none␣·␣top_k␣5", "NaN"}}},
		{"a line for every other setting", "line", entropy, []string{"top_k", "temperature", "sampling_entropy_bits"},
			[][]string{{"top_k 40", "2", "0"}, {"top_k 40", "0.5", "2"}, {"top_k 5", "2", "NaN"}, {"top_k 5", "0.5", "3"}}},
		{"a line over the setting named", "line", with("x", "top_k"), []string{"temperature", "top_k", "sampling_entropy_bits"},
			[][]string{{"temperature 2", "40", "0"}, {"temperature 2", "5", "NaN"}, {"temperature 0.5", "40", "2"}, {"temperature 0.5", "5", "3"},
				{"temperature none", "40", "4"}, {"temperature none", "5", "NaN"}}},
		{"samples by a setting", "violin", with("by", "top_k"), []string{"sample", "n", "median"}, [][]string{{"top_k 40", "9", "2"}, {"top_k 5", "3", "3"}}},
		{"the bill in tokens", "cost_bill", map[string]string{"by": "top_k"}, []string{"strategy", "part", "cost"},
			[][]string{{"top_k 40", "prefill", "1"}, {"top_k 40", "decode", "11"}, {"top_k 5", "prefill", "1"}, {"top_k 5", "decode", "11"}}},
		{"the bill in seconds", "cost_bill", map[string]string{"by": "top_k", "unit": "s"}, []string{"strategy", "part", "cost"},
			[][]string{{"top_k 40", "prefill", "0.25"}, {"top_k 40", "decode", "2"}, {"top_k 5", "prefill", "0.25"}, {"top_k 5", "decode", "3"}}},
		{"the bill in FLOP", "cost_bill", map[string]string{"by": "top_k", "unit": "FLOP"}, []string{"strategy", "part", "cost"},
			[][]string{{"top_k 40", "prefill and decode", "300"}, {"top_k 5", "prefill and decode", "400"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := pick(t, Request{Figure: c.figure, Runs: runs, Set: c.set}, c.columns...); !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	var points [][]string
	for _, row := range pick(t, Request{Figure: "cost_quality", Runs: runs, Set: with("by", "top_k", "unit", "FLOP")}, "kind", "series", "cost", "sampling_entropy_bits", "label") {
		if row[0] == "measured" {
			points = append(points, row[1:])
		}
	}
	if want := [][]string{{"top_k 40", "100", "0", "temperature 2"}, {"top_k 40", "300", "2", "temperature 0.5"}, {"top_k 40", "500", "4", "temperature none"},
		{"top_k 5", "NaN", "NaN", "temperature 2"}, {"top_k 5", "400", "3", "temperature 0.5"}, {"top_k 5", "NaN", "NaN", "temperature none"}}; !slices.EqualFunc(points, want, slices.Equal) {
		t.Errorf("quality over cost\ngot  %q\nwant %q", points, want)
	}
}

func TestChartsOfARunRefuse(t *testing.T) {
	run := stored(t, false)
	bare := storedRun(t, false, false)
	for _, c := range []struct {
		name, figure string
		run          *store.Stored
		set          map[string]string
		want         string
	}{
		{"cells that nothing tells apart", "bar", run, map[string]string{"by": "top_k"}, `cells 0 and 2 are both "top_k 40"; the grid varies temperature, top_k`},
		{"two values at one place of a line", "line", run, map[string]string{"by": "prompt"}, "cells 0 and 1 are both"},
		{"an axis that is not there", "line", run, map[string]string{"x": "min_p"}, "the run lacks the column min_p"},
		{"nothing counted", "cost_bill", bare, nil, "the run lacks the columns prefill_tokens, decode_tokens: nothing was counted while it ran"},
		{"no seconds counted", "cost_quality", bare, map[string]string{"unit": "s"}, "the run lacks the columns prefill_seconds, decode_seconds"},
		{"a unit", "cost_bill", run, map[string]string{"unit": "USD"}, `unknown value of unit "USD"`},
		{"a measure of steps", "hist", run, map[string]string{"value": "sampling_entropy_bits"}, "ledger"},
	} {
		if _, err := Draw(Request{Figure: c.figure, Runs: []*store.Stored{c.run}, Set: c.set}); err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Every figure of the catalogue is either drawn from a run or says what it needs
// that a run does not hold.
func TestEveryFigureIsOfARunOrSaysWhyNot(t *testing.T) {
	for _, e := range plots.Catalogue() {
		drawn := slices.ContainsFunc(Figures(), func(f RunFigure) bool { return f.Name == e.Name })
		why, said := beyondRuns[e.Name]
		if drawn == said {
			t.Errorf("%s: drawn from a run %v, says why not %v", e.Name, drawn, said)
		}
		if !said {
			continue
		}
		if _, err := Draw(Request{Figure: e.Name}); err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), e.Call) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	if n := len(Figures()) + len(beyondRuns); n != len(plots.Catalogue()) {
		t.Errorf("%d figures are drawn or excused, the catalogue has %d", n, len(plots.Catalogue()))
	}
}
