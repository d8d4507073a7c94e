package machine

import (
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
// for about the given time.
func (l loop) rate(threads int, during time.Duration) float64 {
	var all sync.WaitGroup
	counts := make([]int, threads)
	start := time.Now()
	for t := range threads {
		all.Go(func() {
			n := 0
			for time.Since(start) < during {
				l.run(rounds)
				n++
			}
			counts[t] = n
		})
	}
	all.Wait()
	seconds := time.Since(start).Seconds()
	done := 0.0
	for _, n := range counts {
		done += float64(n)
	}
	return done * rounds * float64(l.ops) / seconds
}

// plain is the loop of a machine without assembly: 8 chains of a multiplication
// and an addition.
func plain() loop { return loop{"go", 16, plainRounds} }

var kept float32 // keeps the chains from being optimised away

func plainRounds(n int) {
	var a, b, c, d, e, f, g, h float32 = 1, 2, 3, 4, 5, 6, 7, 8
	const m, s = 0.999, 0.001
	for range n {
		a, b, c, d = a*m+s, b*m+s, c*m+s, d*m+s
		e, f, g, h = e*m+s, f*m+s, g*m+s, h*m+s
	}
	if sum := a + b + c + d + e + f + g + h; sum < 0 {
		kept = sum // it never is
	}
}
