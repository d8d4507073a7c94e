package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/lock"
	"lab/core/plugin/project"
	labpython "lab/plugins/python"
)

// JSON forms of the commands on projects; docs/json.md describes them.
type (
	pluginNewReport struct {
		Schema   string   `json:"schema"`
		Name     string   `json:"name"`
		Language string   `json:"language"`
		Kind     string   `json:"kind"`
		Path     string   `json:"path"`
		Files    []string `json:"files"`
		Commands []string `json:"commands"` // build, test, try, from within the project
	}
	pluginInstallReport struct {
		Schema   string   `json:"schema"`
		Name     string   `json:"name"`
		Version  string   `json:"version"`
		Path     string   `json:"path"`
		SHA256   string   `json:"sha256"`
		Before   string   `json:"before,omitempty"` // digest of what it replaced
		Changed  bool     `json:"changed"`
		Locked   bool     `json:"locked"` // recorded in the lock of the working folder
		Samplers []string `json:"samplers,omitempty"`
		Models   []string `json:"models,omitempty"`
		Warnings []string `json:"warnings,omitempty"`

		logged []string // warnings that were log lines already
	}
	pluginInfoReport struct {
		Schema       string        `json:"schema"`
		Name         string        `json:"name"`
		Version      string        `json:"version,omitempty"`
		Language     string        `json:"language,omitempty"`
		Builtin      bool          `json:"builtin"`
		Path         string        `json:"path"`
		SHA256       string        `json:"sha256,omitempty"`
		Protocol     int           `json:"protocol,omitempty"`
		SharedMemory bool          `json:"shared_memory"`
		Environment  []string      `json:"environment"`
		Trust        string        `json:"trust"`
		Trusted      string        `json:"trusted,omitempty"` // the day
		Samplers     []samplerJSON `json:"samplers"`
		Models       []backendJSON `json:"models"`
		Error        string        `json:"error,omitempty"`
	}
	pluginRemoveReport struct {
		Schema    string   `json:"schema"`
		Name      string   `json:"name"`
		Removed   []string `json:"removed"`
		Forgotten bool     `json:"forgotten"` // it was in the lock
		Warnings  []string `json:"warnings,omitempty"`
	}
)

// projectCommands are the commands that make, install and remove plugins.
func projectCommands(s *settings) []*cobra.Command {
	return []*cobra.Command{pluginNewCommand(), pluginInstallCommand(s), pluginInfoCommand(s), pluginRemoveCommand()}
}

func pluginNewCommand() *cobra.Command {
	var plan project.Plan
	var source string
	cmd := &cobra.Command{
		Use:   "new NAME --lang go|python",
		Short: "Write a plugin project that builds and passes its tests",
		Long: `Writes a project for a plugin into a new folder: one source file with a small real
method to put yours in place of, a test that asks the laws of a sound plugin, and
a README with three commands: build, test, try. Nothing is ever overwritten.

A Go project is a module of its own, built against the source of lab; a Python
project carries the package lab_plugin and needs grpcio and protobuf.`,
		Example: `  lab plugin new sharper --lang go
  lab plugin new sharper --lang python
  lab plugin new my-model --lang go --kind model --dir ~/models/mine`,
		Args: oneArg("the name of the plugin", "lab plugin new sharper --lang go"),
	}
	f := cmd.Flags()
	f.StringVar(&plan.Language, "lang", "", "language: "+strings.Join(project.Languages(), " or "))
	f.StringVar(&plan.Kind, "kind", "sampler", "what it offers: "+strings.Join(project.Kinds(), " or "))
	f.StringVar(&plan.Dir, "dir", "", "folder of the project, new or empty (default NAME)")
	f.StringVar(&source, "lab-source", "", "folder with the source of lab, for Go (default where this lab was built from)")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		plan.Name = args[0]
		if plan.Language == "" {
			return fault.New(fault.Usage, "lab plugin new", "", "it is not said in which language").
				Fix("add --lang go or --lang python")
		}
		if isBuiltin(plan.Name) {
			return builtinName(plan.Name)
		}
		if source != "" && plan.Language != "go" {
			return fault.New(fault.Usage, "lab plugin new", "", "--lab-source is for Go projects, and --lang is %s", fault.Quote(plan.Language, 40))
		}
		plan.Package, plan.Requirements = labpython.Files(), labpython.Requirements
		if plan.Language == "go" {
			cwd, err := os.Getwd()
			if err != nil {
				return fault.Wrap(err, fault.Usage, "lab plugin new", "working folder")
			}
			if plan.Lab, err = project.FindLab(source, cwd); err != nil {
				return err
			}
		}
		made, err := project.New(plan)
		if err != nil {
			return err
		}
		out := pluginNewReport{Schema: "lab/plugin-new/1", Name: plan.Name, Language: plan.Language, Kind: plan.Kind, Path: made.Dir,
			Files: made.Files, Commands: made.Commands[:]}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), out)
		}
		w := cmd.OutOrStdout()
		fmt.Fprintf(w, "%s: a %s in %s, %d files; next:\n\n  cd %s\n", made.Dir, plan.Kind, plan.Language, len(made.Files), project.ShellWord(made.Dir))
		for _, c := range made.Commands {
			fmt.Fprintf(w, "  %s\n", c)
		}
		return nil
	}
	return cmd
}

