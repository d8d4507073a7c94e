package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lab/core/fault"
)

// Stored is a run that is read. It may be written by another process meanwhile.
type Stored struct {
	Dir      string
	Manifest *Manifest
	Sessions []Session
}

// Open opens a run for reading.
func Open(dir string) (*Stored, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	s := &Stored{Dir: dir, Manifest: m}
	if s.Sessions, err = readSessions(dir); err != nil {
		return nil, err
	}
	return s, nil
}

// State is how far a run is.
type State string

// The states of a run.
const (
	Running     State = "running"     // a process writes it
	Interrupted State = "interrupted" // it lacks samples
	Complete    State = "complete"    // everything is there, failures included
	Ready       State = "shard"       // all samples of a part are there, to be merged
)

// Progress returns how many records there are, how many of them are failures, and
// the run's state.
func (s *Stored) Progress() (records, failures int, state State, err error) {
	total := s.Manifest.Total()
	f, size, err := openLog(filepath.Join(s.Dir, logFile))
	if err != nil {
		return 0, 0, Interrupted, err
	}
	switch {
	case f != nil:
		x, err := scan(f, size, f.Name(), s.Manifest)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return 0, 0, Interrupted, err
		}
		failed := map[[2]uint32]bool{}
		for _, p := range x.places {
			failed[[2]uint32{p.cell, p.sample}] = p.failure
		}
		for _, bad := range failed {
			if bad {
				failures++
			}
		}
		records = len(failed)
	case complete(s.Dir):
		records = total
	}
	switch {
	case writer(s.Dir) != nil:
		state = Running
	case records < total:
		state = Interrupted
	case s.Manifest.Part != nil:
		state = Ready
	default:
		state = Complete
	}
	return records, failures, state, nil
}

// Records calls visit with every record in the order of cells and samples, from
// the tables where they are and from the log otherwise. Steps are read only when
// they are wanted. A table that is damaged is an error that names it.
func (s *Stored) Records(steps bool, visit func(*Record) error) error {
	return s.records(steps, false, visit)
}

// WithScores is [Stored.Records] with steps and the scores that the run keeps,
// exact to the bit.
func (s *Stored) WithScores(visit func(*Record) error) error { return s.records(true, true, visit) }

func (s *Stored) records(steps, scores bool, visit func(*Record) error) error {
	if !complete(s.Dir) {
		found, err := readLogs([]string{filepath.Join(s.Dir, logFile)}, s.Manifest, func(r *Record) error {
			if !scores {
				r.Scores = nil
			}
			return visit(r)
		})
		if found || err != nil || !complete(s.Dir) { // its writer may have finished it in between
			return err
		}
	}
	t := &reader{}
	defer t.close()
	if err := t.open(s, steps, scores); err != nil {
		return err
	}
	for {
		r, err := t.next()
		if err != nil || r == nil {
			return err
		}
		if err := visit(r); err != nil {
			return err
		}
	}
}

// reader joins the tables of a run.
type reader struct {
	samples *opened[sampleRow]
	steps   *opened[stepRow]
	stages  *opened[stageRow]
	scores  *scoreReader
	costs   *opened[costRow] // nil in a run of before there were any
	cost    *costRow
	step    *stepRow
	stage   *stageRow
}

func (t *reader) open(s *Stored, steps, scores bool) (err error) {
	if t.samples, err = openTable[sampleRow](filepath.Join(s.Dir, samplesFile)); err != nil {
		return err
	}
	if path := filepath.Join(s.Dir, CostsFile); there(path) {
		if t.costs, err = openTable[costRow](path); err != nil {
			return err
		}
		if t.cost, err = t.costs.next(); err != nil {
			return err
		}
	}
	if scores && s.Manifest.Scores != "" {
		if t.scores, err = openScores(s.Dir); err != nil {
			return err
		}
	}
	if !steps || !s.Manifest.Ledger {
		return nil
	}
	if t.steps, err = openTable[stepRow](filepath.Join(s.Dir, StepsFile)); err != nil {
		return err
	}
	if t.stages, err = openTable[stageRow](filepath.Join(s.Dir, StagesFile)); err != nil {
		return err
	}
	if t.step, err = t.steps.next(); err == nil {
		t.stage, err = t.stages.next()
	}
	return err
}

