package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/store"
	"lab/core/sweep"
)

// sweepReport is the answer of lab sweep; docs/json.md describes it.
type sweepReport struct {
	Schema   string      `json:"schema"`
	Run      string      `json:"run"` // its folder
	Resumed  bool        `json:"resumed"`
	Complete bool        `json:"complete"`
	Cells    int         `json:"cells"`
	Samples  int         `json:"samples"` // of each cell
	Shard    string      `json:"shard,omitempty"`
	Total    int         `json:"of"`      // samples that the run is to have
	Records  int         `json:"records"` // that it has
	Failures int         `json:"failed"`  // of them
	Finished int         `json:"finished"`
	Kept     int         `json:"kept"`
	Tokens   int         `json:"tokens"`
	Usage    model.Usage `json:"usage"`
	Warnings []string    `json:"warnings"`
}

type sweepFlags struct {
	out, shard                                string
	retryFailed, forceNew, failFast, onlyPlan bool
	batch                                     int
	json                                      *bool
}

func sweepCommand(s *settings) *cobra.Command {
	g := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE.yaml",
		Short: "Run a grid of settings, and go on where it stopped",
		Long: `Generates samples for every cell of a grid of settings and keeps them in a folder
under runs/, named after the file. The same command goes on where an earlier one
stopped, whatever ended it, and the run ends with the same bytes. All cells are
checked before anything runs, and those of one model advance together.

FILE is YAML:

  model: tiny                  # settings that all cells share
  prompt: The weather today is
  max_tokens: 24
  samples: 64                  # of each cell
  seed: 1
  grid:                        # one cell for each combination
    temperature: [0.5, 1, 1.5]
    top_p: [0.9, 0.95, off]    # off leaves the stage out

Keys are prompt, model, chain, search (a strategy), seed, max_tokens, stop, or a
stage (temperature) or a setting of one (top_p.min_keep). Where chain is given, the
stages of the grid must stand in it; otherwise they are applied in the order of
lab sampler list. grid may also be a list of such maps, one after the other.
record: samples leaves out steps and stages; record: scores keeps the model's whole
distribution of every step as well, scores:N its N likeliest tokens, so that lab runs
replay can apply another chain later.

Ctrl-C finishes the samples under way and says how to go on; a second one stops at
once. docs/runs.md describes the folder.`,
		Example: `  lab sweep temperatures.yaml
  lab sweep temperatures.yaml --plan
  lab sweep temperatures.yaml --shard 2/8 --out /shared/temperatures-2`,
		Args: oneArg("one file", "lab sweep temperatures.yaml"),
	}
	f := cmd.Flags()
	f.StringVarP(&g.out, "out", "o", "", "folder of the run (default runs/NAME of the file)")
	f.StringVar(&g.shard, "shard", "", "I/N: only the cells of share I of N, from 1; lab runs merge joins the shares")
	f.BoolVar(&g.retryFailed, "retry-failed", false, "try samples that failed again")
	f.BoolVar(&g.forceNew, "force-new", false, "start a new run beside one that is there already")
	f.BoolVar(&g.failFast, "fail-fast", false, "stop at the first sample that fails instead of keeping its error")
	f.BoolVar(&g.onlyPlan, "plan", false, "check the file and show its cells, and run nothing")
	f.IntVar(&g.batch, "batch", 0, "most samples in one model call (default as many as 32 MiB of scores hold); changes nothing but speed")
	s.pluginFlag(cmd)
	g.json = jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runSweep(s, cmd, g, args[0]) }
	return cmd
}

