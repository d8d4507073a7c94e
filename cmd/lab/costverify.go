package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/cost/check"
	"lab/core/fault"
)

// costVerifyReport is the answer of lab cost verify; docs/json.md describes its
// JSON form.
type costVerifyReport struct {
	Schema string           `json:"schema"`
	Holds  bool             `json:"all_hold"` // no number differs, none is refused, every published figure keeps its verdict
	Groups []costCheckGroup `json:"groups"`
}

type costCheckGroup struct {
	File    string                `json:"file"`
	Group   string                `json:"group"`
	Checks  int                   `json:"checks"`
	Counts  map[check.Verdict]int `json:"counts"` // of numbers; every verdict, also with 0
	Numbers []check.Result        `json:"numbers"`
	Printed []check.Print         `json:"published"`
}

func costVerifyCommand() *cobra.Command {
	var all, strict, operations bool
	var inputs []string
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check the cost formulas against files of reference numbers",
		Long: `Runs every check of files of reference numbers through the formulas of cost and
compares what comes out with what the file expects, within its tolerance. Also
finds again how far the figures that papers and vendors printed lie from ours: a
reproduced one must still be, one that differs must differ the same way.

A number that cannot be computed from what its check gives is not covered, and the
reason says what is missing; --input gives it, where the source of the check names it,
and the result says so. Files of facts (hardware, models, prices, runs) have
nothing to compute. Exits with 0 only when nothing differs or is refused.
docs/cost.md describes the file's form.`,
		Example: `  lab cost verify core/cost/check/testdata/*.json
  lab cost verify mine.json --all --json
  lab cost verify core/cost/check/testdata/*.json --input TR-19.params=280e9 --input EN-03.tonnes_co2=539`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 || operations {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes files, and none were given").
				Fix("for example: lab cost verify core/cost/check/testdata/*.json")
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "print every number and every published figure")
	f.BoolVar(&strict, "strict", false, "fail when a number is not covered, too")
	f.BoolVar(&operations, "operations", false, "list the operations that a check may name, with their inputs, instead")
	f.StringArrayVar(&inputs, "input", nil, "an input that a check lacks, as ID.NAME=VALUE with a JSON value; may be repeated")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if operations {
			writeOperations(cmd.OutOrStdout())
			return nil
		}
		report := &costVerifyReport{Schema: "lab/cost-verify/1", Groups: []costCheckGroup{}}
		var files []*check.File
		for _, path := range args { // all are read before any is run
			file, err := readCostChecks(path)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
		for _, input := range inputs {
			if err := giveInput(files, input); err != nil {
				return err
			}
		}
		for _, file := range files {
			report.add(file)
		}
		bad, moved, open := report.count(check.Differs)+report.count(check.Refused), report.moved(), report.count(check.NotCovered)
		report.Holds = bad == 0 && moved == 0
		if *asJSON {
			if err := writeJSON(cmd.OutOrStdout(), report); err != nil {
				return err
			}
		} else {
			writeCostVerify(cmd.OutOrStdout(), report, all)
		}
		failed := func(problem string, args ...any) error {
			return fault.New(fault.Data, "cost verify", "", problem, args...)
		}
		switch {
		case bad > 0:
			return failed("%d number(s) differ or are refused", bad)
		case moved > 0:
			return failed("%d published figure(s) do not keep their verdict", moved)
		case strict && open > 0:
			return failed("%d number(s) are not covered", open)
		}
		return nil
	}
	return cmd
}

// giveInput adds ID.NAME=VALUE to the file that has the check.
func giveInput(files []*check.File, input string) error {
	place, text, ok := strings.Cut(input, "=")
	id, name, named := strings.Cut(place, ".")
	if !ok || !named || !json.Valid([]byte(text)) {
		return fault.New(fault.Usage, "cost verify", "--input", "%s is not ID.NAME=VALUE with a JSON value", fault.Quote(input, 80)).Fix("for example: --input TR-19.params=280e9")
	}
	for _, f := range files {
		if found, err := f.Give(id, name, json.RawMessage(text)); found || err != nil {
			return err
		}
	}
	return fault.New(fault.Usage, "cost verify", "--input", "no check of the files has the id %s", fault.Quote(id, 40))
}

// writeOperations lists the operations; an input in brackets may be left out.
func writeOperations(w io.Writer) {
	table(w, "operation | inputs", func(line func(...any)) {
		for _, op := range check.Operations() {
			var names []string
			for _, in := range check.Inputs(op) {
				if in.Optional {
					in.Name = "[" + in.Name + "]"
				}
				names = append(names, in.Name)
			}
			line(op, strings.Join(names, " "))
		}
	})
}

func readCostChecks(path string) (*check.File, error) {
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Usage, "cost verify", fault.Quote(path, 80), format, args...)
	}
	f, err := os.Open(path)
	if err != nil {
		var why *fs.PathError
		if errors.As(err, &why) { // the path is in the message already
			err = why.Err
		}
		return nil, bad("it cannot be read: %v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, bad("it is a folder").Fix("name its files: %s", fault.Quote(filepath.Join(path, "*.json"), 80))
	}
	return check.Read(f, path)
}

