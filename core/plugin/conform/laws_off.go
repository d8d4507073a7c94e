package conform

import (
	"math"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// seemsOff looks for settings that switch a sampler off when nobody has said
// which: no row gets other probabilities with them, and with others some do.
// They must leave the rows as they are.
func (b *Bench) seemsOff(d sampler.Declaration) finding {
	if d.Kind == sampler.Select {
		return skip("it selects, and nobody has said which settings switch it off")
	}
	var spoilt finding // rows that another form or other bits were left of, though nothing else
	off, on := false, false
	for _, set := range mayBeOff(d) {
		moves, f := b.moves(d, set)
		if f.outcome == NotApplicable {
			return f
		}
		on, off = on || moves, off || !moves
		if !moves && f.outcome == Fail {
			spoilt = f
		}
	}
	switch {
	case !on || !off:
		return skip("nobody has said which settings switch it off, and none that were tried do")
	case spoilt.outcome == Fail:
		return spoilt
	}
	return holds()
}

// mayBeOff returns the defaults, and them with one setting at a value that often
// means off.
func mayBeOff(d sampler.Declaration) []param.Values {
	all, _ := Values(d)
	out := []param.Values{all}
	for _, s := range d.Params {
		var tries []any
		switch s.Type {
		case param.Float:
			tries = []any{0.0, 1.0, s.Min, s.Max}
		case param.Int:
			tries = []any{int64(0), int64(1)}
			if math.Abs(s.Min) < 1<<53 {
				tries = append(tries, int64(s.Min))
			}
		case param.Bool:
			tries = []any{false, true}
		}
		for _, v := range tries {
			if s.Check(v) != nil {
				continue
			}
			if set, err := Values(d, s.Name, v); err == nil {
				out = append(out, set)
			}
		}
	}
	return out
}

// offSlack is what rounding scores of up to 64 to float32 does to probabilities.
const offSlack = 64 * 0x1p-22

// moves reports whether settings change the probabilities of any of a few rows.
// When they do not, the finding says whether bits or forms are others.
func (b *Bench) moves(d sampler.Declaration, set param.Values) (moves bool, f finding) {
	spoilt := holds()
	count := 0
	for i := range b.shapes {
		q := b.ask(b.Random("off", d.Name, i), d, i)
		q.Values = set
		a := b.Run(q)[0]
		if a.Err != nil {
			return false, skip("it refuses a row at settings that could switch it off: %v", a.Err)
		}
		if otherOdds(&q.Item.Scores, &a.Row, offSlack) != "" {
			return true, holds()
		}
		// Of a token that is alone nothing can change but its bits.
		if ids, _ := support(&q.Item.Scores); len(ids) > 1 && !sameBits(&q.Item.Scores, &a.Row) {
			spoilt = fail(q.String(), a.String()+", and no probability is another")
			count++
		}
	}
	if count < 3 { // a row or two may happen to have no probability to move
		return false, holds()
	}
	return false, spoilt
}
