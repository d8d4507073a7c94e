package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkDots is one panel of 16 weight rows against a batch, everything in
// the nearest cache: the ceiling of the matrix products.
func BenchmarkDots(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, length = 16, 192
	for _, k := range All() {
		for _, batch := range []int{1, 2, 4, 32} {
			b.Run(fmt.Sprintf("%s/batch=%d", k.Name(), batch), func(b *testing.B) {
				w, x := filled(r, rows*length, fills[0].next), filled(r, batch*length, fills[0].next)
				y := make([]float32, rows*batch)
				for b.Loop() {
					k.Dots(y, rows, w, length, rows, x, length, batch, length)
				}
				flops := 2 * float64(rows*length*batch) * float64(b.N)
				b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

func BenchmarkWiden(b *testing.B) {
	const n = 12 * 256
	dst := make([]float32, n)
	for _, k := range All() {
		for _, f := range Formats() {
			src := make([]byte, f.Bytes(n))
			b.Run(k.Name()+"/"+f.String(), func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					k.Widen(dst, src, f)
				}
			})
		}
	}
}

func BenchmarkElementwise(b *testing.B) {
	const n = 512
	for _, k := range All() {
		s, up := make([]float32, n), make([]float32, n)
		b.Run(k.Name()+"/softmax", func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				k.Softmax(s, 1)
			}
		})
		b.Run(k.Name()+"/silu", func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				k.SiLUMul(s, up)
			}
		})
		b.Run(k.Name()+"/norm", func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				k.RMSNorm(s, up, 1e-5)
			}
		})
	}
}
