package std

import (
	"fmt"
	"math"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/script"
	"lab/core/trace"
)

// Distribution is a distribution over the next token as a script holds it: the
// model distribution after a prompt, or the sampling distribution that a chain
// made of it. The two say so in their kind and never mix.
type Distribution struct {
	model   *Model
	prompt  []byte
	history []int32
	row     dist.Scores
	dist.Distribution

	from   *Distribution         // the model distribution it was made from; nil for that one itself
	shaped *experiment.Reshaping // nil for a model distribution
}

// Unshaped returns the model distribution that d is or was made from.
func (d *Distribution) Unshaped() *Distribution {
	if d.from == nil {
		return d
	}
	return d.from
}

// Reshaping returns the chain's work, or nil for a model distribution.
func (d *Distribution) Reshaping() *experiment.Reshaping { return d.shaped }

// Prompt returns the context's text.
func (d *Distribution) Prompt() string { return string(d.prompt) }

// Model returns the model it belongs to.
func (d *Distribution) Model() *Model { return d.model }

// Reshape applies a chain to a copy of the row.
func (d *Distribution) Reshape(c *script.Call, built *chain.Chain, draw experiment.Draw) (*Distribution, error) {
	if err := OutsideApply(c); err != nil {
		return nil, err
	}
	r, err := d.model.Reshape(c.Context(), &d.row, d.prompt, d.history, built, draw)
	if err != nil {
		return nil, err
	}
	return &Distribution{model: d.model, prompt: d.prompt, history: d.history, row: r.After[len(r.After)-1],
		Distribution: r.Sampling.Distribution, from: d.Unshaped(), shaped: r}, nil
}

// Env returns the environment the distribution belongs to.
func (d *Distribution) Env() *Env { return d.model.env }

// ChainOf reads a chain argument as the methods of a distribution do.
func (d *Distribution) ChainOf(c *script.Call, arg any) (*chain.Chain, error) {
	return d.model.env.chainOf(c, arg)
}

var (
	anyToken = script.Param{Name: "token", Type: script.Either(script.Int(), script.String()),
		Meaning: "a token id, or the exact text of one token with its leading space"}
	otherParam = script.Param{Name: "other", Type: script.Host[*Distribution](), Meaning: "a distribution over the same vocabulary"}
)

// Class implements script.Object.
func (*Distribution) Class() script.Class {
	return script.Class{
		Name: "distribution", Doc: "A distribution over the next token.",
		Members: []script.Member{
			getter("kind", "string", `"model" or "sampling".`, func(d *Distribution) any {
				if d.shaped == nil {
					return "model"
				}
				return "sampling"
			}),
			getter("prompt", "string", "The context it follows.", func(d *Distribution) any { return plainText(d.prompt) }),
			getter("support", "int", "Number of tokens with probability above 0.", func(d *Distribution) any { return d.Support() }),
			entropyMember("entropy_bits", "Entropy in bits.", func(bits float64) float64 { return bits }),
			entropyMember("perplexity", "2 to the entropy in bits: the number of equally likely tokens with that entropy.", math.Exp2),
			{
				Name: "top", Doc: "Lists the n likeliest tokens, ties by ascending id.", Returns: "list of token",
				Params: []script.Param{{Name: "n", Type: script.Int(), Default: int64(10), Range: script.Between(1, 1<<22)}},
				Func: func(c *script.Call) (any, error) {
					d := script.Self[*Distribution](c)
					best, _ := d.Top(int(c.Int("n")))
					out := make([]*token, len(best))
					for i, t := range best {
						out[i] = &token{id: t.ID, rank: i + 1, p: t.P, piece: d.model.Piece(t.ID)}
					}
					return out, nil
				},
			},
			tokenMember("p", "float", "Returns the probability of a token, 0 when it is not in the support.",
				func(d *Distribution, id int32) any { return d.P(id) }),
			tokenMember("rank", "int", "Returns the rank of a token from 1, 0 when it is not in the support.",
				func(d *Distribution, id int32) any { return d.Rank(id) }),
			tokenMember("surprisal_bits", "float", "Returns -log2 of a token's probability.",
				func(d *Distribution, id int32) any { return d.SurprisalBits(id) }),
			{
				Name: "apply", Doc: "Returns the sampling distribution that a chain makes of this one, with its ledger and the token drawn.", Returns: "distribution",
				Params: []script.Param{chainParam},
				Options: append([]script.Param{
					{Name: "seed", Type: script.Int(), Range: seedRange, Meaning: "run seed of the draw; left out, lab.seed"},
					{Name: "sample", Type: script.Int(), Default: int64(0), Range: script.Between(0, 1<<32-1), Meaning: "index of the sample"},
				}, passOptions()...),
				Func: func(c *script.Call) (any, error) {
					d := script.Self[*Distribution](c)
					built, err := d.model.env.chainOf(c, c.Any("chain"))
					if err != nil {
						return nil, err
					}
					draw := experiment.Draw{Seed: d.model.env.Seed, Sample: uint64(c.Int("sample")), Passes: passes(c)}
					if c.Given("seed") {
						draw.Seed = uint64(c.Int("seed"))
					}
					return blocking(c, func() (*Distribution, error) { return d.Reshape(c, built, draw) })
				},
			},
			compareMember("kl", "Returns KL(this‖other) in bits; infinite when this one has a token that the other rules out.", dist.KL),
			compareMember("tv", "Returns the total variation distance, half the L1 distance, 0 to 1.", dist.TV),
			compareMember("js", "Returns the Jensen-Shannon divergence in bits, 0 to 1.", dist.JS),
			getter("chain", "string", "The chain that made it; empty for a model distribution.", func(d *Distribution) any {
				if d.shaped == nil {
					return ""
				}
				return d.shaped.Chain.String()
			}),
			getter("ledger", "list of stage", "What every stage did; empty for a model distribution.", func(d *Distribution) any {
				out := []*stage{}
				if d.shaped != nil {
					for _, e := range d.shaped.Ledger {
						out = append(out, &stage{trace.NewStage(e.Stage, e.Plugin, e.Change)})
					}
				}
				return out
			}),
			getter("drawn", "token", "The token the chain drew; undefined for a model distribution.", func(d *Distribution) any {
				if d.shaped == nil {
					return nil
				}
				id := d.shaped.Chosen
				return &token{id: id, rank: d.Rank(id), p: d.P(id), piece: d.model.Piece(id)}
			}),
		},
	}
}

