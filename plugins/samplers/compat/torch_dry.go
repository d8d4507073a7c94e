package compat

import (
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// torchDry is what the rules of text-generation-webui and aphrodite are given.
type torchDry struct {
	history          []int32
	multiplier, base float64
	allowed          int
	breaks           func(id int32) bool // a token that ends a repetition
}

// newTorchDry reads the settings. Both systems know breakers by the id of one
// token: of a sequence its last, of a text the tokens whose bytes equal it.
func newTorchDry(row *sampler.Row, set param.Values) (*torchDry, error) {
	d := &torchDry{history: row.History, multiplier: set.Float("multiplier"), base: set.Float("base"),
		allowed: int(min(set.Int("allowed_length"), math.MaxInt32))}
	if n := set.Int("last_n"); n > 0 {
		d.history = newest(d.history, n)
	}
	ids, texts := map[int32]bool{}, map[string]bool{}
	for _, t := range set.Tokens("breakers") {
		if t.IDs == nil {
			texts[t.Text] = true
		} else {
			ids[t.IDs[len(t.IDs)-1]] = true
		}
	}
	if len(texts) > 0 && row.Texts == nil {
		return nil, fault.New(fault.Usage, "dry", "breakers", "it holds texts, and the texts of the vocabulary are not known here").
			Fix("give token ids, or name the model whose tokens they are")
	}
	d.breaks = func(id int32) bool { return ids[id] || len(texts) > 0 && texts[string(row.Texts(id))] }
	return d, nil
}

// torchDryRule turns a way of counting into the rule of a stage.
func torchDryRule(count func(x []float32, d *torchDry)) ruleFunc {
	return func(row *sampler.Row, set param.Values) error {
		d, err := newTorchDry(row, set)
		switch {
		case err != nil || d.multiplier == 0:
			return err
		case len(d.history) == 0:
			return fault.New(fault.Data, "dry", row.System, "that system's rule fails for an empty context").Fix("begin with a token, or leave compat out")
		}
		return torchChange("dry", func(x []float32, _ *sampler.Row, _ param.Values) { count(x, d) })(row, set)
	}
}

// webuiDry finds, for each token that followed an earlier occurrence of the
// newest one, the longest common past of both.
func webuiDry(x []float32, d *torchDry) {
	const most = 50
	h := d.history
	if len(h) == 0 || d.breaks(h[len(h)-1]) {
		return
	}
	newestAt := len(h) - 1
	longest := map[int32]int{}
	for i, id := range h[:newestAt] {
		next := h[i+1]
		if id != h[newestAt] || d.breaks(next) {
			continue
		}
		n := 1
		for n < most && n <= i && h[i-n] == h[newestAt-n] && !d.breaks(h[i-n]) {
			n++
		}
		longest[next] = max(longest[next], n)
	}
	for id, n := range longest {
		if n >= d.allowed && id >= 0 && int(id) < len(x) {
			x[id] -= float32(d.multiplier * math.Pow(d.base, float64(n-d.allowed)))
		}
	}
}

// aphroditeDry counts differently: see the rule's declaration.
func aphroditeDry(x []float32, d *torchDry) {
	const most = 100
	h := d.history
	if len(h) < 2 || d.breaks(h[len(h)-1]) {
		return
	}
	newestAt := len(h) - 1
	reach := 0 // how far back the newest token's past goes before a breaker
	for reach < min(len(h), most+1)-1 && !d.breaks(h[newestAt-reach]) {
		reach++
	}
	if reach <= d.allowed {
		return
	}
	longest := map[int32]int{}
	for i := newestAt - 1; i >= 0; i-- {
		if h[i] != h[newestAt] {
			continue
		}
		n := 0 // the place that is looked at last counts, whether it matched or not
		for n < min(i, reach) {
			n++
			if d.breaks(h[i-n]) || h[i-n] != h[newestAt-n] {
				break
			}
		}
		longest[h[i+1]] = max(longest[h[i+1]], n+1)
	}
	for id, n := range longest {
		if id >= 0 && int(id) < len(x) {
			x[id] -= float32(float32(d.multiplier) * pow32(float32(d.base), float32(n-d.allowed)))
		}
	}
}
