package yield

import (
	"strings"
	"testing"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/trace"
)

// What a sample shared with others is what it would have taken alone: tokens that
// two samples had in common are paid for by halves, and count as whole ones here. Further passes
// are tokens of its own.
func TestSharedCallsCountAsWholeOnes(t *testing.T) {
	halves := func(cell, sample, length int) *trace.Cost {
		c := alone(cell, sample, length)
		c.DecodeTokens, c.DecodeSeconds = c.DecodeTokens/2, c.DecodeSeconds/2
		c.FLOPs = 1000 * (c.PrefillTokens + c.DecodeTokens)
		return c
	}
	guided := func(cell, sample, length int) *trace.Cost {
		c := alone(cell, sample, length)
		c.DecodeTokens, c.DecodeSeconds = c.DecodeTokens*2, c.DecodeSeconds*2
		c.FLOPs = 1000 * (c.PrefillTokens + c.DecodeTokens)
		return c
	}
	for _, row := range []struct {
		name   string
		cost   func(cell, sample, length int) *trace.Cost
		factor float64
	}{{"shared by two", halves, 1}, {"with a further pass", guided, 2}} {
		j, err := Stored(plain(row.cost).store(t), Quality{Name: "ended"}, Pricing{}, measure.Interval{})
		if err != nil {
			t.Fatal(err)
		}
		a := j.Settings[0].Prompts[0].Attempts[2] // 4 steps
		if s := a.Spent[Seconds]; !near(s.Own, 0.04*row.factor, tiny) || !near(s.Prompt, 0.008, tiny) {
			t.Errorf("%s: %+v s, want %v", row.name, s, 0.04*row.factor)
		}
		if f := a.Spent[FLOP]; !near(f.Own, 4000*row.factor, tiny) || !near(f.Prompt, 8000, tiny) {
			t.Errorf("%s: %+v FLOP, want %v", row.name, f, 4000*row.factor)
		}
	}
}

// Prompts have the rate of their own model.
func TestModelsHaveTheirOwnRates(t *testing.T) {
	g := plain(func(cell, sample, length int) *trace.Cost {
		c := alone(cell, sample, length)
		if cell >= 2 {
			c.PrefillSeconds *= 10
		}
		return c
	})
	g.model = []any{"small", "small", "large", "large"}
	j, err := Stored(g.store(t), Quality{Name: "ended"}, Pricing{}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.008, 0.08} {
		if got := j.Settings[i].Prompts[0].Attempts[0].Spent[Seconds].Prompt; !near(got, want, tiny) {
			t.Errorf("setting %d: a prompt takes %v s, want %v", i, got, want)
		}
	}
}

