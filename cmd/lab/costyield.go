package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"lab/core/cost/tables"
	"lab/core/cost/yield"
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
	rows "lab/core/table"
)

// yieldReport is the answer of lab cost yield; docs/json.md describes it.
type yieldReport struct {
	Schema   string         `json:"schema"`
	Runs     []string       `json:"runs"`
	Quality  string         `json:"quality"`
	Level    float64        `json:"level"`
	By       string         `json:"by,omitempty"` // the unit of the front
	Settings []yieldSetting `json:"settings"`
	Warnings []string       `json:"warnings"`
}

type yieldSetting struct {
	Axes     map[string]any    `json:"axes"`
	Cells    []int             `json:"cells"`
	Prompts  int               `json:"prompts"`
	Attempts int               `json:"attempts"`
	Failed   int               `json:"failed"`
	Absent   map[string]string `json:"absent"` // units that are not known, and why
	Rows     []yieldRow        `json:"rows"`
}

type yieldRow struct {
	N       int                      `json:"n"`
	Quality measure.Estimate         `json:"quality"`
	Useful  *measure.Estimate        `json:"useful,omitempty"`
	Tries   *measure.Estimate        `json:"tries,omitempty"`
	Amounts map[string]*yield.Amount `json:"amounts"`
	Front   bool                     `json:"front"`
}

func newYieldReport(r *yield.Report, runs []string, quality string) yieldReport {
	out := yieldReport{Schema: "lab/cost-yield/1", Runs: runs, Quality: quality, Level: r.Level, Warnings: append([]string{}, r.Warnings...)}
	if r.HasFront {
		out.By = r.By.String()
	}
	for i := range r.Settings {
		s := &r.Settings[i]
		y := yieldSetting{Axes: map[string]any{}, Cells: s.Cells, Prompts: len(s.Prompts), Attempts: s.Attempts(), Failed: s.Failed, Absent: map[string]string{}, Rows: []yieldRow{}}
		for _, a := range s.Axes {
			y.Axes[a.Name] = a.Value
		}
		for u, why := range s.Absent {
			y.Absent[u.String()] = why
		}
		for j := range r.Rows {
			row := &r.Rows[j]
			if row.Setting != i {
				continue
			}
			out := yieldRow{N: row.N, Quality: row.Quality, Useful: row.Useful, Tries: row.Tries, Amounts: map[string]*yield.Amount{}, Front: row.Front}
			for u, a := range row.Amounts {
				out.Amounts[u.String()] = a
			}
			y.Rows = append(y.Rows, out)
		}
		out.Settings = append(out.Settings, y)
	}
	return out
}

// yieldFlags are the flags of lab cost yield.
type yieldFlags struct {
	request    yield.Request
	serving    servingFlags
	model      string
	values, by string
	atLeast    float64
}

func costYieldCommand(c *costFlags) *cobra.Command {
	y := &yieldFlags{}
	cmd := &cobra.Command{
		Use:   "yield RUN...",
		Short: "What a useful answer costs: quality per dollar, joule, second and FLOP of a run's settings",
		Long: `Joins what the settings of stored runs gave to what they took. Quality is a measure of
the samples, or a column of a table with the columns cell and sample, such as whether
an answer is right. Cells that differ in prompt and seed alone are one setting.

--n says how many answers are made for one: the best of n, or with the columns of "until"
as many as it takes until one is useful, at most n. Both are estimated from the samples that
are there, without generating anything. A row is on the front when no other has at least its
quality for at most its cost.

Tokens are those of the run. FLOP and seconds are what its backend counted for each
sample, all that a search threw away included, or with --model what the same tokens take
on another model and device. USD come from --price (rates of tokens),
--usd-per-hour or the hardware's rent; joules from --load and --pue with --watts or
the hardware's design power. What is not known is absent, and said.`,
		Example: `  lab cost yield temperatures --quality ended
  lab cost yield grid --quality right --values judged.csv --n 1,4,16 --price gpt-4o
  lab cost yield beam sampled --quality model_perplexity --smaller --model llama-3-8b --hardware h100 --dtype bf16 --batch 32`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "no runs are named").Fix("for example: lab cost yield temperatures --quality ended")
		},
	}
	q, f := &y.request, cmd.Flags()
	f.StringVarP(&q.Quality.Name, "quality", "q", "", "what answers are worth: a measure (lab help scripting lists them), or a column of --values")
	f.StringVar(&y.values, "values", "", "CSV or Parquet file with the columns cell, sample and --quality")
	f.Float64Var(&y.atLeast, "at-least", 0, "value from which an answer is useful, with --smaller up to which (default 1 where values are true or false)")
	f.BoolVar(&q.Smaller, "smaller", false, "smaller values are better")
	f.IntSliceVar(&q.N, "n", []int{1}, "numbers of answers that are made for one, ascending")
	f.BoolVar(&q.PromptEach, "prompt-each", false, "charge the prompt for every answer, instead of once for n of them")
	f.BoolVar(&q.FixedPrompts, "fixed-prompts", false, "make intervals over the answers to these very prompts, instead of over prompts where there are several")
	f.StringVar(&y.by, "by", "", "unit of the front: usd, joules, seconds, flop or tokens (default the first of them that is known)")
	f.Float64Var(&q.Level, "level", 0.95, "confidence of the intervals, in (0, 1)")
	f.StringVar(&q.Price, "price", "", "price of tokens: a name of lab cost prices")
	f.BoolVar(&q.BatchPrices, "batch-prices", false, "take the rates of the vendor's batch endpoint")
	f.StringVar(&y.model, "model", "", "compute FLOP and seconds of the same tokens for this one of lab cost models")
	f.Int64Var(&q.Batch, "batch", 0, "sequences that --model decodes together (default 1)")
	y.serving.setupFlags(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if q.AsOf, err = c.day(); err != nil {
			return err
		}
		if err := y.settle(cmd); err != nil {
			return err
		}
		t, err := c.load()
		if err != nil {
			return err
		}
		r, err := y.answer(t, args)
		if err != nil {
			return err
		}
		warn(cmd.ErrOrStderr(), r.Warnings)
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), newYieldReport(r, args, q.Quality.Name))
		}
		writeYield(cmd.OutOrStdout(), r, q.Quality.Name)
		return nil
	}
	return cmd
}

