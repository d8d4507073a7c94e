package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/project"
	"lab/core/script"
	"lab/plots/report"
	labpython "lab/plugins/python"
)

// pluginFlag adds --plugin to a command.
func (s *settings) pluginFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.plugins, "plugin", nil,
		"build and use the plugin at this path: a Go package, a Python project or an executable; may be repeated")
}

// developed are the plugins of --plugin, ready to be found.
type developed struct{ names, folders []string }

// develop builds the plugins of --plugin. tidy removes what this call began; a
// workbench that was there before stays, and what has not changed is not built
// again.
func (s *settings) develop(ctx context.Context, errOut io.Writer) (built developed, tidy func(), err error) {
	tidy = func() {}
	if len(s.plugins) == 0 {
		return built, tidy, nil
	}
	if s.bench == nil {
		if tidy, err = s.openBench(); err != nil {
			return built, func() {}, err
		}
	}
	for _, path := range s.plugins {
		late := time.AfterFunc(quietFor, func() { fmt.Fprintf(errOut, "building %s …\n", path) })
		src, folder, err := s.bench.Plugin(ctx, path, buildOptions(""))
		late.Stop()
		if err != nil {
			return developed{}, tidy, err
		}
		if isBuiltin(src.Name) {
			return developed{}, tidy, builtinName(src.Name)
		}
		if slices.Contains(built.names, src.Name) {
			return developed{}, tidy, fault.New(fault.Usage, "lab", "", "--plugin is given two plugins called %q", src.Name)
		}
		built.names, built.folders = append(built.names, src.Name), append(built.folders, folder)
	}
	return built, tidy, nil
}

// openBench makes the workbench on which plugins are built until close is called.
func (s *settings) openBench() (tidy func(), err error) {
	if s.bench, err = project.NewWorkbench(); err != nil {
		return nil, err
	}
	return func() {
		_ = s.bench.Close() // what is left is swept at another start
		s.bench = nil
	}, nil
}

func buildOptions(python string) project.BuildOptions {
	return project.BuildOptions{Python: python, Package: labpython.Files()}
}

func isBuiltin(name string) bool {
	return slices.ContainsFunc(builtins(), func(c host.Command) bool { return c.Name == name })
}

func builtinName(name string) error {
	return fault.New(fault.Usage, "plugin", name, "that is the name of a built-in plugin, which would always come first").
		Fix("give it another")
}

// pluginAt makes the plugin at a path the one to be used by this command, as
// --plugin does, and returns its name.
func (s *settings) pluginAt(path string) (name string, err error) {
	src, err := project.Detect(path, "")
	if err != nil {
		return "", err
	}
	s.plugins = append(s.plugins, path)
	return src.Name, nil
}

// develops reports whether a plugin is one of --plugin.
func (s *settings) develops(name string) bool {
	return slices.ContainsFunc(s.plugins, func(path string) bool {
		src, err := project.Detect(path, "")
		return err == nil && src.Name == name
	})
}

// watchEvery is how often files are looked at.
const watchEvery = 300 * time.Millisecond

// watcher runs a script again and again.
type watcher struct {
	s       *settings
	out     io.Writer // standard error
	path    string
	folder  string   // of the results, as realPath names it; changes in it are the run's own
	sources []string // files that a run has read
}