// Amounts that nobody counted are absent with the reason, and no row has them.
func TestWhatWasNotCountedIsAbsent(t *testing.T) {
	some := func(cell, sample, length int) *trace.Cost {
		if cell == 3 && sample == 2 {
			return nil
		}
		return alone(cell, sample, length)
	}
	silent := func(cell, sample, length int) *trace.Cost {
		c := alone(cell, sample, length)
		c.PrefillSeconds, c.DecodeSeconds, c.FLOPs = 0, 0, 0
		return c
	}
	searching := plain(nil)
	searching.search = []any{"", "", "beam:width=4", "beam:width=4"}
	for _, row := range []struct {
		name    string
		grid    grid
		setting int
		unit    Unit
		why     string
	}{
		{"no sample counted", plain(nil), 0, Seconds, noCost},
		{"one sample did not", plain(some), 0, FLOP, noCost},
		{"the backend counts no time", plain(silent), 0, Seconds, noCount},
		{"a search that nobody counted", searching, 1, Tokens, noCost},
	} {
		j, err := Stored(row.grid.store(t), Quality{Name: "ended"}, Pricing{Rent: &Rent{USDPerHour: 1}}, measure.Interval{})
		if err != nil {
			t.Fatal(err)
		}
		s := &j.Settings[row.setting]
		if _, there := s.Known[row.unit]; there || s.Absent[row.unit] != row.why {
			t.Errorf("%s: %v is known %v, absent because %q; want %q", row.name, row.unit, there, s.Absent[row.unit], row.why)
		}
		if _, there := s.Known[USD]; there {
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

// Of a search all that it evaluated is told, and nothing is shared.
func TestASearchIsCountedWhole(t *testing.T) {
	g := plain(func(_, _, length int) *trace.Cost {
		return &trace.Cost{PrefillTokens: 20, DecodeTokens: 100, CachedTokens: 8, PrefillSeconds: 0.02, DecodeSeconds: 1, FLOPs: 120e3}
	})
	g.search = []any{"", "", "beam:width=4", "beam:width=4"}
	shipped, err := tables.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := shipped.Price("gpt-4o", "2025-09-05")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Stored(g.store(t), Quality{Name: "ended"}, Pricing{List: &list}, measure.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	a := j.Settings[1].Prompts[0].Attempts[0] // of 9 tokens
	for u, want := range map[Unit]Spend{Tokens: {0, 120}, FLOP: {0, 120e3}, Seconds: {0, 1.02}, USD: {8 * 2.5e-6, 120 * 10e-6}} {
		if got := a.Spent[u]; !near(got.Prompt, want.Prompt, tiny) || !near(got.Own, want.Own, tiny) {
			t.Errorf("%v: %+v, want %+v", u, got, want)
		}
	}
	// Proposals of a draft are no output, and are nothing that another model would do.
	model, err := shipped.Model("gpt2")
	if err != nil {
		t.Fatal(err)
	}
	arch, err := model.Architecture()
	if err != nil {
		t.Fatal(err)
	}
	g.search = []any{"speculative:gamma=4", "speculative:gamma=4", "speculative", "speculative"}
	if j, err = Stored(g.store(t), Quality{Name: "ended"}, Pricing{List: &list, As: &Served{Arch: arch, Batch: 1}}, measure.Interval{}); err != nil {
		t.Fatal(err)
	}
	s := j.Settings[1]
	if _, there := s.Known[FLOP]; there || !strings.Contains(s.Absent[Seconds], "counted together") {
		t.Errorf("%+v, %+v", s.Known, s.Absent)
	}
	if got := s.Prompts[0].Attempts[0].Spent; !near(got[USD].Own, 9*10e-6, tiny) || got[Tokens].Own != 120 {
		t.Errorf("%+v, want 9 tokens billed and 120 evaluated", got)
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
	run := plain(alone).store(t)
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
		{"another model without widths", Pricing{As: &Served{Batch: 1}}, "no architecture"},
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
	serving := cost.Serving{Format: cost.Format{Weight: 2, Cache: 2}, Device: device, Efficiency: cost.Floor()}
	j, err := Stored(plain(nil).store(t), Quality{Name: "length_tokens"}, Pricing{As: &Served{Name: "llama-3-8b", Arch: arch, Serving: serving, Batch: 4}}, measure.Interval{})
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

// A batch of one prompt takes what core/cost says of it, many prompts together hardly
// more than their arithmetic, and none less.
func TestPromptsOfABatch(t *testing.T) {
	shipped, err := tables.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llama-3-8b", "mixtral-8x7b"} {
		model, err := shipped.Model(name)
		if err != nil {
			t.Fatal(err)
		}
		arch, err := model.Architecture()
		if err != nil {
			t.Fatal(err)
		}
		m := Served{Arch: arch, Serving: cost.Serving{Format: cost.Format{Weight: 2, Cache: 2}, Device: cost.Device{Peak: 1e15, Bandwidth: 3e12, Chips: 2}, Efficiency: cost.Floor(), Routing: cost.Expected}}
		for _, tokens := range []int64{1, 7, 300, 4000} {
			p := cost.Prefill{New: tokens}
			flop, err := arch.Prefill(p, cost.Convention{})
			if err != nil {
				t.Fatal(err)
			}
			m.Batch = 1
			one, err := m.prompt(tokens, flop)
			if err != nil {
				t.Fatal(err)
			}
			want, err := arch.Prompt(p, 0, m.Serving)
			if err != nil || !near(one, want, tiny) {
				t.Errorf("%s: %d tokens take %v s, want %v (%v)", name, tokens, one, want, err)
			}
			m.Batch = 1 << 16
			many, err := m.prompt(tokens, flop)
			if err != nil || !(many >= flop/2e15 && many < 1.1*flop/2e15 && many <= one*(1+tiny)) { // the cache is written as well
				t.Errorf("%s: %d tokens take %v s in a large batch, want hardly more than %v, and not more than %v (%v)", name, tokens, many, flop/2e15, one, err)
			}
		}
	}
}
