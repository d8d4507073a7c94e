package conform

import (
	"fmt"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/model"
)

// silent is the finding when a model cannot be made to write a context: it may
// refuse what it does not know, and nothing else.
func silent(err error) finding {
	if !refusedContext(err) {
		return fail("a context that the model writes itself", fmt.Sprintf("an error of kind %v: %v", fault.KindOf(err), err))
	}
	return skip("the model could not be brought to write: %v", err)
}

func prefix(s *speaker) finding {
	for which := range 2 {
		c, err := s.text(which, textLength)
		if err != nil {
			return silent(err)
		}
		g := s.random("prefix", which)
		pieces := [][]int{{len(c.tokens)}, slices.Repeat([]int{1}, len(c.tokens))}
		for range 3 {
			var sizes []int
			for left := len(c.tokens); left > 0; {
				n := 1 + g.IntN(left)
				sizes, left = append(sizes, n), left-n
			}
			pieces = append(pieces, sizes)
		}
		for _, sizes := range pieces {
			if f := s.inPieces(c.tokens, sizes); f.outcome == Fail {
				return f
			}
		}
	}
	return holds()
}

// inPieces feeds a context in pieces and compares every row.
func (s *speaker) inPieces(tokens []int32, sizes []int) finding {
	seq, at := s.fresh(), 0
	for i, n := range sizes {
		want := model.Want(i+len(sizes)) % 3 // some pieces without rows in between
		if i == len(sizes)-1 || len(sizes) == 1 {
			want = model.All
		}
		got, err := s.feed(seq, at, tokens[at:at+n], want)
		if err != nil {
			return fail(fmt.Sprintf("%s in pieces of %v", tokensText(tokens), brief(sizes)), err.Error())
		}
		at += n
		for k := range got {
			f := s.expect(&got[k], tokens[:at-len(got)+k+1], fmt.Sprintf("in pieces of %v", brief(sizes)))
			if f.outcome == Fail {
				return f
			}
		}
	}
	if err := s.free(seq); err != nil {
		return fail("forgetting a sequence", err.Error())
	}
	return holds()
}

// steps makes calls until one fails.
type steps struct {
	s    *speaker
	f    finding
	held map[uint64][]int32 // what a sequence was extended to, as far as it was
}

func (p *steps) edit(edits ...model.Edit) {
	if p.f.outcome == Fail {
		return
	}
	if err := p.s.edit(edits...); err != nil {
		p.f = fail(fmt.Sprintf("edits %+v", edits), err.Error())
	}
}

// extend feeds tokens to a sequence that holds a context and compares the rows.
func (p *steps) extend(seq uint64, context, tokens []int32, how string) {
	if p.f.outcome == Fail || len(tokens) == 0 {
		return
	}
	all := slices.Concat(context, tokens)
	if _, err := p.s.after(all); err != nil {
		// What was drawn as an alternative may leave the model's language later on.
		if len(tokens) > 1 {
			p.extend(seq, context, tokens[:1], how)
		}
		return
	}
	got, err := p.s.feed(seq, len(context), tokens, model.All)
	if err != nil {
		p.f = fail(tokensText(all), how+" an error: "+err.Error())
		return
	}
	p.held[seq] = all
	for k := range got {
		if f := p.s.expect(&got[k], all[:len(context)+k+1], how); f.outcome == Fail {
			p.f = f
			return
		}
	}
}

func forks(s *speaker) finding {
	c, err := s.text(0, 24)
	if err != nil {
		return silent(err)
	}
	n := len(c.tokens)
	if n < 3 {
		return skip("the model writes no context of three tokens")
	}
	p := &steps{s: s, f: holds(), held: map[uint64][]int32{}}
	for _, at := range []int{0, 1, n / 2, n - 1, n} {
		parent, child, grandchild := s.fresh(), s.fresh(), s.fresh()
		p.extend(parent, nil, c.tokens[:n-1], "before any fork")
		if at > n-1 {
			p.extend(parent, c.tokens[:n-1], c.tokens[n-1:], "before any fork")
		}
		p.edit(model.Edit{Op: model.Fork, Seq: parent, To: child, Length: at},
			model.Edit{Op: model.Fork, Seq: child, To: grandchild, Length: at})
		if at < n {
			p.extend(grandchild, c.tokens[:at], c.tokens[at:], "in the fork of a fork")
			p.extend(child, c.tokens[:at], slices.Concat(c.other[at:at+1], c.tokens[min(at+1, n-1):n-1]), "in the fork, which went another way")
		}
		if at <= n-1 {
			p.extend(parent, c.tokens[:n-1], c.tokens[n-1:], "in the sequence that was forked")
		}
		if held := p.held[child]; at < n-1 && len(held) > at {
			p.extend(child, held, c.other[n-1:], "in the fork, after its parent went on")
		}
		p.edit(model.Edit{Op: model.Free, Seq: parent}, model.Edit{Op: model.Free, Seq: child})
		last := s.fresh()
		if at < n {
			p.edit(model.Edit{Op: model.Fork, Seq: grandchild, To: last, Length: n - 1})
			p.extend(last, c.tokens[:n-1], c.tokens[n-1:], "in the fork of a sequence whose parent was forgotten")
		}
		p.edit(model.Edit{Op: model.Free, Seq: grandchild}, model.Edit{Op: model.Free, Seq: last})
	}
	if p.f.outcome == Fail {
		return p.f
	}
	return s.crowd(c)
}

