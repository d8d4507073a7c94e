package transformer

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"lab/plugins/models/internal/kernel"
)

// pool is a fixed set of goroutines that help the caller with a list of items.
// Which of them does an item has no effect on its result.
//
// A forward pass has some hundred lists with a few microseconds between them, less
// than it takes to wake a sleeping thread. So a helper that has nothing to do looks
// out for the next list for a while before it sleeps, unless there are fewer
// processors than workers; so does the caller for the last items. Helpers are not
// bound to threads: that was tried, and cost batches most of what help gains.
//
// Help is not always one: a helper that loses its processor in the middle of an
// item makes the caller wait, and two threads of one core are no faster than
// one. So the pool measures what work costs with and without help and keeps to
// what is cheaper, trying the other every so often (see habit).
type pool struct {
	helpers int
	current atomic.Pointer[job] // what there is to help with
	asleep  atomic.Int32        // helpers that wait for wake
	wake    chan struct{}       // as many as helpers
	closed  atomic.Bool
	looks   int   // how often a worker looks before it sleeps
	small   int64 // work below which the caller is left alone with it; 0 shares everything, always
	alone   bool  // whether the caller does without help for now
	habits  [maxRows + 1]habit
}

// habit is what is known of passes with so many rows: nanoseconds per unit of
// work, as moving averages, 0 while unknown.
type habit struct {
	cost [2]float64 // with help, alone
	turn int
}

// tryEvery is how often the dearer way is tried again.
const tryEvery = 32

// begin decides how the coming pass of so many rows is worked on.
func (p *pool) begin(rows int) {
	h := &p.habits[min(rows, maxRows)]
	h.turn++
	switch {
	case p.helpers == 0 || p.small == 0 || h.cost[0] == 0:
		p.alone = false
	case h.cost[1] == 0:
		p.alone = true
	default:
		p.alone = h.cost[1] < h.cost[0] != (h.turn%tryEvery == 0)
	}
}

// end takes note of what the pass has cost.
func (p *pool) end(rows int, work int64, took time.Duration) {
	way := 0
	if p.alone {
		way = 1
	}
	cost := &p.habits[min(rows, maxRows)].cost[way]
	now := float64(took.Nanoseconds()+1) / float64(work+1)
	if *cost == 0 {
		*cost = now
	}
	*cost += (now - *cost) / 4
}

// job is one list of items.
type job struct {
	n        int
	f        func(worker, item int)
	next     atomic.Int64 // item to be taken
	done     atomic.Int64
	state    atomic.Int32        // waits, once the caller does; ended
	panicked atomic.Pointer[any] // the first panic of an item
	finished chan struct{}       // closed for a caller that waits
}

const (
	waits = 1 + iota
	ended
)

// patience is how often a worker looks for work before it sleeps: about 0.1 ms.
const patience = 2000

// smallWork is the number of multiply-adds below which waking a helper costs
// more than it saves.
const smallWork = 1 << 17

func newPool(threads int) *pool {
	if threads <= runtime.GOMAXPROCS(0) {
		return newPatientPool(threads, patience)
	}
	return newPatientPool(threads, 0)
}

func newPatientPool(threads, looks int) *pool {
	p := &pool{helpers: threads - 1, wake: make(chan struct{}, threads), small: smallWork, looks: looks}
	for i := range p.helpers {
		go p.help(i + 1)
	}
	return p
}

// threads returns the number of workers, the caller of run included.
func (p *pool) threads() int { return p.helpers + 1 }

// close ends the helpers.
func (p *pool) close() {
	p.closed.Store(true)
	close(p.wake)
}

func (p *pool) help(worker int) {
	debug.SetPanicOnFault(true) // for weights in a mapped file; see gguf.Protect
	var last *job
	for !p.closed.Load() {
		j := p.await(last)
		if j != nil {
			j.work(worker)
			last = j
		}
	}
}

// await returns a list other than the last, or nil after sleeping.
func (p *pool) await(last *job) *job {
	fresh := func() *job {
		if j := p.current.Load(); j != last {
			return j
		}
		return nil
	}
	for range p.looks {
		if j := fresh(); j != nil {
			return j
		}
		kernel.Relax()
	}
	// Either this sees the list or its caller sees the sleeper.
	p.asleep.Add(1)
	defer p.asleep.Add(-1)
	if j := fresh(); j != nil {
		return j
	}
	<-p.wake
	return nil
}

// run calls f for items 0 to n-1, in any order and at once; worker is below
// threads and never in two calls at a time. work estimates the multiply-adds of
// all. A panic of f reaches the caller.
func (p *pool) run(n int, work int64, f func(worker, item int)) {
	if p.helpers == 0 || n < 2 || work < p.small || p.alone {
		for i := range n {
			f(0, i)
		}
		return
	}
	j := &job{n: n, f: f, finished: make(chan struct{})}
	p.current.Store(j)
	for range min(int(p.asleep.Load()), n-1) {
		select {
		case p.wake <- struct{}{}:
		default: // as many as can be awake have been called
		}
	}
	j.work(0)
	p.current.Store(nil)
	j.wait(p.looks)
	if r := j.panicked.Load(); r != nil {
		panic(*r)
	}
}

// wait returns when all items are done.
func (j *job) wait(looks int) {
	for range looks {
		if int(j.done.Load()) == j.n {
			return
		}
		kernel.Relax()
	}
	if j.state.CompareAndSwap(0, waits) {
		<-j.finished
	}
}

// work takes items until none is left. An item that panics counts as done, and
// the rest is done all the same: somebody has to.
func (j *job) work(worker int) {
	for j.one(worker) {
	}
}

func (j *job) one(worker int) (more bool) {
	item := int(j.next.Add(1)) - 1
	if item >= j.n {
		return false
	}
	more = true // also after a panic
	defer func() {
		if r := recover(); r != nil {
			j.panicked.CompareAndSwap(nil, &r)
		}
		if int(j.done.Add(1)) == j.n && !j.state.CompareAndSwap(0, ended) {
			close(j.finished)
		}
	}()
	j.f(worker, item)
	return more
}