// String implements fmt.Stringer.
func (d *Distribution) String() string {
	bits := d.EntropyBounds()
	kind := "model"
	if d.shaped != nil {
		kind = "sampling"
	}
	return fmt.Sprintf("<%s distribution: %d tokens, %s bits>", kind, d.Support(), short(bits.Low))
}

// entropyMember declares a number that derives from the exact entropy; a
// backend that lists part of its vocabulary has none, and the error says so.
func entropyMember(name, doc string, of func(bits float64) float64) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: "float", Get: func(c *script.Call) (any, error) {
		bits, err := script.Self[*Distribution](c).EntropyBits()
		return of(bits), err
	}}
}

func tokenMember(name, returns, doc string, f func(*Distribution, int32) any) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: returns, Params: []script.Param{anyToken},
		Func: func(c *script.Call) (any, error) {
			d := script.Self[*Distribution](c)
			id, err := d.model.tokenOf(c.Any("token"))
			if err != nil {
				return nil, err
			}
			return f(d, id), nil
		}}
}

func compareMember(name, doc string, f func(q, p dist.Distribution) (float64, error)) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: "float", Params: []script.Param{otherParam},
		Func: func(c *script.Call) (any, error) {
			return f(script.Self[*Distribution](c).Distribution, script.Arg[*Distribution](c, "other").Distribution)
		}}
}

// token is one entry of a distribution.
type token struct {
	id    int32
	rank  int
	p     float64
	piece []byte
}

// Class implements script.Object.
func (*token) Class() script.Class {
	return script.Class{Name: "token", Doc: "One token of a distribution.", Members: []script.Member{
		getter("token", "int", "Its id.", func(t *token) any { return t.id }),
		getter("text", "string", "Its text; U+FFFD stands for bytes that are no UTF-8 on their own.", func(t *token) any { return plainText(t.piece) }),
		getter("piece", "bytes", "Its bytes.", func(t *token) any { return append([]byte{}, t.piece...) }),
		getter("rank", "int", "Its rank from 1.", func(t *token) any { return t.rank }),
		getter("p", "float", "Its probability.", func(t *token) any { return t.p }),
		getter("surprisal_bits", "float", "-log2 of its probability.", func(t *token) any { return -math.Log2(t.p) }),
	}}
}

// String implements fmt.Stringer.
func (t *token) String() string { return fmt.Sprintf("<token %d %q>", t.id, t.piece) }
