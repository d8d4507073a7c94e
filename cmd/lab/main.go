// Command lab studies how language models turn frozen parameters into text.
//
// This package holds flags, wiring and exit codes only: one file per
// subcommand, the shared flags in session.go, the built-in plugins in serve.go.
// Results go to standard output, progress and logs to standard error.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lab/core/fault"
	"lab/core/script"
)

func main() {
	serveBuiltin(os.Args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := newRoot()
	results := &keptError{w: out}
	root.SetArgs(args)
	root.SetOut(results)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if results.err != nil {
		err = fault.Wrap(results.err, fault.Data, "lab", "standard output")
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && fault.KindOf(err) != fault.Interrupted {
		err = fault.Wrap(err, fault.Interrupted, "", "")
		fmt.Fprintln(errOut, "lab: interrupted:", err)
		return fault.Interrupted.ExitCode()
	}
	fmt.Fprintln(errOut, "lab:", script.Detail(err))
	return fault.KindOf(err).ExitCode()
}

// keptError remembers the first failure to write results, so that printing code
// need not check each line: a result that was not written is an error.
type keptError struct {
	w   io.Writer
	err error
}

func (k *keptError) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if k.err == nil {
		k.err = err
	}
	return n, err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Study how language models turn frozen parameters into text",
		Long: `lab studies how a language model's frozen parameters become text: the model's
distribution over the next token, the chain of stages that reshapes it, the
token drawn, and what every step cost. Models and samplers run as plugins in
processes of their own; experiments are Tengo scripts.

Start with
  lab next "The weather today is"
  lab generate "The weather today is" --samples 3
  lab run scripts/weather.tengo`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              subcommandOnly,
		RunE:              showHelp,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return flagError(cmd, err)
	})
	s := &settings{}
	s.flags(root)
	root.AddCommand(runCommand(s), nextCommand(s), exploreCommand(s), generateCommand(s), searchCommand(s), sweepCommand(s), runsCommand(s), rerunCommand(s), plotCommand(s), plotsCommand(), scoreCommand(s), perplexityCommand(s), benchCommand(s), costCommand(s), chainCommand(s), watermarkCommand(s), pluginCommand(s), samplerCommand(s),
		modelCommand(s), serveCommand(), exitCodesTopic(), chainTopic(), modulesTopic(), strategiesTopic())
	root.AddCommand(notebookCommand(s), kernelCommand(s), replCommand(s), reportCommand(s), fmtCommand(), checkCommand())
	return root
}

// showHelp is what a command that only groups others does.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// subcommandOnly refuses a word that is no subcommand, naming the nearest.
func subcommandOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return fault.Unknown(cmd.CommandPath(), "command", args[0], names)
}

// flagError turns pflag's error into a usage error; an unknown flag gets the
// nearest known one.
func flagError(cmd *cobra.Command, err error) error {
	const unknown = "unknown flag: --"
	text := err.Error()
	e := fault.New(fault.Usage, cmd.CommandPath(), "", "%s", text).Fix("see %s --help", cmd.CommandPath())
	if name, ok := strings.CutPrefix(text, unknown); ok {
		var names []string
		for _, set := range []interface{ VisitAll(func(*pflag.Flag)) }{cmd.Flags(), cmd.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		}
		if near := fault.Suggest(name, names); near != "" {
			return e.Fix("did you mean --%s? see %s --help", near, cmd.CommandPath())
		}
	}
	return e
}

// oneArg is cobra's ExactArgs(1) with our kind of error: what is missing, and an
// example.
func oneArg(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes %s, and %d arguments were given", what, len(args)).
			Fix("for example: %s", example)
	}
}

func exitCodesTopic() *cobra.Command {
	meaning := map[fault.Kind]string{
		fault.Internal:    "a defect of lab itself; please report it",
		fault.Usage:       "a flag, option, setting or argument is wrong",
		fault.Script:      "a script does not compile, raises an error or is out of bounds",
		fault.Plugin:      "a plugin cannot be found, started, reached or trusted",
		fault.Model:       "a backend cannot open its weights or evaluate a context",
		fault.Data:        "a file or a row of numbers is not what it should be",
		fault.Limit:       "a limit was met: context length, deadline, memory",
		fault.Interrupted: "interrupted by Ctrl-C or a signal; finished work is kept",
	}
	var b strings.Builder
	b.WriteString("The exit code says whose doing a failure is:\n\n    0  success\n")
	for _, k := range fault.Kinds() {
		fmt.Fprintf(&b, "  %3d  %-11s  %s\n", k.ExitCode(), k, meaning[k])
	}
	return &cobra.Command{Use: "exit-codes", Short: "What each exit code means", Long: strings.TrimRight(b.String(), "\n")}
}

func chainTopic() *cobra.Command {
	return &cobra.Command{Use: "chains", Short: "How to write a chain of stages", Long: `A chain is a list of stages separated by | and applied from left to right:

  temperature:0.8 | top_p:0.95 | sample

A stage is "name", "name:value" (its first setting) or "name:key=value,key=value".
A value that holds one of | , = : or a blank goes in double quotes with Go's
escapes, or in single or back quotes as it is. @path is the text of a file:

  regex:' (yes|no)\.'
  json_schema:schema=@person.json,blanks=compact | temperature:0.8

The last stage selects the token. When none does, "sample" is appended; -v shows
the effective chain with the origin of every value, and --json stores it.
Order matters: temperature before or after top_p keeps different tokens.

lab sampler list shows the stages, lab sampler info NAME one of them. A stage of
one particular plugin is written plugin/name.`}
}
