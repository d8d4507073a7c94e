package constrain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// vocabulary returns all bytes, pieces cut at random from a text, so that some
// begin or end inside a character, and an end of text: token 0.
func vocabulary(r *rand.Rand, text string, pieces int) [][]byte {
	out := [][]byte{nil}
	for b := range 256 {
		out = append(out, []byte{byte(b)})
	}
	for range pieces {
		at := r.IntN(len(text))
		out = append(out, []byte(text[at:min(len(text), at+1+r.IntN(6))]))
	}
	return out
}

const words = `{"name": "Ännchen", "age": 42, "tags": ["größe", "日本語", "x y"]} true false null -17.25e3 ab12 2024-12-02T10:00:00Z naïve, emoji 🙂 "quoted\"" [1, 2], {} key: \u00e9 `

// walker draws texts under a constraint, each token with equal probability, but
// ends as soon as it may when it has become long.
type walker struct {
	t      *testing.T
	s      sampler.Sampler
	set    param.Values
	pieces [][]byte
	key    string // of the vocabulary
	r      *rand.Rand
}

func newWalker(t *testing.T, s sampler.Sampler, seed uint64, set ...param.Setting) *walker {
	t.Helper()
	v, err := s.Declare().Params.Resolve("", "", set)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 9))
	return &walker{t: t, s: s, set: v, pieces: vocabulary(r, words, 300), key: fmt.Sprint("vocabulary ", seed), r: r}
}

func setting(name string, v any) param.Setting { return param.Setting{Name: name, Value: v} }

func (w *walker) text(id int32) []byte { return w.pieces[id] }

// allowed returns the tokens that may follow, and the state.
func (w *walker) allowed(history []int32, state []byte) ([]int32, []byte, error) {
	row := dist.NewDense(make([]float32, len(w.pieces)))
	r := &sampler.Row{Scores: &row, History: history, Texts: w.text, Vocabulary: w.key, EndOfText: []int32{0}, State: state, Chosen: -1}
	if err := w.s.Apply(r, w.set); err != nil {
		return nil, nil, err
	}
	var ids []int32
	for i, v := range row.Values {
		if dist.Finite(v) {
			ids = append(ids, row.ID(i))
		}
	}
	return ids, r.State, nil
}

// walk returns one whole text, or false when it did not end.
func (w *walker) walk(long int) (string, bool) {
	w.t.Helper()
	var history []int32
	var state []byte
	for range 4 * long {
		ids, next, err := w.allowed(history, state)
		if err != nil {
			w.t.Fatalf("after %q: %v", w.join(history), err)
		}
		// The answer does not depend on what the state remembers.
		if w.r.IntN(20) == 0 {
			again, _, err := w.allowed(history, nil)
			if err != nil || !slices.Equal(ids, again) {
				w.t.Fatalf("after %q: %d tokens with a state, %d without (%v)", w.join(history), len(ids), len(again), err)
			}
		}
		token := ids[w.r.IntN(len(ids))]
		if ids[0] == 0 && (len(history) >= long || w.r.IntN(4) == 0) {
			token = 0
		}
		if len(history) >= long { // the shortest way out is by single bytes
			var ways []int32
			for _, id := range ids {
				if id <= 256 && len(w.pieces[id]) == 1 && strings.ContainsRune(`"]}0: @bd`, rune(w.pieces[id][0])) {
					ways = append(ways, id)
				}
			}
			if len(ways) > 0 {
				token = ways[w.r.IntN(len(ways))]
			}
			if ids[0] == 0 {
				token = 0
			}
		}
		if token == 0 {
			return w.join(history), true
		}
		history, state = append(history, token), next
	}
	return w.join(history), false
}

func (w *walker) join(history []int32) string {
	var b []byte
	for _, id := range history {
		b = append(b, w.pieces[id]...)
	}
	return string(b)
}
