package transformer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

// TestSpansAndWindowsOfAnyLength: rows that go through the attention together see
// what they see alone, whether a window is shorter than their span, as long, or
// reaches over several pages.
func TestSpansAndWindowsOfAnyLength(t *testing.T) {
	s := small()
	for _, window := range []int{0, 1, 2, 3, 4, 5, 15, 16, 17, 40} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			o := newOracle(t, s, kernel.Best())
			e := s.open(t, 7, 2, kernel.Best())
			o.e.hyper.window, e.hyper.window = window, window
			if most := e.hyper.spanRows(); most < 3 {
				t.Fatalf("a span has %d rows: too few for this test", most)
			}
			tokens := s.tokens(rand.New(rand.NewPCG(1, 2)), 70)
			rows := rowsFor(e, len(tokens))
			if _, err := e.Forward(context.Background(), []model.Input{{Tokens: tokens, Want: model.All, Scores: rows}}); err != nil {
				t.Fatal(err)
			}
			for i := range tokens {
				o.check("all at once", tokens[:i+1], rows[i].Values)
			}
		})
	}
}
