package transformer

import (
	"context"
	"math"
	"testing"

	"lab/core/plugin/model"
)

// The hidden states are those from which the scores come: the matrix of the
// output times the state is the row, whatever pieces the tokens arrive in.
func TestHiddenStatesGiveTheScores(t *testing.T) {
	e := tinySized(t, 1)
	exactly(e) // so that the product below is the one that is computed
	width, vocab := e.Info().Hidden, e.Info().VocabSize
	tokens := []int32{5, 17, 230, 9}
	whole := make([]float32, len(tokens)*width)
	rows := rowsFor(e, len(tokens))
	if _, err := e.Forward(context.Background(), []model.Input{{Seq: 1, Tokens: tokens, Want: model.All, Scores: rows, Hidden: whole}}); err != nil {
		t.Fatal(err)
	}
	one := make([]float32, width)
	for i, token := range tokens {
		in := model.Input{Seq: 2, Start: i, Tokens: []int32{token}, Want: model.Last, Scores: rowsFor(e, 1), Hidden: one}
		if _, err := e.Forward(context.Background(), []model.Input{in}); err != nil {
			t.Fatal(err)
		}
		for k, v := range one {
			if math.Float32bits(v) != math.Float32bits(whole[i*width+k]) {
				t.Fatalf("number %d of token %d is %v alone and %v in a prompt", k, i, v, whole[i*width+k])
			}
		}
	}
	last := e.weight.head[len(e.weight.head)-1].tensors[0]
	for _, id := range []int{0, 1, 77, vocab - 1} {
		w := last.widen(e.pass.k, id&^3, min(4, vocab-id&^3), make([]float32, 4*width))[id%4*width:][:width]
		sum, size := 0.0, 0.0
		for k, v := range w {
			sum += float64(v) * float64(one[k])
			size += math.Abs(float64(v) * float64(one[k]))
		}
		// A float32 sum of width terms.
		if got := float64(rows[len(tokens)-1].Values[id]); !(math.Abs(got-sum) <= 1e-6*size) {
			t.Errorf("token %d scores %v, its row of the output times the state is %v", id, got, sum)
		}
	}
}