func runSweep(s *settings, cmd *cobra.Command, g *sweepFlags, path string) error {
	spec, source, err := readSweep(path)
	if err != nil {
		return err
	}
	if g.batch < 0 {
		return fault.New(fault.Usage, "lab sweep", "", "--batch %d is negative", g.batch)
	}
	part, err := shardOf(g.shard)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".yaml"), ".yml")
	at := sweep.Folder{Dir: g.out, Name: name, Part: part, Source: source, Lab: version, RetryFailed: g.retryFailed, ForceNew: g.forceNew}
	if at.Dir == "" {
		at.Dir = filepath.Join(runsFolder, name)
		if part != nil {
			at.Dir = fmt.Sprintf("%s.shard-%d-of-%d", at.Dir, part.Index+1, part.Of)
		}
	}
	if g.onlyPlan {
		return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
			plan, err := sweep.New(ctx, session, spec)
			if err != nil {
				return err
			}
			return showPlan(cmd.OutOrStdout(), plan, *g.json)
		}, nil)
	}
	report, err := sweepInto(s, cmd, spec, at, sweep.Options{Batch: g.batch, FailFast: g.failFast})
	if report == nil {
		return err
	}
	for _, w := range report.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
	}
	write := report.write
	if *g.json {
		write = func(w io.Writer) error { return writeJSON(w, report) }
	}
	if writeErr := write(cmd.OutOrStdout()); err == nil {
		err = writeErr
	}
	return err
}

// runsFolder is where runs lie when nobody says where.
const runsFolder = "runs"

// sweepInto plans a sweep and runs it into its folder. The first interrupt lets
// the samples under way finish; the second ends the process, as main has it. The
// report is nil when no folder was made.
func sweepInto(s *settings, cmd *cobra.Command, spec sweep.Spec, at sweep.Folder, opt sweep.Options) (report *sweepReport, err error) {
	interrupted := cmd.Context()
	opt.Stopping = func() bool { return interrupted.Err() != nil }
	cmd.SetContext(context.WithoutCancel(interrupted))
	defer cmd.SetContext(interrupted)
	defer context.AfterFunc(interrupted, func() { sayStopping(cmd) })()
	err = s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
		plan, err := sweep.New(ctx, session, spec)
		if err != nil {
			return err
		}
		if at.Part != nil {
			opt.Mine = func(cell int) bool { return cell%at.Part.Of == at.Part.Index }
		}
		if err := sayScores(cmd, plan, opt); err != nil {
			return err
		}
		total := plan.Total(opt)
		var bar *task
		opt.Watch = func(missing int) func(finished, tokens int) {
			bar = newProgress(cmd.ErrOrStderr()).Start(at.Name, missing)
			return bar.Step
		}
		o, err := plan.Execute(ctx, at, opt)
		bar.Done()
		if o.Dir == "" {
			return err
		}
		report = &sweepReport{Schema: "lab/sweep-report/1", Run: o.Dir, Resumed: o.Resumed, Complete: o.Complete, Cells: len(plan.Cells), Samples: plan.Samples,
			Total: total, Records: o.Records, Failures: o.Failures, Finished: o.Finished, Kept: o.Kept, Tokens: o.Tokens,
			Usage: o.Usage, Warnings: append([]string{}, o.Warnings...)}
		if at.Part != nil {
			report.Shard = fmt.Sprintf("%d/%d", at.Part.Index+1, at.Part.Of)
		}
		if err == nil && !o.Complete {
			err = fault.New(fault.Interrupted, "sweep", o.Dir, "%d of %d samples are there", o.Records, total).Fix("the same command goes on with the others")
		}
		return err
	}, nil)
	return report, err
}

// sayScores says before a sweep how much the scores that it keeps may take.
func sayScores(cmd *cobra.Command, p *sweep.Plan, opt sweep.Options) error {
	log, table, err := p.ScoreBytes(opt)
	if err == nil && log > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "keeping scores: at most about %.1f MiB while it runs, %.1f MiB once it is complete\n", float64(log)/(1<<20), float64(table)/(1<<20))
	}
	return err
}

// sayStopping says what the first interrupt of a sweep does.
func sayStopping(cmd *cobra.Command) {
	fmt.Fprintln(cmd.ErrOrStderr(), "finishing the samples under way; Ctrl-C again stops at once, and keeps what is finished")
}

