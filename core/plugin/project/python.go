package project

import (
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
)

// Package is the folder of the Python package that every Python plugin imports.
const Package = "lab_plugin"

// environment is where a project's own virtual environment lies.
const environment = ".venv"

// checkLimit bounds the start of an interpreter that is asked what it has.
const checkLimit = 30 * time.Second

// layOut copies a Python project to target.d and writes the launcher.
func (s Source) layOut(ctx context.Context, target string, opt BuildOptions) error {
	if runtime.GOOS == "windows" {
		return s.refused("Python plugins are started by a shell script, which this system cannot execute")
	}
	python, err := s.interpreter(opt.Python)
	if err != nil {
		return err
	}
	if python, err = s.checkPython(ctx, python, opt.Python); err != nil {
		return err
	}
	files, err := pluginFiles(s.Dir, leftOut)
	if err != nil {
		return err
	}
	folder := target + folderSuffix
	if err := copyFiles(ctx, s.Dir, folder, files); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, Package, "__init__.py")); err != nil {
		if opt.Package == nil {
			return s.refused("the project has no folder %s, and none was handed over", Package)
		}
		if err := layPackage(opt.Package, folder); err != nil {
			return err
		}
	}
	text := fill(template("launcher.sh"), map[string]string{"NAME": s.Name, "PYTHON": shellQuote(python), "FILE": shellQuote(filepath.Base(s.File))})
	if err := os.WriteFile(target, []byte(text), 0o755); err != nil {
		return written(err)
	}
	return nil
}

// layPackage copies lab_plugin into a folder.
func layPackage(from fs.FS, folder string) error {
	return fs.WalkDir(from, Package, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fault.Wrap(err, fault.Internal, "plugin", Package)
		}
		target := filepath.Join(folder, filepath.FromSlash(path))
		if e.IsDir() {
			if err := os.MkdirAll(target, 0o755); err != nil {
				return written(err)
			}
			return nil
		}
		text, err := fs.ReadFile(from, path)
		if err != nil {
			return fault.Wrap(err, fault.Internal, "plugin", Package)
		}
		if err := os.WriteFile(target, text, 0o644); err != nil {
			return written(err)
		}
		return nil
	})
}

// interpreter returns the absolute path of the Python that a project runs with.
// Links stay: the Python of a virtual environment is one, and knows its packages
// by where the link lies.
func (s Source) interpreter(given string) (string, error) {
	if given == "" {
		own := filepath.Join(s.Dir, environment, "bin", "python")
		if _, err := os.Stat(own); err == nil {
			return own, nil
		}
	}
	look := given
	if look == "" {
		look = "python3"
	}
	found, err := exec.LookPath(look)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	switch {
	case err == nil:
		return found, nil
	case given != "":
		return "", fault.New(fault.Usage, "plugin", fault.Quote(s.Path, 120), "--python %s is no program", fault.Quote(given, 120))
	}
	return "", s.refused("there is no Python for it: no %s in the project, and no python3 on PATH", filepath.Join(environment, "bin", "python")).
		Fix("install Python 3.9 or newer from https://www.python.org/downloads")
}

// checkPython asks an interpreter for its version and for what lab_plugin needs,
// and returns what it is called itself: what was found may only be a script that
// chooses one by the folder it is started in. The packages are looked up without
// importing them, which is ten times quicker.
func (s Source) checkPython(ctx context.Context, python, given string) (string, error) {
	another := "make " + ShellWord(filepath.Join(s.Dir, environment)) + " with another Python"
	if given != "" {
		another = "give --python another one"
	}
	limited, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	out, err := command(limited, s.Dir, python, "-c", template("check.py")).CombinedOutput()
	said := strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		return "", cancelled(ctx, s.Path)
	case limited.Err() != nil:
		return "", s.refused("%s does not answer within %v", python, checkLimit).Fix("%s", another)
	case err != nil:
		return "", s.refused("%s cannot be run (%v): %s", python, err, fault.Quote(said, 300)).Fix("%s", another)
	}
	answer, rest, _ := strings.Cut(said, ": ")
	switch {
	case answer == "ok" && filepath.IsAbs(rest):
		return rest, nil
	case answer == "old":
		return "", s.refused("%s is Python %s, and lab_plugin needs 3.9 or newer", python, rest).Fix("%s", another)
	case answer == "missing":
		missing := strings.Fields(rest)
		return "", s.refused("%s has no %s, which lab_plugin needs", python, strings.Join(missing, " and no ")).
			Fix("%s", s.installs(python, missing))
	}
	return "", s.refused("%s does not answer like a Python: %s", python, fault.Quote(said, 300)).Fix("%s", another)
}

// installs returns the command that installs what is missing: into the project's
// virtual environment, which is made when there is none.
func (s Source) installs(python string, missing []string) string {
	packages := strings.Join(missing, " ")
	list := filepath.Join(s.Dir, "requirements.txt")
	if _, err := os.Stat(list); !errors.Is(err, fs.ErrNotExist) {
		packages = "-r " + ShellWord(list)
	}
	venv := filepath.Join(s.Dir, environment)
	own := filepath.Join(venv, "bin", "python")
	if python == own {
		return "install it with: " + ShellWord(own) + " -m pip install " + packages
	}
	return "install it with: " + ShellWord(python) + " -m venv " + ShellWord(venv) + " && " + ShellWord(own) + " -m pip install " + packages
}

// ShellWord quotes a word of a command that is shown, when a shell needs it.
func ShellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,=@%") == "" && s != "" {
		return s
	}
	return shellQuote(s)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
