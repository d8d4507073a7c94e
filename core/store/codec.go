package store

import (
	"encoding/binary"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/trace"
)

// The payload of a record: numbers are uvarints, reals their IEEE bits, texts
// their length and bytes. Names of stages and plugins are listed once, in front
// of the steps.

// encoder appends a record's payload; its memory is used again.
type encoder struct {
	b     []byte
	names []string
	named []uint64 // the names of the stages and plugins of all steps, in this order
	below int      // a number below 0, which the log cannot hold
}

func (e *encoder) number(n int) {
	e.below = min(e.below, n)
	e.b = binary.AppendUvarint(e.b, uint64(n))
}
func (e *encoder) token(t int32)  { e.b = binary.AppendUvarint(e.b, uint64(uint32(t))) }
func (e *encoder) real(r float64) { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(r)) }
func (e *encoder) reals(r ...trace.Real) {
	for _, v := range r {
		e.real(float64(v))
	}
}

func (e *encoder) text(s string) {
	e.number(len(s))
	e.b = append(e.b, s...)
}

// name numbers a name. There are few: those of one chain.
func (e *encoder) name(s string) {
	i := slices.Index(e.names, s)
	if i < 0 {
		i = len(e.names)
		e.names = append(e.names, s)
	}
	e.named = append(e.named, uint64(i))
}

// What a record is.
const (
	kindSample = iota
	kindFailure
	kindScores // a sample with the scores of its steps

	// kindCosted is added when what the sample took stands at the end.
	kindCosted = 4
)

// record appends the payload of r to the encoder's bytes.
func (e *encoder) record(r *Record) {
	kind := kindSample
	if r.Failure != "" {
		kind = kindFailure
	} else if len(r.Scores) > 0 {
		kind = kindScores
	}
	if r.Cost != nil && kind != kindFailure {
		e.number(kind + kindCosted)
	} else {
		e.number(kind)
	}
	e.number(r.Cell)
	e.number(r.Sample)
	e.number(r.PromptTokens)
	if kind == kindFailure {
		e.text(r.Failure)
		return
	}
	s := &r.Trace
	e.text(s.Text)
	e.number(len(s.Raw))
	e.b = append(e.b, s.Raw...)
	e.text(s.Stop.Reason)
	e.text(s.Stop.String)
	e.number(s.Stop.Offset)
	e.number(len(s.Tokens))
	for _, t := range s.Tokens {
		e.token(t)
	}
	e.names, e.named = e.names[:0], e.named[:0]
	for i := range s.Steps {
		for j := range s.Steps[i].Stages {
			e.name(s.Steps[i].Stages[j].Stage)
			e.name(s.Steps[i].Stages[j].Plugin)
		}
	}
	e.number(len(e.names))
	for _, n := range e.names {
		e.text(n)
	}
	e.number(len(s.Steps))
	named := e.named
	for i := range s.Steps {
		e.step(&s.Steps[i], named)
		named = named[2*len(s.Steps[i].Stages):]
	}
	if kind == kindScores {
		e.number(len(r.Scores))
		for i := range r.Scores {
			e.scores(&r.Scores[i])
		}
	}
	if c := r.Cost; c != nil {
		for _, x := range []float64{c.PrefillTokens, c.DecodeTokens, c.CachedTokens, c.PrefillSeconds, c.DecodeSeconds, c.FLOPs, c.BytesMoved, c.Batch} {
			e.real(x)
		}
		e.number(int(c.CacheBytes))
	}
}

// scores appends a row: its vocabulary, twice its length and 1 when it is sparse,
// the ids, each less the one before, the unlisted mass, and the scores' IEEE bits.
func (e *encoder) scores(s *dist.Scores) {
	e.number(s.Vocab)
	e.real(s.Unlisted)
	if s.Dense() {
		e.number(2 * len(s.Values))
	} else {
		e.number(2*len(s.Values) + 1)
		last := int32(0)
		for _, id := range s.IDs {
			e.number(int(id - last))
			last = id
		}
	}
	for _, v := range s.Values {
		e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(v))
	}
}

// Bits of a step's flags.
const (
	hasModel = 1 << iota
	hasSampling
)

// step appends a step, the names of whose stages and plugins come first in named.
func (e *encoder) step(s *trace.Step, named []uint64) {
	flags := 0
	if s.Model != nil {
		flags |= hasModel
	}
	if s.Sampling != nil {
		flags |= hasSampling
	}
	e.number(flags)
	e.token(s.Token)
	e.number(len(s.Piece))
	e.b = append(e.b, s.Piece...)
	for _, side := range []*trace.Side{s.Model, s.Sampling} {
		if side != nil {
			e.reals(side.Prob, side.SurprisalBits, side.EntropyBits)
			e.number(side.Rank)
			e.number(side.Support)
		}
	}
	e.number(len(s.Stages))
	for i := range s.Stages {
		g := &s.Stages[i]
		e.b = binary.AppendUvarint(e.b, named[2*i])
		e.b = binary.AppendUvarint(e.b, named[2*i+1])
		truncation := 0
		if g.Truncation {
			truncation = 1
		}
		e.number(truncation)
		e.number(g.SupportBefore)
		e.number(g.SupportAfter)
		e.number(g.ChosenRankBefore)
		e.number(g.ChosenRankAfter)
		e.reals(g.KeptMass, g.EntropyBeforeBits, g.EntropyAfterBits, g.KLBits, g.TV, g.ChosenProbBefore, g.ChosenProbAfter)
	}
}

// decoder reads a payload. After a failure every read returns zero values.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) number() int {
	n, used := binary.Uvarint(d.b)
	if used <= 0 || n > math.MaxInt {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[used:]
	return int(n)
}

