package costmod

import (
	"strings"
	"testing"

	"lab/core/cost/tables"
	"lab/core/script/scripttest"
)

func env() *Env {
	return &Env{Tables: tables.Shipped, Today: func() tables.Date { return "2026-12-03" }}
}

func run(t *testing.T, body string) scripttest.Result {
	t.Helper()
	return scripttest.Run(t, "cost := import(\"cost\")\n"+body, Module(env()))
}

func TestTheDeclarationIsSound(t *testing.T) {
	if err := Module(env()).Validate(); err != nil {
		t.Fatal(err)
	}
}

const own = `m := {layers: 4, d_model: 64, heads: 8, kv_heads: 2, d_ff: 160, vocab: 1000}
`

// Each function once, with a number that core/cost's own tests or the golden files know.
func TestFunctionsOfTheModule(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"sizes":                 {`s := cost.size("llama-3-8b"); print(s.total, s.active, s.non_embedding, s.matmul)`, "8030261248 8030261248 6979588096 7504658432"},
		"an own architecture":   {own + `print(cost.size(m).matmul)`, "227840"},
		"decode":                {`print(cost.decode_flop("llama-3-70b", 4096))`, "149.7 billion FLOP/token (F3, exact)"},
		"prefill":               {`print(cost.prefill_flop("llama-3-8b", 2048).value)`, "29688401494016"},
		"prefill in parts":      {own + `print(cost.prefill_flop(m, 60, {all_scores: true}).value == cost.prefill_flop(m, 40, {all_scores: true}).value + cost.prefill_flop(m, 20, {cached: 40, all_scores: true}).value)`, "true"},
		"training":              {`print(cost.train_flop_per_token("deepseek-v3", 4096).value)`, "250457382912"},
		"full attention":        {own + `print(cost.train_flop_per_token(m, 64, {attention: "full"}).value > cost.train_flop_per_token(m, 64).value)`, "true"},
		"cache":                 {`print(cost.cache_bytes("llama-2-13b", 4096, 1, 2).value)`, "3355443200"},
		"attention crossover":   {`print(cost.attention_crossover("llama-3-8b").value)`, "28628"},
		"samples":               {`s := cost.sample_flop("llama-3-8b", 1000, 200, 8); print(s.shared, s.apart)`, "39035066122240 138589769826304"},
		"speculative":           {`s := cost.speculative(0.7, 4, {cost: 0.05, verify: 2}); print(s.speedup)`, "1.2605"},
		"measured acceptance":   {`print(cost.speculative([0.5, 0.5], {cost: 0}).tokens)`, "1.75"},
		"best draft":            {`b := cost.best_draft(0.8, {cost: 0.05}); print(b.length)`, "8"},
		"pass at k":             {`print(cost.pass_at_k(6, 2, 2))`, "0.6"},
		"retries":               {`r := cost.retries(0.5, 2); print(r.tries, r.solved, r.per_solved)`, "1.5 0.75 2"},
		"best of n":             {`print(cost.best_of_n_kl(1))`, "0"},
		"beams":                 {`b := cost.beam_cache_bytes(131072, 1000, 200, 4); print(b.unshared, b.shared)`, "629145600 235929600"},
		"a bill":                {`b := cost.bill({input: 2.5, cached: 1.25, output: 10, as_of: "2025-09-05", prompt_includes_cached: true}, {prompt: 10000, cached: 8000, output: 500}); print(b.total, b.note)`, "0.02 the price given, 2025-09-05 (the script)"},
		"rent":                  {`print(cost.usd_per_million(2, 1, 2500))`, "0.2222 USD/million tokens (F16, scenario)"},
		"a cache pays":          {`print(cost.cache_breakeven(1.25, 0.1).uses)`, "2"},
		"a conversation":        {`c := cost.conversation(3, {user: 10, answer: 20}); print(c.prompt, c.output)`, "120 60"},
		"energy":                {`print(cost.energy(3600, {watts: 1000, load: 1, pue: 1}).value)`, "3600000"},
		"6ND":                   {`print(cost.train_flop(8e9, 15e12).value)`, "7.2e+23"},
		"crossover":             {`print(cost.crossover(100, 0.5).value, cost.amortised(100, 200, 0.5).value)`, "200 1"},
		"days":                  {`d := cost.days(900, {first_day: 1}); print(d.value, d)`, "900 900 days (F29, scenario)"},
		"never":                 {`print(cost.days(1e9, {first_day: 1, growth: -0.5}))`, "never days (F29, scenario)"},
		"uses are the inverse":  {`o := {first_day: 5, growth: 0.1, limit: 50}; x := cost.days(cost.uses(100, o).value, o).value; print(x > 99.999 && x < 100.001)`, "true"},
		"the training optimum":  {`o := cost.optimum({E: 1.8172, A: 482.01, B: 2085.43, alpha: 0.3478, beta: 0.3658}, 5.76e23); print(o.tokens / o.params > 18.39 && o.tokens / o.params < 18.40)`, "true"},
		"with inference":        {`o := cost.optimum_with_inference({E: 1.69, A: 406.4, B: 410.7, alpha: 0.336, beta: 0.283}, 30e9, 1e13); print(o.saved > 0.2798 && o.saved < 0.2799)`, "true"},
		"tokens at a loss":      {`print(cost.tokens_at_loss({E: 1, A: 1, B: 1, alpha: 1, beta: 1}, 1.75, 2))`, "4"},
		"a product":             {`print(cost.product([2, 3], [1, 1]).median)`, "6"},
		"propagation":           {`s := cost.propagate({a: [1, 4], b: 2}, func(x) { return x.a * x.b }); print(s.p05 > 2 && s.p95 < 8 && s.median > 3.8 && s.median < 4.2)`, "true"},
		"names":                 {`print(len(cost.models()) > 30, len(cost.devices()) > 10, cost.device("h100").bytes_per_s, cost.training_run("llama-3-8b").tokens)`, "true true 3350000000000 15000000000000"},
		"a fit":                 {`f := cost.fit([0, 100, 200], [1, 2, 3], {at: [50, 400]}); print(f.slope.value, f.at[0].seconds, f.at[1].extrapolated)`, "0.01 1.5 true"},
		"an estimate":           {`e := cost.estimate("llama-3-8b", {prompt: 1000, output: 200, hardware: "h100"}); print(e.flop, e.tpot.kind, e.absent["usd_price"])`, "17.32 trillion FLOP (F20, exact) bound no price was given"},
		"an estimate's band":    {`e := cost.estimate("llama-3-8b", {prompt: 1000, output: 200, hardware: "h100", efficiency: {weights: [0.5, 0.8]}}); print(e.tpot.kind, e.tpot.lo < e.tpot.value && e.tpot.value < e.tpot.hi)`, "fitted true"},
		"an estimate's price":   {`e := cost.estimate("gpt2", {prompt: 100, output: 10, price: {input: 1, output: 10, as_of: "2025-01-01"}}); print(e.usd_price.value)`, "0.0002"},
		"energy of a request":   {`e := cost.estimate("llama-3-8b", {prompt: 10, output: 2, hardware: "h100", power: {load: 0.7, pue: 1.1}, usd_per_hour: [1, 3]}); print(e.energy.value > 0, e.usd_rented.hi > e.usd_rented.lo)`, "true true"},
		"a device of one's own": {`e := cost.estimate("gpt2", {prompt: 10, output: 2, hardware: {peak: {fp32: 1e12}, bytes_per_s: 1e11, memory_bytes: 16e9}, dtype: "fp32"}); print(e.max_batch.value > 100)`, "true"},
		"a frontier":            {`f := cost.frontier("llama-3-8b", {context: 4096, batches: [1, 64, 4096], hardware: "h100"}); print(f.points[0].fits, f.points[2].fits, f.points[1].per_chip > f.points[0].per_chip)`, "true false true"},
		"operators":             {`o := cost.operators("llama-3-8b", {context: 4096, batch: 64, hardware: "h100"}); print(len(o.points), o.points[1].operator, o.points[1].intensity > 3.99 && o.points[1].intensity < 4.01, o.points[1].memory_bound)`, "5 attention true true"},
		"a break-even": {`b := cost.breakeven({train: {params: 8e9, tokens: 15e12}, serve: {tokens_per_request: 700, requests_per_day: 2e6, growth: 0.04}, hardware: "h100", train_mfu: 0.4, serve_mfu: 0.05})
print(b.crossover_tokens.value, b.money_crossover_tokens)`, "45000000000000 5.625 trillion tokens (F28, scenario)"},
		"a break-even's band": {`b := cost.breakeven({train: {run: "llama-3-8b"}, serve: {prompt_tokens: [400, 800], output_tokens: 100, requests_per_day: {median: 2e6, lo: 1e6, hi: 6e6}, growth: [0.01, 0.08]}, start: "2026-01-01"})
print(b.crossover_days.lo < b.crossover_days.hi)`, "true"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.body)
			if r.Err != nil || strings.TrimSpace(r.Output) != c.want {
				t.Errorf("got %q, %v; want %q", r.Output, r.Err, c.want)
			}
		})
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"an unknown model":           {`cost.size("lama-3-8b")`, `llama-3-8b`},
		"an unknown device":          {`cost.estimate("gpt2", {prompt: 1, output: 1, hardware: "h10"})`, "h100"},
		"an unknown field":           {`cost.size({layers: 1, d_model: 8, head: 2, d_ff: 8, vocab: 9})`, `did you mean "heads"`},
		"an unknown key":             {`cost.breakeven({train: {param: 1, tokens: 1}, serve: {}})`, `did you mean "params"`},
		"an unknown key of serve":    {`cost.breakeven({train: {params: 1, tokens: 1}, serve: {request_per_day: 1}})`, `did you mean "requests_per_day"`},
		"no utilisation":             {`cost.breakeven({train: {params: 1, tokens: 1}, serve: {tokens_per_request: 1, requests_per_day: 1}, hardware: "h100"})`, "train_mfu and serve_mfu"},
		"a coefficient":              {`cost.optimum({E: 1, A: 1, B: 1, alpha: 1}, 1e20)`, "beta is missing"},
		"an interval of three":       {`cost.estimate("gpt2", {prompt: 1, output: 1, hardware: "h100", efficiency: [1, 2, 3]})`, "two ends"},
		"an efficiency above one":    {`cost.estimate("gpt2", {prompt: 1, output: 1, hardware: "h100", efficiency: 1.2})`, "outside (0, 1]"},
		"an interval with a string":  {`cost.estimate("gpt2", {prompt: 1, output: 1, hardware: "h100", offset: {median: 1, lo: "x", hi: 2}})`, "lo is no number"},
		"a type without a peak":      {`cost.estimate("gpt2", {prompt: 1, output: 1, hardware: "v100", dtype: "bf16"})`, "no peak"},
		"a batch that does not fit":  {`cost.estimate("llama-3-70b", {prompt: 1000, output: 10, hardware: "h100"})`, "GB too many"},
		"fewer sequences than asked": {`cost.estimate("gpt2", {prompt: 1, output: 1, samples: 4, batch: 2})`, "at least as many"},
		"a draft of no cost":         {`cost.estimate("gpt2", {prompt: 1, output: 2, draft: {acceptance: 0.5, length: 2}})`, "cost is missing"},
		"half a token":               {`cost.estimate("gpt2", {prompt: 1, output: 2, draft: {acceptance: 0.5, length: 2.5, cost: 0}})`, "no number of tokens"},
		"a price that is missing":    {`cost.bill({input: 1, as_of: "2025-01-01"}, {prompt: 1, output: 1})`, "not known"},
		"a price without a date":     {`cost.bill({input: 1}, {prompt: 1})`, "no date"},
		"a day that is none":         {`cost.bill("gpt-4", {prompt: 1, as_of: "2025-02-30"})`, "is no day"},
		"cached of whom":             {`cost.bill({input: 1, cached: 1, as_of: "2025-01-01"}, {prompt: 1, cached: 1})`, "prompt_includes_cached"},
		"a price of own hardware":    {`cost.estimate("gpt2", {prompt: 1, output: 1, hardware: {peak: {bf16: 1e12}, bytes_per_s: 1e9, usd_per_hour: 2}})`, "as_of"},
		"a draft of no length":       {`cost.speculative(0.5, {cost: 0.1})`, "length of the draft"},
		"a function of no number":    {`cost.propagate({a: 1}, func(x) { return "x" })`, "no number"},
		"half of a fit's bytes":      {`cost.fit([1, 2], [1, 2], {weight_bytes: 3})`, "without the other"},
		"what is absent":             {`print(cost.estimate("gpt2", {prompt: 1, output: 1}).tpot)`, "tpot"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.body)
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("got %v, want %q", r.Err, c.want)
			}
		})
	}
}

func TestASentenceSaysTheBand(t *testing.T) {
	r := run(t, `b := cost.breakeven({train: {params: 8e9, tokens: 15e12}, serve: {tokens_per_request: 700, requests_per_day: [1e6, 4e6], growth: 0.04}, hardware: "h100", train_mfu: [0.35, 0.45], serve_mfu: [0.03, 0.1], start: "2026-01-01"})
print(b.sentence)`)
	for _, want := range []string{"Training 8 billion parameters on 15 trillion tokens takes 7.2e+23 FLOP", "passes it after 45 trillion tokens", "5 to 95%", "In device time at the utilisations given"} {
		if r.Err != nil || !strings.Contains(r.Output, want) {
			t.Errorf("got %q, %v; want %q", r.Output, r.Err, want)
		}
	}
	t.Log(r.Output)
}
