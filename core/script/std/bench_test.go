package std

import (
	"fmt"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/script"
	"lab/core/script/scripttest"
)

// BenchmarkRules times one row, of the size of the built-in model's and of a
// large vocabulary's, through rules written in the usual ways, checks and ledger
// included.
func BenchmarkRules(b *testing.B) {
	for _, r := range []struct{ name, body string }{
		{"unchanged", `return r`},
		{"keep_p", `return r.keep_p(0.05 * r.max_p)`},
		{"entropy and keep_p", `return r.keep_p(0.05 * r.max_p * r.entropy_bits)`},
		{"keep_mass", `return r.keep_mass(0.9)`},
		{"loop over lists", "p := r.probabilities; s := r.scores\nfor i, x in p { if x < 0.001 { s[i] = -1e30 } }\nreturn s"},
		{"keep with a function", `return r.keep(func(id, s, p) { return s >= 12 })`},
	} {
		for _, tokens := range []int{1308, 262144} {
			b.Run(fmt.Sprintf("%s/%d", r.name, tokens), func(b *testing.B) { benchmarkRule(b, r.body, tokens) })
		}
	}
}

func benchmarkRule(b *testing.B, body string, tokens int) {
	row := make([]float32, tokens)
	for i := range row {
		row[i] = float32((i*7919)%tokens) / float32(tokens) * 13
	}
	work := script.Module{Name: "bench", Doc: "d", Members: []script.Member{{Name: "run", Doc: "d",
		Params: []script.Param{{Name: "s", Type: script.Host[*Sampler]()}},
		Func: func(c *script.Call) (any, error) {
			s := script.Arg[*Sampler](c, "s")
			b.ResetTimer()
			for b.Loop() {
				call := &sampler.Call{Stages: []sampler.Stage{{Sampler: "mine", Values: param.Values{}}}, Ledger: true,
					Items: []*sampler.Item{{Scores: dist.NewDense(append([]float32(nil), row...))}}}
				if err := s.Run(c.Context(), call); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}}}}
	src := fmt.Sprintf("s := import(\"lab\").sampler({name: \"mine\", apply: func(r, t) { %s }})\nimport(\"bench\").run(s)", body)
	if r := scripttest.Run(b, src, append(toyModules(b), work)...); r.Err != nil {
		b.Fatal(r.Err)
	}
}
