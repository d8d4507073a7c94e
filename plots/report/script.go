package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lab/core/fault"
	"lab/core/store"
	"lab/plots/canvas"
	"lab/plots/source"
)

// ScriptFormat is what run.json in the output folder of a script says of itself.
const ScriptFormat = "lab/run/1"

// The most that is read of files beside run.json.
const (
	mostRecord  = 64 << 20
	mostPicture = 16 << 20
	mostPrinted = 200_000 // bytes shown
)

// scriptReport is a script's output folder while its report is made.
type scriptReport struct {
	Options
	dir      string
	root     *os.Root
	record   ScriptRecord
	sections []section
	finding  string
}

// Script returns the report of the output folder of a script: what it printed and
// saved, and every sweep that it made, as [Run] does. Files are read from the folder
// alone, whatever run.json says; sweeps where it says, or beside the folder.
//
// Errors: fault.Usage for a folder that is none and for options; fault.Data for a
// run.json that is damaged.
func Script(dir string, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, op, dir)
	}
	defer root.Close()
	s := &scriptReport{Options: o, dir: dir, root: root}
	text, err := s.read("run.json", mostRecord)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, op, filepath.Join(dir, "run.json"))
	}
	if err := json.Unmarshal(text, &s.record); err != nil {
		return nil, fault.New(fault.Data, op, filepath.Join(dir, "run.json"), "it is damaged: %v", err)
	}
	if s.record.Schema != ScriptFormat {
		return nil, fault.New(fault.Data, op, filepath.Join(dir, "run.json"), "its schema is %s, not %s", fault.Quote(s.record.Schema, 40), ScriptFormat)
	}
	for _, part := range []func() error{s.printed, s.figures, s.tables, s.sweeps, s.reproduce, s.provenance} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	r := &Report{title: o.Title, finding: o.Finding, facts: s.facts(), alerts: s.alerts(), sections: s.sections, foot: foot(o.Version)}
	if r.title == "" {
		r.title = strings.TrimSuffix(filepath.Base(s.record.Script), ".tengo")
	}
	if r.finding == "" {
		r.finding = s.finding
	}
	if r.finding == "" {
		r.finding = "The script ended with " + s.record.Outcome + "."
	}
	r.clean()
	return r, nil
}

// open opens an ordinary file of the folder; anything else could block for ever.
func (s *scriptReport) open(name string) (*os.File, error) {
	name = filepath.FromSlash(name)
	i, err := s.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !i.Mode().IsRegular() {
		return nil, errors.New("it is no ordinary file")
	}
	return s.root.Open(name)
}

// read returns a file of the folder; one that is longer than most is refused.
func (s *scriptReport) read(name string, most int64) ([]byte, error) {
	f, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it is longer than %s bytes", canvas.Count(int(most)))
	}
	return data, err
}

func (s *scriptReport) add(id, title string, blocks ...block) {
	if len(blocks) > 0 {
		s.sections = append(s.sections, section{id: id, title: title, level: 2, blocks: blocks})
	}
}

func (s *scriptReport) facts() []pair {
	r := &s.record
	facts := []pair{{"script", r.Script}, {"outcome", r.Outcome}, {"seed", strconv.FormatUint(r.Seed, 10)}}
	if len(r.Models) == 1 {
		facts = append(facts, pair{"model", r.Models[0].Ref})
	}
	if !r.Started.IsZero() {
		facts = append(facts, pair{"started", r.Started.UTC().Format(time.DateTime) + " UTC"})
	}
	return append(facts, pair{"took", strconv.FormatFloat(r.Seconds, 'f', 1, 64) + " s"}, pair{"made by", "lab " + r.Lab})
}

func (s *scriptReport) alerts() []string {
	var out []string
	if s.record.Outcome != "ok" {
		out = append(out, "The script did not finish ("+s.record.Outcome+"): "+canvas.Shorten(s.record.Error, 600))
	}
	if n := len(s.record.Warnings); n > 0 {
		out = append(out, plural(n, "warning")+" recorded; see Models, plugins and versions.")
	}
	return out
}