const (
	mostForks  = 200 // sequences that are held at once
	forksAtOne = 20  // of them extended in one call
)

// crowd forks a sequence many times and lets every fork go its way, one of two.
func (s *speaker) crowd(c contextOf) finding {
	at := len(c.tokens) / 2
	ways := [2][]int32{c.tokens[at : at+2], slices.Concat(c.other[at:at+1], c.tokens[at+1:at+2])}
	for k, way := range ways {
		if _, err := s.after(slices.Concat(c.tokens[:at], way)); err != nil {
			ways[k] = ways[0]
		}
	}
	count := max(forksAtOne, min(mostForks, batchBytes/(4*s.info.VocabSize)))
	root := s.fresh()
	if _, err := s.feed(root, 0, c.tokens[:at], model.None); err != nil {
		return fail(tokensText(c.tokens[:at]), err.Error())
	}
	seqs := []uint64{root}
	for range count {
		seq := s.fresh()
		if err := s.edit(model.Edit{Op: model.Fork, Seq: root, To: seq, Length: at}); err != nil {
			if fault.KindOf(err) == fault.Limit {
				break // it says that it holds no more
			}
			return fail(fmt.Sprintf("fork number %d", len(seqs)), err.Error())
		}
		seqs = append(seqs, seq)
	}
	for k := range 2 {
		for from := 1; from < len(seqs); from += forksAtOne {
			var batch []model.Input
			for j := from; j < min(from+forksAtOne, len(seqs)); j++ {
				batch = append(batch, model.Input{Seq: seqs[j], Start: at + k, Tokens: ways[j%2][k : k+1], Want: model.Last, Scores: s.rows(1)})
			}
			s.asked++
			if _, err := s.forward(batch); err != nil {
				return fail(fmt.Sprintf("%d of %d forks of a sequence, extended one after the other", len(batch), len(seqs)-1), err.Error())
			}
			for j, in := range batch {
				context := slices.Concat(c.tokens[:at], ways[(from+j)%2][:k+1])
				if f := s.expect(&in.Scores[0], context, fmt.Sprintf("in fork %d of %d", from+j, len(seqs)-1)); f.outcome == Fail {
					return f
				}
			}
		}
	}
	if err := s.free(seqs...); err != nil {
		return fail("forgetting sequences", err.Error())
	}
	return holds()
}

func truncates(s *speaker) finding {
	c, err := s.text(1, 24)
	if err != nil {
		return silent(err)
	}
	n := len(c.tokens)
	if n < 3 {
		return skip("the model writes no context of three tokens")
	}
	p := &steps{s: s, f: holds(), held: map[uint64][]int32{}}
	for _, at := range []int{0, 1, n / 2, n - 1, n} {
		seq, twin := s.fresh(), s.fresh()
		p.extend(seq, nil, c.tokens, "at first")
		p.edit(model.Edit{Op: model.Fork, Seq: seq, To: twin, Length: n}, model.Edit{Op: model.Truncate, Seq: seq, Length: at})
		if at < n {
			p.extend(seq, c.tokens[:at], c.other[at:at+1], fmt.Sprintf("cut from %d to %d tokens", n, at))
			p.edit(model.Edit{Op: model.Truncate, Seq: seq, Length: at})
			p.extend(seq, c.tokens[:at], c.tokens[at:], "cut twice")
		}
		p.edit(model.Edit{Op: model.Truncate, Seq: twin, Length: n - 1})
		p.extend(twin, c.tokens[:n-1], c.tokens[n-1:], "beside a fork that was cut")
		p.edit(model.Edit{Op: model.Free, Seq: seq}, model.Edit{Op: model.Free, Seq: seq})
		p.extend(seq, nil, c.tokens[:1], "forgotten and begun anew")
		p.edit(model.Edit{Op: model.Free, Seq: seq}, model.Edit{Op: model.Free, Seq: twin})
	}
	return p.f
}

func modelBatch(s *speaker) finding {
	if !s.info.Deterministic {
		return skip("it does not declare itself deterministic")
	}
	g := s.random("batch")
	for round := range 3 {
		var texts [][]int32
		for which := range 3 {
			c, err := s.text(which, textLength)
			if err != nil {
				return silent(err)
			}
			for range 2 {
				texts = append(texts, c.tokens[:1+g.IntN(len(c.tokens))])
			}
		}
		batch := make([]model.Input, len(texts))
		var seqs []uint64
		for i, j := range g.Perm(len(texts)) {
			want := model.Want(1 + (i+round)%2)
			batch[i] = model.Input{Seq: s.fresh(), Tokens: texts[j], Want: want, Scores: s.rows(want.Rows(len(texts[j])))}
			seqs = append(seqs, batch[i].Seq)
		}
		s.asked++
		if _, err := s.forward(batch); err != nil {
			return fail(fmt.Sprintf("a batch of %d inputs", len(batch)), err.Error())
		}
		for i, in := range batch {
			for k := range in.Scores {
				context := in.Tokens[:len(in.Tokens)-len(in.Scores)+k+1]
				if f := s.expect(&in.Scores[k], context, fmt.Sprintf("as input %d of a batch of %d", i+1, len(batch))); f.outcome == Fail {
					return f
				}
			}
		}
		if err := s.free(seqs...); err != nil {
			return fail("forgetting sequences", err.Error())
		}
	}
	return holds()
}
