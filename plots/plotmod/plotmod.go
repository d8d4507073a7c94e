// Package plotmod is the script module "plot": figures of distributions, as
// scripts draw and save them.
//
// It turns the distributions of the module "lab" and the tables of the module
// "table" into the plain data of package plots and saves pictures into the run's output folder only. What a figure
// looks like is decided in plots.
package plotmod

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/std"
	"lab/plots"
)

// Env is where figures go and what their footers say.
type Env struct {
	Folder  string                             // of the run; figures are saved below it
	Version string                             // of lab, for the footer
	Saved   func(name string, f *plots.Figure) // is told each file written, relative to Folder, and what is in it
}

// common are the options every figure takes.
var common = []script.Param{
	{Name: "title", Type: script.String(), Default: "", Meaning: "the finding; left out, it is made from the numbers"},
	{Name: "subtitle", Type: script.String(), Default: "", Meaning: "data and encoding; left out, it is generated"},
	{Name: "theme", Type: script.String(), Default: "light", Choices: plots.ThemeNames(), Meaning: "colours of the picture"},
	{Name: "width", Type: script.Either(script.Float(), script.String()), Default: 0.0, Range: script.Between(0, 14), Choices: plots.WidthNames(), Unit: "inches",
		Meaning: "in inches, 0 is the figure's own, or by name: a column (3.5), a report (5.2) or a page (7)"},
	{Name: "live_text", Type: script.Bool(), Default: false, Meaning: "SVG keeps words as text that can be searched and edited, with the letters used embedded; otherwise they are outlines"},
}

// Module returns the module "plot".
func Module(e *Env) script.Module {
	return script.Module{
		Name: "plot",
		Doc:  "Figures of distributions and of what stages do to them, and general charts over tables. Each returns a figure; save writes it.",
		Members: append([]script.Member{
			{
				Name: "reshape", Returns: "figure",
				Doc: "Draws what each rule does to one next-token distribution: a panel per sampling distribution, all made from the same prompt.",
				Params: []script.Param{{Name: "distributions", Type: script.List(script.Host[*std.Distribution]()),
					Meaning: "sampling distributions of one prompt, from distribution.apply"}},
				Options: append([]script.Param{{Name: "top", Type: script.Int(), Default: int64(0), Range: script.Between(0, 40),
					Unit: "tokens", Meaning: "how many tokens to show; 0 lets the figure choose"}}, common...),
				Func: e.reshape,
			},
			{
				Name: "temperatures", Returns: "figure",
				Doc: "Draws how mass moves down the ranks of one distribution as the temperature rises.",
				Params: []script.Param{
					{Name: "distribution", Type: script.Host[*std.Distribution](), Meaning: "a model distribution"},
					{Name: "temperatures", Type: script.List(script.Float()), Meaning: "each at least 0"},
				},
				Options: append([]script.Param{{Name: "top_p", Type: script.Float(), Default: 0.9, Range: script.Interval(0, 1, true, false),
					Meaning: "the nucleus marked on each line"}}, common...),
				Func: e.temperatures,
			},
			{
				Name: "chain", Returns: "figure",
				Doc:     "Draws one step through the stages of a chain: the model mass that survives and how far each stage moves the distribution.",
				Params:  []script.Param{{Name: "distribution", Type: script.Host[*std.Distribution](), Meaning: "a sampling distribution, from distribution.apply"}},
				Options: common,
				Func:    e.chain,
			},
			e.tokensMember(), e.heatStepsMember(), e.entropyMember(), e.zipfMember(), e.repetitionMember(), e.pairsMember(), e.outcomesMember(), e.gridMember(),
			e.calibrationMember(), e.ridgelineMember(), e.timelineMember(),
			e.lineMember(), e.scatterMember(),
		}, append(e.sampleMembers(), e.costMembers()...)...),
		Classes: []script.Class{(*figure)(nil).Class()},
	}
}

// figure is a finished picture.
type figure struct {
	env *Env
	*plots.Figure
	in func(plots.Theme) (*plots.Figure, error) // draws it again in another theme
}

