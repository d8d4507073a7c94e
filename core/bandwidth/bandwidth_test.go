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
