package models_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/plugins/models/grammar"
	"lab/plugins/models/transformer"
)

// The seed of the held-out documents (the trainer's are 1 and 2) and the number
// of predictions that are compared.
const (
	heldOutSeed = 20261202
	predictions = 25000
)

// heldOut compares the grammar's true next-token distribution with tiny's on
// documents that neither the trainer nor its measurements have seen.
type heldOut struct {
	t       *testing.T
	lang    *grammar.Language
	m       model.Model
	context int
	truth   []float64

	count         int
	klBits        float64 // sums over all predictions
	entropyBits   float64
	massOff       float64 // mass that tiny puts on tokens that cannot follow
	greedyMatches int
}

// document compares every prediction of one document, up to tiny's context.
func (h *heldOut) document(tokens []int32) {
	h.t.Helper()
	tokens = tokens[:min(len(tokens), h.context)]
	rows := make([]dist.Scores, len(tokens))
	for i := range rows {
		rows[i] = dist.NewDense(make([]float32, len(h.truth)))
	}
	ctx := context.Background()
	if _, err := h.m.Forward(ctx, []model.Input{{Tokens: tokens, Want: model.All, Scores: rows}}); err != nil {
		h.t.Fatal(err)
	}
	if err := h.m.Edit(ctx, []model.Edit{{Op: model.Free}}); err != nil {
		h.t.Fatal(err)
	}
	state := h.lang.Start()
	for i, row := range rows {
		if i > 0 { // the first token is BOS, which the grammar starts from
			var err error
			if state, err = state.Advance(tokens[i]); err != nil {
				h.t.Fatal(err)
			}
		}
		if state.Ended() {
			return
		}
		if err := state.Distribution(h.truth); err != nil {
			h.t.Fatal(err)
		}
		h.compare(row.Values)
	}
}

// compare adds one prediction: KL(grammar‖tiny) = Σ p log2(p/q), with q the
// softmax of the scores in float64.
func (h *heldOut) compare(scores []float32) {
	largest, best, likeliest := math.Inf(-1), 0, 0
	for id, v := range scores {
		if float64(v) > largest {
			largest, best = float64(v), id
		}
		if h.truth[id] > h.truth[likeliest] {
			likeliest = id
		}
	}
	sum := 0.0
	for _, v := range scores {
		sum += math.Exp(float64(v) - largest)
	}
	logSum := largest + math.Log(sum)
	for id, p := range h.truth {
		q := float64(scores[id]) - logSum
		if p == 0 {
			h.massOff += math.Exp(q)
			continue
		}
		h.klBits += p * (math.Log(p) - q) / math.Ln2
		h.entropyBits -= p * math.Log(p) / math.Ln2
	}
	if best == likeliest {
		h.greedyMatches++
	}
	h.count++
}

// TestTinyIsNearTheGrammarsTruth is the report of how well tiny has learnt: the
// mean KL(grammar‖tiny) in bits per token on held-out documents, computed by
// the engine from the embedded weights. The figures are logged; run it with -v.
func TestTinyIsNearTheGrammarsTruth(t *testing.T) {
	ctx := context.Background()
	lang, err := grammar.English()
	if err != nil {
		t.Fatal(err)
	}
	backend := transformer.Tiny()
	settings, err := backend.Declare().Params.Resolve("open model", "tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := backend.Open(ctx, "tiny", settings)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sameTokens(t, lang, m)

	h := &heldOut{t: t, lang: lang, m: m, context: m.Info().ContextLength, truth: make([]float64, m.Info().VocabSize)}
	for i := uint64(0); h.count < predictions; i++ {
		tokens, err := lang.Sample(rand.New(rand.NewPCG(heldOutSeed, i)))
		if err != nil {
			t.Fatal(err)
		}
		h.document(append([]int32{m.Info().Begin}, tokens...))
	}
	n := float64(h.count)
	kl := h.klBits / n
	t.Logf("%d predictions: KL(grammar‖tiny) = %.4f bits per token, entropy of the truth %.3f bits, mass on impossible tokens %.2f %%, same likeliest token %.1f %%",
		h.count, kl, h.entropyBits/n, 100*h.massOff/n, 100*float64(h.greedyMatches)/n)
	if !(kl < 0.10) {
		t.Errorf("KL(grammar‖tiny) = %.4f bits per token; below 0.10 is promised", kl)
	}
	if !(kl >= 0) {
		t.Errorf("a KL of %g is impossible: the sums are wrong", kl)
	}
}

// sameTokens checks that both models speak about the same tokens.
func sameTokens(t *testing.T, lang *grammar.Language, m model.Model) {
	t.Helper()
	pieces, err := m.Pieces(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	tok := lang.Tokenizer()
	if tok.Size() != len(pieces) {
		t.Fatalf("the grammar has %d tokens, tiny %d", tok.Size(), len(pieces))
	}
	for id := range pieces {
		piece, err := tok.Piece(int32(id))
		if err != nil || !bytes.Equal(piece, pieces[id]) {
			t.Fatalf("token %d is %q in the grammar and %q in tiny (%v)", id, piece, pieces[id], err)
		}
	}
	for _, text := range []string{"The weather today is", "We had soup, and \"they\" left.\nIt rained.", "né ▁ \xff"} {
		ids, err := m.Encode(context.Background(), []byte(text), model.EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := tok.Encode([]byte(text))
		if len(ids) != len(want) {
			t.Fatalf("%q is %v in tiny and %v in the grammar", text, ids, want)
		}
		for i := range ids {
			if ids[i] != want[i] {
				t.Fatalf("%q is %v in tiny and %v in the grammar", text, ids, want)
			}
		}
	}
}