// placeOf returns where plugins are installed.
func placeOf(user bool) (place project.Place, cwd string, err error) {
	if cwd, err = os.Getwd(); err != nil {
		return place, "", fault.Wrap(err, fault.Usage, "lab", "working folder")
	}
	if user {
		place, err = project.UserPlace()
		return place, cwd, err
	}
	return project.ProjectPlace(cwd), cwd, nil
}

func pluginInstallCommand(s *settings) *cobra.Command {
	var user, replace bool
	var name, python string
	cmd := &cobra.Command{
		Use:   "install PATH",
		Short: "Build a plugin, check that it starts, and put it where lab finds it",
		Long: `Takes a Go package, a Python project or an executable, makes a plugin of it, starts
it once, and puts it into .lab/plugins of the working folder or, with --user, into
the user's data folder. It appears there in one step or not at all. Its digest is
recorded in lab.lock of the working folder; with --user, when there is one.

A Python project is copied and runs with the Python of its .venv when it has one,
else with the python3 found on PATH.`,
		Example: `  lab plugin install ./sharper
  lab plugin install ./sharper --replace
  lab plugin install ~/Downloads/lab-plugin-other --user`,
		Args: oneArg("the path of a plugin", "lab plugin install ./sharper"),
	}
	f := cmd.Flags()
	f.BoolVar(&user, "user", false, "install for all projects of this user")
	f.BoolVar(&replace, "replace", false, "put it in the place of an installed plugin of the same name")
	f.StringVar(&name, "name", "", "name of the plugin (default what its source or its executable is called)")
	f.StringVar(&python, "python", "", "Python to run a Python project with")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		src, err := project.Detect(args[0], name)
		if err != nil {
			return err
		}
		if isBuiltin(src.Name) {
			return builtinName(src.Name)
		}
		if python != "" && src.Form != project.PythonProject {
			return fault.New(fault.Usage, "lab plugin install", "", "--python is for Python projects, and %s is a %s", fault.Quote(args[0], 80), src.Form)
		}
		out, err := installPlugin(s, cmd, src, user, project.InstallOptions{Build: buildOptions(python), Replace: replace})
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), out)
		}
		writeInstalled(cmd.OutOrStdout(), cmd.ErrOrStderr(), out)
		return nil
	}
	return cmd
}

