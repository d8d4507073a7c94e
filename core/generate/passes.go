package generate

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Pass is a further model pass beside the one that is sampled from: another
// prompt, another model of the same vocabulary, or both. Its context is its
// prompt followed by the tokens of the sample. Stages that declare
// Needs.Passes, such as guidance, see its scores.
type Pass struct {
	Engine *Engine // nil: the model that is sampled from
	Prompt []byte  // empty: the prompt of the sample
}

// engineCount gives every engine a number, by which several are locked in one
// order.
var engineCount atomic.Uint64

// lockWith locks e and others, each once and in the order of their numbers, and
// returns what unlocks them.
func (e *Engine) lockWith(others []*Engine) (unlock func()) {
	all := []*Engine{e}
	for _, o := range others {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *Engine) int { return int(a.number) - int(b.number) })
	for _, x := range all {
		x.mu.Lock()
	}
	return func() {
		for _, x := range all {
			x.mu.Unlock()
		}
	}
}

// samePasses reports whether two jobs' passes come from the same models.
func samePasses(a, b []Pass) bool {
	return slices.EqualFunc(a, b, func(x, y Pass) bool { return x.Engine == y.Engine })
}

// CheckPasses returns a usage error when a chain wants more passes than there
// are, or a pass comes from a model whose vocabulary is another.
func (e *Engine) CheckPasses(c *chain.Chain, passes []Pass) error {
	if want := c.Passes(); len(passes) < want {
		for i, s := range c.Stages {
			if s.Declaration.Needs.Passes == want {
				return fault.New(fault.Usage, "generate", fmt.Sprintf("stage %d (%s)", i+1, s.Name),
					"it needs %d further model pass(es) and %d were given", want, len(passes)).
					Fix("give a second prompt or model to compare with (lab generate --negative-prompt, --second-model)")
			}
		}
	}
	for i, p := range passes {
		o := p.Engine
		if o == nil || o == e {
			continue
		}
		subject := fmt.Sprintf("pass %d: model %q", i+1, o.info.Name)
		if o.info.VocabSize != e.info.VocabSize {
			return fault.New(fault.Usage, "generate", subject, "its vocabulary has %d tokens, that of %q has %d",
				o.info.VocabSize, e.info.Name, e.info.VocabSize).Fix("choose models that share a vocabulary")
		}
		for t := range e.pieces {
			if !bytes.Equal(e.pieces[t], o.pieces[t]) {
				return fault.New(fault.Usage, "generate", subject, "token %d is %s there and %s in %q",
					t, fault.Quote(string(o.pieces[t]), 20), fault.Quote(string(e.pieces[t]), 20), e.info.Name).
					Fix("choose models that share a vocabulary")
			}
		}
	}
	return nil
}

// PassRows evaluates the passes of one context, prompt and tokens that follow
// it, and returns a row for each.
func (e *Engine) PassRows(ctx context.Context, prompt []byte, after []int32, passes []Pass) ([]dist.Scores, error) {
	rows := make([]dist.Scores, len(passes))
	for i, p := range passes {
		o, text := p.Engine, p.Prompt
		if o == nil {
			o = e
		}
		if len(text) == 0 {
			text = prompt
		}
		row, err := func() (dist.Scores, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			b, err := o.root(ctx, nil, text)
			if err != nil {
				return dist.Scores{}, err
			}
			defer b.drop()
			b.Append(after...)
			if err := grow(ctx, nil, b); err != nil {
				return dist.Scores{}, err
			}
			return b.Row(), nil
		}()
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	return rows, nil
}

// passTrunk names the prefilled prompt of a pass, which samples fork from.
type passTrunk struct {
	engine *Engine
	prompt string
}

// follow gives a starting sample the branches of its passes.
func (b *batch) follow(ctx context.Context, s *sample) error {
	for _, p := range s.Passes {
		o, text := p.Engine, p.Prompt
		if o == nil {
			o = b.e
		}
		if len(text) == 0 {
			text = s.Prompt
		}
		key := passTrunk{o, string(text)}
		trunk := b.passTrunks[key]
		if trunk == nil {
			var err error
			var took model.Usage
			trunk, err = o.root(ctx, &took, text)
			b.pay(took, 1, s)
			if err != nil {
				return err
			}
			if b.passTrunks == nil {
				b.passTrunks = map[passTrunk]*Branch{}
			}
			b.passTrunks[key] = trunk
		}
		mate, err := trunk.fork(ctx)
		if err != nil {
			return err
		}
		s.passes = append(s.passes, mate)
	}
	return nil
}

// growPasses evaluates the newest token of every pass, one call for each model.
func (b *batch) growPasses(ctx context.Context) error {
	byEngine, owners := map[*Engine][]*Branch{}, map[*Engine][]*sample{}
	var order []*Engine
	for _, s := range b.live {
		for _, p := range s.passes {
			if byEngine[p.e] == nil {
				order = append(order, p.e)
			}
			byEngine[p.e], owners[p.e] = append(byEngine[p.e], p), append(owners[p.e], s)
		}
	}
	for _, e := range order {
		var took model.Usage
		err := grow(ctx, &took, byEngine[e]...)
		b.pay(took, 1/float64(len(owners[e])), owners[e]...)
		if err != nil {
			return err
		}
	}
	return nil
}

// passRows returns the rows of a sample's passes.
func (s *sample) passRows() []dist.Scores {
	rows := make([]dist.Scores, len(s.passes))
	for i, p := range s.passes {
		rows[i] = p.row
	}
	return rows
}

// leave drops the branches of a sample's passes.
func (s *sample) leave() {
	for _, p := range s.passes {
		p.drop()
	}
	s.passes = nil
}
