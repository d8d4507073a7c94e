package transformer

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestEveryItemIsDoneOnceByOneWorkerAtATime(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		p := newPool(threads)
		p.small = 0
		busy := make([]atomic.Int32, threads)
		for n := range 40 {
			counts := make([]atomic.Int32, n)
			p.run(n, 1, func(worker, item int) {
				if busy[worker].Add(1) != 1 {
					t.Errorf("worker %d does two items at once", worker)
				}
				counts[item].Add(1)
				busy[worker].Add(-1)
			})
			for i := range counts {
				if c := counts[i].Load(); c != 1 {
					t.Errorf("%d threads: item %d of %d was done %d times", threads, i, n, c)
				}
			}
		}
		p.close()
	}
}

func TestAPanicInAnyWorkerReachesTheCaller(t *testing.T) {
	p := newPool(2)
	defer p.close()
	p.small = 0
	helped := make(chan bool)
	defer func() {
		if r := recover(); r != "helper" {
			t.Errorf("recovered %v", r)
		}
		// The pool is as good as before.
		done := 0
		p.run(1, 1, func(int, int) { done++ })
		if done != 1 {
			t.Error("the pool does not work after a panic")
		}
	}()
	p.run(2, 1, func(worker, _ int) {
		if worker == 1 {
			close(helped)
			panic("helper")
		}
		<-helped // keeps the caller from taking both items
	})
	t.Error("run returned")
}

func TestTheCallerWorksAloneAfterWaits(t *testing.T) {
	p := newPool(2)
	defer p.close()
	p.small = 0
	p.judge(time.Millisecond, time.Millisecond/2)
	if p.alone != 0 {
		t.Error("a short wait made the caller work alone")
	}
	first := p.penalty
	p.judge(time.Millisecond, 2*time.Millisecond)
	if p.alone != first || p.penalty != 2*first {
		t.Errorf("after one long wait: alone for %d lists, then for %d", p.alone, p.penalty)
	}
	for range first {
		p.run(4, 1, func(worker, _ int) {
			if worker != 0 {
				t.Error("a helper was asked")
			}
		})
	}
	if p.alone != 0 {
		t.Errorf("still alone for %d lists", p.alone)
	}
	for range 100 {
		p.judge(0, time.Second)
	}
	if p.penalty != maxPenalty {
		t.Errorf("the penalty grew to %d", p.penalty)
	}
}
