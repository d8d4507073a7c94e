package host

import (
	"testing"
	"testing/synctest"
	"time"
)

// A watch ends overdue calls at their deadlines, and no others.
func TestWatch(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w *watch, ended *time.Duration)
	}{
		{"a call is ended at its deadline", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(3 * time.Second)
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, 3*time.Second)
		}},
		{"an answered call is not", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(3 * time.Second)
			wait(2 * time.Second)
			late := w.end(c)
			wait(10 * time.Second)
			expect(t, late, false, *ended, 0)
		}},
		{"a later call with a shorter limit goes first", func(t *testing.T, w *watch, ended *time.Duration) {
			long := w.begin(time.Minute)
			short := w.begin(time.Second)
			wait(10 * time.Second)
			expect(t, w.end(short), true, *ended, time.Second)
			expect(t, w.end(long), false, *ended, time.Second)
		}},
		{"the timer of an answered call sets itself for the next", func(t *testing.T, w *watch, ended *time.Duration) {
			w.end(w.begin(3 * time.Second))
			wait(time.Second)
			c := w.begin(3 * time.Second)
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, 4*time.Second)
		}},
		{"a hurried call has the grace", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(time.Minute)
			wait(time.Second)
			w.hurry(c, 2*time.Second)
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, 3*time.Second)
		}},
		{"a grace beyond the deadline changes nothing", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(2 * time.Second)
			w.hurry(c, time.Minute)
			wait(10 * time.Second)
			expect(t, w.end(c), true, *ended, 2*time.Second)
		}},
		{"an answered call cannot be hurried", func(t *testing.T, w *watch, ended *time.Duration) {
			c := w.begin(time.Minute)
			w.end(c)
			w.hurry(c, time.Second)
			wait(2 * time.Minute)
			expect(t, c.late, false, *ended, 0)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var ended time.Duration
				w := newWatch(func() { ended = time.Since(start) })
				tc.do(t, w, &ended)
				w.stop()
			})
		})
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
