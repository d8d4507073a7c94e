package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/cost/tables"
	"lab/core/fault"
)

// quantityJSON is one quantity of a report; docs/json.md describes it.
type quantityJSON struct {
	Name    string    `json:"name"`
	Value   *float64  `json:"value"` // null: never
	Lo      *float64  `json:"lo,omitempty"`
	Hi      *float64  `json:"hi,omitempty"`
	Unit    string    `json:"unit"`
	Formula string    `json:"formula"`
	Kind    cost.Kind `json:"kind"`
	Note    string    `json:"note,omitempty"`
}

// answerJSON is what the reports of a whole question share.
type answerJSON struct {
	Quantities []quantityJSON `json:"quantities"`
	Absent     []absentJSON   `json:"absent"`
	Assumed    []string       `json:"assumed"`
	Warnings   []string       `json:"warnings"`
}

type absentJSON struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// finiteOrNull is a number that may be infinite or undefined, which JSON writes as null.
func finiteOrNull(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

func newQuantity(name string, q cost.Quantity) quantityJSON {
	out := quantityJSON{Name: name, Value: finiteOrNull(q.Value), Unit: q.Unit, Formula: q.Formula, Kind: q.Kind, Note: q.Note}
	if q.HasBand() {
		out.Lo, out.Hi = finiteOrNull(q.Lo), finiteOrNull(q.Hi)
	}
	return out
}

func newAnswer(a *scenario.Answer, warnings []string) answerJSON {
	out := answerJSON{Quantities: []quantityJSON{}, Absent: []absentJSON{}, Assumed: append([]string{}, a.Assumed...), Warnings: append([]string{}, warnings...)}
	for _, l := range a.Lines {
		out.Quantities = append(out.Quantities, newQuantity(l.Name, l.Quantity))
	}
	for _, x := range a.Absent {
		out.Absent = append(out.Absent, absentJSON(x))
	}
	return out
}

// amount writes a number for a table.
func amount(v float64) string {
	if math.IsInf(v, 1) {
		return "never"
	}
	return fmt.Sprintf("%.6g", v)
}

// writeAnswer prints the quantities of an answer, what is absent, and what was
// assumed.
func writeAnswer(w io.Writer, a *scenario.Answer) {
	table(w, "quantity | value | 5 to 95% | unit | formula | kind | note", func(line func(...any)) {
		for _, l := range a.Lines {
			band := "-"
			if l.HasBand() {
				band = amount(l.Lo) + " to " + amount(l.Hi)
			}
			line(l.Name, amount(l.Value), band, l.Unit, l.Formula, l.Kind, plainLine(l.Note))
		}
	})
	fmt.Fprintln(w)
	for i := 0; i < len(a.Absent); { // the same reason once
		names := []string{a.Absent[i].Name}
		j := i + 1
		for ; j < len(a.Absent) && a.Absent[j].Why == a.Absent[i].Why; j++ {
			names = append(names, a.Absent[j].Name)
		}
		fmt.Fprintf(w, "absent: %s: %s\n", strings.Join(names, ", "), a.Absent[i].Why)
		i = j
	}
	for _, text := range a.Assumed {
		fmt.Fprintf(w, "assumed: %s\n", plainLine(text))
	}
}

// uncertainFlag is a number, an interval or an interval with its median.
type uncertainFlag struct {
	value  *cost.Uncertain
	text   string
	growth bool // shares, which may be negative
}

func (u *uncertainFlag) String() string { return u.text }
func (u *uncertainFlag) Type() string   { return "number" }
func (u *uncertainFlag) Set(text string) error {
	v, err := scenario.Uncertain(text, u.growth)
	if err != nil {
		return err
	}
	u.value, u.text = &v, text
	return nil
}

// drawFlags are those of bands.
type drawFlags struct {
	draws int
	seed  uint64
}

func (d *drawFlags) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&d.draws, "draws", 2000, "draws of the Monte Carlo that finds bands, where an input is uncertain")
	cmd.Flags().Uint64Var(&d.seed, "seed", 0, "seed of what is drawn; equal seeds give equal bits")
}

func (d *drawFlags) of() scenario.Draws { return scenario.Draws{N: d.draws, Seed: d.seed} }

// uncertainHelp ends the long help of commands with uncertain numbers.
const uncertainHelp = `

Numbers that may be uncertain are written 0.4, as an interval 0.3..0.5, or
0.3..0.4..0.5 with the 5% point, the median and the 95% point; what depends on them
then comes with a band. docs/cost.md explains the formulas and what is a floor.`

// servingFlags are how a model is served.
type servingFlags struct {
	drawFlags
	arch                                 string
	s                                    scenario.Setup
	step                                 string
	efficiency, compute, weights, cache  uncertainFlag
	offset, watts, load, pue, usdPerHour uncertainFlag
}

func (f *servingFlags) flags(cmd *cobra.Command) {
	f.setupFlags(cmd)
	f.drawFlags.flags(cmd)
}

