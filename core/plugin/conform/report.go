package conform

import (
	"fmt"
	"slices"
	"time"

	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/sampler"
)

// Outcome is what became of a law.
type Outcome string

const (
	Pass          Outcome = "pass"
	Fail          Outcome = "fail"
	Note          Outcome = "note"           // it does not hold, and a sound sampler may have a reason
	NotApplicable Outcome = "not_applicable" // there was nothing to ask
)

// Check is one law asked of one subject.
type Check struct {
	Law     string
	Kind    string // "plugin", "sampler" or "model"
	Subject string // its name
	Outcome Outcome
	Asked   int // questions that were asked

	Input  string // Fail, Note: the question that broke the law
	Got    string // Fail, Note: what the answer was
	Want   string // what the law says
	Reason string // NotApplicable: why
}

// String returns the check on a few lines, as it is shown to a person.
func (c *Check) String() string {
	s := fmt.Sprintf("%s: %s %s: %s", c.Outcome, c.Kind, c.Subject, c.Law)
	if c.Outcome == NotApplicable {
		return s + ": " + c.Reason
	}
	for _, part := range []struct{ label, text string }{{"input", c.Input}, {"got", c.Got}, {"want", c.Want}} {
		if part.text != "" && c.Outcome != Pass {
			s += "\n  " + part.label + ": " + part.text
		}
	}
	return s
}

// Report is what a plugin was found to be, in the order in which it was asked.
type Report struct {
	Plugin  string
	Version string
	Seed    uint64
	Checks  []Check
}

// Count returns how many checks had an outcome.
func (r *Report) Count(o Outcome) int {
	n := 0
	for i := range r.Checks {
		if r.Checks[i].Outcome == o {
			n++
		}
	}
	return n
}

// Failed returns the checks that failed.
func (r *Report) Failed() []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Outcome != Fail })
}

// Err returns a plugin error naming the first law that is broken, nil when none
// is.
func (r *Report) Err() error {
	failed := r.Failed()
	if len(failed) == 0 {
		return nil
	}
	first := failed[0]
	subject := fmt.Sprintf("%s %q", first.Kind, first.Subject)
	if len(failed) == 1 {
		return fault.New(fault.Plugin, "plugin test", subject, "it breaks the law %q: %s", first.Law, first.Got)
	}
	return fault.New(fault.Plugin, "plugin test", subject, "it breaks the law %q: %s (and %d more checks fail)", first.Law, first.Got, len(failed)-1)
}

// Options say how much is asked. The zero value asks every law.
type Options struct {
	Only []string // names of laws; empty: all
	Seed uint64   // of all questions
	// Rounds is how many questions a law asks a sampler about small rows; 0
	// means 24, with which a plugin of 50 samplers takes well under a minute.
	Rounds int
	// Patience is how long a call to samplers may take before the plugin is
	// given up, a call to a model four times as long; 0 means 28 s, a little less
	// than a host waits.
	Patience time.Duration
	// Subjects are the samplers and backends to ask; empty: all.
	Subjects []string
	// Facts are what a declaration cannot say, by sampler. A sampler that has an
	// entry must keep every law that the entry does not excuse.
	Facts map[string]Facts
	// SecondHost has the same plugin in a process of its own, SecondSet the same
	// samplers: their answers must be the same. nil leaves the comparison out.
	SecondHost *host.Host
	SecondSet  *sampler.Set
	// Shared hands out rows in memory that the plugin can reach too, as an open
	// model of the same host does. nil: a model of the plugin itself, if it has
	// one that opens.
	Shared RowSource
	// Open are references to open with a plugin's backends, besides the names of
	// the backends.
	Open []string
	// Progress is told how many of all checks are done and which comes next.
	Progress func(done, total int, next string)
}

// defaultRounds is how many questions suffice to meet every kind of row three
// times.
const defaultRounds = 24

func (o Options) rounds() int {
	if o.Rounds > 0 {
		return o.Rounds
	}
	return defaultRounds
}

// check returns a usage error for a law that does not exist.
func (o Options) check() error {
	var names []string
	for _, l := range Laws() {
		names = append(names, l.Name)
	}
	for _, name := range o.Only {
		if !slices.Contains(names, name) {
			return fault.Unknown("plugin test", "law", name, names)
		}
	}
	return nil
}

// known returns a usage error for a subject that is not among names.
func (o Options) known(names []string) error {
	for _, s := range o.Subjects {
		if !slices.Contains(names, s) {
			return fault.Unknown("plugin test", "sampler or backend", s, names)
		}
	}
	return nil
}

func (o Options) wants(law string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, law) }
func (o Options) about(subject string) bool {
	return len(o.Subjects) == 0 || slices.Contains(o.Subjects, subject)
}
