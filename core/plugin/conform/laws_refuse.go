package conform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// unlistedTail asks about rows that list the best tokens of a larger row, which
// is asked about as well.
func unlistedTail(b *Bench, d sampler.Declaration) finding {
	var whole dist.Scores // of the question under way
	f := b.survey("unlisted", d, b.rounds, func(g *rand.Rand, i int) *Question {
		var best dist.Scores
		whole, best = topOnly(g, 2+g.IntN(20), 2+g.IntN(20))
		return b.About(g, d, best, "the best tokens")
	}, func(_ *rand.Rand, q *Question, a Answer) string {
		if why := Valid(q, a); why != "" {
			return why
		}
		full := q.clone()
		full.Item.Scores = whole.Clone()
		seen := b.Run(full)[0]
		if seen.Err != nil {
			return ""
		}
		return inexact(&seen, &a)
	})
	if f.outcome == NotApplicable { // to refuse every such row is as good
		return holds()
	}
	return loose(f)
}

// topOnly draws a row of log probabilities, and the row that lists no more than
// its best tokens: listed of them, with hidden tokens left out.
func topOnly(g *rand.Rand, listed, hidden int) (whole, best dist.Scores) {
	w, total := make([]float64, listed+hidden), 0.0
	for k := range w {
		w[k] = g.NormFloat64() * 2
		total += math.Exp(w[k])
	}
	whole = dist.NewDense(make([]float32, len(w)))
	for k := range w {
		whole.Values[k] = float32(w[k] - math.Log(total))
	}
	least := slices.Sorted(slices.Values(whole.Values))[hidden]
	best = dist.Scores{Vocab: whole.Vocab}
	mass := 0.0
	for k, v := range whole.Values {
		if v >= least {
			best.IDs, best.Values = append(best.IDs, int32(k)), append(best.Values, v)
			mass += math.Exp(float64(v))
		}
	}
	best.Unlisted = 1 - mass
	return whole, best
}

// tailSlack is how far probabilities may differ that were computed with and
// without the tokens of a tail: scores and masses are float32 logarithms.
const tailSlack = 1e-4

// inexact says how the answer to a row with a tail is not the one to the whole
// row.
func inexact(whole, best *Answer) string {
	p, err1 := dist.NewSampling(&whole.Row)
	r, err2 := dist.NewSampling(&best.Row)
	if err1 != nil || err2 != nil {
		return fmt.Sprint(err1, err2)
	}
	wrong, tail := "", 0.0
	p.Each(func(id int32, x float64) bool {
		if best.Row.Unlisted > 0 && best.Row.Index(id) < 0 {
			tail += x
		} else if y := r.P(id); !(math.Abs(x-y) <= tailSlack) {
			wrong = fmt.Sprintf("token %d has %.4g, and %.4g when the model lists all of its tokens", id, y, x)
		}
		return wrong == ""
	})
	if wrong == "" && !(math.Abs(tail-best.Row.Unlisted) <= tailSlack) {
		wrong = fmt.Sprintf("%.4g is unlisted, and those tokens have %.4g when the model lists all of them", best.Row.Unlisted, tail)
	}
	return wrong
}

func brokenRows(b *Bench, d sampler.Declaration) finding {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := []struct {
		name   string
		values []float32
		says   string // what the message says, or, before it reaches a stage, over the wire
		wire   string
		repair bool
	}{
		{"NaN", []float32{1, nan, 0}, "token 1 has score NaN", "", true},
		{"+Inf", []float32{1, 0, inf}, "token 2 has score +Inf", "", true},
		{"nothing left", []float32{negInf, negInf, negInf}, "no token is left", "", false},
		{"no token", nil, "no token is left", "a row of 0 tokens", false},
	}
	for _, r := range rows {
		q := b.About(b.Random("broken", d.Name), d, dist.NewDense([]float32{1, 2, 3}), r.name)
		q.Item.Scores = dist.NewDense(slices.Clone(r.values))
		a := b.Run(q)[0]
		switch kind := fault.KindOf(a.Err); {
		case d.Needs.Raw && r.repair && a.Err != nil:
			return fail(q.String(), "it declares that it repairs such rows, and answers with an error: "+a.Err.Error())
		case d.Needs.Raw && r.repair:
			if _, err := dist.NewSampling(&a.Row); err != nil {
				return fail(q.String(), fmt.Sprintf("it declares that it repairs such rows, and leaves %v", err))
			}
		case a.Err == nil:
			return fail(q.String(), a.String())
		case kind != fault.Data:
			return fail(q.String(), fmt.Sprintf("an error of kind %v: %v", kind, a.Err))
		case b.strict(d) && !strings.Contains(a.Err.Error(), r.says) && (r.wire == "" || !strings.Contains(a.Err.Error(), r.wire)):
			return fail(q.String(), fmt.Sprintf("%v, which does not say %q", a.Err, r.says))
		}
	}
	return holds()
}

