package yield

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"lab/core/cost"
	"lab/core/cost/tables"
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
	lengths     [][]int
	sessions    []store.Session
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
	axes := []string{"prompt", "temperature"}
	r, err := store.Create(dir, store.Manifest{Name: "test", Spec: json.RawMessage("{}"), Axes: axes, Cells: n, Samples: len(g.lengths[0]), Used: json.RawMessage("{}"), Lab: "test"},
		[]store.Column{{Name: "prompt", Values: g.prompt}, {Name: "search", Values: g.search}, {Name: "temperature", Values: g.temperature}})
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
	if len(g.sessions) == 0 {
		g.sessions = []store.Session{{}}
	}
	if err := r.Close(g.sessions[0]); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Sessions = g.sessions
	return s
}

// counted is a session that generated so many samples at 1 ms a prompt token, 10 ms a
// generated one and 1,000 FLOP each.
func counted(finished int) store.Session {
	return store.Session{Finished: finished, Usage: json.RawMessage(`{"prefill_tokens": 32, "decode_tokens": 100, "prefill_seconds": 0.032, "decode_seconds": 1, "flops": 132000}`)}
}

// plain is two temperatures at two prompts, three samples each, one of which failed.
func plain(sessions ...store.Session) grid {
	return grid{temperature: []any{0.5, 0.5, 1.0, 1.0}, prompt: []any{"a", "b", "a", "b"},
		lengths: [][]int{{3, 4, 5}, {4, 4, 4}, {9, 7, -1}, {6, 6, 7}}, sessions: sessions}
}

