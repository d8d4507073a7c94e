package transformer

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// pool is a fixed set of goroutines that help the caller with a list of items.
// Which of them does an item has no effect on its result. Nobody spins. On a
// machine that is busy with other things, a helper that is not scheduled in
// time finds the work done; one that loses its processor in the middle of an
// item makes the caller wait, and after such a wait the caller works alone for
// a while, the longer the more often it happens.
type pool struct {
	helpers int
	jobs    chan *job
	small   int // work below which the caller is left alone with it
	alone   int // lists that the caller still does alone
	penalty int // how many it does alone after the next wait
}

// job is one list of items.
type job struct {
	n        int
	f        func(worker, item int)
	next     atomic.Int64 // item to be taken
	done     atomic.Int64
	panicked atomic.Pointer[any] // the first panic of a helper
	finished chan struct{}
}

// smallWork is the number of multiply-adds below which waking a helper costs
// more than it saves.
const smallWork = 1 << 20

// Bounds of pool.penalty.
const minPenalty, maxPenalty = 16, 1024

func newPool(threads int) *pool {
	p := &pool{helpers: threads - 1, jobs: make(chan *job, threads), small: smallWork, penalty: minPenalty}
	for i := range p.helpers {
		go p.help(i + 1)
	}
	return p
}

// threads returns the number of workers, the caller of run included.
func (p *pool) threads() int { return p.helpers + 1 }

// close ends the helpers.
func (p *pool) close() { close(p.jobs) }

func (p *pool) help(worker int) {
	debug.SetPanicOnFault(true) // for weights in a mapped file; see gguf.Protect
	for j := range p.jobs {
		j.work(worker)
	}
}

// run calls f for items 0 to n-1, in any order and at once; worker is below
// threads and never in two calls at a time. work estimates the multiply-adds of
// all. A panic of f reaches the caller.
func (p *pool) run(n, work int, f func(worker, item int)) {
	if p.helpers == 0 || n < 2 || work < p.small || p.alone > 0 {
		p.alone = max(p.alone-1, 0)
		for i := range n {
			f(0, i)
		}
		return
	}
	start := time.Now()
	j := &job{n: n, f: f, finished: make(chan struct{})}
	for range min(p.helpers, n-1) {
		select {
		case p.jobs <- j:
		default: // the helpers have not even begun with earlier jobs
		}
	}
	j.work(0)
	own := time.Since(start)
	<-j.finished
	p.judge(own, time.Since(start)-own)
	if r := j.panicked.Load(); r != nil {
		panic(*r)
	}
}

// judge decides from the caller's time at work and its time waiting whether
// helpers are worth asking. An item is a fraction of the work, so that waiting
// for one takes as long as all of it only when its helper was not running.
func (p *pool) judge(work, wait time.Duration) {
	if wait > work && wait > 50*time.Microsecond {
		p.alone = p.penalty
		p.penalty = min(2*p.penalty, maxPenalty)
		return
	}
	p.penalty = max(p.penalty-1, minPenalty)
}

// work takes items until none is left. An item that panics counts as done.
func (j *job) work(worker int) {
	for j.one(worker) {
	}
}

func (j *job) one(worker int) bool {
	item := int(j.next.Add(1)) - 1
	if item >= j.n {
		return false
	}
	defer func() {
		if r := recover(); r != nil {
			j.panicked.CompareAndSwap(nil, &r)
		}
		if int(j.done.Add(1)) == j.n {
			close(j.finished)
		}
	}()
	j.f(worker, item)
	return true
}
