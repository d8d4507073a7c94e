package machine

import (
	"runtime"
	"sync"
	"time"
)

// loop is a kind of arithmetic: run makes n rounds of ops operations each, all
// in registers.
type loop struct {
	kind string
	ops  int
	run  func(n int)
}

// rounds is how many rounds of a loop are made between two looks at the clock:
// some hundred microseconds, as assembly cannot be preempted.
const rounds = 1 << 14

// rate returns the operations a second of so many goroutines that make a loop
// for about the given time: the sum of what each makes in the time that it runs.
// What the scheduler gives to other work is not counted against the machine, where
// the system tells.
func (l loop) rate(threads int, during time.Duration) float64 {
	var all sync.WaitGroup
	rates := make([]float64, threads)
	for t := range threads {
		all.Go(func() {
			runtime.LockOSThread() // whose time is counted
			defer runtime.UnlockOSThread()
			start := time.Now()
			before, ok := threadTime()
			n := 0
			for n == 0 || time.Since(start) < during {
				l.run(rounds)
				n++
			}
			seconds := time.Since(start).Seconds()
			if after, _ := threadTime(); ok && after > before {
				seconds = (after - before).Seconds()
			}
			rates[t] = float64(n) * rounds * float64(l.ops) / seconds
		})
	}
	all.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum
}

// plain is the loop of a machine without assembly: 8 chains of a multiplication
// and an addition.
func plain() loop { return loop{"go", 16, plainRounds} }

func plainRounds(n int) {
	var a, b, c, d, e, f, g, h float32 = 1, 2, 3, 4, 5, 6, 7, 8
	const m, s = 0.999, 0.001
	for range n {
		a, b, c, d = a*m+s, b*m+s, c*m+s, d*m+s
		e, f, g, h = e*m+s, f*m+s, g*m+s, h*m+s
	}
	runtime.KeepAlive(a + b + c + d + e + f + g + h)
}