func (r *sweepReport) write(w io.Writer) error {
	state := "complete"
	switch {
	case !r.Complete:
		state = "interrupted"
	case r.Failures > 0:
		state = fmt.Sprintf("complete but for %d that failed", r.Failures)
	}
	fmt.Fprintf(w, "%s: %s, %d of %d samples in %d cells", r.Run, state, r.Records, r.Total, r.Cells)
	if r.Shard != "" {
		fmt.Fprintf(w, " (shard %s)", r.Shard)
	}
	_, err := fmt.Fprintf(w, "; now %d samples, %d tokens\n", r.Finished, r.Tokens)
	if err == nil && r.Failures > 0 {
		_, err = fmt.Fprintln(w, "lab runs show says why; --retry-failed tries them again")
	}
	return err
}

// planReport is the answer of lab sweep --plan.
type planReport struct {
	Schema  string     `json:"schema"`
	Axes    []string   `json:"axes"`
	Samples int        `json:"samples"`
	Cells   []planCell `json:"cells"`
}

type planCell struct {
	Cell   int            `json:"cell"`
	Values map[string]any `json:"values"`
	Chain  string         `json:"chain"`
	Search string         `json:"search,omitempty"`
}

func showPlan(w io.Writer, p *sweep.Plan, asJSON bool) error {
	if asJSON {
		r := planReport{Schema: "lab/sweep-plan/1", Axes: p.Axes, Samples: p.Samples}
		for _, c := range p.Cells {
			cell := planCell{Cell: c.Index, Values: map[string]any{}, Chain: c.Chain.String(), Search: c.Search}
			for i, a := range p.Axes {
				if c.Values[i] != nil {
					cell.Values[a] = c.Values[i]
				}
			}
			r.Cells = append(r.Cells, cell)
		}
		return writeJSON(w, r)
	}
	const most = 40
	table(w, "cell | "+strings.Join(append(append([]string{}, p.Axes...), "effective chain"), " | "), func(line func(...any)) {
		for _, c := range p.Cells[:min(most, len(p.Cells))] {
			row := []any{c.Index}
			for _, v := range c.Values {
				if v == nil {
					v = ""
				}
				row = append(row, strings.ReplaceAll(fmt.Sprint(v), "\n", "⏎"))
			}
			what := c.Chain.String()
			if c.Search != "" {
				what = c.Search + " over " + what
			}
			line(append(row, what)...)
		}
	})
	if more := len(p.Cells) - most; more > 0 {
		fmt.Fprintf(w, "… and %d more\n", more)
	}
	_, err := fmt.Fprintf(w, "\n%d cells, %d samples each: %d samples\n", len(p.Cells), p.Samples, len(p.Cells)*p.Samples)
	return err
}

// mostSweepFile bounds a file that describes a sweep.
const mostSweepFile = 64 << 20

// readSweep reads a file that describes a sweep, and what the record says of it.
func readSweep(path string) (sweep.Spec, json.RawMessage, error) {
	const op = "lab sweep"
	f, err := os.Open(path)
	if err != nil {
		e := fault.Wrap(err, fault.Usage, op, "file")
		if os.IsNotExist(err) {
			e = fault.New(fault.Usage, op, "file", "%s is not there", fault.Quote(path, 80)).Fix("lab sweep --help shows what is in such a file")
		}
		return sweep.Spec{}, nil, e
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostSweepFile))
	if err != nil {
		return sweep.Spec{}, nil, fault.Wrap(err, fault.Usage, op, path)
	}
	var values map[string]any
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&values); err != nil {
		return sweep.Spec{}, nil, fault.New(fault.Usage, op, path, "it is no YAML map: %s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	spec, err := sweep.Read(values)
	if err != nil {
		return spec, nil, fault.Wrap(err, fault.KindOf(err), op, path)
	}
	source, err := json.Marshal(map[string]string{"file": filepath.Base(path)})
	return spec, source, err
}

// shardOf reads I/N.
func shardOf(text string) (*store.Part, error) {
	if text == "" {
		return nil, nil
	}
	left, right, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(left)
	n, err2 := strconv.Atoi(right)
	if !ok || err1 != nil || err2 != nil || n < 1 || n > math.MaxInt32 || i < 1 || i > n {
		return nil, fault.New(fault.Usage, "lab sweep", "", "--shard %s is not I/N with 1 <= I <= N", fault.Quote(text, 40)).Fix("for example --shard 2/8")
	}
	return &store.Part{Index: i - 1, Of: n}, nil
}
