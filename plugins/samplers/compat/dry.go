package compat

import (
	"bytes"
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// dry is what llama.cpp and koboldcpp do about repetitions: a token that would
// prolong a repetition of the newest tokens loses score by its length.
type dry struct {
	history          []int32 // the newest tokens, as many as the window has
	breakers         []param.Token
	texts            func(id int32) []byte // nil when no breaker is a text
	multiplier, base float32
	allowed          int
}

func drySettings(row *sampler.Row, set param.Values) *dry {
	return &dry{
		history:    newest(row.History, set.Int("last_n")),
		breakers:   set.Tokens("breakers"),
		texts:      row.Texts,
		multiplier: float(set, "multiplier"), base: float(set, "base"),
		allowed: whole(set, "allowed_length"),
	}
}

// apply subtracts the penalties. spare says that a token which is a breaker of
// its own is not penalised.
func (d *dry) apply(row *sampler.Row, spare bool) error {
	if err := listed(row, "dry"); err != nil {
		return err
	}
	for _, b := range d.breakers {
		if b.Text != "" && d.texts == nil {
			return fault.New(fault.Usage, "dry", "breakers", "it holds texts, and the texts of the vocabulary are not known here").
				Fix("give token ids, or name the model whose tokens they are")
		}
	}
	if len(d.history) <= d.allowed {
		return nil
	}
	limit := d.limit()
	if limit < d.allowed {
		return nil
	}
	most := 0
	if d.base > 1.000001 {
		most = int(float32(88.7228391) / logf(d.base)) // the logarithm of the largest float32
	}
	for id, length := range d.continuations(limit) {
		i := row.Scores.Index(id)
		if i < 0 || spare && d.breaks(id) {
			continue
		}
		exponent := length - d.allowed
		if most > 0 {
			exponent = min(exponent, most)
		}
		row.Scores.Values[i] -= float32(float64(d.multiplier) * math.Pow(float64(d.base), float64(exponent)))
	}
	return sound(row, "dry")
}

// limit is how many of the newest tokens follow the last breaker; a repetition
// is not followed further back than that.
func (d *dry) limit() int {
	n := len(d.history)
	for i := n - 1; i >= 0; i-- {
		longest := 0
		for _, b := range d.breakers {
			longest = max(longest, d.matches(b, i))
		}
		if longest > 0 {
			return n - i - longest
		}
	}
	return n
}

// matches returns how many tokens of the history from i on make up the breaker,
// or 0. A text may begin inside the first of them and end inside the last.
func (d *dry) matches(b param.Token, i int) int {
	if b.Text != "" {
		return d.spans(b.Text, i)
	}
	if len(b.IDs) > len(d.history)-i {
		return 0
	}
	for k, id := range b.IDs {
		if d.history[i+k] != id {
			return 0
		}
	}
	return len(b.IDs)
}

// spans returns over how many tokens from i on a text that begins in token i
// reaches, or 0. The systems look for the tail of the text as their tokenizer
// would write it; here any tokens that spell it count.
func (d *dry) spans(text string, i int) int {
	if d.contains(d.history[i], text) {
		return 1
	}
	first := len(d.texts(d.history[i]))
	var all []byte
	for n := i; n < len(d.history) && len(all) < first+len(text)-1; n++ {
		all = append(all, d.texts(d.history[n])...)
		if at := bytes.Index(all, []byte(text)); at >= 0 && at < first {
			return n - i + 1
		}
	}
	return 0
}

func (d *dry) contains(id int32, text string) bool {
	return bytes.Contains(d.texts(id), []byte(text))
}

// breaks reports whether the token alone is a breaker.
func (d *dry) breaks(id int32) bool {
	for _, b := range d.breakers {
		if len(b.IDs) == 1 && b.IDs[0] == id || b.Text != "" && d.contains(id, b.Text) {
			return true
		}
	}
	return false
}

// continuations returns, for every token that followed a repetition of at least
// the allowed length, the longest such repetition, none above limit. The length
// that ends at a place is the common suffix with the whole history: the
// Z-function of the reversed history (Gusfield 1997), in linear time.
func (d *dry) continuations(limit int) map[int32]int {
	n := len(d.history)
	at := func(i int) int32 { return d.history[n-1-i] } // newest first
	z := make([]int, n)
	left, right := 0, 0 // the match that reaches furthest is [left, right)
	out := map[int32]int{}
	for i := 1; i < n; i++ {
		if i < right {
			z[i] = min(right-i, z[i-left])
		}
		for i+z[i] < n && at(z[i]) == at(i+z[i]) {
			z[i]++
		}
		if i+z[i] > right {
			left, right = i, i+z[i]
		}
		if length := min(z[i], limit); length >= d.allowed {
			next := at(i - 1)
			if old, ok := out[next]; !ok || length > old {
				out[next] = length
			}
		}
	}
	return out
}