// count reads a length of things that take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.number()
	if n > len(d.b)/size {
		d.bad, d.b = true, nil
		return 0
	}
	return n
}

func (d *decoder) real() trace.Real {
	if len(d.b) < 8 {
		d.bad, d.b = true, nil
		return 0
	}
	r := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	d.b = d.b[8:]
	return trace.Real(r)
}

func (d *decoder) bytes() []byte {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	out := append([]byte(nil), d.b[:n]...)
	d.b = d.b[n:]
	return out
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) token() int32 {
	n, used := binary.Uvarint(d.b)
	if used <= 0 || n > math.MaxUint32 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[used:]
	return int32(uint32(n))
}

// decode reads a payload that [encoder.record] made.
func decode(payload []byte) (Record, error) {
	d := decoder{b: payload}
	kind := d.number()
	costed := kind >= kindCosted
	if costed {
		kind -= kindCosted
	}
	r := Record{Cell: d.number(), Sample: d.number(), PromptTokens: d.number()}
	switch kind {
	case kindFailure:
		r.Failure = d.text()
		d.bad = d.bad || r.Failure == "" || costed
	case kindSample, kindScores:
		d.sample(&r.Trace)
		r.Trace.Sample = uint64(r.Sample)
		if kind == kindScores {
			r.Scores = make([]dist.Scores, d.count(leastScores))
			d.bad = d.bad || len(r.Scores) == 0
			for i := range r.Scores {
				d.scores(&r.Scores[i])
			}
		}
	default:
		d.bad = true
	}
	if costed && !d.bad {
		c := &trace.Cost{}
		for _, x := range []*float64{&c.PrefillTokens, &c.DecodeTokens, &c.CachedTokens, &c.PrefillSeconds, &c.DecodeSeconds, &c.FLOPs, &c.BytesMoved, &c.Batch} {
			*x = float64(d.real())
		}
		c.CacheBytes = int64(d.number())
		r.Cost = c
		d.bad = d.bad || !c.Sound()
	}
	if d.bad || len(d.b) > 0 {
		return Record{}, fault.New(fault.Data, op, "record", "it is damaged")
	}
	return r, nil
}

// The least bytes of a step, of a stage and of a row of scores.
const (
	leastStep   = 4
	leastStage  = 7 + 7*8
	leastScores = 1 + 8 + 1 + 4
)

func (d *decoder) scores(s *dist.Scores) {
	s.Vocab, s.Unlisted = d.number(), float64(d.real())
	n := d.number()
	sparse := n%2 == 1
	n /= 2
	if n > len(d.b)/4 {
		d.bad, d.b = true, nil
		return
	}
	if sparse {
		s.IDs = make([]int32, n)
		last := 0
		for i := range s.IDs {
			if last += d.number(); last > math.MaxInt32 || last < 0 {
				d.bad, d.b = true, nil
				return
			}
			s.IDs[i] = int32(last)
		}
	}
	if n > len(d.b)/4 {
		d.bad, d.b = true, nil
		return
	}
	s.Values = make([]float32, n)
	for i := range s.Values {
		s.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(d.b[4*i:]))
	}
	d.b = d.b[4*n:]
	if !d.bad && s.Check() != nil {
		d.bad = true
	}
}

func (d *decoder) sample(s *trace.Sample) {
	s.Text, s.Raw = d.text(), d.bytes()
	s.Stop = trace.Stop{Reason: d.text(), String: d.text(), Offset: d.number()}
	s.Tokens = make([]int32, d.count(1))
	for i := range s.Tokens {
		s.Tokens[i] = d.token()
	}
	names := make([]string, d.count(1))
	for i := range names {
		names[i] = d.text()
	}
	if n := d.count(leastStep); n > 0 {
		s.Steps = make([]trace.Step, n)
	}
	sides := make([]trace.Side, 2*len(s.Steps)) // one piece of memory for all
	for i := range s.Steps {
		if d.bad {
			return
		}
		d.step(&s.Steps[i], sides[2*i:][:2], names)
		s.Steps[i].Step = i
	}
}

// step reads a step, whose sides, where it has them, lie in sides.
func (d *decoder) step(s *trace.Step, sides []trace.Side, names []string) {
	flags := d.number()
	s.Token = d.token()
	s.Piece = d.bytes()
	for i, side := range []struct {
		bit int
		at  **trace.Side
	}{{hasModel, &s.Model}, {hasSampling, &s.Sampling}} {
		if flags&side.bit != 0 {
			*side.at = &sides[i]
			sides[i] = trace.Side{Prob: d.real(), SurprisalBits: d.real(), EntropyBits: d.real(), Rank: d.number(), Support: d.number()}
		}
	}
	if n := d.count(leastStage); n > 0 {
		s.Stages = make([]trace.Stage, n)
	}
	for i := range s.Stages {
		g := &s.Stages[i]
		stage, plugin := d.number(), d.number()
		if d.bad || stage >= len(names) || plugin >= len(names) {
			d.bad = true
			return
		}
		g.Stage, g.Plugin = names[stage], names[plugin]
		g.Truncation = d.number() != 0
		g.SupportBefore, g.SupportAfter, g.ChosenRankBefore, g.ChosenRankAfter = d.number(), d.number(), d.number(), d.number()
		for _, at := range []*trace.Real{&g.KeptMass, &g.EntropyBeforeBits, &g.EntropyAfterBits, &g.KLBits, &g.TV, &g.ChosenProbBefore, &g.ChosenProbAfter} {
			*at = d.real()
		}
	}
}
