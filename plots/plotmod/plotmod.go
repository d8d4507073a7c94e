// Package plotmod is the script module "plot": figures of distributions, as
// scripts draw and save them.
//
// It turns the distributions of the module "lab" into the plain data of package
// plots and saves pictures into the run's output folder only. What a figure
// looks like is decided in plots.
package plotmod

import (
	"fmt"
	"os"
	"path/filepath"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/std"
	"lab/plots"
)

// Env is where figures go and what their footers say.
type Env struct {
	Folder  string            // of the run; figures are saved below it
	Version string            // of lab, for the footer
	Saved   func(name string) // is told each file written, relative to Folder
}

// common are the options every figure takes.
var common = []script.Param{
	{Name: "title", Type: script.String(), Default: "", Meaning: "the finding; left out, it is made from the numbers"},
	{Name: "subtitle", Type: script.String(), Default: "", Meaning: "data and encoding; left out, it is generated"},
	{Name: "theme", Type: script.String(), Default: "light", Choices: plots.ThemeNames(), Meaning: "colours of the picture"},
	{Name: "width", Type: script.Float(), Default: 0.0, Range: script.Between(0, 14), Unit: "inches", Meaning: "0 is the figure's own width"},
}

// Module returns the module "plot".
func Module(e *Env) script.Module {
	return script.Module{
		Name: "plot",
		Doc:  "Figures of distributions and of what stages do to them. Each returns a figure; save writes it.",
		Members: []script.Member{
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
		},
		Classes: []script.Class{(*figure)(nil).Class()},
	}
}

// figure is a finished picture.
type figure struct {
	env *Env
	*plots.Figure
}

// Class implements script.Object.
func (*figure) Class() script.Class {
	return script.Class{Name: "figure", Doc: "A finished picture.", Members: []script.Member{
		{
			Name: "save", Returns: "string",
			Doc:    "Writes the picture, or its data, into the run's output folder and returns the path; the extension decides the format: .svg, .png, .pdf or .csv.",
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
	if f.env.Saved != nil {
		f.env.Saved(name)
	}
	return path, nil
}

func (e *Env) options(c *script.Call, d *std.Distribution) (plots.Options, error) {
	theme, err := plots.ThemeNamed(c.String("theme"))
	info := d.Model().Info()
	return plots.Options{Theme: theme, Title: c.String("title"), Subtitle: c.String("subtitle"), Width: c.Float("width"),
		Footer: fmt.Sprintf("model %s, sha256 %.12s · seed %d · lab %s", info.Name, info.Digest, d.Env().Seed, e.Version)}, err
}

// figureOf draws without the interpreter lock.
func (e *Env) figureOf(c *script.Call, draw func() (*plots.Figure, error)) (any, error) {
	var drawn *plots.Figure
	err := c.Blocking(func() (err error) {
		drawn, err = draw()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &figure{env: e, Figure: drawn}, nil
}
