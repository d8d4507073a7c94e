package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/sweep"
)

// replayReport is the answer of lab runs replay.
type replayReport struct {
	Schema  string         `json:"schema"`
	Run     string         `json:"run"`
	Chain   string         `json:"chain"`
	Samples []replayedJSON `json:"samples"`
}

// replayedJSON is what the chain makes of a sample; left is -1 where it never
// leaves the record.
type replayedJSON struct {
	Cell     int    `json:"cell"`
	Sample   int    `json:"sample"`
	Steps    int    `json:"steps"`
	Left     int    `json:"left"`
	Recorded *int32 `json:"recorded_token,omitempty"`
	Token    *int32 `json:"token,omitempty"`
}

func runsReplayCommand(s *settings) *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Apply another chain to the scores that a run kept, without the model",
		Long: `Applies a chain to the model's scores that a run kept (record: scores), under the
random numbers of its samples. The result is what sampling with the chain would have
given, exactly as far as the recorded contexts reach: up to the first step at which
the chain draws another token. No model is opened. Of a run with scores:N the
tokens that are not listed count as one mass: a stage whose result that leaves open
refuses it.`,
		Example: `  lab runs replay temperatures --chain "temperature:0.7 | min_p:0.05"`,
		Args:    oneArg("one run", `lab runs replay temperatures --chain "temperature:0.7"`),
	}
	cmd.Flags().StringVarP(&text, "chain", "c", "", "the chain to apply: lab help chains")
	s.pluginFlag(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		run, err := openRun(args[0])
		if err != nil {
			return err
		}
		if text == "" {
			return fault.New(fault.Usage, "lab runs replay", "", "--chain is missing").Fix("name the chain to apply")
		}
		r := &replayReport{Schema: "lab/run-replay/1", Run: run.Dir, Samples: []replayedJSON{}}
		return s.with(cmd, []string{"samplers"}, func(ctx context.Context, session *experiment.Session) error {
			bar := newProgress(cmd.ErrOrStderr()).Start("replay", run.Manifest.Total())
			defer bar.Done()
			tokens := 0
			return sweep.Replay(ctx, session, run, text, func(p sweep.Replayed) error {
				one := replayedJSON{Cell: p.Cell, Sample: p.Sample, Steps: len(p.Steps), Left: p.Left}
				if p.Left >= 0 {
					one.Recorded, one.Token = &p.Recorded, &p.Steps[p.Left].Token
				}
				r.Samples = append(r.Samples, one)
				tokens += len(p.Steps)
				bar.Step(len(r.Samples), tokens)
				return nil
			})
		}, func(record experiment.Record) error {
			if len(record.Chains) > 0 {
				r.Chain = record.Chains[0].Chain
			}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), r)
			}
			r.write(cmd.OutOrStdout())
			return nil
		})
	}
	return cmd
}

func (r *replayReport) write(w io.Writer) {
	type sum struct{ samples, same, steps, left int }
	var cells []sum
	for _, s := range r.Samples {
		for len(cells) <= s.Cell {
			cells = append(cells, sum{})
		}
		c := &cells[s.Cell]
		c.samples++
		c.steps += s.Steps
		if s.Left < 0 {
			c.same++
		} else {
			c.left += s.Left
		}
	}
	fmt.Fprintf(w, "%s under %s\n", r.Run, r.Chain)
	table(w, "cell | samples | the same to the end | mean step at which others leave | steps reached", func(line func(...any)) {
		for i, c := range cells {
			if c.samples == 0 {
				continue
			}
			left := "-"
			if n := c.samples - c.same; n > 0 {
				left = fmt.Sprintf("%.1f", float64(c.left)/float64(n))
			}
			line(i, c.samples, c.same, left, c.steps)
		}
	})
}