// settle turns flags into the request.
func (y *yieldFlags) settle(cmd *cobra.Command) error {
	q, given := &y.request, cmd.Flags().Changed
	if q.Quality.Name == "" {
		return fault.New(fault.Usage, cmd.CommandPath(), "", "--quality is missing").Fix("name a measure, such as ended or distinct_2, or a column of --values")
	}
	if given("at-least") {
		q.AtLeast = &y.atLeast
	}
	if y.by != "" {
		u, err := yield.UnitNamed(y.by)
		if err != nil {
			return err
		}
		q.By = &u
	}
	if y.values != "" {
		t, err := rows.ReadFile(y.values, rows.CSV{})
		if err != nil {
			return err
		}
		q.Quality.Values = t
	}
	var err error
	q.Setup, err = y.serving.setup(cmd, y.model)
	return err
}

func (y *yieldFlags) answer(t *tables.Tables, args []string) (*yield.Report, error) {
	runs := make([]*store.Stored, len(args))
	for i, a := range args {
		var err error
		if runs[i], err = openRun(a); err != nil {
			return nil, err
		}
	}
	return y.request.Answer(t, runs, args)
}

func writeYield(w io.Writer, r *yield.Report, quality string) {
	var known []yield.Unit
	for _, u := range yield.Units() {
		if slices.ContainsFunc(r.Rows, func(row yield.Row) bool { return row.Amounts[u] != nil }) {
			known = append(known, u)
		}
	}
	useful := r.Rows[0].Useful != nil
	header := "setting | n | " + quality
	if useful {
		header += " | useful | tries"
	}
	for _, u := range known {
		header += " | " + u.String()
	}
	if r.HasFront {
		if useful {
			header += fmt.Sprintf(" | %s per useful answer | until useful", r.By)
		}
		if !r.Smaller {
			header += fmt.Sprintf(" | quality per %s", r.By)
		}
		header += " | front"
	}
	table(w, header, func(line func(...any)) {
		for i := range r.Rows {
			row := &r.Rows[i]
			cells := []any{plainLine(or(r.Settings[row.Setting].String(), "all")), row.N, ranged(&row.Quality)}
			if useful {
				cells = append(cells, ranged(row.Useful), digits4(row.Tries.Value))
			}
			for _, u := range known {
				cells = append(cells, yieldAmount(row.Amounts[u]))
			}
			if r.HasFront {
				a := row.Amounts[r.By]
				if useful {
					cells = append(cells, ranged(a.PerUseful), ranged(a.UntilPerUseful))
				}
				if !r.Smaller {
					cells = append(cells, ranged(a.QualityPer))
				}
				mark := ""
				if row.Front {
					mark = "*"
				}
				cells = append(cells, mark)
			}
			line(cells...)
		}
	})
	fmt.Fprintln(w)
	writeSources(w, r)
}

// writeSources says how each unit is known, once for all settings of which it is the
// same.
func writeSources(w io.Writer, r *yield.Report) {
	for _, u := range yield.Units() {
		var said []string
		for i := range r.Settings {
			s := &r.Settings[i]
			text := fmt.Sprintf("%s: absent: %s", u, s.Absent[u])
			if source, ok := s.Known[u]; ok {
				text = fmt.Sprintf("%s: %s: %s", u, source.Kind, source.Note)
			}
			if !slices.Contains(said, text) {
				said = append(said, text)
				fmt.Fprintln(w, plainLine(text))
			}
		}
	}
	over := "over attempts where there is one prompt, over prompts where there are more"
	if r.FixedPrompts {
		over = "over the attempts at these prompts"
	}
	fmt.Fprintf(w, "intervals: %g %%, %s\n", 100*r.Level, over)
}

func yieldAmount(a *yield.Amount) string {
	if a == nil {
		return "-"
	}
	return digits4(a.Answer.Value)
}

// ranged writes an estimate with its interval.
func ranged(e *measure.Estimate) string {
	if e == nil || math.IsNaN(e.Value) {
		return "-"
	}
	if math.IsNaN(e.Lo) {
		return digits4(e.Value)
	}
	hi := digits4(e.Hi)
	if math.IsInf(e.Hi, 1) {
		hi = "∞"
	}
	return fmt.Sprintf("%s [%s, %s]", digits4(e.Value), digits4(e.Lo), hi)
}

func digits4(v float64) string {
	if math.IsInf(v, 1) {
		return "never"
	}
	return fmt.Sprintf("%.4g", v)
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