// watchScript runs a script, and again whenever what it is made of changes, until
// the command is interrupted.
func watchScript(s *settings, cmd *cobra.Command, r *runFlags, args map[string]string, path string) error {
	if r.out == "" {
		r.out = filepath.Join("runs", strings.TrimSuffix(filepath.Base(path), ".tengo")+"-watch")
	}
	folder := realPath(r.out)
	for _, p := range s.plugins {
		if _, err := os.Stat(p); err != nil {
			_, err := project.Detect(p, "")
			return err
		}
		if realPath(p) == folder {
			return fault.New(fault.Usage, "lab run", "", "--out is the folder of the plugin %s, in which every result would be a change", fault.Quote(p, 80)).
				Fix("choose a folder within it, or another")
		}
	}
	tidy, err := s.openBench()
	if err != nil {
		return err
	}
	defer tidy()
	w := &watcher{s: s, out: cmd.ErrOrStderr(), path: path, folder: folder}
	ctx := cmd.Context()
	for ctx.Err() == nil {
		seen := w.snapshot()
		run, giveUp := context.WithCancel(ctx)
		cmd.SetContext(run)
		finished := make(chan []report.Source, 1)
		go func() {
			record, err := runScript(s, cmd, r, args, path)
			if err != nil && run.Err() == nil {
				fmt.Fprintln(w.out, "lab:", script.Detail(err))
			}
			finished <- record.Sources
		}()
		changed := w.wait(ctx, seen, giveUp, finished)
		giveUp()
		if changed != "" {
			fmt.Fprintf(w.out, "── %s changed, running again\n", changed)
		}
	}
	fmt.Fprintln(w.out, "the watch has ended")
	return nil
}

// wait returns when a file differs from what was seen and no run is under way any
// more, with the name of one of them; "" when ctx has ended. A run that a change
// has overtaken is given up.
func (w *watcher) wait(ctx context.Context, seen project.Snapshot, giveUp func(), finished <-chan []report.Source) (changed string) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	running, pending := true, seen
	for {
		select {
		case <-ctx.Done():
			if running {
				<-finished
			}
			return ""
		case read := <-finished:
			running, finished = false, nil
			w.learn(read, seen)
			if changed == "" {
				fmt.Fprintf(w.out, "watching %d files; Ctrl-C ends\n", len(seen))
				pending = seen
			}
		case <-tick.C:
			now := w.snapshot()
			switch {
			case changed == "" && now.Equal(seen):
			case changed == "" || !now.Equal(pending):
				if changed = difference(seen, now); changed == "" {
					changed = w.path // it changed and is as before
				}
				giveUp()
			case !running:
				return changed // and has been quiet since the look before
			}
			pending = now
		}
	}
}

// learn notes the files that a run has read, also in what was seen before it, so
// that knowing them is no change.
func (w *watcher) learn(read []report.Source, seen project.Snapshot) {
	for _, source := range read {
		file := filepath.Join(filepath.Dir(w.path), filepath.FromSlash(source.Path))
		if !slices.Contains(w.sources, file) {
			w.sources = append(w.sources, file)
		}
	}
	for file, state := range w.snapshot() {
		if _, known := seen[file]; !known {
			seen[file] = state
		}
	}
}

// snapshot looks at the script, the scripts beside it and beside what it has
// read, since a file may be missing until it is written, and at the plugins.
func (w *watcher) snapshot() project.Snapshot {
	seen := project.Snapshot{}
	folders := map[string]bool{}
	for _, file := range append([]string{w.path}, w.sources...) {
		seen.Add(file)
		folders[filepath.Dir(file)] = true
	}
	for folder := range folders {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".tengo" {
				seen.Add(filepath.Join(folder, e.Name()))
			}
		}
	}
	for _, path := range w.s.plugins {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			seen.Add(path)
		}
		src, err := project.Detect(path, "")
		if err != nil {
			src = project.Source{Form: project.PythonProject, Dir: realPath(path)} // any file may cure it
		}
		for file, state := range src.Watched() {
			if !within(src.Dir, w.folder) || !within(w.folder, file) {
				seen[file] = state
			}
		}
	}
	return seen
}

// realPath returns an absolute path without links, as the sources of a plugin are
// named. What lies there may not exist yet.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	at, rest := abs, ""
	for {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest)
	}
}

// within reports whether a path is a folder or lies below it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// difference returns the name of a file that differs, the first by name.
func difference(a, b project.Snapshot) string {
	first := ""
	note := func(file string) {
		if first == "" || file < first {
			first = file
		}
	}
	for file, state := range b {
		if a[file] != state {
			note(file)
		}
	}
	for file := range a {
		if _, there := b[file]; !there {
			note(file)
		}
	}
	if rel, err := filepath.Rel(realPath("."), first); err == nil && first != "" && filepath.IsLocal(rel) {
		return rel
	}
	return first
}