func installPlugin(s *settings, cmd *cobra.Command, src project.Source, user bool, opt project.InstallOptions) (*pluginInstallReport, error) {
	place, cwd, err := placeOf(user)
	if err != nil {
		return nil, err
	}
	shared, err := s.hostOptions(cmd)
	if err != nil {
		return nil, err
	}
	pins := lock.At(cwd)
	if _, err := pins.Entries(); err != nil { // before anything is changed
		return nil, err
	}
	out := &pluginInstallReport{Schema: "lab/plugin-install/1"}
	opt.Check = func(ctx context.Context, folder string) (string, error) {
		info, err := tryPlugin(ctx, host.Options{Dirs: []string{folder}, Logger: shared.Logger, TLS: shared.TLS}, src.Name, out)
		return info.Version, err
	}
	ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
	if s.timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, s.timeout,
			fault.New(fault.Limit, "lab", "", "the --timeout of %v has passed", s.timeout))
	}
	defer cancel()
	done, err := place.Install(ctx, src, opt)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	out.Name, out.Version, out.Path, out.SHA256 = done.Name, done.Version, done.Path, done.SHA256
	out.Before, out.Changed = done.Before, done.Before != done.SHA256
	if out.Locked, err = pin(pins, cwd, user, done); err != nil {
		if !errors.Is(err, lock.ErrNotWritten) {
			return nil, err
		}
		out.Warnings = append(out.Warnings, err.Error())
	}
	if !user {
		return out, nil
	}
	if path, there := project.ProjectPlace(cwd).Find(done.Name); there {
		out.Warnings = append(out.Warnings, fmt.Sprintf("in this folder the plugin at %s comes first", path))
	}
	return out, nil
}

// tryPlugin starts a plugin that was just built, and notes what it offers.
func tryPlugin(ctx context.Context, opt host.Options, name string, out *pluginInstallReport) (host.PluginInfo, error) {
	h, err := host.New(opt)
	if err != nil {
		return host.PluginInfo{}, err
	}
	defer func() { _ = h.Close() }()
	info, err := h.Plugin(ctx, name)
	if err != nil {
		return info, err
	}
	for _, d := range h.Samplers(ctx) {
		out.Samplers = append(out.Samplers, d.Qualified())
	}
	for _, b := range h.Backends(ctx) {
		out.Models = append(out.Models, b.Qualified())
	}
	out.logged = h.Warnings()
	out.Warnings = append(out.Warnings, out.logged...)
	return info, nil
}

// pin records an installed plugin in the lock of the working folder. A plugin of
// the user is recorded where a lock is kept already: elsewhere it will be at its
// first use.
func pin(pins *lock.Lock, cwd string, user bool, done project.Installed) (bool, error) {
	if user {
		if _, err := os.Stat(pins.Path()); err != nil {
			return false, nil
		}
		if _, shadowed := project.ProjectPlace(cwd).Find(done.Name); shadowed {
			return false, nil
		}
	}
	_, err := pins.Trust(done.Name, lock.Entry{SHA256: done.SHA256, Version: done.Version, Path: done.Path})
	return err == nil, err
}

func writeInstalled(w, errOut io.Writer, r *pluginInstallReport) {
	verb := "installed"
	switch {
	case !r.Changed:
		verb = "is installed already, unchanged,"
	case r.Before != "":
		verb = "has replaced another"
	}
	fmt.Fprintf(w, "%s %s %s at %s\nsha256 %s\n", r.Name, r.Version, verb, r.Path, r.SHA256)
	if len(r.Samplers) > 0 {
		fmt.Fprintf(w, "try: lab next \"The weather today is\" --chain %s\n", r.Samplers[0])
	}
	if len(r.Models) > 0 {
		fmt.Fprintf(w, "try: lab generate \"The weather today is\" --model %s\n", r.Models[0])
	}
	if n := len(r.Samplers) + len(r.Models); n > 1 {
		fmt.Fprintf(w, "all %d that it offers: lab plugin info %s\n", n, r.Name)
	}
	for _, warning := range r.Warnings {
		if !slices.Contains(r.logged, warning) {
			fmt.Fprintln(errOut, "warning:", warning)
		}
	}
}
