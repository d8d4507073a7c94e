package cells_test

import (
	"testing"

	"lab/core/script/cells"
)

// What a cell costs by itself, and what an editor waits for at each key.
func BenchmarkCells(b *testing.B) {
	s, err := cells.New(cells.Config{Modules: nil})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("empty cell", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Run(b.Context(), "cell", "1", &log{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("completion", func(b *testing.B) {
		for b.Loop() {
			s.Complete("x := import(\"math\")\ny := [1, 2, 3]\nx.fl", 38)
		}
	})
}
