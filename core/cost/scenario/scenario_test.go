package scenario

import (
	"math"
	"strings"
	"testing"
	"time"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
)

const day = tables.Date("2026-12-03")

func shipped(t testing.TB) *tables.Tables {
	t.Helper()
	x, err := tables.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func resolved(t testing.TB, s Setup) *Resolved {
	t.Helper()
	r, err := s.Resolve(shipped(t), day)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func estimate(t testing.TB, r Request) *Answer {
	t.Helper()
	a, err := Estimate(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func value(t testing.TB, a *Answer, name string) cost.Quantity {
	t.Helper()
	q, ok := a.Get(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return q
}

func near(t testing.TB, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) { // rounding of a few operations
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}

var draws = Draws{N: 400, Seed: 3}

func known(v float64) *cost.Uncertain { u := cost.Known(v); return &u }

func TestAnEstimateAgreesWithTheFormulasOneByOne(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		r := resolved(t, Setup{Model: "llama-3-8b", Hardware: "h100", Overlap: overlap, Load: known(0.7), PUE: known(1.2), USDPerHour: known(2)})
		a := estimate(t, r.Request(1000, 200, 50, 2, 8, draws))
		s := cost.Serving{Format: *r.Format, Device: r.Serving.Device, Efficiency: cost.Floor(), Model: r.Serving.Model, Routing: cost.Expected}
		ttft, err := r.Arch.Prompt(cost.Prefill{New: 1000, Cached: 200}, 0, s)
		if err != nil {
			t.Fatal(err)
		}
		decode := 0.0
		for i := int64(1); i < 50; i++ {
			x, err := r.Arch.Step(1200+i, 8, s)
			if err != nil {
				t.Fatal(err)
			}
			decode += x.Total
		}
		near(t, "ttft", value(t, a, "ttft").Value, ttft)
		near(t, "tpot", value(t, a, "tpot").Value, decode/49)
		near(t, "e2e", value(t, a, "e2e").Value, ttft+decode)
		chips := ttft + decode*2/8
		near(t, "chip-seconds", value(t, a, "chip_seconds").Value, chips)
		near(t, "energy", value(t, a, "energy").Value, chips*700*0.7*1.2)
		near(t, "rent", value(t, a, "usd_rented").Value, chips/3600*2)
		x, err := r.Arch.SampleOperations(1200, 50, 2, false, cost.Convention{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "decode FLOP", value(t, a, "decode_flop").Value, 2*x.Decode)
		for _, name := range []string{"ttft", "tpot", "e2e", "mbu"} {
			if q := value(t, a, name); q.Kind != cost.Bound || q.HasBand() {
				t.Errorf("%s of a floor: %+v", name, q)
			}
		}
	}
}

// What was not given is absent with a reason, never zero.
func TestWhatWasNotGivenIsAbsent(t *testing.T) {
	a := estimate(t, Request{Arch: resolved(t, Setup{Model: "gpt2"}).Arch, Prompt: 10, Output: 5, Samples: 1, Batch: 1})
	if len(a.Absent) < 10 {
		t.Errorf("absent: %v", a.Absent)
	}
	for _, x := range a.Absent {
		if _, ok := a.Get(x.Name); ok || x.Why == "" {
			t.Errorf("%s is absent and there, or without a reason", x.Name)
		}
	}
	for _, l := range a.Lines {
		if l.Unit == "" || l.Formula == "" || l.Kind == "" {
			t.Errorf("%s has no unit, formula or kind", l.Name)
		}
	}
}

func TestIntervalsGiveBandsAndOnlyWhereTheyEnter(t *testing.T) {
	u, err := cost.Range(0.4, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	r := resolved(t, Setup{Model: "llama-3-8b", Hardware: "h100", Weights: &u, Cache: &u})
	a, again := estimate(t, r.Request(1000, 0, 50, 1, 1, draws)), estimate(t, r.Request(1000, 0, 50, 1, 1, draws))
	tpot := value(t, a, "tpot")
	if !tpot.HasBand() || !(tpot.Lo < tpot.Value && tpot.Value < tpot.Hi) || tpot.Kind != cost.Fitted {
		t.Errorf("tpot %+v", tpot)
	}
	if q := value(t, again, "tpot"); q != tpot {
		t.Errorf("the same seed gives %+v and %+v", tpot, q)
	}
	floor := estimate(t, resolved(t, Setup{Model: "llama-3-8b", Hardware: "h100"}).Request(1000, 0, 50, 1, 1, draws))
	if f := value(t, floor, "tpot").Value; !(tpot.Lo > f) {
		t.Errorf("a band from %g with a floor of %g", tpot.Lo, f)
	}
	if q := value(t, a, "flop"); q.HasBand() {
		t.Errorf("FLOP %+v depends on no efficiency", q)
	}
}

func TestSpeculationBuysTimeWithOperations(t *testing.T) {
	r := resolved(t, Setup{Model: "llama-3-8b", Hardware: "h100"})
	q := r.Request(1000, 0, 50, 1, 1, draws)
	plain := estimate(t, q)
	d := cost.Draft{Accept: 0.7, Length: 4, Cost: 0.05, OpRatio: 0.1, Verify: 1}
	s, err := d.Speculative()
	if err != nil {
		t.Fatal(err)
	}
	q.Draft = &d
	fast := estimate(t, q)
	near(t, "time", value(t, fast, "tpot").Value, value(t, plain, "tpot").Value/s.Speedup)
	near(t, "operations", value(t, fast, "decode_flop").Value, value(t, plain, "decode_flop").Value*s.Operations)
	if value(t, fast, "tpot").Kind != cost.Scenario || value(t, fast, "decode_flop").Kind != cost.Scenario {
		t.Error("speculation rests on an assumption, and the kinds do not say so")
	}
	q.Draft, q.Judge, q.Samples, q.Batch = nil, true, 4, 4
	judged := estimate(t, q)
	one, err := r.Arch.Prefill(cost.Prefill{New: 1050, AllLogits: true}, cost.Convention{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the judge", value(t, judged, "judge_flop").Value, 4*one)
	q.Judge = false
	if !(value(t, judged, "e2e").Value > value(t, estimate(t, q), "e2e").Value) {
		t.Error("a judge takes no time")
	}
}

func TestAMixturesBytesHaveTheBandOfItsRouting(t *testing.T) {
	r := resolved(t, Setup{Model: "mixtral-8x7b", Hardware: "h100", Chips: 2})
	q := value(t, estimate(t, r.Request(100, 0, 10, 1, 4, draws)), "step_bytes")
	if !q.HasBand() || !(q.Lo < q.Value && q.Value < q.Hi) || q.Kind != cost.Scenario {
		t.Errorf("four tokens: %+v", q)
	}
	if q := value(t, estimate(t, r.Request(100, 0, 10, 1, 1, draws)), "step_bytes"); q.HasBand() {
		t.Errorf("one token: %+v", q)
	}
}

func TestAMemoryThatDoesNotFitSaysByHowMuch(t *testing.T) {
	r := resolved(t, Setup{Model: "llama-3-70b", Hardware: "h100"})
	_, err := Estimate(r.Request(1000, 0, 50, 1, 1, draws))
	if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "GB too many; 2 chips would do") {
		t.Errorf("got %v", err)
	}
	r = resolved(t, Setup{Model: "llama-3-70b", Hardware: "h100", Chips: 2})
	if _, err := Estimate(r.Request(1000, 0, 50, 1, 1, draws)); err != nil {
		t.Error(err)
	}
	_, err = Estimate(r.Request(1000, 0, 50, 1, 100, draws))
	if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), "a batch of ") {
		t.Errorf("got %v", err)
	}
}

func TestSetupsThatCannotBeAreRefused(t *testing.T) {
	rows := []struct {
		name string
		s    Setup
		want string
	}{
		{"no model", Setup{}, "no model is given"},
		{"an unknown model", Setup{Model: "lama-3-8b"}, "llama-3-8b"},
		{"an unknown device", Setup{Model: "gpt2", Hardware: "h10"}, "h100"},
		{"a type without a peak", Setup{Model: "gpt2", Hardware: "v100", Dtype: "fp8", BytesPerElement: 1}, "no peak is known for fp8"},
		{"an unknown type", Setup{Model: "gpt2", Dtype: "bf15"}, `did you mean "bf16"`},
		{"a narrow cache", Setup{Model: "gpt2", Dtype: "int8"}, "bytes_per_element"},
		{"half of the power", Setup{Model: "gpt2", Hardware: "h100", Load: known(0.5)}, "not all are given"},
		{"power that is not known", Setup{Model: "gpt2", Hardware: "tpu-v4", Load: known(0.5), PUE: known(1)}, "its power is not known"},
		{"an unknown routing", Setup{Model: "gpt2", Hardware: "h100", Routing: "some"}, `unknown routing "some"`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if _, err := r.s.Resolve(shipped(t), day); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
}

func question() BreakEven {
	return BreakEven{
		Train: Training{Params: cost.Known(8e9), Tokens: cost.Known(15e12)},
		Serve: Use{Prompt: cost.Known(0), Output: cost.Known(700), RequestsPerDay: cost.Known(2e6), Growth: cost.Known(1.04), GrowthDays: 30},
		Draws: draws,
	}
}

func TestBreakEvenIsThreeTimesTheTrainingTokens(t *testing.T) {
	b := question()
	a, err := b.Answer()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "tokens", value(t, a, "crossover_tokens").Value, 45e12)
	near(t, "requests", value(t, a, "crossover_requests").Value, 45e12/700)
	days := value(t, a, "crossover_days").Value
	rate := math.Log(1.04) / 30
	near(t, "requests until then", 2e6*math.Expm1(rate*days)/rate, 45e12/700)
	s := b.Sentence(a)
	if !strings.Contains(s, "45 trillion tokens") || !strings.Contains(s, "grows by 4% every 30 days") || strings.Contains(s, "In ") {
		t.Error(s)
	}
	b.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if s := b.Sentence(a); !strings.Contains(s, "(20") {
		t.Error(s)
	}
}

// The same machine at a lower utilisation in serving passes earlier, by their
// ratio.
func TestMoneyWeighsUtilisation(t *testing.T) {
	b := question()
	b.TrainOn = &Machine{Name: "h100", Peak: 1e15, Prefill: cost.Known(0.4), Decode: cost.Known(1)}
	b.ServeOn = &Machine{Name: "h100", Peak: 1e15, Prefill: cost.Known(0.4), Decode: cost.Known(0.05)}
	a, err := b.Answer()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "tokens", value(t, a, "money_crossover_tokens").Value, 45e12/8)
	if _, ok := a.Get("training_usd"); ok {
		t.Error("money without a price")
	}
	if s := b.Sentence(a); !strings.Contains(s, "In device time") {
		t.Error(s)
	}
	b.Serve.Prompt, b.Serve.Output = cost.Known(600), cost.Known(100)
	if a, err = b.Answer(); err != nil {
		t.Fatal(err)
	}
	// 600/0.4 + 100/0.05 = 3500 tokens' worth of peak against 3 D/0.4.
	near(t, "prompts are cheaper", value(t, a, "money_crossover_requests").Value, 45e12/0.4/3500)
	b.TrainOn.USDPerHour = known(2)
	if _, err := b.Answer(); err == nil {
		t.Error("one side has a price and the other none")
	}
	b.ServeOn.USDPerHour = known(4)
	if a, err = b.Answer(); err != nil {
		t.Fatal(err)
	}
	near(t, "twice the price", value(t, a, "money_crossover_requests").Value, 45e12/0.4/3500/2)
	near(t, "the bill", value(t, a, "training_usd").Value, 6*8e9*15e12/(1e15*0.4)/3600*2)
}

func TestBandsOfABreakEvenHoldNever(t *testing.T) {
	b := question()
	g, err := Growth([]float64{-0.06, 0.05})
	if err != nil {
		t.Fatal(err)
	}
	b.Serve.Growth = g
	b.Serve.RequestsPerDay = cost.Known(8e7)
	a, err := b.Answer()
	if err != nil {
		t.Fatal(err)
	}
	days := value(t, a, "crossover_days")
	if !days.HasBand() || !(days.Lo < days.Value) {
		t.Errorf("days %+v", days)
	}
	if q := value(t, a, "crossover_tokens"); q.HasBand() {
		t.Errorf("tokens %+v do not depend on demand", q)
	}
	b.Serve.RequestsPerDay = cost.Known(2e7)
	if a, err = b.Answer(); err != nil {
		t.Fatal(err)
	}
	if days = value(t, a, "crossover_days"); !strings.Contains(days.Note, "never in") {
		t.Errorf("days %+v", days)
	}
	b.Serve.Growth, _ = Growth([]float64{-0.2})
	if a, err = b.Answer(); err != nil {
		t.Fatal(err)
	}
	if s := b.Sentence(a); !math.IsInf(value(t, a, "crossover_days").Value, 1) || !strings.Contains(s, "never passes it") {
		t.Error(s)
	}
}

func TestAFrontierHasBandsAndMarks(t *testing.T) {
	u, _ := cost.Range(0.4, 0.8)
	r := resolved(t, Setup{Model: "llama-3-8b", Hardware: "h100", Cache: &u, USDPerHour: known(2)})
	c, err := Frontier(r, 4096, []int64{1, 8, 64, 4096}, draws)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range c.Points {
		if !p.PerUser.HasBand() || p.Million == nil || p.Fits != (p.Batch <= c.MaxBatch) {
			t.Errorf("batch %d: %+v", p.Batch, p)
		}
		if i > 0 && !(p.PerUser.Value < c.Points[i-1].PerUser.Value) {
			t.Errorf("batch %d gives a user more than a smaller one", p.Batch)
		}
	}
	if c.Points[3].Fits || c.Points[0].Dominated {
		t.Errorf("%+v", c.Points)
	}
}

func TestUncertainReadsCommandLines(t *testing.T) {
	for text, want := range map[string][3]float64{"0.4": {0.4, 0.4, 0.4}, "4..9": {6, 4, 9}, "1..2..8": {2, 1, 8}, "2e6": {2e6, 2e6, 2e6}, "1e3..4e3": {2e3, 1e3, 4e3}} {
		u, err := Uncertain(text, false)
		if err != nil || math.Abs(u.Median-want[0]) > 1e-12*want[0] || u.Lo != want[1] || u.Hi != want[2] {
			t.Errorf("%s: %+v, %v", text, u, err)
		}
	}
	for _, text := range []string{"", "x", "1..", "1..2..3..4", "2..1", "0..1", "1x", "3..2..4", "NaN..2"} {
		if u, err := Uncertain(text, false); err == nil {
			t.Errorf("%q was read as %+v", text, u)
		}
	}
}

func TestAQuestionByNames(t *testing.T) {
	two := cost.Known(2e6)
	q := Question{Run: "llama-3-8b", TokensPerRequest: known(700), RequestsPerDay: &two, Hardware: "h100", TrainMFU: known(0.4), ServeMFU: known(0.05), Draws: draws}
	b, _, err := q.Resolve(shipped(t), day)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b.Answer()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "tokens", value(t, a, "money_crossover_tokens").Value, 45e12/8)
	rows := []struct {
		name   string
		change func(*Question)
		want   string
	}{
		{"no tokens of a request", func(q *Question) { q.TokensPerRequest = nil }, "tokens_per_request"},
		{"both ways", func(q *Question) { q.OutputTokens = known(1) }, "together and apart"},
		{"no requests", func(q *Question) { q.RequestsPerDay = nil }, "requests_per_day"},
		{"no run", func(q *Question) { q.Run = "" }, "not both are known"},
		{"an unknown run", func(q *Question) { q.Run = "llama-9" }, "unknown"},
		{"half of the utilisation", func(q *Question) { q.ServeMFU = nil }, "serve_mfu"},
		{"no hardware", func(q *Question) { q.Hardware = "" }, "no hardware"},
		{"a day that is none", func(q *Question) { q.Start = "2026-02-30" }, "is none"},
		{"two devices without prices", func(q *Question) { q.TrainHardware = "a100-80" }, "different devices without prices"},
		{"prompts without tokens", func(q *Question) { q.PrefillMFU = known(0.4) }, "no prompt tokens"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			q := q
			r.change(&q)
			b, _, err := q.Resolve(shipped(t), day)
			if err == nil {
				_, err = b.Answer()
			}
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
}

// A distilled model that serves in place of the trained one is cheaper by the ratio of
// their weights, and demand that levels off takes longer.
func TestAnotherModelMayServe(t *testing.T) {
	q := Question{TrainModel: "llama-3-70b", TrainTokens: known(15e12), ServeModel: "llama-3-8b", TokensPerRequest: known(700), RequestsPerDay: known(1e8), Draws: draws}
	growth, err := Growth([]float64{0.1})
	if err != nil {
		t.Fatal(err)
	}
	q.Growth = &growth
	ask := func(q Question) *Answer {
		b, _, err := q.Resolve(shipped(t), day)
		if err != nil {
			t.Fatal(err)
		}
		a, err := b.Answer()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	free := ask(q)
	near(t, "tokens", value(t, free, "crossover_tokens").Value, 3*15e12*69501714432/7504658432)
	q.Limit = 2e8
	level := ask(q)
	if d := value(t, level, "crossover_days"); d.Formula != "F30" || !(d.Value > value(t, free, "crossover_days").Value) {
		t.Errorf("demand that levels off: %+v", d)
	}
	q.ServeParams = known(1e9)
	if _, _, err := q.Resolve(shipped(t), day); err == nil {
		t.Error("two models serve")
	}
}

func TestEveryArithmeticTypeHasItsBytes(t *testing.T) {
	last := math.Inf(1)
	for _, d := range tables.Dtypes() {
		b, err := Bytes(d)
		if err != nil || !(b > 0 && b <= last) {
			t.Errorf("%s: %g bytes after %g, %v", d, b, last, err)
		}
		last = b
	}
}