// setupFlags are those of the setup alone, without bands.
func (f *servingFlags) setupFlags(cmd *cobra.Command) {
	x := cmd.Flags()
	x.StringVar(&f.arch, "arch", "", "JSON file with an architecture of your own, in place of MODEL")
	x.StringVar(&f.s.Hardware, "hardware", "", "device, a name of lab cost hardware; without it there are no times")
	x.StringVar(&f.s.Dtype, "dtype", "bf16", "arithmetic type: "+strings.Join(tables.Dtypes(), ", "))
	x.Float64Var(&f.s.Chips, "chips", 1, "devices that serve together")
	x.Float64Var(&f.s.BytesPerWeight, "bytes-per-weight", 0, "those of --dtype when not given")
	x.Float64Var(&f.s.BytesPerElement, "bytes-per-element", 0, "of the cache; those of --dtype when not given, required where that is narrower than two bytes")
	x.Float64Var(&f.s.Usable, "usable", 0, "share of the memory that counts (default all, which is said)")
	x.IntVar(&f.s.MaxContext, "max-context", 0, "longest context of the model, where its record does not say")
	x.Var(&f.efficiency, "efficiency", "share of the peaks that is reached (default 1: times are floors)")
	x.Var(&f.compute, "compute", "efficiency of arithmetic, in place of --efficiency")
	x.Var(&f.weights, "weights", "efficiency of reading weights")
	x.Var(&f.cache, "cache", "efficiency of reading the cache")
	x.Var(&f.offset, "offset", "seconds of a step that neither arithmetic nor bytes explain (default 0)")
	x.StringVar(&f.step, "step", "split", "whether the cache is read beside the matrix products (split) or hidden behind them (overlap)")
	x.StringVar(&f.s.Routing, "routing", "expected", "how many experts of a mixture a batch reads: same, expected or distinct")
	x.Var(&f.watts, "watts", "of a chip at full load (default its design power, a stand-in)")
	x.Var(&f.load, "load", "share of the watts that is drawn; with --pue, for energy")
	x.Var(&f.pue, "pue", "power usage effectiveness, 1 for a bare device")
	x.Var(&f.usdPerHour, "usd-per-hour", "of a chip (default that of the hardware's record)")
}

// resolve looks up what the flags name.
func (f *servingFlags) resolve(cmd *cobra.Command, args []string, c *costFlags) (*scenario.Resolved, *tables.Tables, tables.Date, error) {
	day, err := c.day()
	if err != nil {
		return nil, nil, "", err
	}
	t, err := c.load()
	if err != nil {
		return nil, nil, "", err
	}
	model := ""
	if len(args) == 1 {
		model = args[0]
	}
	s, err := f.setup(cmd, model)
	if err != nil {
		return nil, nil, "", err
	}
	r, err := s.Resolve(t, day)
	return r, t, day, err
}

// setup returns what the flags say, of a model or of --arch.
func (f *servingFlags) setup(cmd *cobra.Command, model string) (scenario.Setup, error) {
	s := f.s
	for name, v := range map[string]float64{"chips": s.Chips, "bytes-per-weight": s.BytesPerWeight, "bytes-per-element": s.BytesPerElement, "usable": s.Usable, "max-context": float64(s.MaxContext)} {
		if cmd.Flags().Changed(name) && !(v > 0) {
			return s, fault.New(fault.Usage, cmd.CommandPath(), "", "--%s %g is not above 0", name, v)
		}
	}
	s.Model = model
	switch {
	case f.arch != "" && model != "":
		return s, fault.New(fault.Usage, cmd.CommandPath(), "", "both a model and --arch are given")
	case f.arch != "":
		var err error
		if s.Arch, err = readArch(f.arch); err != nil {
			return s, err
		}
	}
	switch f.step {
	case "split":
	case "overlap":
		s.Overlap = true
	default:
		return s, fault.Unknown(cmd.CommandPath(), "step model", f.step, []string{"split", "overlap"})
	}
	either := func(own uncertainFlag) *cost.Uncertain {
		if own.value != nil {
			return own.value
		}
		return f.efficiency.value
	}
	s.Compute, s.Weights, s.Cache, s.Offset = either(f.compute), either(f.weights), either(f.cache), f.offset.value
	s.Watts, s.Load, s.PUE, s.USDPerHour = f.watts.value, f.load.value, f.pue.value, f.usdPerHour.value
	return s, nil
}

// readArch reads an architecture of the user's own.
func readArch(path string) (*cost.Arch, error) {
	const most = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		var why *fs.PathError
		if errors.As(err, &why) { // the path is in the message already
			err = why.Err
		}
		return nil, fault.New(fault.Usage, "lab cost", fault.Quote(path, 80), "it cannot be read: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fault.New(fault.Usage, "lab cost", fault.Quote(path, 80), "it cannot be read: %v", err)
	}
	a, err := cost.ParseArch(text)
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, "lab cost", fault.Quote(path, 80))
	}
	return a, nil
}

// oneModel accepts one name, or none when --arch is given.
func oneModel(example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 || len(args) == 0 && cmd.Flags().Changed("arch") {
			return nil
		}
		return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes one model, and %d were given", len(args)).Fix("for example: %s", example)
	}
}
