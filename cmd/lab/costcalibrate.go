package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/machine"
)

// calibrateReport is the answer of lab cost calibrate; docs/json.md describes its
// JSON form.
type calibrateReport struct {
	*machine.Rates
	File  string `json:"file"`
	Fresh bool   `json:"measured_now"`
}

func costCalibrateCommand(s *settings) *cobra.Command {
	var again bool
	var threads, buffer int
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure what this machine can do at most, once",
		Long: `Measures how fast this machine reads memory, by size of what is read over and over,
and how fast it multiplies and adds, with every core. The rates are kept in the
user's data folder with the day, the processor and the threads; the next call
shows them, and --again measures anew. lab bench --context and cost.measure set
what a model attains against them.

Every rate is of several passes made in turn; the most of them counts, as other
work can only hide what the machine can do. Measure on a quiet machine.`,
		Example: `  lab cost calibrate
  lab cost calibrate --again --threads 4
  lab cost calibrate --json`,
		Args: noArgs,
	}
	cmd.Flags().BoolVar(&again, "again", false, "measure, though there are rates already")
	cmd.Flags().IntVar(&threads, "threads", 0, "threads that measure (default one a core)")
	cmd.Flags().IntVar(&buffer, "buffer", 512, "MiB of the largest buffer: more than the caches hold")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if threads < 0 {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "--threads %d is below 0", threads)
		}
		if buffer < 1 || buffer > 16<<10 {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "--buffer %d is outside 1 to %d", buffer, 16<<10)
		}
		ctx, cancel := s.limited(cmd)
		defer cancel()
		r, err := calibrated(ctx, cmd.ErrOrStderr(), again, machine.Options{Threads: threads, Largest: int64(buffer) << 20})
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), r)
		}
		writeRates(cmd.OutOrStdout(), r)
		if r.Busy() {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %.1f threads wanted to run before: measure with --again on a quiet machine\n", *r.Load)
		}
		return nil
	}
	return cmd
}

// calibrated returns this machine's rates, which it measures and keeps when there
// are none yet or when it is to do so again.
func calibrated(ctx context.Context, errOut io.Writer, again bool, opt machine.Options) (*calibrateReport, error) {
	r, path, err := machine.Find()
	switch {
	case path == "" || err != nil && !again:
		return nil, err
	case r != nil && !again && (opt.Threads == 0 || opt.Threads == r.Threads):
		return &calibrateReport{Rates: r, File: path}, nil
	case r != nil && !again:
		return nil, fault.New(fault.Usage, "lab cost calibrate", "", "the rates there are were measured with %d threads, not %d", r.Threads, opt.Threads).
			Fix("--again measures anew")
	}
	line := &testLine{what: "calibrate", unit: "passes", out: errOut, terminal: newProgress(errOut).terminal, last: time.Now()}
	opt.Now, opt.Progress = time.Now(), line.show
	r, err = machine.Measure(ctx, opt)
	line.clear()
	if err != nil {
		return nil, err
	}
	if err := r.Save(path); err != nil {
		return nil, err
	}
	return &calibrateReport{Rates: r, File: path, Fresh: true}, nil
}

func writeRates(w io.Writer, r *calibrateReport) {
	fmt.Fprintf(w, "%s, %s/%s, %d cores, measured %s with %d threads", r.CPU, r.OS, r.Arch, r.Cores, r.Measured.Format(time.DateOnly), r.Threads)
	if r.Load != nil {
		fmt.Fprintf(w, ", load %.1f before", *r.Load)
	}
	fmt.Fprintf(w, "\n%s\n\n", r.File)
	row := func(line func(...any), what, unit string, s machine.Spread) {
		line(what, short(s.Most/1e9)+" "+unit, short(s.Median/1e9), short(s.Least/1e9))
	}
	table(w, "rate | at most | median | least", func(line func(...any)) {
		for _, m := range r.Memory {
			row(line, fmt.Sprintf("reading %d MiB", m.Buffer>>20), "GB/s", m.PerSecond)
		}
		row(line, "float32, "+r.Float32.Kind, "GFLOP/s", r.Float32.PerSecond)
		if r.Int8 != nil {
			row(line, "int8, "+r.Int8.Kind, "GOP/s", r.Int8.PerSecond)
		}
	})
}
