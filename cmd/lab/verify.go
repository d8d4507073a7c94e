package main

import (
	"context"
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
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/golden"
	"lab/core/plugin/host"
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
	Counts map[golden.Verdict]int `json:"counts"` // every verdict, also with 0
	// Against counts, by system, the cases whose missing reference its answer
	// stood in for.
	Against map[string]int `json:"against,omitempty"`
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
system's rules. A case that has no reference but one answer is compared with that
one. Prints for each group how many cases hold, hold but for tied
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
			if from != "" {
				if _, err := session.Host().Plugin(ctx, from); err != nil {
					return err
				}
			}
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
		g, err := readGoldenFile(p)
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

func readGoldenFile(path string) (*golden.File, error) {
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Usage, "sampler verify", fault.Quote(path, 80), format, args...)
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
	return golden.Read(f, path)
}

// hosted is the samplers of a session's plugins as a subject.
type hosted struct {
	ctx     context.Context
	session *experiment.Session
	plugin  string
}

// Lookup implements golden.Subject.
func (h *hosted) Lookup(name string) (sampler.Declaration, error) {
	d, err := h.find(name)
	return d.Declaration, err
}

// find asks the plugin first, if one was named, for what it has.
func (h *hosted) find(name string) (host.Sampler, error) {
	if h.plugin != "" {
		d, err := h.session.Host().Sampler(h.ctx, h.plugin+"/"+name)
		if fault.KindOf(err) != fault.Usage {
			return d, err
		}
	}
	return h.session.Host().Sampler(h.ctx, name)
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

// pluginOf returns the plugin of a sampler that Lookup has found.
func (h *hosted) pluginOf(name string) string {
	d, err := h.find(name)
	if err != nil {
		return "" // whose runner says that there is no such plugin
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
	for _, v := range golden.Verdicts {
		g.Counts[v] = 0
	}
	for _, x := range results {
		g.Counts[x.Verdict]++
		if x.Against != "" && x.Verdict != golden.NotCovered {
			if g.Against == nil {
				g.Against = map[string]int{}
			}
			g.Against[x.Against]++
		}
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
			cells := []any{plainLine(g.Group), g.Cases}
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
			fmt.Fprintf(w, "%s: %s: %s\n", x.Verdict, plainLine(x.Case), plainLine(x.Why))
		}
	}
	if differ := r.count(golden.Differs); !all && differ > shown {
		fmt.Fprintf(w, "… and %d more (--all)\n", differ-shown)
	}
	fmt.Fprintln(w)
	for _, g := range r.Groups {
		for _, system := range slices.Sorted(maps.Keys(g.Against)) {
			fmt.Fprintf(w, "%s: %d case(s) without a reference, compared with %s\n", plainLine(g.Group), g.Against[system], plainLine(system))
		}
	}
	fmt.Fprintf(w, "compared with %s: ", r.System)
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

// plainLine returns a text from a file as one line that a terminal cannot take
// for a command: what is not printable is written as an escape.
func plainLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
