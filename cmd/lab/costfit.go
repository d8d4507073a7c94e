package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/cost"
	"lab/core/fault"
	columns "lab/core/table"
)

// costFitReport is the answer of lab cost fit; docs/json.md describes its JSON form.
type costFitReport struct {
	Schema         string         `json:"schema"`
	File           string         `json:"file"`
	Points         int            `json:"points"`
	MinContext     float64        `json:"min_context"`
	MaxContext     float64        `json:"max_context"`
	Level          float64        `json:"level"`
	MedianResidual float64        `json:"median_residual"`
	Quantities     []quantityJSON `json:"quantities"`
	Predictions    []fitAtJSON    `json:"predictions"`
}

type fitAtJSON struct {
	Context      float64  `json:"context"`
	Seconds      float64  `json:"seconds"`
	Lo           *float64 `json:"lo"` // null with two points
	Hi           *float64 `json:"hi"`
	Extrapolated bool     `json:"extrapolated"`
}

func costFitCommand() *cobra.Command {
	var weights, cache, level float64
	var at []float64
	cmd := &cobra.Command{
		Use:   "fit FILE",
		Short: "Fit seconds per token to contexts: a fixed part and the price of the cache",
		Long: `Fits a line to measured times by least squares. FILE is a table (.csv, .tsv or .parquet)
with a column context (tokens) and either seconds_per_token or tokens_per_second.
The intercept is what does not grow with the context: reading the weights, and the
fixed part of a step. The slope is what one token of cache costs. Contexts beyond
those measured are marked in predictions.

With the bytes of the weights and of the cache per token, both are given as
bandwidths too; they are not the same, and one efficiency does not describe a device.`,
		Example: `  lab cost fit times.csv --at 1000,8000
  lab cost fit times.csv --weight-bytes 3.8e9 --cache-bytes-per-token 524288 --json`,
		Args: oneArg("one file", "lab cost fit times.csv"),
	}
	f := cmd.Flags()
	f.Float64Var(&weights, "weight-bytes", 0, "bytes of weights read in a step")
	f.Float64Var(&cache, "cache-bytes-per-token", 0, "bytes of cache of one token")
	f.Float64Var(&level, "level", 0.95, "confidence of the intervals")
	f.Float64SliceVar(&at, "at", nil, "contexts to predict")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.Changed("weight-bytes") != f.Changed("cache-bytes-per-token") {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "one of --weight-bytes and --cache-bytes-per-token is given without the other")
		}
		context, seconds, err := readTimes(args[0])
		if err != nil {
			return err
		}
		l, err := cost.FitLine(context, seconds, level)
		if err != nil {
			return err
		}
		r := &costFitReport{Schema: "lab/cost-fit/1", File: args[0], Points: l.N, MinContext: l.Min, MaxContext: l.Max, Level: level, MedianResidual: l.MedianResidual, Predictions: []fitAtJSON{}}
		r.Quantities = []quantityJSON{
			newQuantity("intercept", cost.Of(l.Intercept, "s", "F11", cost.Fitted, "weights and the fixed part of a step").Within(l.InterceptLo, l.InterceptHi)),
			newQuantity("slope", cost.Of(l.Slope, "s/token", "F11", cost.Fitted, "cache").Within(l.SlopeLo, l.SlopeHi)),
		}
		if f.Changed("weight-bytes") {
			w, k, err := l.Bandwidths(weights, cache)
			if err != nil {
				return err
			}
			r.Quantities = append(r.Quantities, newQuantity("weight_bandwidth", cost.Of(w, "bytes/s", "F11", cost.Fitted, "a floor: the fixed part of a step is in it")),
				newQuantity("cache_bandwidth", cost.Of(k, "bytes/s", "F11", cost.Fitted, "")))
		}
		for _, context := range at {
			p, err := l.At(context)
			if err != nil {
				return err
			}
			r.Predictions = append(r.Predictions, fitAtJSON{context, p.Seconds, finiteOrNull(p.Lo), finiteOrNull(p.Hi), p.Extrapolated})
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		writeFit(cmd.OutOrStdout(), r)
		return nil
	}
	return cmd
}

// readTimes reads contexts and seconds per token from a table.
func readTimes(path string) (context, seconds []float64, err error) {
	bad := func(problem string, args ...any) *fault.Error {
		return fault.New(fault.Data, "cost fit", fault.Quote(path, 80), problem, args...)
	}
	t, err := columns.ReadFile(path, columns.CSV{})
	if err != nil {
		return nil, nil, err
	}
	numbers := func(name string) ([]float64, error) {
		c, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		v, _, ok := c.Numbers(nil)
		if !ok || len(v) != t.Rows() {
			return nil, bad("column %s does not hold a number in every row", name)
		}
		return v, nil
	}
	if context, err = numbers("context"); err != nil {
		return nil, nil, err
	}
	has := t.Has("seconds_per_token")
	if has == t.Has("tokens_per_second") {
		return nil, nil, bad("it has %s", strings.Join(t.Names(), ", ")).Fix("give a column context and one of seconds_per_token and tokens_per_second")
	}
	if has {
		seconds, err = numbers("seconds_per_token")
		return context, seconds, err
	}
	rates, err := numbers("tokens_per_second")
	for i, v := range rates {
		if !(v > 0) {
			return nil, nil, bad("tokens_per_second of row %d is %g", i+1, v)
		}
		seconds = append(seconds, 1/v)
	}
	return context, seconds, err
}

func writeFit(w io.Writer, r *costFitReport) {
	table(w, fmt.Sprintf("quantity | value | %.4g%% interval | unit | note", 100*r.Level), func(line func(...any)) {
		for _, q := range r.Quantities {
			band := "-"
			if q.Lo != nil && q.Hi != nil {
				band = digits(*q.Lo) + " to " + digits(*q.Hi)
			}
			line(q.Name, shown(q.Value, "-"), band, q.Unit, q.Note)
		}
	})
	fmt.Fprintf(w, "\n%d points at contexts %s to %s; median residual %.2g%%\n", r.Points, digits(r.MinContext), digits(r.MaxContext), 100*r.MedianResidual)
	if len(r.Predictions) == 0 {
		return
	}
	fmt.Fprintln(w)
	table(w, "context | seconds per token | interval | ", func(line func(...any)) {
		for _, p := range r.Predictions {
			note, band := "", "-"
			if p.Extrapolated {
				note = "extrapolated: beyond what was measured"
			}
			if p.Lo != nil && p.Hi != nil {
				band = digits(*p.Lo) + " to " + digits(*p.Hi)
			}
			line(digits(p.Context), digits(p.Seconds), band, note)
		}
	})
}
