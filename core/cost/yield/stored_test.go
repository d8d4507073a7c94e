package yield

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"lab/core/cost"
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
	"lab/core/table"
	"lab/core/trace"
)

// grid is a run to be stored: cells by settings, prompts and searches; sample i of
// cell c has lengths[c][i] tokens, a failure where that is negative.
type grid struct {
	temperature []any
	prompt      []any
	search      []any
	model       []any
	lengths     [][]int
	cost        func(cell, sample, length int) *trace.Cost
}

func (g grid) store(t *testing.T) *store.Stored {
	t.Helper()
	dir := t.TempDir()
	n := len(g.lengths)
	if g.search == nil {
		g.search = make([]any, n)
		for i := range g.search {
			g.search[i] = ""
		}
	}
	if g.model == nil {
		g.model = make([]any, n)
		for i := range g.model {
			g.model[i] = "tiny"
		}
	}
	axes := []string{"prompt", "temperature"}
	r, err := store.Create(dir, store.Manifest{Name: "test", Spec: json.RawMessage("{}"), Axes: axes, Cells: n, Samples: len(g.lengths[0]), Used: json.RawMessage("{}"), Lab: "test"},
		[]store.Column{{Name: "prompt", Values: g.prompt}, {Name: "model", Values: g.model}, {Name: "search", Values: g.search}, {Name: "temperature", Values: g.temperature}})
	if err != nil {
		t.Fatal(err)
	}
	for cell, lengths := range g.lengths {
		for i, length := range lengths {
			rec := store.Record{Cell: cell, Sample: i, PromptTokens: 8, Failure: "it failed"}
			if length >= 0 {
				rec.Failure = ""
				tokens := make([]int32, length)
				for j := range tokens {
					tokens[j] = int32(j)
				}
				stop := trace.MaxTokens
				if length%2 == 1 {
					stop = trace.EndOfText
				}
				if g.cost != nil {
					rec.Cost = g.cost(cell, i, length)
				}
				rec.Trace = trace.Sample{Sample: uint64(i), Tokens: tokens, Text: strings.Repeat("x", length), Stop: trace.Stop{Reason: stop}}
			}
			if err := r.Put(rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(store.Session{}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// alone is what a sample took that shared nothing but the prompt with two others: 1 ms
// a prompt token, 10 ms a generated one but the first, and 1,000 FLOP each.
func alone(_, sample, length int) *trace.Cost {
	steps := float64(length - 1)
	return &trace.Cost{PrefillTokens: 8.0 / 3, CachedTokens: 16.0 / 3, PrefillSeconds: 0.008 / 3, DecodeTokens: steps, DecodeSeconds: 0.01 * steps, FLOPs: 1000 * (steps + 8.0/3)}
}

// plain is two temperatures at two prompts, three samples each, one of which failed.
func plain(cost func(cell, sample, length int) *trace.Cost) grid {
	return grid{temperature: []any{0.5, 0.5, 1.0, 1.0}, prompt: []any{"a", "b", "a", "b"},
		lengths: [][]int{{3, 4, 5}, {4, 4, 4}, {9, 7, -1}, {6, 6, 7}}, cost: cost}
}

func TestCellsOfOneSettingAreOne(t *testing.T) {
	run := plain(alone).store(t)
	j, err := Stored(run, Quality{Name: "ended"}, Pricing{}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	if !j.Boolean || j.Set || j.Count || len(j.Settings) != 2 {
		t.Fatalf("%+v", j)
	}
	cold, hot := &j.Settings[0], &j.Settings[1]
	if cold.String() != "temperature=0.5" || len(cold.Prompts) != 2 || cold.Attempts() != 6 || cold.Failed != 0 || hot.Attempts() != 5 || hot.Failed != 1 {
		t.Fatalf("%v, %v", cold, hot)
	}
	if got := cold.Prompts[0].Attempts[2]; got.Value != 1 { // of 5 tokens: it ended
		t.Errorf("its value is %v, want 1", got.Value)
	}
	a := cold.Prompts[0].Attempts[2] // 8 tokens of prompt, 5 of completion, the first of which comes with the prompt
	for _, row := range []struct {
		u           Unit
		prompt, own float64
	}{{Tokens, 8, 5}, {FLOP, 8000, 4000}, {Seconds, 0.008, 0.04}} {
		if s := a.Spent[row.u]; !near(s.Prompt, row.prompt, tiny) || !near(s.Own, row.own, tiny) {
			t.Errorf("%v: %+v, want %v and %v", row.u, s, row.prompt, row.own)
		}
	}
	if cold.Known[Seconds].Kind != cost.Measured || cold.Known[Tokens].Kind != cost.Exact {
		t.Errorf("%+v", cold.Known)
	}
	for _, u := range []Unit{Joules, USD} {
		if _, there := cold.Known[u]; there || cold.Absent[u] == "" {
			t.Errorf("%v are known, and nobody gave a price", u)
		}
	}
}

func TestValuesOfATable(t *testing.T) {
	run := plain(alone).store(t)
	column := func(list ...any) *table.Column {
		c, err := table.FromAny("test", "x", list)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	values := func(cells, samples, x *table.Column) *table.Table {
		tab, err := table.New(table.Named{Name: "cell", Column: cells}, table.Named{Name: "sample", Column: samples}, table.Named{Name: "right", Column: x})
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	good := values(column(int64(0), int64(0), int64(1)), column(int64(0), int64(2), int64(1)), column(true, false, true))
	j, err := Stored(run, Quality{Name: "right", Values: good}, Pricing{}, measure.Interval{})
	if err != nil || !j.Boolean {
		t.Fatalf("%+v (%v)", j, err)
	}
	got := j.Settings[0].Prompts[0].Attempts
	if got[0].Value != 1 || !math.IsNaN(got[1].Value) || got[2].Value != 0 {
		t.Errorf("%v, %v, %v; want 1, none, 0", got[0].Value, got[1].Value, got[2].Value)
	}
	for _, row := range []struct {
		name   string
		values *table.Table
		column string
		want   string
	}{
		{"an unknown column", good, "wrong", "wrong"},
		{"a sample twice", values(column(int64(0), int64(0)), column(int64(1), int64(1)), column(1.0, 2.0)), "right", "twice"},
		{"texts", values(column(int64(0)), column(int64(1)), column("yes")), "right", "type string"},
		{"a cell that is none", values(column(0.5), column(int64(1)), column(1.0)), "right", "whole numbers"},
		{"another run's samples", values(column(int64(7)), column(int64(1)), column(1.0)), "right", "no value of the table"},
	} {
		if _, err := Stored(run, Quality{Name: row.column, Values: row.values}, Pricing{}, measure.Interval{}); fault.KindOf(err) != fault.Usage || !contains(err, row.want) {
			t.Errorf("%s: %v, want a usage error with %q", row.name, err, row.want)
		}
	}
	if _, err := Stored(run, Quality{Name: "endet"}, Pricing{}, measure.Interval{}); fault.KindOf(err) != fault.Usage || !contains(err, `"ended"`) {
		t.Errorf("an unknown measure: %v", err)
	}
}

func TestDiversityOfARun(t *testing.T) {
	j, err := Stored(plain(alone).store(t), Quality{Name: "unique_outputs"}, Pricing{}, measure.Interval{})
	if err != nil || !j.Set || !j.Count {
		t.Fatalf("%+v (%v)", j, err)
	}
	r, err := Compute(j.Settings, Options{Count: j.Count})
	if err != nil || len(r.Rows) != 2 {
		t.Fatalf("%+v (%v)", r, err)
	}
	if q := r.Rows[0].Quality; q.Value != 2 { // 3 of the first prompt, 1 of the second
		t.Errorf("%v distinct outputs on average, want 2", q.Value)
	}
	if q := r.Rows[0].Amounts[Tokens].QualityPer; !near(q.Value, 2.0/20, tiny) { // against 8 + 3 x 4 tokens
		t.Errorf("%v per token, want %v", q.Value, 2.0/20)
	}
}

func TestReportIsATable(t *testing.T) {
	j, err := Stored(plain(alone).store(t), Quality{Name: "ended"}, Pricing{}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compute(j.Settings, Options{AtLeast: at(1), N: []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := r.Table()
	if err != nil || tab.Rows() != 4 {
		t.Fatalf("%v (%v)", tab, err)
	}
	for _, name := range []string{"temperature", "n", "attempts", "failed", "quality", "useful_lo", "tries", "tokens_hi", "seconds_per_useful", "flop_until", "quality_per_seconds", "front"} {
		if !tab.Has(name) {
			t.Errorf("there is no column %s", name)
		}
	}
	for _, name := range []string{"usd", "joules"} {
		if tab.Has(name) {
			t.Errorf("there is a column %s, and nothing is known of it", name)
		}
	}
	row, err := tab.Row(1)
	if err != nil || row["temperature"] != 0.5 || row["n"] != int64(2) || row["attempts"] != int64(6) || row["front"] == nil {
		t.Errorf("%v (%v)", row, err)
	}
	j.Settings[0].Axes = []Axis{{"tokens_lo", 1.0}}
	if _, err := r.Table(); fault.KindOf(err) != fault.Usage {
		t.Errorf("an axis that is called like a column: %v, want a usage error", err)
	}
}
