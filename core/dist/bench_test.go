package dist

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The ledger of temperature, then a truncation to 40 tokens, then a draw that
// leaves the row alone.
func BenchmarkLedger(b *testing.B) {
	for _, n := range []int{1024, 32768, 262144} {
		before := random(rand.New(rand.NewPCG(9, uint64(n))), n, 3, 0)
		hot := before.Clone()
		for i := range hot.Values {
			hot.Values[i] /= 2
		}
		cut := hot.Clone()
		cut.KeepBest(float32(3), 1, n/20)
		var ws Workspace
		b.Run(fmt.Sprint("start/", n), func(b *testing.B) {
			for b.Loop() {
				if err := ws.Start(before); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("reshape/", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Compare(before, &hot, &ws); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("truncate/", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Compare(&hot, &cut, &ws); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSoftmax(b *testing.B) {
	s := random(rand.New(rand.NewPCG(9, 9)), 262144, 3, 0)
	b.Run("262144", func(b *testing.B) {
		for b.Loop() {
			if _, err := Softmax(s); err != nil {
				b.Fatal(err)
			}
		}
	})
	d, _ := Softmax(s)
	b.Run("top 20", func(b *testing.B) {
		for b.Loop() {
			d.Top(20)
		}
	})
}
