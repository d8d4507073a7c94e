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

func TestPanicsInAllItemsOfACallerWithoutHelpEnd(t *testing.T) {
	p := newPool(2)
	defer p.close()
	p.small = 0
	// The helper is held up in a list of its own.
	hold, held := make(chan bool), make(chan bool)
	defer close(hold)
	stuck := &job{n: 1, f: func(int, int) { held <- true; <-hold }, finished: make(chan struct{})}
	p.current.Store(stuck)
	p.wake <- struct{}{}
	<-held
	calls := 0
	defer func() {
		if r := recover(); r == nil || calls != 3 {
			t.Errorf("%d of 3 items were done; recovered %v", calls, r)
		}
	}()
	p.run(3, 1, func(int, int) { calls++; panic("item") })
}

func TestHelpersThatSleepAreWoken(t *testing.T) {
	for _, looks := range []int{0, 1, patience} {
		p := newPatientPool(3, looks)
		p.small = 0
		for round := range 50 {
			if round%10 == 0 {
				time.Sleep(2 * time.Millisecond) // long enough for all to sleep
			}
			// Items that end only together: without help this would hang.
			var arrived atomic.Int32
			all := make(chan bool)
			p.run(3, 1, func(int, int) {
				if arrived.Add(1) == 3 {
					close(all)
				}
				<-all
			})
		}
		p.close()
	}
}

func TestThePoolKeepsToTheCheaperWay(t *testing.T) {
	p := newPool(2)
	defer p.close()
	for _, cheaper := range []bool{true, false} { // alone or not
		alone := 0
		const passes = 20 * tryEvery
		rows := 7
		if cheaper {
			rows = 9
		}
		for range passes {
			p.begin(rows)
			took := 2 * time.Millisecond
			if p.alone == cheaper {
				took = time.Millisecond
			}
			if p.alone {
				alone++
			}
			p.end(rows, 1000, took)
		}
		if !cheaper {
			alone = passes - alone
		}
		if alone < passes*(tryEvery-2)/tryEvery || alone == passes {
			t.Errorf("the cheaper way was taken in %d of %d passes", alone, passes)
		}
	}
}

func TestThePoolChangesItsMind(t *testing.T) {
	p := newPool(2)
	defer p.close()
	last := 0
	for pass := range 40 * tryEvery {
		p.begin(3)
		took := time.Millisecond
		if p.alone != (pass < 20*tryEvery) { // first it is better alone, then it is not
			took *= 2
		}
		if p.alone && pass >= 30*tryEvery {
			last++
		}
		p.end(3, 1000, took)
	}
	if last > 15 {
		t.Errorf("%d of the last %d passes were alone, though help was cheaper", last, 10*tryEvery)
	}
}