// printed is what the script wrote to standard output.
func (s *scriptReport) printed() error {
	if s.record.Output == "" {
		return nil
	}
	text, err := s.readPrinted()
	if err != nil {
		s.add("output", "What it printed", block{alert: "It cannot be read: " + err.Error()})
		return nil
	}
	blocks := []block{{code: strings.TrimRight(text, "\n")}}
	if len(text) > mostPrinted {
		cut := strings.ToValidUTF8(text[:mostPrinted], "")
		blocks = []block{{code: cut}, {text: fmt.Sprintf("The first %s of its bytes; all are in %s.", canvas.Count(mostPrinted), s.record.Output)}}
	}
	if strings.TrimSpace(text) != "" {
		s.add("output", "What it printed", blocks...)
	}
	return nil
}

// readPrinted reads one byte more than is shown, to know whether there are more.
func (s *scriptReport) readPrinted() (string, error) {
	f, err := s.open(s.record.Output)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostPrinted+1))
	return string(data), err
}

// sweeps are the runs that the script made, each with sections of its own.
func (s *scriptReport) sweeps() error {
	for i, path := range s.record.Sweeps {
		dir := s.place(path)
		run, err := store.Open(dir)
		if err != nil {
			s.add(fmt.Sprintf("sweep%d", i+1), "Sweep "+filepath.Base(path), block{alert: "It cannot be read: " + err.Error()})
			continue
		}
		o := s.Options
		o.Name = dir
		r, err := readSweep(run, o, fmt.Sprintf("sweep%d-", i+1), 3)
		if err != nil {
			return err
		}
		about := &grid{caption: "The run", head: columns("what", "value")}
		for _, f := range r.facts() {
			about.rows = append(about.rows, words(f.name, f.value))
		}
		blocks := []block{{text: r.finding}}
		for _, a := range r.alerts() {
			blocks = append(blocks, block{alert: a})
		}
		s.add(fmt.Sprintf("sweep%d", i+1), "Sweep "+r.name, append(blocks, block{table: about})...)
		s.sections = append(s.sections, r.sections...)
		if s.finding == "" {
			s.finding = r.finding
		}
	}
	return nil
}

// place returns where a sweep is: as the script named it, or beside the folder,
// when both were moved.
func (s *scriptReport) place(path string) string {
	if _, err := os.Stat(store.ManifestPath(path)); errors.Is(err, fs.ErrNotExist) {
		beside := filepath.Join(filepath.Dir(filepath.Clean(s.dir)), filepath.Base(path))
		if _, err := os.Stat(store.ManifestPath(beside)); err == nil {
			return beside
		}
	}
	return path
}

// reproduce is the command that ran the script, what it was and what it was given.
func (s *scriptReport) reproduce() error {
	r := &s.record
	command := "lab run " + shell(r.Script) + " --seed " + strconv.FormatUint(r.Seed, 10)
	for _, k := range slices.Sorted(maps.Keys(r.Set)) {
		command += " --set " + shell(k+"="+r.Set[k])
	}
	sources := &grid{caption: "What was run", head: columns("file", "SHA-256")}
	for _, x := range r.Sources {
		sources.rows = append(sources.rows, words(x.Path, x.SHA256))
	}
	s.add("reproduce", "Reproduce this", block{code: command}, block{table: sources})
	if len(r.Settings) == 0 {
		return nil
	}
	g := &grid{caption: "Settings of the script", head: columns("setting", "value", "origin")}
	for _, k := range slices.Sorted(maps.Keys(r.Settings)) {
		origin := "default of the script"
		if _, given := r.Set[k]; given {
			origin = "--set"
		}
		g.rows = append(g.rows, words(k, canvas.Shorten(source.SettingText(r.Settings[k]), 400), origin))
	}
	s.add("settings", "Settings", block{table: g})
	return nil
}

// provenance is what the script used, besides what its sweeps say.
func (s *scriptReport) provenance() error {
	s.add("chains", "Effective chains", chainBlocks(s.record.Chains)...)
	blocks := usedBlocks(s.record.Record)
	if w := s.record.Warnings; len(w) > 0 {
		blocks = append(blocks, block{text: "Warnings:"}, block{list: slices.Clone(w)})
	}
	m := s.record.Machine
	blocks = append(blocks, block{text: fmt.Sprintf("Made by lab %s, %s, on %s/%s with %s.", s.record.Lab, m.Go, m.OS, m.Arch, plural(m.CPUs, "CPU"))})
	s.add("provenance", "Models, plugins and versions", blocks...)
	return nil
}
