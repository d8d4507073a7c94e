package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/model"
	"lab/core/trace"
	"lab/plots/canvas"
)

// scoreReport is the answer of lab score; docs/json.md describes its JSON form.
type scoreReport struct {
	Schema       string                 `json:"schema"`
	Model        experiment.ModelRecord `json:"model"`
	Prompt       string                 `json:"prompt"`
	PromptTokens []int32                `json:"prompt_tokens"`
	Text         string                 `json:"text"`
	Tokens       []scoredJSON           `json:"tokens"`
	scoreSums
	Usage       model.Usage `json:"usage"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

// scoreSums are what is said of all tokens scored.
type scoreSums struct {
	Scored      int        `json:"scored"`
	Total       int        `json:"total"`
	Bytes       int        `json:"bytes_scored"`
	Bits        trace.Real `json:"surprisal_bits"`
	MeanBits    trace.Real `json:"mean_surprisal_bits"`
	Perplexity  trace.Real `json:"perplexity"`
	BitsPerByte trace.Real `json:"bits_per_byte"`
	LnP         trace.Real `json:"ln_p"`
}

// scoredJSON is one token of the text.
type scoredJSON struct {
	Position    int        `json:"position"`
	Token       int32      `json:"token"`
	Text        string     `json:"text"`
	Piece       []byte     `json:"bytes"`
	Bits        trace.Real `json:"surprisal_bits"`
	Prob        trace.Real `json:"model_prob"`
	Rank        int        `json:"model_rank"`
	EntropyBits trace.Real `json:"entropy_bits"`
	// EntropyUpperBits is there when the backend lists part of its vocabulary.
	EntropyUpperBits *float64      `json:"entropy_upper_bits,omitempty"`
	Top              []likelyToken `json:"top,omitempty"`
}

// likelyToken is one of the likeliest tokens at a position.
type likelyToken struct {
	Token int32   `json:"token"`
	Text  string  `json:"text"`
	Piece []byte  `json:"bytes"`
	Prob  float64 `json:"model_prob"`
}

type scoreFlags struct {
	model, prompt, file string
	top                 int
	end                 bool
	json                *bool
}

func scoreCommand(s *settings) *cobra.Command {
	g := &scoreFlags{}
	cmd := &cobra.Command{
		Use:   "score [TEXT]",
		Short: "Show how surprised a model is by a text, token by token",
		Long: `Shows the surprisal of every token of TEXT under the model distribution, in bits
(-log2 of its probability), with its rank among all tokens and the entropy of
the distribution it was looked up in; then the sum, the mean per token, the
perplexity (2 to the mean) and the bits per byte, which unlike a perplexity may
be compared between models with different vocabularies. Without TEXT or --file
the text is read from standard input.

The tokens of --prompt are read first and not scored; a token that spans the
border counts as text. The first token needs something before it: the model's
begin token or a prompt. What the model rules out has infinite surprisal, and
nothing behind it has a distribution. A text that exceeds the context is refused:
lab perplexity reads it in windows.`,
		Example: `  lab score "The weather today is nice."
  lab score " nice." --prompt "The weather today is" --top 3
  lab score --file letter.txt --model model.gguf --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fault.New(fault.Usage, "lab score", "", "it takes one text, and %d arguments were given", len(args)).
					Fix(`for example: lab score "The weather today is nice."`)
			}
			if len(args) == 1 && g.file != "" {
				return fault.New(fault.Usage, "lab score", "", "a text and --file were given").Fix("leave one of them out")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&g.model, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	f.StringVarP(&g.prompt, "prompt", "p", "", "what the text follows; it is not scored")
	f.StringVarP(&g.file, "file", "f", "", "read the text from a file; - is standard input")
	f.IntVarP(&g.top, "top", "n", 0, "list this many of the likeliest tokens at every position")
	f.BoolVar(&g.end, "end", false, "score as well that the text ends there: the model's end-of-text token after it")
	s.pluginFlag(cmd)
	g.json = jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if g.top < 0 || g.top > 1000 {
			return fault.New(fault.Usage, "lab score", "", "--top %d is outside 0 to 1000", g.top)
		}
		file := g.file
		if len(args) == 0 && file == "" {
			file = "-"
		}
		text := []byte(strings.Join(args, ""))
		if file != "" {
			var err error
			if text, err = readCorpus(cmd, "lab score", file, maxScored); err != nil {
				return err
			}
		}
		return runScore(s, cmd, g, text)
	}
	return cmd
}

// maxScored and maxCorpus bound the bytes of a text.
const (
	maxScored = 16 << 20
	maxCorpus = 1 << 30
)

// readCorpus reads a file, or standard input for "-", of bounded size.
func readCorpus(cmd *cobra.Command, op, path string, limit int64) ([]byte, error) {
	name, in := "standard input", cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fault.Wrap(err, fault.Data, op, "")
		}
		defer f.Close()
		name, in = fault.Quote(path, 200), f
	} else if f, ok := in.(*os.File); ok && newProgress(f).terminal {
		return nil, fault.New(fault.Usage, op, "", "there is no text").Fix(`give it as an argument, with --file, or on standard input; see %s --help`, op)
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, name)
	}
	if int64(len(text)) > limit {
		return nil, fault.New(fault.Limit, op, name, "it is longer than %d MiB", limit>>20)
	}
	if len(text) == 0 {
		return nil, fault.New(fault.Usage, op, name, "it is empty")
	}
	return text, nil
}