func TestCellsOfOneSettingAreOne(t *testing.T) {
	run := plain(counted(6), counted(5)).store(t)
	j, err := Stored(run, Quality{Name: "ended"}, Pricing{}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	if !j.Boolean || j.Set || j.Count || len(j.Settings) != 2 {
		t.Fatalf("%+v", j)
	}
	cold, hot := &j.Settings[0], &j.Settings[1]
	if cold.String() != "temperature=0.5" || len(cold.Prompts) != 2 || cold.attempts() != 6 || cold.Failed != 0 || hot.attempts() != 5 || hot.Failed != 1 {
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

// Amounts that nobody counted, or that cannot be told apart, are absent with the
// reason, and no row has them.
func TestWhatWasNotCountedIsAbsent(t *testing.T) {
	searching := plain(counted(6), counted(5))
	searching.search = []any{"", "", "beam:width=4", "beam:width=4"}
	silent := store.Session{Finished: 11, Usage: json.RawMessage(`{"prefill_tokens": 32, "decode_tokens": 100}`)}
	odd := store.Session{Finished: 11, Usage: json.RawMessage(`{"prefill_tokens": -32, "decode_tokens": 100}`)}
	for _, row := range []struct {
		name    string
		grid    grid
		setting int
		unit    Unit
		why     string
	}{
		{"no session counted", plain(store.Session{Finished: 11}), 0, Seconds, "counted no model calls"},
		{"a session is missing", plain(counted(6)), 0, FLOP, "account for 6 of 11 samples"},
		{"the backend counts no time", plain(silent), 0, Seconds, "counts none"},
		{"a count is none", plain(odd), 0, Seconds, "a count that is none"},
		{"a search beside other settings", searching, 1, Tokens, "a run of its own"},
		{"and what is beside it", searching, 0, Seconds, "a run of its own"},
	} {
		j, err := Stored(row.grid.store(t), Quality{Name: "ended"}, Pricing{Rent: &Rent{USDPerHour: 1}}, measure.Interval{})
		if err != nil {
			t.Fatal(err)
		}
		s := &j.Settings[row.setting]
		if _, there := s.Known[row.unit]; there || !strings.Contains(s.Absent[row.unit], row.why) {
			t.Errorf("%s: %v is known %v, absent because %q; want %q", row.name, row.unit, there, s.Absent[row.unit], row.why)
		}
		if _, there := s.Known[USD]; there && row.unit != FLOP {
			t.Errorf("%s: USD of hours are known without seconds", row.name)
		}
		r, err := Compute(j.Settings, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Rows {
			if r.Rows[i].Setting == row.setting && r.Rows[i].Amounts[row.unit] != nil {
				t.Errorf("%s: a row has %v", row.name, row.unit)
			}
		}
	}
}

// A run with one setting that searches shares what its sessions counted among its
// attempts: nothing of what was thrown away is lost.
func TestASearchAloneIsCounted(t *testing.T) {
	g := plain(counted(11))
	g.temperature, g.search = []any{1.0, 1.0, 1.0, 1.0}, []any{"beam", "beam", "beam", "beam"}
	g.prompt = []any{"a", "b", "c", "d"}
	j, err := Stored(g.store(t), Quality{Name: "ended"}, Pricing{}, measure.Interval{})
	if err != nil || len(j.Settings) != 1 {
		t.Fatalf("%+v (%v)", j, err)
	}
	total := map[Unit]float64{}
	for _, p := range j.Settings[0].Prompts {
		for _, a := range p.Attempts {
			for u := range j.Settings[0].Known {
				total[u] += a.Spent[u].Prompt + a.Spent[u].Own
			}
		}
	}
	for u, want := range map[Unit]float64{Tokens: 132, FLOP: 132000, Seconds: 1.032} {
		if !near(total[u], want, tiny) {
			t.Errorf("%v of %v were counted, and %v are told", want, u, total[u])
		}
	}
}

func TestPricesOfARun(t *testing.T) {
	shipped, err := tables.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := shipped.Price("gpt-4o", "2025-09-05") // 2.5 and 10 USD a million
	if err != nil {
		t.Fatal(err)
	}
	nemo, _, err := shipped.Price("mistral-nemo", "2026-08-05")
	if err != nil {
		t.Fatal(err)
	}
	run := plain(counted(11)).store(t)
	first := func(p Pricing) (Attempt, Setting, error) {
		j, err := Stored(run, Quality{Name: "length_tokens"}, p, measure.Interval{})
		if err != nil {
			return Attempt{}, Setting{}, err
		}
		return j.Settings[0].Prompts[0].Attempts[0], j.Settings[0], nil // 8 tokens of prompt and 3
	}
	a, s, err := first(Pricing{List: &list})
	if err != nil || !near(a.Spent[USD].Prompt, 8*2.5e-6, tiny) || !near(a.Spent[USD].Own, 3*10e-6, tiny) {
		t.Errorf("by the list: %+v (%v)", a.Spent[USD], err)
	}
	if src := s.Known[USD]; src.Kind != cost.Scenario || !strings.Contains(src.Note, "2025-09-05") {
		t.Errorf("%+v does not say of when the price is", src)
	}
	if a, _, err = first(Pricing{Rent: &Rent{USDPerHour: 3600, Note: "a bill"}, Power: &cost.Power{Watts: 100, Load: 0.5, PUE: 1.2}}); err != nil || // a dollar a second, 60 W
		!near(a.Spent[USD].Prompt, 0.008, tiny) || !near(a.Spent[USD].Own, 0.02, tiny) || !near(a.Spent[Joules].Own, 1.2, tiny) {
		t.Errorf("by the hour: %+v, %+v (%v)", a.Spent[USD], a.Spent[Joules], err)
	}
	for _, row := range []struct {
		name string
		p    Pricing
		want string
	}{
		{"two prices", Pricing{List: &list, Rent: &Rent{USDPerHour: 1}}, "one of the two"},
		{"an hour for nothing", Pricing{Rent: &Rent{}}, "above 0"},
		{"batch rates of nothing", Pricing{Batch: true}, "without a price"},
		{"a batch rate that is not listed", Pricing{List: &nemo, Batch: true}, "not taken as free"},
		{"a power that is none", Pricing{Power: &cost.Power{Watts: -1, Load: 1, PUE: 1}}, "watts"},
	} {
		if _, _, err := first(row.p); fault.KindOf(err) != fault.Usage || !contains(err, row.want) {
			t.Errorf("%s: %v, want a usage error with %q", row.name, err, row.want)
		}
	}
}

// On another model the tokens are the same, FLOP are those of core/cost, and time is
// a floor.
func TestTokensOnAnotherModel(t *testing.T) {
	shipped, err := tables.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	model, err := shipped.Model("llama-3-8b")
	if err != nil {
		t.Fatal(err)
	}
	arch, err := model.Architecture()
	if err != nil {
		t.Fatal(err)
	}
	h100, err := shipped.Hardware("h100")
	if err != nil {
		t.Fatal(err)
	}
	device, err := h100.Device("bf16", 1)
	if err != nil {
		t.Fatal(err)
	}
	serving := cost.Serving{Format: cost.Format{Weight: 2, Cache: 2, Activation: 2}, Device: device, Efficiency: cost.Floor()}
	j, err := Stored(plain().store(t), Quality{Name: "length_tokens"}, Pricing{As: &Served{Name: "llama-3-8b", Arch: arch, Serving: serving, Batch: 4}}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	s := j.Settings[0]
	a := s.Prompts[0].Attempts[2] // 8 tokens of prompt and 5
	prefill, err := arch.Prefill(cost.Prefill{New: 8}, cost.Convention{})
	if err != nil {
		t.Fatal(err)
	}
	decode := 0.0
	for c := int64(9); c <= 12; c++ {
		one, err := arch.Decode(c, cost.Convention{})
		if err != nil {
			t.Fatal(err)
		}
		decode += one
	}
	if got := a.Spent[FLOP]; !near(got.Prompt, prefill, tiny) || !near(got.Own, decode, tiny) {
		t.Errorf("%+v FLOP, want %v and %v", got, prefill, decode)
	}
	weights := 2 * (8030261248.0 - 128256*4096) / 3.35e12 // bytes of all but the embedding over bandwidth
	if got := a.Spent[Seconds].Own; !(got >= 4*weights/4 && got < 1.01*4*weights/4) {
		t.Errorf("4 steps of a batch of 4 take %v s each sequence, want hardly more than reading the weights, %v s", got, weights)
	}
	if s.Known[Seconds].Kind != cost.Bound || s.Known[FLOP].Kind != cost.Exact {
		t.Errorf("%+v", s.Known)
	}
}

func TestValuesOfATable(t *testing.T) {
	run := plain(counted(11)).store(t)
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
	j, err := Stored(plain(counted(11)).store(t), Quality{Name: "unique_outputs"}, Pricing{}, measure.Interval{})
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
	j, err := Stored(plain(counted(11)).store(t), Quality{Name: "ended"}, Pricing{}, measure.Interval{})
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
