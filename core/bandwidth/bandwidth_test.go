package bandwidth

import (
	"fmt"
	"testing"

	"lab/core/fault"
)

// Every word is read once, whatever the number of goroutines and the remainder.
func TestAPassReadsEveryWordOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 7} {
		b, err := New(1<<20+8*5, threads)
		if err != nil {
			t.Fatal(err)
		}
		if rate := b.Pass(); !(rate > 0) {
			t.Errorf("%d threads: %v bytes a second", threads, rate)
		}
		got, n := uint64(0), uint64(len(b.words))
		for _, s := range b.sums {
			got += s
		}
		if want := n * (n - 1) / 2; got != want {
			t.Errorf("%d threads: the words read sum to %d, want %d", threads, got, want)
		}
	}
}

// What the sum of a part is does not depend on how it is added up.
func TestTheSumIsThatOfPlainCode(t *testing.T) {
	words := make([]uint64, 1<<17+37) // more than one piece, and a remainder
	for i := range words {
		words[i] = uint64(i)*0x9e3779b97f4a7c15 + 1
	}
	for _, n := range []int{0, 1, 31, 32, 33, 4095, 1 << 17, len(words)} {
		want := uint64(0)
		for _, w := range words[:n] {
			want += w
		}
		if got := sum(words[:n]); got != want {
			t.Errorf("%d words: %d, want %d", n, got, want)
		}
		if got := portableSum(words[:n]); got != want {
			t.Errorf("%d words, plain code: %d, want %d", n, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		size    int64
		threads int
	}{{1, 1}, {-1, 1}, {1 << 40, 1}, {1 << 20, 0}, {1 << 20, 5000}} {
		if _, err := New(c.size, c.threads); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func BenchmarkPass(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			buffer, err := New(0, threads)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(buffer.Bytes())
			for b.Loop() {
				buffer.Pass()
			}
		})
	}
}
