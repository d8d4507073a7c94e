package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/cells"
)

func replCommand(s *settings) *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "repl",
		Short: "Try Tengo line by line, with the modules of scripts",
		Long: `Reads Tengo from the terminal and shows what each expression gives. Names stay from line to
line. Tab completes names, members and options; ?name, as in ?m.generate, says what
something is; an open bracket goes on in the next line; Ctrl-C stops what runs or drops
what is typed; Ctrl-D ends. Lines of earlier sessions are in the history.

Input that is not a terminal is run the same way, without prompts, and ends at the first
error.`,
		Example: `  lab repl
  echo 'import("lab").model().next("The weather").entropy_bits' | lab repl`,
		Args: noArgs,
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "run seed, lab.seed")
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if seed > 1<<63-1 {
			return fault.New(fault.Usage, "lab repl", "", "--seed %d is above %d, the largest int of a script", seed, int64(1<<63-1))
		}
		// Ctrl-C stops a line, not the session.
		ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
		defer cancel()
		cmd.SetContext(ctx)
		return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
			folder, err := os.Getwd()
			if err != nil {
				return fault.Wrap(err, fault.Usage, "lab repl", "working folder")
			}
			shown := newProgress(cmd.ErrOrStderr())
			c, err := newCells(session, cellPlace{name: "repl", folder: folder, out: folder, seed: seed,
				track: func(label string, total int) (func(finished, tokens int), func()) {
					t := shown.Start(label, total)
					return t.Step, t.Done
				}, stop: func() { sayStopping(cmd) }})
			if err != nil {
				return err
			}
			r := &repl{cells: c, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr()}
			f, ok := cmd.InOrStdin().(*os.File)
			if r.asks = ok && term.IsTerminal(int(f.Fd())); !r.asks || !editable() {
				return r.plain(ctx, cmd.InOrStdin())
			}
			return r.terminal(ctx)
		}, nil)
	}
	return cmd
}

// repl reads pieces of Tengo and runs them.
type repl struct {
	cells       *cells.Session
	out, errOut io.Writer
	asks        bool   // somebody types: there are prompts, and an error ends nothing
	typed       string // an unfinished piece
	count       int
}

// editable reports whether the line editor can work: it asks the terminal for its
// width and moves its cursor.
func editable() bool {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	return err == nil && width > 0 && liner.TerminalSupported()
}

func (r *repl) prompt() string {
	if r.typed != "" {
		return "...> "
	}
	return "lab> "
}

// react runs a line so that Ctrl-C stops it, and shows its error.
func (r *repl) react(ctx context.Context, line string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := r.line(ctx, line); err != nil {
		fmt.Fprintln(r.errOut, script.Detail(err))
	}
}

// Stream and Display implement cells.Output.
func (r *repl) Stream(name, text string) {
	if name == "stderr" {
		fmt.Fprint(r.errOut, text)
	} else {
		fmt.Fprint(r.out, text)
	}
}

func (r *repl) Display(b cells.Bundle) { fmt.Fprintln(r.out, b.Text()) }

// maxTyped is how many bytes one piece may have.
const maxTyped = 1 << 20

// line takes one line of input, and runs what it completes.
func (r *repl) line(ctx context.Context, line string) error {
	if about, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok && r.typed == "" {
		text := r.cells.Inspect(about, len(about))
		if text == "" {
			text = "nothing is known of " + fault.Quote(about, 60)
		}
		fmt.Fprintln(r.out, text)
		return nil
	}
	r.typed += line + "\n"
	// A blank line ends a piece that does not become complete.
	if c, _ := script.CompletenessOf(r.typed); c == script.Incomplete && len(r.typed) < maxTyped && strings.TrimSpace(line) != "" {
		return nil
	}
	return r.run(ctx)
}

func (r *repl) run(ctx context.Context) error {
	src := r.typed
	r.typed = ""
	if strings.TrimSpace(src) == "" {
		return nil
	}
	r.count++
	value, err := r.cells.Run(ctx, fmt.Sprintf("input %d", r.count), src, r)
	if err == nil && value != nil {
		fmt.Fprintln(r.out, value.Text())
	}
	return err
}

// plain runs input without the line editor.
func (r *repl) plain(ctx context.Context, in io.Reader) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxTyped)
	ask := func() {
		if r.asks {
			fmt.Fprint(r.out, r.prompt())
		}
	}
	for ask(); scan.Scan(); ask() {
		if r.asks {
			r.react(ctx, scan.Text())
		} else if err := r.line(ctx, scan.Text()); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return fault.Wrap(err, fault.Usage, "lab repl", "standard input")
	}
	return r.run(ctx)
}

// terminal runs what is typed. The line editor holds the terminal only while it
// reads, so that Ctrl-C is a signal while a line runs.
func (r *repl) terminal(ctx context.Context) error {
	cooked, err := liner.TerminalMode()
	if err != nil {
		return fault.Wrap(err, fault.Usage, "lab repl", "terminal")
	}
	edit := liner.NewLiner()
	defer func() { _ = edit.Close() }() // the session is over
	raw, err := liner.TerminalMode()
	if err != nil {
		return fault.Wrap(err, fault.Usage, "lab repl", "terminal")
	}
	edit.SetCtrlCAborts(true)
	edit.SetTabCompletionStyle(liner.TabPrints)
	edit.SetWordCompleter(r.complete)
	keep := readHistory(edit)
	defer keep()
	fmt.Fprintf(r.out, "lab %s. Start with lab := import(\"lab\"); ?name explains, Tab completes, Ctrl-D ends.\n", version)
	for {
		if err := raw.ApplyMode(); err != nil {
			return fault.Wrap(err, fault.Usage, "lab repl", "terminal")
		}
		line, err := edit.Prompt(r.prompt())
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			r.typed = ""
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(r.out)
			return nil
		case err != nil:
			return fault.Wrap(err, fault.Usage, "lab repl", "terminal")
		}
		if strings.TrimSpace(line) != "" {
			edit.AppendHistory(line)
		}
		if err := cooked.ApplyMode(); err != nil {
			return fault.Wrap(err, fault.Usage, "lab repl", "terminal")
		}
		r.react(ctx, line)
	}
}

// complete answers the line editor, whose position counts characters.
func (r *repl) complete(line string, pos int) (head string, list []string, tail string) {
	runes := []rune(line)
	pos = min(max(pos, 0), len(runes))
	at := len(string(runes[:pos]))
	found := r.cells.Complete(r.typed+line, len(r.typed)+at)
	start, end := found.Start-len(r.typed), found.End-len(r.typed)
	if start < 0 || end > len(line) {
		return line[:at], nil, line[at:]
	}
	for _, c := range found.List {
		list = append(list, c.Text)
	}
	return line[:start], list, line[end:]
}

// readHistory gives the editor the lines of earlier sessions, and returns what
// keeps those of this one. Without a folder for them there is no history.
func readHistory(edit *liner.State) (keep func()) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return func() {}
		}
		dir = filepath.Join(home, ".local", "state")
	}
	path := filepath.Join(dir, "lab", "repl_history")
	if f, err := os.Open(path); err == nil {
		_, _ = edit.ReadHistory(io.LimitReader(f, maxTyped)) // a damaged history is a shorter one
		f.Close()
	}
	return func() {
		if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
			return
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return
		}
		_, _ = edit.WriteHistory(f) // what cannot be kept is not missed
		f.Close()
	}
}