// illegal is a value that a setting must refuse, and how a message shows it.
type illegal struct {
	name  string
	value any
	says  string
}

// illegals returns values that the settings of a sampler must refuse.
func illegals(specs param.Specs) []illegal {
	out := []illegal{{"nonesuch", 1.0, "nonesuch"}}
	add := func(name string, value any, says string) { out = append(out, illegal{name, value, says}) }
	for _, s := range specs {
		switch s.Type {
		case param.Float:
			add(s.Name, math.NaN(), "NaN")
			add(s.Name, math.Inf(1), "+Inf")
			if low := s.Min - 1 - math.Abs(s.Min)/8; !math.IsInf(low, 0) {
				add(s.Name, low, param.Format(low))
			}
			if high := s.Max + 1 + math.Abs(s.Max)/8; !math.IsInf(high, 0) {
				add(s.Name, high, param.Format(high))
			}
			if s.MinOpen && !math.IsInf(s.Min, -1) {
				add(s.Name, s.Min, param.Format(s.Min))
			}
			if s.MaxOpen && !math.IsInf(s.Max, 1) {
				add(s.Name, s.Max, param.Format(s.Max))
			}
		case param.Int:
			add(s.Name, 1.5, "1.5")
			if s.Min > math.MinInt64 {
				add(s.Name, int64(s.Min)-1, fmt.Sprint(int64(s.Min)-1))
			}
			if s.Max < math.MaxInt64 {
				add(s.Name, int64(s.Max)+1, fmt.Sprint(int64(s.Max)+1))
			}
		case param.Bool:
			add(s.Name, int64(1), "1")
		case param.Text:
			if add(s.Name, 1.5, "1.5"); len(s.Choices) > 0 {
				add(s.Name, "nonesuch", "nonesuch")
			}
		case param.Tokens:
			add(s.Name, "4+", `"4+"`)
		}
	}
	return out
}

func badSettings(b *Bench, d sampler.Declaration) finding {
	for _, x := range illegals(d.Params) {
		q := &Question{Decl: d, Values: param.Values{{Name: x.name, Value: x.value, Origin: "conformance"}}, Shape: "three"}
		q.Item = b.Surroundings(b.Random("usage", d.Name), d, dist.NewDense([]float32{1, 2, 3}))
		a := b.Run(q)[0]
		input := fmt.Sprintf("%s = %s", x.name, param.Format(x.value))
		kind := fault.KindOf(a.Err)
		switch {
		case a.Err == nil:
			return fail(input, "it is accepted")
		case kind != fault.Usage:
			return fail(input, fmt.Sprintf("an error of kind %v: %v", kind, a.Err))
		}
		says := []string{d.Name, x.name}
		if b.strict(d) {
			says = append(says, "stage 1", x.says)
		}
		for _, s := range says {
			if !strings.Contains(a.Err.Error(), s) {
				return fail(input, fmt.Sprintf("%v, which does not say %q", a.Err, s))
			}
		}
	}
	q := b.About(b.Random("usage", d.Name), d, dist.NewDense([]float32{1, 2, 3}), "three")
	q.System = "nonesuch"
	if a := b.Run(q)[0]; a.Err == nil || fault.KindOf(a.Err) != fault.Usage {
		return fail("the rule of a system called nonesuch", a.String())
	}
	return holds()
}

func otherSystems(b *Bench, d sampler.Declaration) finding {
	if len(d.Systems) == 0 {
		return skip("it knows the rule of no other system")
	}
	for _, s := range d.Systems {
		specs, err := d.ParamsFor(s.Name)
		if err != nil {
			return fail(s.Name, err.Error())
		}
		theirs := d
		theirs.Params = specs
		f := b.survey("systems "+s.Name, theirs, max(4, b.rounds/2), func(g *rand.Rand, i int) *Question {
			q := b.ask(g, theirs, i)
			if i%5 == 4 {
				q = b.About(g, theirs, wild(g), "wild")
			}
			q.System = s.Name
			return q
		}, func(_ *rand.Rand, q *Question, a Answer) string {
			if _, err := dist.NewSampling(&a.Row); err != nil {
				return fmt.Sprintf("no distribution: %v", err)
			}
			again := b.Run(q)[0]
			return twoAnswers(&a, &again, "once", "asked again")
		})
		if f = loose(f); f.outcome == Fail {
			return f
		}
	}
	return holds()
}