func (r *costVerifyReport) add(f *check.File) {
	g := costCheckGroup{File: f.Name, Group: f.Group, Checks: len(f.Items), Counts: map[check.Verdict]int{}}
	g.Numbers, g.Printed = f.Verify()
	if g.Numbers == nil {
		g.Numbers = []check.Result{}
	}
	if g.Printed == nil {
		g.Printed = []check.Print{}
	}
	for _, v := range check.Verdicts {
		g.Counts[v] = 0
	}
	for _, n := range g.Numbers {
		g.Counts[n.Verdict]++
	}
	r.Groups = append(r.Groups, g)
}

func (r *costVerifyReport) count(v check.Verdict) int {
	n := 0
	for _, g := range r.Groups {
		n += g.Counts[v]
	}
	return n
}

// moved counts the published figures that do not keep their verdict, those apart
// whose number is not there: they are counted as that.
func (r *costVerifyReport) moved() int {
	n := 0
	for _, g := range r.Groups {
		for _, p := range g.Printed {
			if !p.Holds && p.Ours != nil {
				n++
			}
		}
	}
	return n
}

// shown writes a number that may be never or not there.
func shown(v *float64, absent string) string {
	if v == nil {
		return absent
	}
	return fmt.Sprintf("%.10g", *v)
}

func writeCostVerify(w io.Writer, r *costVerifyReport, all bool) {
	table(w, "group | checks | numbers | hold | differ | refused | not covered | published | reproduced | differ as said", func(line func(...any)) {
		var total [9]int
		for _, g := range r.Groups {
			same, apart := 0, 0
			for _, p := range g.Printed {
				switch {
				case p.Holds && p.Says == "reproduced":
					same++
				case p.Holds:
					apart++
				}
			}
			row := [9]int{g.Checks, len(g.Numbers), g.Counts[check.Holds], g.Counts[check.Differs], g.Counts[check.Refused], g.Counts[check.NotCovered], len(g.Printed), same, apart}
			cells := []any{plainLine(g.Group)}
			for i, n := range row {
				total[i] += n
				cells = append(cells, n)
			}
			line(cells...)
		}
		if len(r.Groups) > 1 {
			cells := []any{"all"}
			for _, n := range total {
				cells = append(cells, n)
			}
			line(cells...)
		}
	})
	if all {
		fmt.Fprintln(w)
		table(w, "id | output | expected | ours | difference | tolerance | verdict | unit | source", func(line func(...any)) {
			for _, g := range r.Groups {
				for _, n := range g.Numbers {
					none := "never"
					if n.Verdict == check.NotCovered || n.Verdict == check.Refused {
						none = "-"
					}
					line(plainLine(n.ID), plainLine(n.Output), shown(n.Expected, "never"), shown(n.Ours, none), shown(n.Difference, "-"), fmt.Sprintf("%g", n.Tolerance),
						strings.ReplaceAll(string(n.Verdict), "_", " "), plainLine(n.Unit), plainLine(n.Source))
				}
			}
		})
		fmt.Fprintln(w)
		table(w, "id | output | published | ours | gap | rounding | file says | keeps it", func(line func(...any)) {
			for _, g := range r.Groups {
				for _, p := range g.Printed {
					keeps := "yes"
					if !p.Holds {
						keeps = "no"
					}
					line(plainLine(p.ID), plainLine(p.Output), fmt.Sprintf("%.10g", p.Published), shown(p.Ours, "-"), shown(p.Gap, "-"), fmt.Sprintf("%g", p.Tolerance), p.Says, keeps)
				}
			}
		})
	}
	fmt.Fprintln(w)
	for _, g := range r.Groups {
		for _, n := range g.Numbers {
			if n.Verdict != check.Holds {
				fmt.Fprintf(w, "%s: %s %s: %s (%s)\n", strings.ReplaceAll(string(n.Verdict), "_", " "), plainLine(n.ID), plainLine(n.Output), plainLine(n.Why), plainLine(n.Source))
			} else if n.Assumed != "" && all {
				fmt.Fprintf(w, "assumed: %s %s: %s\n", plainLine(n.ID), plainLine(n.Output), plainLine(n.Assumed))
			}
		}
		for _, p := range g.Printed {
			switch {
			case !p.Holds:
				fmt.Fprintf(w, "published: %s %s: %s\n", plainLine(p.ID), plainLine(p.Output), plainLine(p.Why))
			case p.Says == "differs":
				note := ""
				if p.Note != "" {
					note = ": " + p.Note
				}
				fmt.Fprintf(w, "published, differs by %+.1f%%: %s %s%s\n", 100**p.Gap, plainLine(p.ID), plainLine(p.Output), plainLine(note))
			}
		}
	}
	switch {
	case r.Holds && r.count(check.NotCovered) == 0:
		fmt.Fprintln(w, "every number holds")
	case r.Holds:
		fmt.Fprintf(w, "every number that can be computed holds, %d not covered\n", r.count(check.NotCovered))
	}
}
