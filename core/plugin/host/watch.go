package host

import (
	"sync"
	"time"
)

// watch ends calls that overrun their deadlines. It keeps one timer for all calls
// of a process and sets it anew only when a call is due before it: a timer per
// call wakes the thread that waits for the network each time, a fiftieth of a hop.
// A timer that fires for calls long answered finds nobody due and sets itself for
// the next one.
type watch struct {
	late func() // called when a call is overdue, once

	mu    sync.Mutex
	calls map[*watched]struct{}
	timer *time.Timer
	due   time.Time // of the timer; zero while it is not set
}

// watched is one call under a watch.
type watched struct {
	deadline time.Time
	late     bool // set under the watch's mutex before the call is ended
}

func newWatch(late func()) *watch {
	return &watch{late: sync.OnceFunc(late), calls: map[*watched]struct{}{}}
}

// begin watches a call from now on.
func (w *watch) begin(limit time.Duration) *watched {
	c := &watched{deadline: time.Now().Add(limit)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[c] = struct{}{}
	w.set(c.deadline)
	return c
}

// hurry leaves a call no more than the grace from now on.
func (w *watch) hurry(c *watched, grace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, running := w.calls[c]; !running {
		return
	}
	if t := time.Now().Add(grace); t.Before(c.deadline) {
		c.deadline = t
		w.set(t)
	}
}

// end stops watching a call and reports whether it was overdue.
func (w *watch) end(c *watched) (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.calls, c)
	return c.late
}

// set makes the timer fire at t, or earlier where it is set so.
func (w *watch) set(t time.Time) {
	if !w.due.IsZero() && !t.Before(w.due) {
		return
	}
	w.due = t
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(t), w.look)
		return
	}
	w.timer.Reset(time.Until(t))
}

// look marks the calls that are overdue, ends them, and sets the timer for the
// others.
func (w *watch) look() {
	w.mu.Lock()
	now, any := time.Now(), false
	w.due = time.Time{}
	for c := range w.calls {
		if c.deadline.After(now) {
			w.set(c.deadline)
			continue
		}
		c.late, any = true, true
	}
	w.mu.Unlock()
	if any {
		w.late()
	}
}

// stop releases the timer; no call is watched any more.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}
