package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/script/std"
	"lab/core/watermark"
)

// detectReport is the answer of lab watermark detect.
type detectReport struct {
	Schema  string         `json:"schema"`
	Mark    string         `json:"mark"`
	Model   modelRef       `json:"model"`
	Results []detectResult `json:"results"`
}

type detectResult struct {
	Sample uint64 `json:"sample"`
	Error  string `json:"error,omitempty"` // why it could not be tested
	*watermark.Result
}

func watermarkCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "watermark", Short: "Detect watermarks in generated text", Args: subcommandOnly, RunE: showHelp}
	cmd.AddCommand(detectCommand(s))
	return cmd
}

func detectCommand(s *settings) *cobra.Command {
	var ref, prompt string
	cmd := &cobra.Command{
		Use:   "detect MARK TEXT|FILE.json",
		Short: "Test a text, or the samples of a lab generate report, for a watermark",
		Long: `Tests for the mark that a stage sets. MARK is written like the stage, with the key
and settings it had: watermark_green_list:key=7. TEXT is tokenised by the model,
with --prompt before it; FILE.json is what lab generate --json printed, whose
tokens are taken as they are. Only generated tokens are scored, and contexts met
before are dropped; the p-value is one-sided.

` + marks(),
		Example: `  lab generate "Anna has a" --chain "watermark_green_list:bias=4,key=7" --max-tokens 200 --json > marked.json
  lab watermark detect watermark_green_list:key=7 marked.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes a mark and a text or report, and %d arguments were given", len(args)).
				Fix("for example: lab watermark detect watermark_green_list:key=7 marked.json")
		},
	}
	cmd.Flags().StringVarP(&ref, "model", "m", experiment.DefaultModel, "model whose tokens they are; a report names its own")
	cmd.Flags().StringVar(&prompt, "prompt", "", "what the text followed")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		method, set, err := std.Mark(args[0])
		if err != nil {
			return err
		}
		texts := &marked{prompt: prompt, text: args[1]}
		if strings.HasSuffix(args[1], ".json") {
			if texts, err = readMarked(args[1]); err != nil {
				return err
			}
			if !cmd.Flags().Changed("model") {
				ref = texts.model
			}
		}
		return s.with(cmd, []string{"models"}, func(ctx context.Context, session *experiment.Session) error {
			m, err := session.Model(ctx, ref, nil)
			if err != nil {
				return err
			}
			report := &detectReport{Schema: "lab/watermark-detect/1", Mark: args[0], Model: newModelRef(m), Results: []detectResult{}}
			if err := texts.test(ctx, m, method, set, report); err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), report)
			}
			writeDetect(cmd.OutOrStdout(), report)
			return nil
		}, nil)
	}
	return cmd
}

func marks() string {
	var b strings.Builder
	b.WriteString("Marks and the settings of their detectors:\n")
	for _, m := range watermark.Methods() {
		fmt.Fprintf(&b, "  %s (%s)\n", m.Name, strings.Join(m.Aliases, ", "))
		for _, p := range m.Settings {
			fmt.Fprintf(&b, "      %s, default %s: %s\n", p.Name, param.Format(p.Default), p.Meaning)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// marked is what is tested: one text, or the samples of a report.
type marked struct {
	model, prompt string
	text          string
	samples       []markedSample
}

type markedSample struct {
	Sample uint64  `json:"sample"`
	Tokens []int32 `json:"tokens"`
}

// mostReport bounds a report that is read.
const mostReport = 256 << 20

func readMarked(path string) (*marked, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "watermark detect", fault.Quote(path, 80), "it cannot be read: %v", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostReport+1))
	if err != nil || len(data) > mostReport {
		return nil, fault.New(fault.Limit, "watermark detect", fault.Quote(path, 80), "it has more than %d MiB, or cannot be read (%v)", mostReport>>20, err)
	}
	var report struct {
		Schema string `json:"schema"`
		Model  struct {
			Ref string `json:"ref"`
		} `json:"model"`
		Prompt  string         `json:"prompt"`
		Samples []markedSample `json:"samples"`
	}
	if err := json.Unmarshal(data, &report); err != nil || report.Schema != "lab/generate/1" || len(report.Samples) == 0 {
		return nil, fault.New(fault.Data, "watermark detect", fault.Quote(path, 80), "it is no report of lab generate --json with samples (%v)", err).
			Fix("give a report, or the text itself")
	}
	return &marked{model: report.Model.Ref, prompt: report.Prompt, samples: report.Samples}, nil
}

// test fills in the results. A sample too short to test is reported with the
// others; of a single text it is the error.
func (t *marked) test(ctx context.Context, m *experiment.Model, method string, set map[string]any, report *detectReport) error {
	if t.samples == nil {
		prompt, generated, err := m.Continuation(ctx, t.prompt, t.text)
		if err != nil {
			return err
		}
		r, err := watermark.Detect(ctx, method, set, prompt, generated, m.Info().VocabSize)
		if err != nil {
			return err
		}
		report.Results = append(report.Results, detectResult{Result: &r})
		return nil
	}
	prompt, err := m.Encode(ctx, []byte(t.prompt))
	if err != nil {
		return err
	}
	for _, s := range t.samples {
		for _, id := range s.Tokens {
			if id < 0 || int(id) >= m.Info().VocabSize {
				return fault.New(fault.Data, "watermark detect", fmt.Sprintf("sample %d", s.Sample), "token %d is outside the vocabulary of %d of model %q",
					id, m.Info().VocabSize, m.Info().Name).Fix("give the model that generated it: --model")
			}
		}
		one := detectResult{Sample: s.Sample}
		r, err := watermark.Detect(ctx, method, set, prompt, s.Tokens, m.Info().VocabSize)
		switch {
		case err == nil:
			one.Result = &r
		case fault.KindOf(err) == fault.Data:
			one.Error = err.Error()
		default:
			return err
		}
		report.Results = append(report.Results, one)
	}
	return nil
}

func writeDetect(w io.Writer, r *detectReport) {
	fmt.Fprintf(w, "%s under the tokens of %s\n", r.Mark, r.Model.Name)
	table(w, "sample | tokens | scored | statistic | score | expected | z | p | by", func(line func(...any)) {
		for _, x := range r.Results {
			if x.Result == nil {
				line(x.Sample, "", "", x.Error)
				continue
			}
			line(x.Sample, x.Tokens, x.Scored, x.Statistic, fmt.Sprintf("%.4g", x.Score), fmt.Sprintf("%.4g", x.Expected),
				fmt.Sprintf("%.2f", x.Z), tailText(x.P, x.LnP), x.Tail)
		}
	})
	fmt.Fprintln(w, "\np: probability of so high a score in text without the mark. Only generated tokens are scored; repeated contexts are dropped.")
}

// tailText returns a p-value, from its logarithm where it underflows.
func tailText(p, ln float64) string {
	if p >= 1e-300 {
		return fmt.Sprintf("%.3g", p)
	}
	return fmt.Sprintf("1e%.0f", ln/math.Ln10)
}
