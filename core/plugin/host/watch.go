package host

import (
	"context"
	"sync"
	"time"
)

// watch ends calls that overrun their deadlines or whose callers give up. It keeps
// one timer for all calls of a process and sets it anew only when a call is due
// before it: a timer per call wakes the thread that waits for the network each
// time, a fiftieth of a hop. A timer that fires for calls long answered finds
// nobody due and sets itself for the next one.
//
// What it knows of a call is kept for the next one, with the hook on the caller's
// context while that stays the same: a call then allocates nothing and touches
// little memory, of which all is cold after the wait for an answer.
type watch struct {
	late  func()        // called when a call is overdue, once
	grace time.Duration // what a call has left when its caller gives up
	start time.Time     // of its clock; times are counted from here

	mu      sync.Mutex
	calls   []*watched // running and ended, as many as ever ran at once
	timer   *time.Timer
	due     time.Duration // of the timer; 0 while it is not set
	stopped bool
}

// watched is one call under a watch, and when it has ended the place of a later
// one. Its watch's mutex guards it.
type watched struct {
	running  bool
	late     bool // set before the call is ended
	deadline time.Duration
	done     <-chan struct{} // of the caller's context; names the context that is hooked
	unhook   func() bool     // nil when there is no hook
}

func newWatch(late func(), grace time.Duration) *watch {
	return &watch{late: sync.OnceFunc(late), grace: grace, start: time.Now()}
}

// begin watches a call from now on. A context that ended before may be missed:
// the caller looks at it afterwards.
func (w *watch) begin(ctx context.Context, limit time.Duration) *watched {
	done := ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.place(done)
	c.running, c.late = true, false
	c.deadline = time.Since(w.start) + limit
	w.set(c.deadline)
	if c.done != done {
		c.release()
		c.done = done
		if done != nil {
			c.unhook = context.AfterFunc(ctx, func() { w.hurry(c, done) })
		}
	}
	return c
}

// place returns where no call is running, the context's own where there is one.
func (w *watch) place(done <-chan struct{}) *watched {
	var free *watched
	for _, c := range w.calls {
		if c.running {
			continue
		}
		if c.done == done {
			return c
		}
		if free == nil {
			free = c
		}
	}
	if free == nil {
		free = &watched{}
		w.calls = append(w.calls, free)
	}
	return free
}

// hurry leaves a call no more than the grace from now on, when it is still one of
// the caller who gave up.
func (w *watch) hurry(c *watched, done <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.running || c.done != done {
		return
	}
	if t := time.Since(w.start) + w.grace; t < c.deadline {
		c.deadline = t
		w.set(t)
	}
}

// end stops watching a call and reports whether it was overdue.
func (w *watch) end(c *watched) (late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.running = false
	if w.stopped {
		c.release()
	}
	return c.late
}

// release takes the hook off the context.
func (c *watched) release() {
	if c.unhook != nil {
		c.unhook()
	}
	c.done, c.unhook = nil, nil
}

// set makes the timer fire at t, or earlier where it is set so.
func (w *watch) set(t time.Duration) {
	if w.due != 0 && t >= w.due {
		return
	}
	w.due = t
	left := t - time.Since(w.start)
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.look)
		return
	}
	w.timer.Reset(left)
}

// look marks the calls that are overdue, ends them, and sets the timer for the
// others.
func (w *watch) look() {
	w.mu.Lock()
	now, any := time.Since(w.start), false
	w.due = 0
	for _, c := range w.calls {
		switch {
		case !c.running:
		case c.deadline > now:
			w.set(c.deadline)
		default:
			c.late, any = true, true
		}
	}
	w.mu.Unlock()
	if any {
		w.late()
	}
}

// stop releases the timer and the hooks, those of running calls when they end; no
// call is watched any more.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	for _, c := range w.calls {
		if !c.running {
			c.release()
		}
	}
}
