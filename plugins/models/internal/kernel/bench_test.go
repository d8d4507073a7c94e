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

// BenchmarkProducts is a packed matrix against a batch of rounded activations: one
// in the nearest caches, and one of 64 MiB, which comes from memory as a model's
// do. From memory a single row waits for the bytes; eight and more should come
// near what they reach in the caches.
func BenchmarkProducts(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const cols = 768
	for _, k := range All()[:max(1, len(All())-1)] {
		for _, l := range packedForms() {
			for i := range 6 {
				batch, from, rows := []int{1, 8, 32}[i/2], "caches", 64
				if i%2 == 1 {
					from, rows = "memory", (64<<20)/l.format().Bytes(cols)/16*16
				}
				b.Run(fmt.Sprintf("%s/%v/batch=%d/%s", k.Name(), l, batch, from), func(b *testing.B) {
					src := storedRows(r, l.format(), rows, cols, blockFills[0].next)
					w, x, y := make([]byte, l.PackedBytes(rows, cols)), make([]byte, l.Rounding().RoundedBytes(cols, batch)), make([]float32, rows*batch)
					l.Pack(w, src, rows, cols)
					b.SetBytes(int64(len(w)))
					b.ResetTimer()
					for b.Loop() {
						k.Products(y, rows, w, l, rows, x, batch, cols, nil)
					}
					b.ReportMetric(float64(rows*cols*batch)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
				})
			}
		}
	}
}

// BenchmarkRound rounds a row of activations.
func BenchmarkRound(b *testing.B) {
	const cols = 1536
	x, dst := filled(rand.New(rand.NewPCG(1, 2)), cols, fills[0].next), make([]byte, AsIs.RoundedBytes(cols, 1)) // the largest of them
	for _, k := range All() {
		for _, rounding := range []Rounding{ByBlock, BySuperBlock, AsIs, ByWords} {
			b.Run(fmt.Sprintf("%s/%d", k.Name(), rounding), func(b *testing.B) {
				b.SetBytes(4 * cols)
				for b.Loop() {
					k.Round(dst, x, rounding, 0, 1)
				}
			})
		}
	}
}

// BenchmarkPack is what a matrix costs once.
func BenchmarkPack(b *testing.B) {
	const rows, cols = 64, 768
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range packedForms() {
		src := storedRows(r, l.format(), rows, cols, blockFills[0].next)
		w := make([]byte, l.PackedBytes(rows, cols))
		b.Run(l.String(), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				l.Pack(w, src, rows, cols)
			}
		})
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
		b.Run(k.Name()+"/gelu", func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				k.GELUMul(s, up)
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
