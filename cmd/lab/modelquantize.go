package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/fetch"
	"lab/plugins/models/weights"
)

type (
	quantizeReport struct {
		Schema  string           `json:"schema"`
		Input   string           `json:"input"`
		Output  string           `json:"output"`
		Type    string           `json:"type"`
		Before  int64            `json:"bytes_before"`
		After   int64            `json:"bytes_after"`
		Bits    float64          `json:"bits_per_weight"`
		Seconds float64          `json:"seconds"`
		Tensors []quantizeTensor `json:"tensors"`
	}
	quantizeTensor struct {
		Name   string `json:"name"`
		Dims   []int  `json:"dims"`
		From   string `json:"from"`
		To     string `json:"to"`
		Before int64  `json:"bytes_before"`
		After  int64  `json:"bytes_after"`
		Why    string `json:"why,omitempty"`
	}
)

func modelQuantizeCommand(s *settings) *cobra.Command {
	var kind string
	var opt weights.QuantizeOptions
	cmd := &cobra.Command{
		Use:   "quantize IN OUT --type TYPE",
		Short: "Write a model's weights to another file in another format",
		Long: `Writes the weights of IN, a GGUF file in F32, F16 or BF16 or a model of the folder,
to the file OUT. TYPE is, the most exact first:

  ` + wrapped(typeNames(), ", ", 78) + `

Tensors and bytes are those that llama.cpp's llama-quantize makes without an
importance matrix: vectors, norms, expert routers and position embeddings stay as
they are; the output matrix, or the embedding where it is the output too, is Q6_K
(q8_0 in a q8_0 file); the types _s, _m and _l spend more bits on some layers. Rows
that are no whole blocks of a format go to the next one that fits, at last F16.
--verbose shows what became of each tensor, and why.

A file that is quantised already is refused: what was lost is not won back. The
output appears when it is complete; Ctrl-C leaves nothing.`,
		Example: `  lab model quantize llama-1b-f16.gguf llama-1b-q8_0.gguf --type q8_0
  lab model quantize llama-1b llama-1b-q4.gguf --type q4_k_m --verbose`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes an input and an output, and %d arguments were given", len(args)).
				Fix("for example: lab model quantize in.gguf out.gguf --type q8_0")
		},
	}
	f := cmd.Flags()
	f.StringVarP(&kind, "type", "t", "", "type of the file to write")
	f.IntVar(&opt.Threads, "threads", 0, "workers; 0 takes one per processor. The file does not depend on it")
	f.BoolVar(&opt.Replace, "force", false, "replace OUT when it exists")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, err := quantizeModel(s, cmd, args[0], args[1], kind, opt)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), out)
		}
		writeQuantized(cmd.OutOrStdout(), out, s.verbose)
		return nil
	}
	return cmd
}

func typeNames() []string {
	var names []string
	for _, t := range weights.Targets() {
		names = append(names, t.Name)
	}
	return names
}

// wrapped joins words into lines of at most width columns, indented by two.
func wrapped(words []string, sep string, width int) string {
	lines := []string{""}
	for i, w := range words {
		if i < len(words)-1 {
			w += sep
		}
		last := &lines[len(lines)-1]
		if len(*last)+len(strings.TrimRight(w, " ")) > width {
			lines = append(lines, "")
			last = &lines[len(lines)-1]
		}
		*last += w
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n  ")
}

const mostQuantizeThreads = 256

func quantizeModel(s *settings, cmd *cobra.Command, in, to, kind string, opt weights.QuantizeOptions) (*quantizeReport, error) {
	if kind == "" {
		return nil, fault.New(fault.Usage, "lab model quantize", "", "--type is missing").Fix("one of: %s", strings.Join(typeNames(), ", "))
	}
	target, err := weights.FindTarget(kind)
	if err != nil {
		return nil, err
	}
	if opt.Threads < 0 || opt.Threads > mostQuantizeThreads {
		return nil, fault.New(fault.Usage, "lab model quantize", "", "--threads %d is outside [0, %d]", opt.Threads, mostQuantizeThreads)
	}
	path, err := weightsPath(in)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(cmd)
	defer cancel()
	bar := &byteBars{p: newProgress(cmd.ErrOrStderr()), verb: "quantising"}
	opt.Progress = func(done, total int64) { bar.Step(0, 1, done, total) }
	start := time.Now()
	tensors, err := weights.Quantize(ctx, path, to, target, opt)
	bar.Done()
	if err != nil {
		return nil, err
	}
	out := &quantizeReport{Schema: "lab/model-quantize/1", Input: path, Output: to, Type: target.Name, Seconds: time.Since(start).Seconds(), Tensors: []quantizeTensor{}}
	count, bytes := int64(0), int64(0)
	for _, t := range tensors {
		out.Tensors = append(out.Tensors, quantizeTensor{t.Name, t.Dims, t.From, t.To, t.Before, t.After, t.Why})
		n := int64(1)
		for _, d := range t.Dims {
			n *= int64(d)
		}
		count, bytes = count+n, bytes+t.After
	}
	out.Bits = 8 * float64(bytes) / float64(max(count, 1))
	out.Before, out.After = fileBytes(path), fileBytes(to)
	return out, nil
}

func fileBytes(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

// weightsPath returns the path of the file that a name of the model folder, or a
// path, stands for. A file of that name comes first, since the command is about
// files.
func weightsPath(ref string) (string, error) {
	if _, err := os.Stat(ref); err == nil {
		return ref, nil
	}
	folder, err := modelFolder()
	if err != nil {
		return ref, nil
	}
	path, _, found, err := folder.Path(ref)
	if err != nil || found {
		return path, err
	}
	if near := fault.Suggest(ref, folder.Names()); near != "" {
		return "", fault.New(fault.Usage, "lab model quantize", fault.Quote(ref, 200), "there is no such file, nor a model of the folder of that name").Fix("did you mean %q?", near)
	}
	return ref, nil
}

func writeQuantized(w io.Writer, r *quantizeReport, verbose bool) {
	type group struct{ from, to, why string }
	var order []group
	count, bytes := map[group]int{}, map[group]int64{}
	if verbose {
		table(w, "tensor | shape | from | to | size | why", func(line func(...any)) {
			for _, t := range r.Tensors {
				line(t.Name, strings.Trim(strings.ReplaceAll(fmt.Sprint(t.Dims), " ", "×"), "[]"), t.From, t.To, fetch.Size(t.After), t.Why)
			}
		})
		fmt.Fprintln(w)
	}
	for _, t := range r.Tensors {
		g := group{t.From, t.To, t.Why}
		if count[g] == 0 {
			order = append(order, g)
		}
		count[g]++
		bytes[g] += t.After
	}
	if !verbose {
		table(w, "tensors | from | to | size | why", func(line func(...any)) {
			for _, g := range order {
				line(count[g], g.from, g.to, fetch.Size(bytes[g]), g.why)
			}
		})
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s → %s: %s, %.2f bits a weight, in %.1f s\n", fetch.Size(r.Before), fetch.Size(r.After), r.Type, r.Bits, r.Seconds)
	fmt.Fprintf(w, "written to %s; lab model add %s gives it a name\n", r.Output, r.Output)
}
