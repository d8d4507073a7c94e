package constrain

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// BenchmarkJSON is the cost of a step inside JSON at a vocabulary of 262,144
// tokens, and of the tree of the vocabulary, made once.
func BenchmarkJSON(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 8))
	pieces := vocabulary(r, strings.Repeat(words, 40), 262144-257)
	for i := 257; i < len(pieces); i++ {
		for k := range pieces[i] {
			if r.IntN(3) == 0 {
				pieces[i][k] = byte('a' + r.IntN(26))
			}
		}
	}
	texts := func(id int32) []byte { return pieces[id] }
	set := func(s sampler.Sampler) param.Values {
		v, err := s.Declare().Params.Resolve("", "", []param.Setting{setting("schema", `{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer"}},"required":["name","n"]}`)})
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	var history []int32
	for _, x := range []byte(`{"name": "abc`) {
		history = append(history, 1+int32(x))
	}
	apply := func(s sampler.Sampler, v param.Values, scratch []float32, state []byte) []byte {
		row := dist.NewDense(scratch)
		r := &sampler.Row{Scores: &row, History: history, Texts: texts, Vocabulary: "v", EndOfText: []int32{0}, State: state}
		if err := s.Apply(r, v); err != nil {
			b.Fatal(err)
		}
		return r.State
	}
	scratch := make([]float32, len(pieces))
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			s := NewJSONSchema()
			apply(s, set(s), scratch, nil)
		}
	})
	// A counted string is in another place after every character, and each place
	// goes through the whole tree once.
	b.Run("counted", func(b *testing.B) {
		s := NewJSONSchema()
		v, err := s.Declare().Params.Resolve("", "", []param.Setting{setting("schema", `{"type":"string","maxLength":10000}`)})
		if err != nil {
			b.Fatal(err)
		}
		long := []int32{1 + '"'}
		var state []byte
		for b.Loop() {
			row := dist.NewDense(scratch)
			r := &sampler.Row{Scores: &row, History: long, Texts: texts, Vocabulary: "v", EndOfText: []int32{0}, State: state}
			clear(scratch)
			if err := s.Apply(r, v); err != nil {
				b.Fatal(err)
			}
			long, state = append(long, 1+'a'), r.State
			if len(long) == 9000 {
				long, state = long[:1], nil
			}
		}
	})
	b.Run("step", func(b *testing.B) {
		s := NewJSONSchema()
		v := set(s)
		state := apply(s, v, scratch, nil)
		for b.Loop() {
			clear(scratch)
			apply(s, v, scratch, state)
		}
	})
}
