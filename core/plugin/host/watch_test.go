package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// testGrace is what a call has left in these tests when its caller gives up.
const testGrace = 2 * time.Second

// A watch ends overdue calls at their deadlines, and no others.
func TestWatch(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w *watch, ended *time.Duration)
	}{
		{"a call is ended at its deadline", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(t.Context(), 3*time.Second)
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, 3*time.Second)
		}},
		{"an answered call is not", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(t.Context(), 3*time.Second)
			wait(2 * time.Second)
			late := w.end(c)
			wait(10 * time.Second)
			expect(t, late, false, *ended, 0)
		}},
		{"a later call with a shorter limit goes first", func(t *testing.T, w *watch, ended *time.Duration) {
			long := w.begin(t.Context(), time.Minute)
			short := w.begin(t.Context(), time.Second)
			wait(10 * time.Second)
			expect(t, w.end(short), true, *ended, time.Second)
			expect(t, w.end(long), false, *ended, time.Second)
		}},
		{"the timer of an answered call sets itself for the next", func(t *testing.T, w *watch, ended *time.Duration) {
			w.end(w.begin(t.Context(), 3*time.Second))
			wait(time.Second)
			c := w.begin(t.Context(), 3*time.Second)
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, 4*time.Second)
		}},
		{"a call has the grace when its caller gives up", func(t *testing.T, w *watch, ended *time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			c := w.begin(ctx, time.Minute)
			wait(time.Second)
			cancel()
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, time.Second+testGrace)
		}},
		{"so has the tenth call of the same caller", func(t *testing.T, w *watch, ended *time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			for range 9 {
				w.end(w.begin(ctx, time.Minute))
			}
			c := w.begin(ctx, time.Minute)
			cancel()
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, testGrace)
		}},
		{"a grace beyond the deadline changes nothing", func(t *testing.T, w *watch, ended *time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			c := w.begin(ctx, time.Second)
			cancel()
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, time.Second)
		}},
		{"a caller who gives up after the answer ends nothing", func(t *testing.T, w *watch, ended *time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			late := w.end(w.begin(ctx, time.Minute))
			cancel()
			wait(2 * time.Minute)
			expect(t, late, false, *ended, 0)
		}},
		{"an earlier caller who gives up does not end the call of another", func(t *testing.T, w *watch, ended *time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			first := w.begin(ctx, time.Minute)
			done := ctx.Done()
			w.end(first)
			other, stop := context.WithCancel(t.Context())
			defer stop()
			c := w.begin(other, time.Minute)
			cancel()
			w.hurry(c, done) // as a hook that had begun when it was taken off
			wait(30 * time.Second)
			expect(t, w.end(c), false, *ended, 0)
		}},
		{"of two callers at once only the one who gives up is hurried", func(t *testing.T, w *watch, ended *time.Duration) {
			ctx, cancel := context.WithCancel(t.Context())
			stays := w.begin(t.Context(), time.Minute)
			gone := w.begin(ctx, time.Minute)
			cancel()
			wait(10 * time.Second)
			expect(t, w.end(gone), true, *ended, testGrace)
			expect(t, w.end(stays), false, *ended, testGrace)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var ended time.Duration
				w := newWatch(func() { ended = time.Since(start) }, testGrace)
				tc.do(t, w, &ended)
				w.stop()
			})
		})
	}
}

// A call of a caller who was seen before allocates nothing.
func TestWatchAllocatesNothing(t *testing.T) {
	w := newWatch(func() { t.Error("a call was ended") }, testGrace)
	defer w.stop()
	if n := testing.AllocsPerRun(1000, func() { w.end(w.begin(t.Context(), time.Minute)) }); n != 0 {
		t.Errorf("%v allocations per call; want none", n)
	}
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func expect(t *testing.T, late, wantLate bool, ended, wantEnded time.Duration) {
	t.Helper()
	if late != wantLate || ended != wantEnded {
		t.Errorf("late %v and ended after %v; want %v and %v", late, ended, wantLate, wantEnded)
	}
}
