package main

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"lab/core/dist"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/plugins/models"
)

// openBuiltin opens a built-in model in this process.
func openBuiltin(t *testing.T, name string) (*generate.Engine, model.Model) {
	t.Helper()
	m, err := localModel(t.Context(), name)
	if err != nil || m == nil {
		t.Fatalf("model %s among %d backends: %v", name, len(models.All()), err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	e, err := generate.New(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return e, m
}

// write lets a model write a document by drawing from its own distribution, and
// returns it with the surprisals that it had, the entropies of the distributions
// and the variances of the surprisals under them.
func write(t *testing.T, m model.Model, g *rand.Rand, seq uint64, most int) (tokens []int32, surprisal, entropy, variance []float64) {
	t.Helper()
	info := m.Info()
	row := dist.NewDense(make([]float32, info.VocabSize))
	tokens = []int32{info.Begin}
	for len(tokens) < most {
		at := len(tokens) - 1
		in := model.Input{Seq: seq, Start: at, Tokens: tokens[at:], Want: model.Last, Scores: []dist.Scores{row}}
		if _, err := m.Forward(t.Context(), []model.Input{in}); err != nil {
			t.Fatal(err)
		}
		// The softmax by hand, in double precision.
		total, u := 0.0, g.Float64()
		for _, v := range row.Values {
			total += math.Exp(float64(v))
		}
		var h, square, seen float64
		next := int32(-1)
		for i, v := range row.Values {
			p := math.Exp(float64(v)) / total
			if p == 0 {
				continue
			}
			bits := -math.Log2(p)
			h += p * bits
			square += p * bits * bits
			if seen += p; next < 0 && seen > u {
				next = int32(i)
				surprisal = append(surprisal, bits)
			}
		}
		if next < 0 || next == info.EndOfText[0] {
			surprisal = surprisal[:len(tokens)-1]
			break
		}
		entropy, variance = append(entropy, h), append(variance, square-h*h)
		tokens = append(tokens, next)
	}
	if err := m.Edit(t.Context(), []model.Edit{{Op: model.Free, Seq: seq}}); err != nil {
		t.Fatal(err)
	}
	return tokens, surprisal, entropy, variance
}

// Text drawn from a model has the surprisals of a softmax computed by hand, and
// over many tokens their sum is that of the entropies: what is left is a
// martingale, within five of its standard deviations under a fixed seed. The end
// of a document is left out by conditioning on its being no end, which moves the
// entropies by less than that.
func TestScoresOfDrawnText(t *testing.T) {
	for _, name := range []string{"grammar", "tiny"} {
		t.Run(name, func(t *testing.T) {
			e, m := openBuiltin(t, name)
			g := rand.New(rand.NewPCG(5, 8))
			var sum, expected, variance float64
			n := 0
			for doc := range 12 {
				tokens, surprisal, entropy, v := write(t, m, g, uint64(1<<30+doc), 200)
				text, err := m.Decode(t.Context(), tokens)
				if err != nil {
					t.Fatal(err)
				}
				again, err := m.Encode(t.Context(), text, model.EncodeOptions{Begin: true})
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(again, tokens) {
					continue // drawn as other tokens than the text has
				}
				out, _, err := e.Score(t.Context(), nil, [][]byte{text}, generate.ScoreOptions{})
				if err != nil {
					t.Fatal(err)
				}
				s := out[0]
				if s.Count != len(surprisal) || s.Bytes != len(text) {
					t.Fatalf("%d tokens and %d bytes scored, want %d and %d", s.Count, s.Bytes, len(surprisal), len(text))
				}
				for i, x := range s.Tokens {
					// The host sums 1312 exponentials of float32 scores in another order.
					if !(math.Abs(x.SurprisalBits-surprisal[i]) <= 1e-5) || !(math.Abs(x.Entropy.Low-entropy[i]) <= 1e-5) {
						t.Fatalf("token %d: %v bits at an entropy of %v, by hand %v and %v", i, x.SurprisalBits, x.Entropy.Low, surprisal[i], entropy[i])
					}
					expected, variance = expected+entropy[i], variance+v[i]
				}
				sum, n = sum+s.Bits, n+s.Count
				whole, _, err := e.Perplexity(t.Context(), text, generate.WindowOptions{Window: 256, Stride: 128})
				if err != nil {
					t.Fatal(err)
				}
				if !(math.Abs(whole.Bits-s.Bits) <= 1e-9*s.Bits) {
					t.Errorf("one window gives %v bits, the text %v", whole.Bits, s.Bits)
				}
			}
			if n < 500 {
				t.Fatalf("only %d tokens were scored", n)
			}
			if d := math.Abs(sum - expected); !(d <= 5*math.Sqrt(variance)) {
				t.Errorf("%d tokens have %v bits, their entropies %v: %v apart, 5 σ is %v", n, sum, expected, d, 5*math.Sqrt(variance))
			}
		})
	}
}

// What an engine counts is the sum over its calls; tokens follow from the texts.
func TestUsageOfAScoring(t *testing.T) {
	e, _ := openBuiltin(t, "tiny")
	text := []byte("The weather today is nice.")
	tokens, err := e.Encode(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	_, one, err := e.Score(t.Context(), nil, [][]byte{text}, generate.ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, two, err := e.Score(t.Context(), nil, [][]byte{text, text}, generate.ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := one.PrefillTokens + one.DecodeTokens; got != int64(len(tokens)-1) {
		t.Errorf("%d tokens were read, want %d", got, len(tokens)-1)
	}
	if one.FLOPs <= 0 || one.BytesMoved <= 0 || one.CacheBytes <= 0 || one.PrefillSeconds <= 0 {
		t.Errorf("something was not counted: %+v", one)
	}
	if one.FLOPs != two.FLOPs || one.PrefillTokens != two.PrefillTokens {
		t.Errorf("the same text twice costs %+v, once %+v", two, one)
	}
	if got, want := e.Usage(), one.Add(two); got != want {
		t.Errorf("the engine counts %+v, its calls %+v", got, want)
	}
}
