package watermark

import (
	"encoding/binary"

	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
	"lab/plugins/samplers/selection"
)

// Gumbel draws with numbers that depend on the tokens before.
type Gumbel struct{}

// Declare returns the declaration.
func (Gumbel) Declare() sampler.Declaration {
	return declare(watermark.GumbelMethod, sampler.Select, sampler.Needs{History: -1, Uniforms: 1})
}

// Apply runs a race between tokens ([selection.Race]) under the seed of the context,
// of the last context_width tokens or as many as there are. Where the context was
// met before in the text and repeats is draw, it draws as the sampler sample does.
// The row is not changed. A row with an unlisted tail is refused.
func (Gumbel) Apply(row *sampler.Row, set param.Values) error {
	s := row.Scores
	if err := listed(watermark.GumbelMethod, s); err != nil {
		return err
	}
	mark := watermark.NewContextMark(set.Int("key"), int(set.Int("context_width")))
	place := len(row.History)
	if set.Text("repeats") == watermark.RepeatsDraw && mark.Repeated(row.History, row.Prompt, place) {
		row.Chosen = s.ID(vec.Draw(s.Values, s.IDs, float64(vec.Max(s.Values)), row.Uniforms[0]))
		return nil
	}
	row.Chosen = selection.Race(s, mark.Seed(row.History, place))
	return nil
}

// Keyed draws with numbers from a secret list.
type Keyed struct {
	lists cache[keyedKey, *watermark.Sequence]
}

type keyedKey struct {
	key    int64
	length int
}

// NewKeyed returns the sampler.
func NewKeyed() *Keyed { return &Keyed{} }

// Declare returns the declaration.
func (*Keyed) Declare() sampler.Declaration {
	return declare(watermark.KeyedMethod, sampler.Select, sampler.Needs{Uniforms: 1})
}

// Apply runs a race between tokens ([selection.Race]) under the seed at the step's
// place of the list. Where a text starts is drawn at its first step, unless offset
// says it, and kept as the state: 4 little-endian bytes. The row is not changed. A
// place outside the list, a state of another length and a row with an unlisted
// tail are refused.
func (y *Keyed) Apply(row *sampler.Row, set param.Values) error {
	const op = watermark.KeyedMethod
	s := row.Scores
	if err := listed(op, s); err != nil {
		return err
	}
	k := keyedKey{set.Int("key"), int(set.Int("length"))}
	start := int(set.Int("offset"))
	switch {
	case start >= k.length:
		return fault.New(fault.Usage, op, "", "offset = %d is outside a list of length %d", start, k.length).Fix("choose an offset below length, or -1")
	case start < 0 && len(row.State) == 0:
		start = int(row.Uniforms[0] * float64(k.length))
		row.State = binary.LittleEndian.AppendUint32(nil, uint32(start))
	case start < 0:
		if len(row.State) != 4 {
			return fault.New(fault.Data, op, "", "its state has %d bytes, not 4", len(row.State))
		}
		at := binary.LittleEndian.Uint32(row.State)
		if int64(at) >= int64(k.length) {
			return fault.New(fault.Data, op, "", "its state holds place %d of a list of length %d", at, k.length)
		}
		start = int(at)
	}
	list, err := y.lists.get(k, func() (*watermark.Sequence, error) { return watermark.NewSequence(k.key, k.length), nil })
	if err != nil {
		return err
	}
	row.Chosen = selection.Race(s, list.Seed(start, row.Step))
	return nil
}
