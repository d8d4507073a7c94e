// Package store keeps a run in a folder so that nothing is lost.
//
// A folder holds run.json, which says what the run is and never changes;
// cells.parquet, the settings of every cell; log, the samples as they are
// finished, until all are there; then samples.parquet, steps.parquet and
// stages.parquet in the order of cells and samples. Who resumes a run ends with
// the bytes of one that was never disturbed: what varies (when, where, how long, at
// what cost) is in sessions.jsonl, in costs.parquet and in the log alone, and
// comparisons leave it out. One process writes a run at a time, any number may
// read it. The package knows nothing of models or chains. Start with [Create],
// [Resume] or [Open].
package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/trace"
)

const op = "run"

// Schema is the version of a run folder that this package writes, and the newest
// that it reads; Format is what run.json says of it.
const (
	Schema = 1
	Format = "lab/sweep/1"
)

// ManifestPath is where run.json of a folder is.
func ManifestPath(dir string) string { return filepath.Join(dir, manifestFile) }

// Manifest is run.json: what the run is, and all that its repetition needs.
type Manifest struct {
	Format  string          `json:"schema"` // "lab/sweep/1"
	Name    string          `json:"name"`
	Spec    json.RawMessage `json:"spec"`             // as it was written: core/sweep.Spec
	Axes    []string        `json:"axes"`             // columns of cells.parquet that the grid varies
	Cells   int             `json:"cells"`            // of the whole sweep, whatever the part
	Samples int             `json:"samples"`          // of each cell
	Ledger  bool            `json:"ledger"`           // steps and stages are kept
	Scores  string          `json:"scores,omitempty"` // which are kept, see [ParseRecording]
	Part    *Part           `json:"shard,omitempty"`  // nil: all cells
	// Contexts is what a chain must know to be applied to kept scores without the
	// model; core/sweep reads it.
	Contexts json.RawMessage `json:"contexts,omitempty"`
	Used     json.RawMessage `json:"used"` // models, plugins and chains with their digests
	Source   json.RawMessage `json:"source,omitempty"`
	Lab      string          `json:"lab"` // version that made it
}

// Part is one of several runs that share the cells of a sweep: cells c with
// c % Of = Index.
type Part struct {
	Index int `json:"index"` // from 0
	Of    int `json:"of"`
}

// Mine reports whether a cell is this run's.
func (m *Manifest) Mine(cell int) bool { return m.Part == nil || cell%m.Part.Of == m.Part.Index }

// holds reports whether a sample is one of this run's.
func (m *Manifest) holds(cell, sample int) bool {
	return cell >= 0 && cell < m.Cells && sample >= 0 && sample < m.Samples && m.Mine(cell)
}

// Total returns how many samples the run is to have.
func (m *Manifest) Total() int {
	if m.Part == nil {
		return m.Cells * m.Samples
	}
	cells := (m.Cells - m.Part.Index + m.Part.Of - 1) / m.Part.Of
	return max(cells, 0) * m.Samples
}

// Session is one process that worked at a run, a line of sessions.jsonl.
type Session struct {
	Started  time.Time       `json:"started"`
	Seconds  float64         `json:"seconds"`
	Host     string          `json:"host"`
	PID      int             `json:"pid"`
	Outcome  string          `json:"outcome"` // "complete", "interrupted", or the kind of the error that ended it
	Error    string          `json:"error,omitempty"`
	Finished int             `json:"finished"` // samples it generated
	Failed   int             `json:"failed"`
	Tokens   int             `json:"tokens"`
	Usage    json.RawMessage `json:"usage,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Machine  json.RawMessage `json:"machine,omitempty"`
}

// Record is what became of one sample of one cell.
type Record struct {
	Cell, Sample int
	PromptTokens int
	Trace        trace.Sample  // its index is Sample
	Scores       []dist.Scores // what the model gave at each step, where the run keeps it: see [Recording.Row]
	Cost         *trace.Cost   // what it took; nil when that was not measured
	Failure      string        // why there is no sample, "" when there is one
}

// The files of a run folder.
const (
	manifestFile = "run.json"
	sessionsFile = "sessions.jsonl"
	logFile      = "log"
	lockFile     = "lock"
	CellsFile    = "cells.parquet"
	samplesFile  = "samples.parquet"
	StepsFile    = "steps.parquet"
	StagesFile   = "stages.parquet"
	scoresFile   = "scores.parquet"
	CostsFile    = "costs.parquet"
)

// mostManifest bounds run.json and lines of sessions.jsonl when they are read.
const mostManifest = 256 << 20

// readManifest reads run.json of a folder.
func readManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, manifestFile)
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.Usage, op, dir, "there is no %s in it", manifestFile).Fix("lab runs list shows the runs there are")
		}
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostManifest))
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	return parseManifest(data, path)
}

// parseManifest reads what run.json holds.
func parseManifest(data []byte, path string) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fault.New(fault.Data, op, path, "it is damaged: %v", err)
	}
	var version int
	if n, err := fmt.Sscanf(m.Format, "lab/sweep/%d", &version); n != 1 || err != nil || version < 1 {
		return nil, fault.New(fault.Usage, op, path, "it is not the record of a sweep, its schema is %s", fault.Quote(m.Format, 40))
	}
	if version > Schema {
		return nil, fault.New(fault.Data, op, path, "a newer lab wrote it: schema %d, this one reads up to %d", version, Schema).Fix("use the lab that wrote it, %s", fault.Quote(m.Lab, 40))
	}
	switch {
	case m.Cells < 1 || m.Cells > mostCells || m.Samples < 1 || m.Samples > mostSamples:
		return nil, fault.New(fault.Data, op, path, "it is damaged: %d cells of %d samples", m.Cells, m.Samples)
	case m.Samples > mostRecords/m.Cells:
		return nil, fault.New(fault.Limit, op, path, "%d cells of %d samples are more than %d samples", m.Cells, m.Samples, mostRecords).Fix("split it into several sweeps")
	case m.Part != nil && (m.Part.Of < 1 || m.Part.Index < 0 || m.Part.Index >= m.Part.Of):
		return nil, fault.New(fault.Data, op, path, "it is damaged: shard %d of %d", m.Part.Index, m.Part.Of)
	}
	if _, err := ParseRecording(m.Scores); err != nil {
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	return &m, nil
}

// The largest numbers a run may have, those of core/sweep, and the most samples
// in all: for each of them a process that writes the run keeps a bit, and one that
// makes its tables 40 bytes.
const (
	mostCells   = 1_000_000
	mostSamples = 1_000_000
	mostRecords = 200_000_000
)

// encode returns the bytes of run.json.
func (m *Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, fault.Wrap(err, fault.Internal, op, manifestFile)
	}
	return b.Bytes(), nil
}

// readSessions reads sessions.jsonl; a line that is not whole is left out, as the
// last one is after a crash.
func readSessions(dir string) ([]Session, error) {
	f, err := os.Open(filepath.Join(dir, sessionsFile))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fault.Wrap(err, fault.Data, op, dir)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostManifest))
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, dir)
	}
	var out []Session
	for line := range bytes.Lines(data) {
		var s Session
		if json.Unmarshal(line, &s) == nil {
			out = append(out, s)
		}
	}
	return out, nil
}
