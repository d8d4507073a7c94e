package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"lab/core/fault"
	"lab/core/fetch"
	"lab/core/plugin/host"
	"lab/core/shelf"
	"lab/plugins/models/weights"
)

// JSON forms of what is in the model folder; docs/json.md describes them.
type (
	modelListReport struct {
		Schema string        `json:"schema"`
		Models []backendJSON `json:"models"`
		modelFilesJSON
	}
	modelFilesJSON struct {
		Folder     string           `json:"folder"`
		Files      []*modelFileJSON `json:"files"`
		Unfinished []string         `json:"unfinished,omitempty"`
		Damaged    []string         `json:"damaged,omitempty"`
	}
	modelFileJSON struct {
		Name         string      `json:"name"`
		Source       string      `json:"source"`
		Linked       bool        `json:"linked"`
		Added        string      `json:"added"`
		Architecture string      `json:"architecture"`
		Known        bool        `json:"known"`
		Parameters   int64       `json:"parameters"`
		Context      int64       `json:"context_length"`
		Formats      []string    `json:"formats"`
		Bytes        int64       `json:"bytes"`
		Parts        []modelPart `json:"parts"`
		Clash        string      `json:"clash,omitempty"`
	}
	modelPart struct {
		Path   string `json:"path"`
		Bytes  int64  `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
)

// modelFolder returns the model folder of this user.
func modelFolder() (*shelf.Shelf, error) {
	dir, err := shelf.Folder()
	if err != nil {
		return nil, err
	}
	return shelf.At(dir, inspectWeights), nil
}

// inspectWeights reads the headers of weight files for the folder's records.
func inspectWeights(ctx context.Context, paths []string) (shelf.Header, error) {
	d, err := weights.Describe(ctx, paths)
	return shelf.Header{Architecture: d.Architecture, Known: d.Known, Parameters: d.Parameters, Formats: d.Formats, Context: d.Context}, err
}

func newModelFileJSON(s *shelf.Shelf, e shelf.Entry) *modelFileJSON {
	m := &modelFileJSON{Name: e.Name, Source: e.Source, Linked: e.Linked, Added: e.Added, Architecture: e.Architecture, Known: e.Known,
		Parameters: e.Parameters, Context: e.Context, Formats: e.Formats, Bytes: e.Bytes()}
	for i, path := range s.Paths(e) {
		m.Parts = append(m.Parts, modelPart{Path: path, Bytes: e.Files[i].Bytes, SHA256: e.Files[i].SHA256})
	}
	return m
}

// listModelFiles returns what is in the folder; backends are those of the
// plugins, whose names must not be taken twice.
func listModelFiles(backends []host.Backend) modelFilesJSON {
	out := modelFilesJSON{Files: []*modelFileJSON{}}
	s, err := modelFolder()
	if err != nil {
		out.Damaged = append(out.Damaged, err.Error())
		return out
	}
	out.Folder, out.Unfinished = s.Dir, s.Unfinished()
	entries, broken := s.Entries()
	for _, e := range entries {
		m := newModelFileJSON(s, e)
		for _, b := range backends {
			if b.Name == e.Name {
				m.Clash = b.Qualified()
			}
		}
		out.Files = append(out.Files, m)
	}
	for _, err := range broken {
		out.Damaged = append(out.Damaged, err.Error())
	}
	return out
}

// findModelFile returns the model of the folder that has a name, nil when there
// is none.
func findModelFile(name string) *modelFileJSON {
	s, err := modelFolder()
	if err != nil {
		return nil
	}
	e, found, err := s.Find(name)
	if err != nil || !found {
		return nil
	}
	return newModelFileJSON(s, e)
}

func writeModelFiles(w, errOut io.Writer, m modelFilesJSON) {
	if len(m.Files) > 0 {
		fmt.Fprintf(w, "\nin the model folder %s:\n", m.Folder)
		table(w, "name | architecture | parameters | size | formats | sha256", func(line func(...any)) {
			for _, f := range m.Files {
				name := f.Name
				if f.Linked {
					name += " (link)"
				}
				line(name, f.architecture(), people(f.Parameters), fetch.Size(f.Bytes), shortList(f.Formats), f.shortDigest())
			}
		})
	}
	for _, f := range m.Files {
		if f.Clash != "" {
			fmt.Fprintf(errOut, "warning: %q is also a model of a plugin and refused as a name; write %s, or the path %s\n", f.Name, f.Clash, f.Parts[0].Path)
		}
	}
	for _, name := range m.Unfinished {
		fmt.Fprintf(errOut, "warning: the transfer of %q was interrupted; add it again to go on, or remove what is there: lab model rm %s\n", name, name)
	}
	for _, text := range m.Damaged {
		fmt.Fprintln(errOut, "warning:", text)
	}
}

func (f *modelFileJSON) architecture() string {
	switch {
	case f.Architecture == "":
		return "unnamed"
	case !f.Known:
		return f.Architecture + " (unknown)"
	}
	return f.Architecture
}

// shortDigest returns the first digits of the digest, of a split model those of
// its first part.
func (f *modelFileJSON) shortDigest() string {
	short := f.Parts[0].SHA256[:min(12, len(f.Parts[0].SHA256))]
	if n := len(f.Parts); n > 1 {
		return fmt.Sprintf("%s (part 1 of %d)", short, n)
	}
	return short
}

// shortList joins the first few names.
func shortList(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// people returns a count as people write it: 135M, 1.24B.
func people(n int64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if x := float64(n) / u.size; x >= 0.9995 {
			return fmt.Sprintf("%.3g%s", x, u.name)
		}
	}
	return fmt.Sprint(n)
}

// writeModelFile shows where a model of the folder comes from and lies, in cells.
func writeModelFile(w io.Writer, f *modelFileJSON) {
	how := "added on " + f.Added + " from " + f.Source
	if f.Linked {
		how = "linked on " + f.Added
	}
	fmt.Fprintf(w, "in the folder\t%s, %s\n", f.Name, how)
	fmt.Fprintf(w, "formats\t%s\n", strings.Join(f.Formats, ", "))
	for _, p := range f.Parts {
		fmt.Fprintf(w, "file\t%s, %s, sha256 %s\n", p.Path, fetch.Size(p.Bytes), p.SHA256)
	}
}

// unknownArchitecture is what is said of a model that lab cannot compute.
func unknownArchitecture(f *modelFileJSON) string {
	if f.Known {
		return ""
	}
	return fmt.Sprintf("lab does not compute the architecture %s; it computes %s", fault.Quote(f.Architecture, 40), strings.Join(weights.Architectures(), ", "))
}
