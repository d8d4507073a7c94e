package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"lab/core/fault"
	"lab/core/plugin/lock"
)

const folderSuffix = lock.FolderSuffix

// BuildOptions say with what a plugin is built. The zero value does for Go and
// for programs.
type BuildOptions struct {
	Python  string // interpreter; empty: the project's .venv, or else python3 on PATH
	Package fs.FS  // holds the folder lab_plugin, for a Python project without its own
}

// Build makes a plugin from its source in a folder, which must exist and not
// hold that plugin yet, and returns the path of the executable. When it fails the
// folder may hold parts of it. Errors: plugin for what a compiler refuses, with
// its lines, or a missing tool or Python package, with what installs it; usage
// for files that cannot be part of a plugin; interrupted when ctx ends.
func Build(ctx context.Context, src Source, folder string, opt BuildOptions) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", fault.Wrap(err, fault.Usage, "plugin", "folder")
	}
	target := filepath.Join(folder, Executable(src.Name))
	switch src.Form {
	case GoPackage:
		err = src.compile(ctx, target)
	case PythonProject:
		err = src.layOut(ctx, target, opt)
	case Program:
		err = src.copyProgram(ctx, target)
	default:
		err = fault.New(fault.Internal, "plugin", "", "a source of form %d", src.Form)
	}
	if err != nil {
		return "", err
	}
	return target, nil
}

// Executable returns the file name of a plugin's executable.
func Executable(name string) string {
	if runtime.GOOS == "windows" {
		return prefix + name + ".exe"
	}
	return prefix + name
}

// endGrace is how long a tool may take to end after an interrupt.
const endGrace = 3 * time.Second

// command prepares a tool that is interrupted, and then killed, when ctx ends.
func command(ctx context.Context, dir, tool string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endGrace
	return cmd
}

// compile runs go build. The state of version control stays out of the binary, so
// that equal sources give equal digests. Paths stay in: without them nothing
// that was compiled for lab itself could be used again, and a first build would
// take a minute instead of seconds.
func (s Source) compile(ctx context.Context, target string) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return s.refused("there is no go command on PATH to build this Go package with").
			Fix("install Go from https://go.dev/dl, or build elsewhere and give the executable")
	}
	cmd := command(ctx, s.Dir, tool, "build", "-buildvcs=false", "-o", target, ".")
	if os.Getenv("GOTMPDIR") == "" { // an interrupted go build leaves its scratch folder behind
		scratch, err := os.MkdirTemp(filepath.Dir(target), "go-")
		if err != nil {
			return written(err)
		}
		defer os.RemoveAll(scratch)
		cmd.Env = append(cmd.Environ(), "GOTMPDIR="+scratch)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return cancelled(ctx, s.Path)
	}
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return s.refused("go build cannot be run: %v", err)
	}
	failed := s.refused("go build failed (%v):\n%s", err, s.located(said.String()))
	if strings.Contains(said.String(), ": lab@v0.0.0: replacement directory ") {
		failed = failed.Fix("lab has moved: go mod edit -replace lab=FOLDER in %s, with the folder of its source", fault.Quote(s.Path, 120))
	}
	return failed
}

func (s Source) refused(problem string, args ...any) *fault.Error {
	return fault.New(fault.Plugin, "build plugin", fault.Quote(s.Path, 120), problem, args...)
}

func cancelled(ctx context.Context, path string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.Limit, "build plugin", fault.Quote(path, 120), "the deadline passed")
	}
	return fault.New(fault.Interrupted, "build plugin", fault.Quote(path, 120), "it was cancelled")
}

// mostLines is how many lines of a compiler are shown; it stops by itself after
// ten errors, but each may take several.
const mostLines = 40

// located returns what a compiler said, with paths that hold from where the user
// stands, at most mostLines of it.
func (s Source) located(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	var out []string
	for _, l := range lines {
		if strings.HasPrefix(l, "# ") {
			continue // the name of the package
		}
		if rest, ok := strings.CutPrefix(l, "./"); ok {
			l = filepath.Join(s.Path, rest)
		}
		if len(l) > 400 {
			l = strings.ToValidUTF8(l[:400], "") + " …"
		}
		if len(out) == mostLines {
			return strings.Join(append(out, "  …"), "\n")
		}
		out = append(out, "  "+l)
	}
	if len(out) == 0 {
		return "  it said nothing"
	}
	return strings.Join(out, "\n")
}

// copyProgram copies an executable and its folder.
func (s Source) copyProgram(ctx context.Context, target string) error {
	if _, err := copyFile(s.File, target, mostBytes); err != nil {
		return err
	}
	folder := s.File + folderSuffix
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil // it needs nothing more
	}
	files, err := pluginFiles(folder, cached)
	if err != nil {
		return err
	}
	return copyFiles(ctx, folder, target+folderSuffix, files)
}
