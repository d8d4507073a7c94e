// Package report writes what a stored run or a script found as one page for other
// people: a self-contained HTML file, or Markdown with its figures beside it.
//
// It reads folders and computes no statistics of its own: estimates are those of
// core/results, figures those of plots/source, so that a report, lab runs and a
// script say the same numbers. Everything that a model, a prompt, a plugin or a
// file brought in is shown as text in which all can be seen (canvas.Clean and
// canvas.Visible); nothing of it becomes markup. The same folder and options give
// the same bytes. Start with [Run] or [Script], then [Report.Save].
package report

import (
	"io"
	"path/filepath"
	"strings"

	"lab/core/fault"
	"lab/core/measure"
	"lab/plots/canvas"
)

const op = "report"

// Options say what a report holds. The zero value lets the run decide.
type Options struct {
	Name     string           // the run or script as its reader would name it, for commands; "" is the folder
	Version  string           // of lab, for the foot
	Title    string           // "" is the run's name
	Finding  string           // the first sentence; "" is made from the numbers of the first measure
	Measures []string         // as measure.Named knows them; nil: those that the run allows
	Interval measure.Interval // of the measures; the zero value is each one's own way at 95 %
	Figures  []string         // names of plots/source; nil: those that the run allows; [None] draws none
	Examples int              // samples shown token by token, 0 to 200; [DefaultExamples] is usual
	// Pieces opens the vocabulary of a model, for the figure heat_steps; it may be nil.
	Pieces func(model string) (func(int32) []byte, error)
}

const (
	// DefaultExamples is how many samples a report usually shows.
	DefaultExamples = 12
	// None is the name that draws no figure.
	None = "none"

	mostExamples = 200
)

func (o *Options) check() error {
	if o.Examples < 0 || o.Examples > mostExamples {
		return fault.New(fault.Usage, op, "examples", "%d is outside 0 to %d", o.Examples, mostExamples).Fix("%d is usual", DefaultExamples)
	}
	return nil
}

// Report is a finished report. It never changes and is safe for concurrent use.
type Report struct {
	title, finding string
	facts          []pair
	alerts         []string // what a reader must know first
	sections       []section
	foot           string
}

// Title returns the report's title.
func (r *Report) Title() string { return r.title }

// Finding returns its first sentence.
func (r *Report) Finding() string { return r.finding }

// Formats returns the file extensions that [Report.Save] knows, without the dot.
func Formats() []string { return []string{"html", "md"} }

// Save writes the report to a file in the format of its extension. HTML is one
// file; beside Markdown lie the figures, named after it, and their names are
// returned. Every file appears whole or not at all.
//
// Errors: fault.Usage for an extension that is not in [Formats] and for a folder
// that is missing or cannot be written to; fault.Data when the disk fails.
func (r *Report) Save(path string) (beside []string, err error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".html":
		return nil, canvas.WriteFile(path, r.HTML)
	case ".md":
		text, files := r.markdown(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		for _, f := range files {
			write := func(w io.Writer) error { _, err := w.Write(f.data); return err }
			if err := canvas.WriteFile(filepath.Join(filepath.Dir(path), f.name), write); err != nil {
				return nil, err
			}
			beside = append(beside, f.name)
		}
		return beside, canvas.WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	default:
		return nil, fault.New(fault.Usage, op, path, "unknown format %s", fault.Quote(ext, 20)).Fix("end the name in .%s; HTML prints well", strings.Join(Formats(), " or ."))
	}
}
