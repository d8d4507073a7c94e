package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/host"
)

func cycleSubject(t *testing.T) Subject {
	t.Helper()
	m, err := open(t, host.Options{}).OpenModel(t.Context(), "measured/cycle", nil)
	if err != nil {
		t.Fatal(err)
	}
	return Subject{Label: "it", Model: m}
}

// The counts of a point follow from its context and batch: the model counts 10 FLOP
// a token, and moves 1000 bytes a call and 2 for every position attended to.
func TestAGridCountsWhatItsPointsDo(t *testing.T) {
	const steps, repeat = 3, 2
	points, err := Grid(t.Context(), cycleSubject(t), GridOptions{Context: []int{8, 0, 8, 20}, Batch: []int{4, 1}, Steps: steps, Repeat: repeat})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range points {
		got = append(got, fmt.Sprintf("%s %d %d", p.Phase, p.Context, p.Batch))
		if len(p.Seconds) != repeat || len(p.Backend) != repeat || slices.Min(p.Seconds) <= 0 {
			t.Errorf("%s: seconds %v and %v", p.String(), p.Seconds, p.Backend)
		}
		c, b := float64(p.Context), float64(p.Batch)
		flops, bytes := 10*b, 1000+2*b*(c+2) // of 3 steps the middle one attends to c+2 positions
		if p.Phase == Prefill {
			flops, bytes = 10*c, 1000+c*(c+1)
		}
		if want := (Counts{10 * b, 1000 + 2*b, p.Empty.CacheBytes}); p.Empty != want {
			t.Errorf("%s: an empty step counts %+v, want %+v", p.String(), p.Empty, want)
		}
		if p.Usage.FLOPs != flops || p.Usage.BytesMoved != bytes {
			t.Errorf("%s: %+v, want %g FLOP and %g bytes", p.String(), p.Usage, flops, bytes)
		}
		// What is held: the 4 sequences that points fork from, and the point's own.
		if held := 2 * (4*20 + b*(c+steps)); p.Phase == Decode && p.Usage.CacheBytes != held {
			t.Errorf("%s: %g bytes of cache, want %g", p.String(), p.Usage.CacheBytes, held)
		}
	}
	want := []string{"decode 0 1", "decode 0 4", "prefill 8 1", "decode 8 1", "decode 8 4", "prefill 20 1", "decode 20 1", "decode 20 4"}
	if !slices.Equal(got, want) {
		t.Errorf("points %q, want %q", got, want)
	}
}

// A grid that is interrupted keeps the rounds that were made.
func TestAnInterruptedGridKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opt := GridOptions{Context: []int{4}, Batch: []int{1, 2}, Steps: 1, Repeat: 3,
		Progress: func(done, _ int, _ string) {
			if done == 7 { // 3 points: the first round that counts, and one visit
				cancel()
			}
		}}
	points, err := Grid(ctx, cycleSubject(t), opt)
	if fault.KindOf(err) != fault.Interrupted {
		t.Errorf("got %v", err)
	}
	rounds := 0
	for _, p := range points {
		rounds += len(p.Seconds)
	}
	if rounds != 4 {
		t.Errorf("%d measurements were kept, want 4", rounds)
	}
}

// The order of the points is shuffled by the seed, anew in every round, and the
// same seed gives the same order.
func TestTheOrderIsShuffled(t *testing.T) {
	s := cycleSubject(t)
	order := func(seed uint64) (out []string) {
		_, err := Grid(t.Context(), s, GridOptions{Context: []int{0, 2, 4, 8}, Batch: []int{1, 2}, Steps: 1, Repeat: 1, Seed: seed,
			Progress: func(_, _ int, next string) { out = append(out, next) }})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b, c := order(1), order(1), order(2)
	if !slices.Equal(a, b) || slices.Equal(a, c) || slices.Equal(a[:11], a[11:]) {
		t.Errorf("seed 1: %q and %q\nseed 2: %q", a, b, c)
	}
	if x, y := slices.Sorted(slices.Values(a[:11])), slices.Sorted(slices.Values(a[11:])); !slices.Equal(x, y) {
		t.Errorf("the rounds visit %q and %q", x, y)
	}
}

func TestAGridRefuses(t *testing.T) {
	s := cycleSubject(t)
	good := GridOptions{Context: []int{4}, Batch: []int{1}}
	for name, change := range map[string]func(*GridOptions){
		"no contexts":           func(o *GridOptions) { o.Context = nil },
		"no batches":            func(o *GridOptions) { o.Batch = nil },
		"a context below 0":     func(o *GridOptions) { o.Context = []int{-1, 3} },
		"a batch of none":       func(o *GridOptions) { o.Batch = []int{0, 3} },
		"a batch too large":     func(o *GridOptions) { o.Batch = []int{1 << 20} },
		"steps":                 func(o *GridOptions) { o.Steps = -1 },
		"rounds":                func(o *GridOptions) { o.Repeat = -1 },
		"more than the context": func(o *GridOptions) { o.Context = []int{31} },
		"too many points": func(o *GridOptions) {
			o.Context, o.Batch = nil, nil
			for i := range 60 {
				o.Context, o.Batch = append(o.Context, i), append(o.Batch, i+1)
			}
		},
	} {
		o := good
		change(&o)
		if _, err := Grid(t.Context(), s, o); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
