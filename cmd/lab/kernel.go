package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/kernel"
	"lab/core/notebook"
	"lab/core/script/cells"
)

func kernelCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Let Jupyter run Tengo cells: add lab to its kernels",
		Long: `Jupyter Notebook, JupyterLab, VS Code and nbconvert run the cells of a notebook through a
kernel. lab is one, with the modules that lab run offers; lab kernel install tells Jupyter
of it. To run notebooks without Jupyter, see lab notebook.`,
		Args: subcommandOnly, RunE: showHelp,
	}
	cmd.AddCommand(kernelInstallCommand(), kernelServeCommand(s))
	return cmd
}

func kernelInstallCommand() *cobra.Command {
	var user bool
	var prefix string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Tell Jupyter about the kernel",
		Long: `Writes kernel.json where Jupyter looks for kernels: for this user, or with --prefix below an
environment, such as a virtual environment of Python. It names this very binary, so
install it first (go install ./cmd/lab) and run this again when it moves.`,
		Example: `  lab kernel install
  lab kernel install --prefix .venv`,
		Args: noArgs,
	}
	cmd.Flags().BoolVar(&user, "user", false, "for this user (the default)")
	cmd.Flags().StringVar(&prefix, "prefix", "", "below this folder, in share/jupyter")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if user && prefix != "" {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "--user and --prefix are both given").Fix("give one")
		}
		self, err := os.Executable()
		if err != nil {
			return fault.Wrap(err, fault.Internal, cmd.CommandPath(), "")
		}
		if strings.Contains(filepath.ToSlash(self), "/go-build") {
			return fault.New(fault.Usage, cmd.CommandPath(), "", "this binary is go run's and is removed when it ends").
				Fix("go install ./cmd/lab, then lab kernel install")
		}
		folder := kernel.PrefixFolder(prefix)
		if prefix == "" {
			if folder, err = kernel.UserFolder(); err != nil {
				return err
			}
		}
		path, err := kernel.Install(folder, kernel.Spec{Name: notebook.KernelName, DisplayName: notebook.DisplayName, Language: notebook.LanguageID,
			Argv: []string{self, "kernel", "serve", "{connection_file}"}})
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), path)
		return nil
	}
	return cmd
}

func kernelServeCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "serve CONNECTION",
		Short:  "Serve Jupyter; it starts this itself",
		Hidden: true,
		Args:   oneArg("one connection file", "lab kernel serve connection.json"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		connection, err := kernel.ReadConnection(args[0])
		if err != nil {
			return err
		}
		// Jupyter may send the signal of Ctrl-C to stop a cell: it must not end the
		// kernel, as it does other commands.
		outer := cmd.Context()
		ctx, cancel := context.WithCancel(context.WithoutCancel(outer))
		defer cancel()
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		cmd.SetContext(ctx)
		return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
			return serveKernel(ctx, s, cmd, session, connection, signals)
		}, nil)
	}
	return cmd
}

func serveKernel(ctx context.Context, s *settings, cmd *cobra.Command, session *experiment.Session, connection kernel.Connection, signals <-chan os.Signal) error {
	folder, err := os.Getwd() // that of the notebook
	if err != nil {
		return fault.Wrap(err, fault.Usage, "kernel", "working folder")
	}
	var c *cells.Session
	c, err = newCells(session, cellPlace{name: "notebook", folder: folder, out: folder,
		track: func(label string, total int) (func(finished, tokens int), func()) {
			return cellProgress(c, label, total)
		},
		stop: func() { c.Stderr("finishing the samples under way; interrupt again to stop at once\n") }})
	if err != nil {
		return err
	}
	log, err := s.logger(cmd)
	if err != nil {
		return err
	}
	k, err := kernel.New(kernel.Config{Connection: connection, Cells: c, Version: version, Language: notebook.LanguageInfo(), Log: log})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case sig := <-signals:
				if sig == os.Interrupt {
					k.Interrupt()
				} else {
					end()
				}
			}
		}
	}()
	if os.Getenv("JPY_PARENT_PID") != "" {
		go endWithParent(ctx, end)
	}
	return k.Serve(ctx)
}

// endWithParent ends the kernel when the Jupyter that started it has died, which
// the system shows by giving it another parent.
func endWithParent(ctx context.Context, end func()) {
	parent := os.Getppid()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
			if os.Getppid() != parent {
				end()
				return
			}
		}
	}
}

// cellProgress shows long work in the output of a cell: one line that replaces
// itself, at most once a second, from the third second on.
func cellProgress(c *cells.Session, label string, total int) (step func(finished, tokens int), done func()) {
	start := time.Now()
	last, shown := start.Add(quietFor-time.Second), false
	return func(finished, tokens int) {
			now := time.Now()
			if now.Sub(last) < time.Second || now.Sub(start) < quietFor {
				return
			}
			last, shown = now, true
			c.Stderr(fmt.Sprintf("\r%s: %d of %d samples, %d tokens, %.0f token/s   ", label, finished, total, tokens, float64(tokens)/now.Sub(start).Seconds()))
		}, func() {
			if shown {
				c.Stderr("\n")
			}
		}
}
