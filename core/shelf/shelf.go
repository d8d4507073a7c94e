// Package shelf keeps the model folder: weight files that a user has put there
// by hand, under names that do for their paths.
//
// A model is one file, NAME.gguf, or several parts, and a record beside them,
// NAME.json, that holds where they came from, their digests and what their
// headers say. The record is written last and removed first: a model without
// one is not there. A model may be linked: its record names files elsewhere,
// which are never written to nor deleted. Folders have mode 0700, files 0600.
//
// Not here: what a weight file means; [Shelf.Inspect] is given by the caller.
// Transfers over a network are package fetch's. Start with [At], [Shelf.Add] and
// [Shelf.Find].
package shelf

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lab/core/fault"
)

// Shelf is the model folder. Its methods may be called by several processes at
// once.
type Shelf struct {
	Dir string
	// Inspect reads the headers of a model's files; what cannot be read is an error.
	Inspect func(ctx context.Context, paths []string) (Header, error)
}

// Header is what a weight file says of itself.
type Header struct {
	Architecture string   `json:"architecture"`
	Known        bool     `json:"known"` // lab computes this architecture
	Parameters   int64    `json:"parameters"`
	Formats      []string `json:"formats"` // of the weights, that with most bytes first
	Context      int64    `json:"context_length"`
}

// File is one file of a model.
type File struct {
	Path   string `json:"path"` // in a record of a model that is not linked relative to the folder
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Entry is a model of the folder.
type Entry struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Source string `json:"source"` // path or address it came from, without secrets
	Linked bool   `json:"linked"`
	Added  string `json:"added"` // the day, UTC
	Files  []File `json:"files"`
	Header
}

const (
	recordSchema = "lab/model-file/1"
	recordSuffix = ".json"
	weightSuffix = ".gguf"
	mostRecord   = 4 << 20 // bytes
	mostParts    = 4096
	longestName  = 100
)

// At returns the shelf in a folder, which need not exist.
func At(dir string, inspect func(ctx context.Context, paths []string) (Header, error)) *Shelf {
	return &Shelf{Dir: dir, Inspect: inspect}
}

// Folder returns the model folder of this user: LAB_MODELS, or lab/models in
// XDG_DATA_HOME or its default below the home folder.
func Folder() (string, error) {
	if dir := os.Getenv("LAB_MODELS"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fault.Wrap(err, fault.Usage, "model folder", "LAB_MODELS")
		}
		return abs, nil
	}
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.Usage, "model folder", "", "there is no home folder (%v)", err).Fix("set HOME, XDG_DATA_HOME or LAB_MODELS")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "lab", "models"), nil
}

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	oddForm  = regexp.MustCompile(`[^A-Za-z0-9._]+`)
	partForm = regexp.MustCompile(`^(.+)-([0-9]{5})-of-([0-9]{5})$`)
)

// CheckName refuses what cannot be the name of a model: it is used in file names,
// and must not look like a path or a part of a split model.
func CheckName(name string) error {
	problem := nameProblem(name)
	if problem == "" {
		return nil
	}
	return fault.New(fault.Usage, "model", fault.Quote(name, 80), "it cannot be the name of a model: %s", problem).
		Fix("choose one with --name, for instance %s", likeName(name))
}

// nameProblem says why a name cannot be, "" when it can.
func nameProblem(name string) string {
	switch lower := strings.ToLower(name); {
	case name == "":
		return "it is empty"
	case len(name) > longestName:
		return "it is longer than 100 characters"
	case !nameForm.MatchString(name):
		return "names have letters, digits, '.', '-' and '_', and begin with a letter or a digit"
	case strings.HasSuffix(lower, weightSuffix) || strings.HasSuffix(lower, recordSuffix) || strings.HasSuffix(name, "."):
		return "it ends like a file"
	case partForm.MatchString(name):
		return "it ends like a part of a split model"
	}
	return ""
}

// likeName makes a name out of what is none.
func likeName(s string) string {
	s = strings.Trim(oddForm.ReplaceAllString(s, "-"), "-._")
	if s = s[:min(len(s), 40)]; nameProblem(s) != "" {
		return "llama-1b"
	}
	return s
}

