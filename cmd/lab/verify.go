package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/golden"
	"lab/core/plugin/sampler"
)

// verifyReport is the answer of lab sampler verify; docs/json.md describes its
// JSON form.
type verifyReport struct {
	Schema string        `json:"schema"`
	System string        `json:"system"` // whose answers were compared with
	Holds  bool          `json:"all_hold"`
	Groups []verifyGroup `json:"groups"`
}

type verifyGroup struct {
	File   string                 `json:"file"`
	Group  string                 `json:"group"`
	Cases  int                    `json:"cases"`
	Counts map[golden.Verdict]int `json:"counts"`
	// Other holds the cases that do not simply hold.
	Other []golden.Result `json:"other"`
}

func verifyCommand(s *settings) *cobra.Command {
	var system, from string
	var all, strict bool
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check samplers against files of reference answers",
		Long: `Runs every case of files in the schema ` + golden.Schema + ` through the samplers and
compares the answers with the references, or with those of one system under that
system's rules. Prints for each group how many cases hold, hold but for tied
tokens, are refused by design (NaN, +Inf or nothing left, where a system goes on),
differ, or are not covered. Exits with 0 only when none differs.

The samplers may be those of any plugin: --plugin NAME asks its own first.`,
		Example: `  lab sampler verify testdata/*.json
  lab sampler verify top_p.json typical.json --system llama.cpp --all
  lab sampler verify mine.json --plugin mine --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes files, and none were given").
				Fix("for example: lab sampler verify plugins/samplers/testdata/golden/*.json")
		},
	}
	f := cmd.Flags()
	f.StringVar(&system, "system", golden.Reference, "compare with the answers of this system, following its rules")
	f.StringVar(&from, "plugin", "", "ask the samplers of this plugin where it has them")
	f.BoolVar(&all, "all", false, "list every case that does not simply hold, with the reason")
	f.BoolVar(&strict, "strict", false, "fail when a case is not covered, too")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		files, err := readGolden(args, system)
		if err != nil {
			return err
		}
		report := &verifyReport{Schema: "lab/sampler-verify/1", System: system}
		work := func(ctx context.Context, session *experiment.Session) error {
			subject := &hosted{ctx: ctx, session: session, plugin: from}
			bar := newProgress(cmd.ErrOrStderr()).Start("verify", len(files))
			defer bar.Done()
			for i, f := range files {
				r, err := f.Verify(ctx, subject, system)
				if err != nil {
					return err
				}
				report.add(args[i], f, r)
				bar.Step(i+1, 0)
			}
			return nil
		}
		err = s.with(cmd, []string{"samplers"}, work, nil)
		if err != nil {
			return err
		}
		differ, open := report.count(golden.Differs), report.count(golden.NotCovered)
		report.Holds = differ == 0
		if *asJSON {
			if err := writeJSON(cmd.OutOrStdout(), report); err != nil {
				return err
			}
		} else {
			writeVerify(cmd.OutOrStdout(), report, all)
		}
		switch {
		case differ > 0:
			return fault.New(fault.Data, "sampler verify", "", "%d case(s) differ from %s", differ, system)
		case strict && open > 0:
			return fault.New(fault.Data, "sampler verify", "", "%d case(s) are not covered", open)
		}
		return nil
	}
	return cmd
}

// readGolden reads all files before any is run, and refuses a system that none
// of them knows.
func readGolden(paths []string, system string) ([]*golden.File, error) {
	var files []*golden.File
	known := []string{golden.Reference}
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return nil, fault.New(fault.Usage, "sampler verify", fault.Quote(p, 80), "it cannot be read: %v", err)
		}
		g, err := golden.Read(f, p)
		f.Close()
		if err != nil {
			return nil, err
		}
		for name := range g.Systems {
			known = append(known, name)
		}
		files = append(files, g)
	}
	slices.Sort(known)
	if known = slices.Compact(known); !slices.Contains(known, system) {
		return nil, fault.Unknown("sampler verify", "system", system, known)
	}
	return files, nil
}

// hosted is the samplers of a session's plugins as a subject.
type hosted struct {
	ctx     context.Context
	session *experiment.Session
	plugin  string
}

// Lookup implements golden.Subject.
func (h *hosted) Lookup(name string) (sampler.Declaration, error) {
	if h.plugin != "" {
		if d, err := h.session.Host().Sampler(h.ctx, h.plugin+"/"+name); err == nil {
			return d.Declaration, nil
		}
	}
	d, err := h.session.Host().Sampler(h.ctx, name)
	return d.Declaration, err
}

// Run implements golden.Subject. Stages of several plugins run one after the
// other.
func (h *hosted) Run(ctx context.Context, call *sampler.Call) error {
	for first := 0; first < len(call.Stages); {
		name := h.pluginOf(call.Stages[first].Sampler)
		end := first + 1
		for end < len(call.Stages) && h.pluginOf(call.Stages[end].Sampler) == name {
			end++
		}
		if first == 0 && end == len(call.Stages) {
			return h.session.Host().Runner(name).Run(ctx, call)
		}
		part := *call
		part.Stages, part.Items = call.Stages[first:end], nil
		for _, it := range call.Items {
			one := *it
			one.States, one.Changes, one.Rows = nil, nil, nil
			if it.States != nil {
				one.States = it.States[first:end]
			}
			if it.Uniforms != nil {
				one.Uniforms = it.Uniforms[first:end]
			}
			part.Items = append(part.Items, &one)
		}
		if err := h.session.Host().Runner(name).Run(ctx, &part); err != nil {
			return err
		}
		for i, it := range call.Items {
			states := it.States
			if states == nil {
				states = make([][]byte, len(call.Stages))
			}
			copy(states[first:end], part.Items[i].States)
			it.Scores, it.Chosen, it.States = part.Items[i].Scores, part.Items[i].Chosen, states
		}
		first = end
	}
	return nil
}

func (h *hosted) pluginOf(name string) string {
	if h.plugin != "" {
		if d, err := h.session.Host().Sampler(h.ctx, h.plugin+"/"+name); err == nil {
			return d.Plugin
		}
	}
	d, err := h.session.Host().Sampler(h.ctx, name)
	if err != nil {
		return ""
	}
	return d.Plugin
}

// Texts implements golden.Subject.
func (h *hosted) Texts(pieces [][]byte) (string, error) {
	key := golden.VocabularyKey(pieces)
	return key, h.session.Host().AddVocabulary(key, pieces)
}

func (r *verifyReport) add(path string, f *golden.File, results []golden.Result) {
	g := verifyGroup{File: path, Group: f.Group, Cases: len(results), Counts: map[golden.Verdict]int{}, Other: []golden.Result{}}
	for _, x := range results {
		g.Counts[x.Verdict]++
		if x.Verdict != golden.Holds {
			g.Other = append(g.Other, x)
		}
	}
	r.Groups = append(r.Groups, g)
}

func (r *verifyReport) count(v golden.Verdict) int {
	n := 0
	for _, g := range r.Groups {
		n += g.Counts[v]
	}
	return n
}

// shownDiffering is how many differing cases are listed without --all.
const shownDiffering = 20

func writeVerify(w io.Writer, r *verifyReport, all bool) {
	table(w, "group | cases | hold | ties | refused | differ | not covered", func(line func(...any)) {
		total := [6]int{}
		for _, g := range r.Groups {
			cells := []any{g.Group, g.Cases}
			total[0] += g.Cases
			for i, v := range golden.Verdicts {
				cells = append(cells, g.Counts[v])
				total[i+1] += g.Counts[v]
			}
			line(cells...)
		}
		if len(r.Groups) > 1 {
			line("all", total[0], total[1], total[2], total[3], total[4], total[5])
		}
	})
	shown := 0
	for _, g := range r.Groups {
		for _, x := range g.Other {
			if !all && (x.Verdict != golden.Differs || shown == shownDiffering) {
				continue
			}
			if shown == 0 {
				fmt.Fprintln(w)
			}
			shown++
			fmt.Fprintf(w, "%s: %s: %s\n", x.Verdict, x.Case, x.Why)
		}
	}
	if differ := r.count(golden.Differs); !all && differ > shown {
		fmt.Fprintf(w, "… and %d more (--all)\n", differ-shown)
	}
	fmt.Fprintf(w, "\ncompared with %s: ", r.System)
	if differ := r.count(golden.Differs); differ > 0 {
		fmt.Fprintf(w, "%d differ\n", differ)
		return
	}
	fmt.Fprintf(w, "none differs")
	if n := r.count(golden.NotCovered); n > 0 {
		fmt.Fprintf(w, ", %d not covered (--all says why)", n)
	}
	fmt.Fprintln(w)
}
