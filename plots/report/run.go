package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/results"
	"lab/core/store"
	"lab/core/sweep"
	"lab/plots/canvas"
	"lab/plots/source"
)

// sweepReport is a stored sweep while its report is made.
type sweepReport struct {
	Options
	run      *store.Stored
	name     string
	prefix   string // of the ids of its sections
	level    int    // of their headings
	cells    []map[string]any
	spec     sweep.Spec
	used     experiment.Record
	state    store.State
	records  int
	failed   int
	failures [][]cell // the first of them

	finding  string
	sections []section
}

// Run returns the report of a stored sweep, finished or not.
//
// Errors: fault.Usage for options that the run or a measure refuses, fault.Data for
// a damaged folder.
func Run(run *store.Stored, o Options) (*Report, error) {
	s, err := readSweep(run, o, "", 2)
	if err != nil {
		return nil, err
	}
	r := &Report{title: o.Title, finding: o.Finding, facts: s.facts(), alerts: s.alerts(), sections: s.sections, foot: foot(o.Version)}
	if r.title == "" {
		r.title = s.name
	}
	if r.finding == "" {
		r.finding = s.finding
	}
	r.clean()
	return r, nil
}

func foot(version string) string { return "Written by lab report, lab " + version + "." }

// readSweep reads a run and makes its sections.
func readSweep(run *store.Stored, o Options, prefix string, level int) (*sweepReport, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &sweepReport{Options: o, run: run, name: run.Manifest.Name, prefix: prefix, level: level}
	if s.Options.Name == "" {
		s.Options.Name = run.Dir
	}
	if s.name == "" {
		s.name = filepath.Base(run.Dir)
	}
	if err := json.Unmarshal(run.Manifest.Spec, &s.spec); err != nil {
		return nil, fault.New(fault.Data, op, run.Dir, "its specification is damaged: %v", err)
	}
	if err := json.Unmarshal(run.Manifest.Used, &s.used); err != nil {
		return nil, fault.New(fault.Data, op, run.Dir, "what it says of models and plugins is damaged: %v", err)
	}
	settings, err := results.Settings(run)
	if err != nil {
		return nil, err
	}
	if settings.Rows() != run.Manifest.Cells {
		return nil, fault.New(fault.Data, op, run.Dir, "its %s has %d rows for %d cells", store.CellsFile, settings.Rows(), run.Manifest.Cells)
	}
	for i := range settings.Rows() {
		row, err := settings.Row(i)
		if err != nil {
			return nil, err
		}
		s.cells = append(s.cells, row)
	}
	if s.records, s.failed, s.state, err = run.Progress(); err != nil {
		return nil, err
	}
	if err := s.readFailures(); err != nil {
		return nil, err
	}
	for _, part := range []func() error{s.results, s.figures, s.examples, s.reproduce, s.settings, s.chains, s.problems, s.costs, s.provenance} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add appends a section; one without blocks is left out.
func (s *sweepReport) add(id, title string, blocks ...block) {
	blocks = slices.DeleteFunc(blocks, func(b block) bool {
		return b.text == "" && b.alert == "" && b.code == "" && b.list == nil && b.table == nil && b.figure == nil && b.tokens == nil && b.scale == nil
	})
	if len(blocks) > 0 {
		s.sections = append(s.sections, section{id: s.prefix + id, title: title, level: s.level, blocks: blocks})
	}
}

const mostFailures = 50 // listed

func (s *sweepReport) readFailures() error {
	s.failed = 0
	return s.run.Records(false, func(r *store.Record) error {
		if r.Cell >= len(s.cells) {
			return fault.New(fault.Data, op, s.run.Dir, "it has a sample of cell %d, and %d cells", r.Cell, len(s.cells))
		}
		if r.Failure != "" {
			s.failed++
			if len(s.failures) < mostFailures {
				s.failures = append(s.failures, words(fmt.Sprint(r.Cell), fmt.Sprint(r.Sample), canvas.Shorten(r.Failure, 400)))
			}
		}
		return nil
	})
}

func (s *sweepReport) facts() []pair {
	m := s.run.Manifest
	facts := []pair{{"run", s.Name}, {"state", fmt.Sprintf("%s, %s of %s samples", s.state, canvas.Count(s.records), canvas.Count(m.Total()))},
		{"cells", plural(m.Cells, "cell") + " of " + plural(m.Samples, "sample")}}
	if len(m.Axes) > 0 {
		facts = append(facts, pair{"varies", strings.Join(m.Axes, ", ")})
	}
	for _, name := range []string{"model", "seed"} {
		if v, one := s.constant(name); one && v != nil {
			facts = append(facts, pair{name, canvas.Shorten(source.SettingText(v), 80)})
		}
	}
	if len(s.run.Sessions) > 0 {
		facts = append(facts, pair{"started", s.run.Sessions[0].Started.UTC().Format(time.DateTime) + " UTC"})
	}
	return append(facts, pair{"made by", "lab " + m.Lab})
}

// constant returns the value of a setting that all cells share.
func (s *sweepReport) constant(name string) (any, bool) {
	for i := range s.cells {
		if !same(s.cells[i][name], s.cells[0][name]) {
			return nil, false
		}
	}
	return s.cells[0][name], true
}

func same(a, b any) bool { return source.SettingText(a) == source.SettingText(b) }

func (s *sweepReport) alerts() []string {
	var out []string
	if m := s.run.Manifest; s.records < m.Total() {
		out = append(out, fmt.Sprintf("The run is not complete: %s of %s samples are there.", canvas.Count(s.records), canvas.Count(m.Total())))
	}
	if p := s.run.Manifest.Part; p != nil {
		out = append(out, fmt.Sprintf("This is shard %d of %d of the run.", p.Index+1, p.Of))
	}
	if s.failed > 0 {
		out = append(out, fmt.Sprintf("%s of %s samples failed and are in no number below.", canvas.Count(s.failed), canvas.Count(s.records)))
	}
	if n := len(s.warnings()); n > 0 {
		out = append(out, plural(n, "warning")+" recorded; see Warnings and failures.")
	}
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return canvas.Count(n) + " " + noun + "s"
}

// refused reports whether an error says that the run does not allow something, so
// that what nobody asked for by name can be left out, and why can be said.
func refused(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && (e.Kind == fault.Usage || e.Kind == fault.Data)
}