// NameOf returns the name that a file or an address gives a model: its last part
// without .gguf and the number of a part.
func NameOf(source string) string {
	base := source[strings.LastIndexAny(source, `/\`)+1:]
	base = trimSuffixFold(base, weightSuffix)
	if m := partForm.FindStringSubmatch(base); m != nil {
		base = m[1]
	}
	return base
}

func trimSuffixFold(s, suffix string) string {
	if len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix) {
		return s[:len(s)-len(suffix)]
	}
	return s
}

func (s *Shelf) record(name string) string { return filepath.Join(s.Dir, name+recordSuffix) }

// Find returns the model of a name; found is false when there is none. A record
// that cannot be read is a data error.
func (s *Shelf) Find(name string) (e Entry, found bool, err error) {
	if CheckName(name) != nil {
		return Entry{}, false, nil
	}
	f, err := os.Open(s.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, true, fault.Wrap(err, fault.Data, "model folder", fault.Quote(name, 80))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostRecord))
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err == nil {
		err = e.check(name)
	}
	if err != nil {
		return Entry{}, true, fault.New(fault.Data, "model folder", fault.Quote(name, 80), "its record %s is damaged (%v)", fault.Quote(s.record(name), 200), err).
			Fix("remove it with lab model rm %s and add the model again", name)
	}
	return e, true, nil
}

// check refuses a record whose files are not where those of its name are.
func (e *Entry) check(name string) error {
	if e.Schema != recordSchema || e.Name != name || len(e.Files) == 0 || len(e.Files) > mostParts {
		return errors.New("it is no record of this model")
	}
	for i, f := range e.Files {
		if e.Linked != filepath.IsAbs(f.Path) || !e.Linked && f.Path != fileName(name, i, len(e.Files)) {
			return errors.New("it names a file elsewhere")
		}
	}
	return nil
}

// Paths returns where the files of a model are.
func (s *Shelf) Paths(e Entry) []string {
	out := make([]string, len(e.Files))
	for i, f := range e.Files {
		out[i] = f.Path
		if !e.Linked {
			out[i] = filepath.Join(s.Dir, f.Path)
		}
	}
	return out
}

// Path returns the path that opens the model of a name, that of its first file,
// and for a model of one file its recorded digest.
func (s *Shelf) Path(name string) (path, sha256 string, found bool, err error) {
	e, found, err := s.Find(name)
	if err != nil || !found {
		return "", "", found, err
	}
	if len(e.Files) == 1 {
		sha256 = e.Files[0].SHA256
	}
	return s.Paths(e)[0], sha256, true, nil
}

// Bytes returns the length of all files of a model.
func (e Entry) Bytes() int64 {
	n := int64(0)
	for _, f := range e.Files {
		n += f.Bytes
	}
	return n
}

// Names returns the names of the models, sorted.
func (s *Shelf) Names() []string {
	entries, _ := os.ReadDir(s.Dir)
	names := []string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if ok && e.Type().IsRegular() && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Entries returns the models, sorted by name, and an error for each that cannot
// be read.
func (s *Shelf) Entries() (out []Entry, broken []error) {
	for _, name := range s.Names() {
		e, found, err := s.Find(name)
		switch {
		case err != nil:
			broken = append(broken, err)
		case found:
			out = append(out, e)
		}
	}
	return out, broken
}

// Unfinished returns the names of models whose transfer was interrupted.
func (s *Shelf) Unfinished() []string {
	entries, _ := os.ReadDir(s.Dir)
	var names []string
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), stagePrefix)
		if !ok || !e.IsDir() || CheckName(name) != nil {
			continue
		}
		if inside, err := os.ReadDir(filepath.Join(s.Dir, e.Name())); err == nil && len(inside) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Remove deletes a model, or what an interrupted transfer has left of one, and
// returns the paths it deleted. The files of a linked model stay. An unknown
// name is a usage error.
func (s *Shelf) Remove(name string) ([]string, error) {
	e, found, err := s.Find(name)
	unfinished := slices.Contains(s.Unfinished(), name)
	if !found && !unfinished {
		return nil, fault.Unknown("lab model rm", "model of the folder", name, append(s.Names(), s.Unfinished()...))
	}
	unlock, lockErr := s.lock(name)
	if lockErr != nil {
		return nil, lockErr
	}
	defer unlock()
	gone := []string{}
	drop := func(path string) error {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			gone = append(gone, path)
		}
		return err
	}
	var failed error
	if found {
		failed = drop(s.record(name))
	}
	if found && (err != nil || !e.Linked) { // of a damaged record nothing is believed but its name
		files := s.ownFiles(name)
		for i := 0; i < len(files) && failed == nil; i++ {
			failed = drop(files[i])
		}
	}
	if stage := s.stage(name); failed == nil && unfinished {
		if failed = os.RemoveAll(stage); failed == nil {
			gone = append(gone, stage)
		}
	}
	if failed != nil {
		return gone, fault.Wrap(failed, fault.Data, "lab model rm", fault.Quote(name, 80))
	}
	return gone, nil
}

// ownFiles returns the weight files in the folder that belong to a name.
func (s *Shelf) ownFiles(name string) []string {
	entries, _ := os.ReadDir(s.Dir)
	var out []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), weightSuffix)
		m := partForm.FindStringSubmatch(base)
		if ok && (base == name || m != nil && m[1] == name) {
			out = append(out, filepath.Join(s.Dir, e.Name()))
		}
	}
	return out
}