func (t *reader) close() {
	t.samples.close()
	t.steps.close()
	t.stages.close()
	t.scores.close()
	t.costs.close()
}

// there reports whether a file is there.
func there(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func (t *reader) next() (*Record, error) {
	row, err := t.samples.next()
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, t.rest()
	}
	r := row.record()
	if t.cost != nil && t.cost.Cell == row.Cell && t.cost.Sample == row.Sample {
		if r.Cost = t.cost.cost(); !r.Cost.Sound() {
			return nil, fault.New(fault.Data, op, t.costs.path, "the cost of cell %d, sample %d is damaged", row.Cell, row.Sample)
		}
		if t.cost, err = t.costs.next(); err != nil {
			return nil, err
		}
	}
	if t.scores != nil && r.Failure == "" {
		if err := t.scores.read(&r); err != nil {
			return nil, err
		}
	}
	for t.step != nil && t.step.Cell == row.Cell && t.step.Sample == row.Sample {
		s := t.step.step()
		for t.stage != nil && t.stage.Cell == row.Cell && t.stage.Sample == row.Sample && t.stage.Step == t.step.Step {
			s.Stages = append(s.Stages, t.stage.stage())
			if t.stage, err = t.stages.next(); err != nil {
				return nil, err
			}
		}
		r.Trace.Steps = append(r.Trace.Steps, s)
		if t.step, err = t.steps.next(); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// rest is an error when steps or stages are left that are no sample's.
func (t *reader) rest() error {
	switch {
	case t.cost != nil:
		return fault.New(fault.Data, op, t.costs.path, "it has costs that are no sample's: cell %d, sample %d", t.cost.Cell, t.cost.Sample)
	case t.step != nil:
		return fault.New(fault.Data, op, t.steps.path, "it has steps that are no sample's: cell %d, sample %d, step %d", t.step.Cell, t.step.Sample, t.step.Step)
	case t.stage != nil:
		return fault.New(fault.Data, op, t.stages.path, "it has stages that are no step's: cell %d, sample %d, step %d", t.stage.Cell, t.stage.Sample, t.stage.Step)
	}
	if t.scores != nil && t.scores.row != nil {
		w := t.scores.row
		return fault.New(fault.Data, op, t.scores.table.path, "it has scores that are no sample's: cell %d, sample %d, step %d", w.Cell, w.Sample, w.Step)
	}
	return nil
}

// Entry is a run of a list.
type Entry struct {
	Name     string    `json:"name"` // of its folder
	State    State     `json:"state"`
	Records  int       `json:"samples"`
	Total    int       `json:"of"`
	Failures int       `json:"failed"`
	Cells    int       `json:"cells"`
	Axes     []string  `json:"axes"`
	Shard    string    `json:"shard,omitempty"`
	Started  time.Time `json:"started"`
	Problem  string    `json:"problem,omitempty"` // why it cannot be read
}

// List returns the runs in the folders of root, the newest first. Folders that
// hold no run are left out, those whose run.json is damaged are listed with what
// is wrong. A root that is not there has none.
func List(root string) ([]Entry, error) {
	dirs, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, root)
	}
	var out []Entry
	for _, d := range dirs {
		dir := filepath.Join(root, d.Name())
		info, err := os.Stat(filepath.Join(dir, manifestFile))
		if err != nil {
			continue
		}
		e := Entry{Name: d.Name(), Started: info.ModTime().UTC()}
		s, err := Open(dir)
		if err == nil {
			e.Cells, e.Total, e.Axes = s.Manifest.Cells, s.Manifest.Total(), s.Manifest.Axes
			if p := s.Manifest.Part; p != nil {
				e.Shard = fmt.Sprintf("%d/%d", p.Index+1, p.Of)
			}
			if len(s.Sessions) > 0 {
				e.Started = s.Sessions[0].Started
			}
			e.Records, e.Failures, e.State, err = s.Progress()
		}
		if err != nil {
			if fault.KindOf(err) == fault.Usage { // the record of something else
				continue
			}
			e.Problem = err.Error()
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Entry) int {
		if c := b.Started.Compare(a.Started); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}
