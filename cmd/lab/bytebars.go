package main

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"lab/core/fetch"
)

// byteBars shows work on one or several files, measured in bytes, in the manner
// of progress: nothing for the first seconds, then a bar on a terminal and plain
// lines elsewhere.
type byteBars struct {
	p    *progress
	verb string // "adding llama-1b"

	file     int
	begun    bool
	start    time.Time // of this file
	from     int64     // bytes that were there at the start
	lastLine time.Time
	bars     *mpb.Progress
	bar      *mpb.Bar
	rate     float64 // bytes a second
}

// Step reports the bytes of file i of n that are done; total is -1 when it is
// not known.
func (b *byteBars) Step(i, n int, done, total int64) {
	now := time.Now()
	if !b.begun || i != b.file || done < b.from {
		b.Done()
		b.begun, b.file, b.start, b.from, b.lastLine = true, i, now, done, now
	}
	passed := now.Sub(b.start)
	if passed < quietFor {
		return
	}
	b.rate = float64(done-b.from) / passed.Seconds()
	label := b.verb
	if n > 1 {
		label += fmt.Sprintf(", file %d of %d", i+1, n)
	}
	if b.p.terminal {
		b.show(label, done, total)
		return
	}
	if now.Sub(b.lastLine) >= lineEvery {
		b.lastLine = now
		of := ""
		if total >= 0 {
			of = fmt.Sprintf(" of %s (%d %%)", fetch.Size(total), 100*done/max(total, 1))
		}
		fmt.Fprintf(b.p.out, "%s: %s%s, %s/s\n", label, fetch.Size(done), of, fetch.Size(int64(b.rate)))
	}
}

func (b *byteBars) show(label string, done, total int64) {
	if b.bars == nil {
		b.bars = mpb.New(mpb.WithOutput(b.p.out), mpb.WithWidth(40))
		size := decor.Any(func(s decor.Statistics) string {
			if s.Total <= 0 {
				return fetch.Size(s.Current)
			}
			return fetch.Size(s.Current) + " of " + fetch.Size(s.Total)
		})
		left := decor.Any(func(s decor.Statistics) string {
			text := " " + fetch.Size(int64(b.rate)) + "/s"
			if s.Total > 0 && b.rate > 0 {
				text += ", " + time.Duration(float64(s.Total-s.Current)/b.rate*float64(time.Second)).Round(time.Second).String() + " left"
			}
			return text
		})
		b.bar = b.bars.AddBar(max(total, 0), mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(label+" "), size), mpb.AppendDecorators(left))
	}
	b.bar.SetCurrent(done)
}

// Done ends the work on a file and clears its bar.
func (b *byteBars) Done() {
	if b.bars != nil {
		b.bar.Abort(true)
		b.bars.Wait()
		b.bars, b.bar = nil, nil
	}
	b.begun = false
}