func runScore(s *settings, cmd *cobra.Command, g *scoreFlags, text []byte) error {
	var report *scoreReport
	work := func(ctx context.Context, session *experiment.Session) error {
		m, err := session.Model(ctx, g.model, nil)
		if err != nil {
			return err
		}
		bar := newProgress(cmd.ErrOrStderr()).StartTokens("score")
		out, usage, err := m.Score(ctx, []byte(g.prompt), [][]byte{text}, generate.ScoreOptions{Top: g.top, End: g.end, OnStep: bar.StepTokens})
		bar.Done()
		if len(out) == 0 {
			return err
		}
		report = newScoreReport(m, g.prompt, text, out[0])
		report.Usage, report.Interrupted = usage, fault.KindOf(err) == fault.Interrupted
		return err
	}
	return s.with(cmd, []string{"models"}, work, func(record experiment.Record) error {
		if report == nil {
			return nil
		}
		report.Model = record.Models[0]
		if *g.json {
			return writeJSON(cmd.OutOrStdout(), report)
		}
		writeScore(cmd.OutOrStdout(), report)
		return nil
	})
}

func newScoreReport(m *experiment.Model, prompt string, text []byte, s *generate.Scoring) *scoreReport {
	r := &scoreReport{Schema: "lab/score/1", Prompt: prompt, PromptTokens: s.Prompt, Text: plain(text), Tokens: []scoredJSON{}, scoreSums: newScoreSums(s)}
	for i, t := range s.Tokens {
		row := scoredJSON{Position: len(s.Prompt) + i, Token: t.Token, Text: plain(t.Piece), Piece: t.Piece, Bits: trace.Real(t.SurprisalBits),
			Prob: trace.Real(math.Exp2(-t.SurprisalBits)), Rank: t.Rank, EntropyBits: trace.Real(t.Entropy.Low)}
		if !t.Entropy.Exact() {
			row.EntropyUpperBits = &t.Entropy.High
		}
		for _, e := range t.Top {
			row.Top = append(row.Top, likelyToken{Token: e.ID, Text: plain(m.Piece(e.ID)), Piece: m.Piece(e.ID), Prob: e.P})
		}
		r.Tokens = append(r.Tokens, row)
	}
	return r
}

func newScoreSums(s *generate.Scoring) scoreSums {
	return scoreSums{Scored: s.Count, Total: s.Total, Bytes: s.Bytes, Bits: trace.Real(s.Bits), MeanBits: trace.Real(s.MeanBits()),
		Perplexity: trace.Real(s.Perplexity()), BitsPerByte: trace.Real(s.BitsPerByte()), LnP: trace.Real(s.LnP())}
}

// plain returns bytes as text, with U+FFFD for what is not UTF-8.
func plain(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

func writeScore(w io.Writer, r *scoreReport) {
	header := "position | token | text | surprisal bits | p | rank | entropy bits"
	likely := len(r.Tokens) > 0 && len(r.Tokens[0].Top) > 0
	if likely {
		header += " | likeliest"
	}
	table(w, header, func(line func(...any)) {
		for _, t := range r.Tokens {
			rank := fmt.Sprint(t.Rank)
			if t.Rank == 0 {
				rank = "-"
			}
			text := canvas.Visible(string(t.Piece))
			if len(t.Piece) == 0 {
				text = "(control)"
			}
			cells := []any{t.Position, t.Token, text, bitsText(t.Bits), probText(float64(t.Prob)), rank, fixed(float64(t.EntropyBits), 3)}
			if likely {
				var list []string
				for _, e := range t.Top {
					list = append(list, fmt.Sprintf("%s %.3f", canvas.Visible(string(e.Piece)), e.Prob))
				}
				cells = append(cells, strings.Join(list, "  "))
			}
			line(cells...)
		}
	})
	fmt.Fprintln(w)
	writeSums(w, &r.scoreSums)
}

// bitsText writes a surprisal; an infinite one says what it means.
func bitsText(x trace.Real) string {
	if math.IsInf(float64(x), 1) {
		return "∞ (impossible)"
	}
	return fixed(float64(x), 3)
}

// probText writes a probability; a small one keeps two digits that count.
func probText(p float64) string {
	if p > 0 && p < 1e-3 {
		return fmt.Sprintf("%.1e", p)
	}
	return fmt.Sprintf("%.4f", p)
}

// fixed writes a number with so many decimals; what rounds to zero has no sign.
func fixed(x float64, decimals int) string {
	switch {
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "-∞"
	}
	s := fmt.Sprintf("%.*f", decimals, x)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

func writeSums(w io.Writer, s *scoreSums) {
	fmt.Fprintf(w, "scored         %d of %d tokens, %d bytes of text\n", s.Scored, s.Total, s.Bytes)
	if s.Scored == 0 {
		return
	}
	fmt.Fprintf(w, "surprisal      %s bits, ln p = %s\n", fixed(float64(s.Bits), 3), fixed(float64(s.LnP), 4))
	fmt.Fprintf(w, "per token      %s bits, perplexity %s\n", fixed(float64(s.MeanBits), 3), fixed(float64(s.Perplexity), 4))
	if s.Bytes > 0 {
		fmt.Fprintf(w, "per byte       %s bits\n", fixed(float64(s.BitsPerByte), 3))
	}
	if math.IsInf(float64(s.Bits), 1) {
		fmt.Fprintln(w, "the last token scored is impossible in its context; nothing behind it has a distribution")
	}
}