// Class implements script.Object.
func (*figure) Class() script.Class {
	return script.Class{Name: "figure", Doc: "A finished picture.", Members: []script.Member{
		{
			Name: "save", Returns: "string",
			Doc:    "Writes the picture, or its data, into the run's output folder and returns the path; the extension decides the format: a picture (.svg, .png, .pdf), its numbers (.csv), a Vega-Lite specification that carries them (.vl.json) or a drawing in characters (.txt). An SVG in the light or the dark theme is kept in the other one too, below .themes in the folder, for lab report.",
			Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "a file name or relative path"}},
			Func: func(c *script.Call) (any, error) {
				var path string
				err := c.Blocking(func() (err error) {
					path, err = script.Self[*figure](c).save(c.String("name"))
					return err
				})
				return path, err
			},
		},
		{
			Name: "csv", Returns: "string", Doc: "Returns the numbers drawn as a CSV text.",
			Func: func(c *script.Call) (any, error) {
				var b strings.Builder
				err := script.Self[*figure](c).Table().CSV(&b)
				return b.String(), err
			},
		},
		{
			Name: "terminal", Returns: "string", Doc: "Returns the figure drawn with characters, for print.",
			Options: []script.Param{{Name: "width", Type: script.Int(), Default: 100, Range: script.Between(40, 400), Unit: "cells", Meaning: "of the terminal"},
				{Name: "colour", Type: script.Bool(), Default: false, Meaning: "with the colours of the theme as escape sequences"}},
			Func: func(c *script.Call) (any, error) {
				var b strings.Builder
				err := script.Self[*figure](c).Terminal(&b, int(c.Int("width")), c.Bool("colour"))
				return b.String(), err
			},
		},
		{
			Name: "title", Returns: "string", Doc: "Its title as drawn.",
			Get: func(c *script.Call) (any, error) { return script.Self[*figure](c).Title(), nil },
		},
		{
			Name: "description", Returns: "string", Doc: "Alternative text, from the same numbers.",
			Get: func(c *script.Call) (any, error) { return script.Self[*figure](c).Description(), nil },
		},
	}}
}

func (f *figure) save(name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fault.New(fault.Script, "save", fault.Quote(name, 60), "the path leaves the run's output folder").
			Fix("give a relative path without ..; choose the folder with --out")
	}
	path := filepath.Join(f.env.Folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fault.Wrap(err, fault.Usage, "save", fault.Quote(path, 80))
	}
	if err := f.Save(path); err != nil {
		return "", err
	}
	if err := f.saveOther(name); err != nil {
		return "", err
	}
	if f.env.Saved != nil {
		f.env.Saved(name, f.Figure)
	}
	return path, nil
}

// saveOther keeps the picture in the other theme.
func (f *figure) saveOther(name string) error {
	theme, to := plots.OtherTheme(name, f.Theme().Name)
	if to == "" {
		return nil
	}
	other, err := f.in(theme)
	if err != nil {
		return err
	}
	path := filepath.Join(f.env.Folder, filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fault.Wrap(err, fault.Usage, "save", fault.Quote(path, 80))
	}
	return other.Save(path)
}

func (e *Env) options(c *script.Call, d *std.Distribution) (plots.Options, error) {
	info := d.Model().Info()
	return e.looks(c, fmt.Sprintf("model %s, sha256 %.12s · seed %d", info.Name, info.Digest, d.Env().Seed))
}

// looks reads the options that every figure takes; source says where the numbers
// come from.
func (e *Env) looks(c *script.Call, source string) (plots.Options, error) {
	o := plots.Options{Title: c.String("title"), Subtitle: c.String("subtitle"), LiveText: c.Bool("live_text"), Footer: source}
	if e.Version != "" {
		if o.Footer != "" {
			o.Footer += " · "
		}
		o.Footer += "lab " + e.Version
	}
	var err error
	if o.Theme, err = plots.ThemeNamed(c.String("theme")); err != nil {
		return o, err
	}
	switch w := c.Any("width").(type) {
	case float64:
		o.Width = w
	case string:
		o.Width, err = plots.WidthNamed(w)
	}
	return o, err
}

// failure gives an error of a figure the kind of a script's.
func failure(err error) error {
	if e, ok := err.(*fault.Error); ok && e.Kind == fault.Usage {
		e.Kind = fault.Script
	}
	return err
}

// figureOf draws without the interpreter lock.
func (e *Env) figureOf(c *script.Call, o plots.Options, draw func(plots.Options) (*plots.Figure, error)) (any, error) {
	var drawn *plots.Figure
	err := c.Blocking(func() (err error) {
		drawn, err = draw(o)
		return err
	})
	if err != nil {
		return nil, failure(err)
	}
	return &figure{env: e, Figure: drawn, in: func(theme plots.Theme) (*plots.Figure, error) {
		other := o
		other.Theme = theme
		return draw(other)
	}}, nil
}
