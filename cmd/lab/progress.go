package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress shows long work on standard error: bars on a terminal, a plain line
// every few seconds elsewhere, so that a log file holds no control codes.
type progress struct {
	out      io.Writer
	terminal bool
}

// quietFor is how long work may take before anything is shown, and the pause
// between two plain lines.
const (
	quietFor  = 2 * time.Second
	lineEvery = 5 * time.Second
)

func newProgress(out io.Writer) *progress {
	p := &progress{out: out}
	if f, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	}
	return p
}

// task is one piece of long work: units finished out of a total.
type task struct {
	p        *progress
	label    string
	unit     string // "samples", or "tokens" where nothing else is counted
	total    int
	start    time.Time
	lastLine time.Time
	bars     *mpb.Progress
	bar      *mpb.Bar
	tokens   int
}

// Start begins a task of total samples.
func (p *progress) Start(label string, total int) *task {
	now := time.Now()
	return &task{p: p, label: label, unit: "samples", total: total, start: now, lastLine: now}
}

// StartTokens begins a task of tokens, whose total is known at its first step.
func (p *progress) StartTokens(label string) *task {
	t := p.Start(label, 0)
	t.unit = "tokens"
	return t
}

// StepTokens reports the tokens finished.
func (t *task) StepTokens(finished, total int) {
	t.total = total
	t.Step(finished, finished)
}

// speed says how fast it goes.
func (t *task) speed() string {
	if t.unit == "tokens" {
		return fmt.Sprintf("%.0f token/s", t.rate())
	}
	return fmt.Sprintf("%d tokens, %.0f token/s", t.tokens, t.rate())
}

// Step reports the samples finished and the tokens generated so far.
func (t *task) Step(finished, tokens int) {
	t.tokens = tokens
	now := time.Now()
	if now.Sub(t.start) < quietFor {
		return
	}
	if t.p.terminal {
		t.show(finished)
		return
	}
	if now.Sub(t.lastLine) >= lineEvery {
		t.lastLine = now
		fmt.Fprintf(t.p.out, "%s: %d of %d %s, %s\n", t.label, finished, t.total, t.unit, t.speed())
	}
}

func (t *task) rate() float64 { return float64(t.tokens) / time.Since(t.start).Seconds() }

func (t *task) show(finished int) {
	if t.bars == nil {
		t.bars = mpb.New(mpb.WithOutput(t.p.out), mpb.WithWidth(40))
		t.bar = t.bars.AddBar(int64(t.total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(t.label+" "), decor.CountersNoUnit("%d/%d "+t.unit)),
			mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 6}), decor.Any(func(decor.Statistics) string {
				return " " + t.speed()
			})))
	}
	t.bar.SetCurrent(int64(finished))
}

// Done ends the task and clears its bar; a task that never began is nil.
func (t *task) Done() {
	if t == nil || t.bars == nil {
		return
	}
	t.bar.Abort(true)
	t.bars.Wait()
}
