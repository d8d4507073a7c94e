package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/script"
)

const (
	scriptExt   = ".tengo"
	notebookExt = ".ipynb"
	stdinName   = "<stdin>" // in messages
)

// sourceFiles returns the scripts and notebooks that a command line names, each
// once: files as they are, folders with the .tengo and .ipynb files in and below
// them, in the order of their names. Folders called testdata, and those whose name
// begins with a point, are left out unless they are named.
func sourceFiles(cmd *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fault.New(fault.Usage, cmd.CommandPath(), "", "it takes scripts, notebooks or folders of them, and none was given").
			Fix("for example: %s scripts notebooks", cmd.CommandPath())
	}
	var out []string
	add := func(path string) {
		if path = filepath.Clean(path); !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, missing(cmd, arg, err)
		}
		if !info.IsDir() {
			add(arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			switch name := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && path != arg && (name == "testdata" || name[0] == '.'):
				return filepath.SkipDir
			case !d.IsDir() && name[0] != '.' && (filepath.Ext(name) == scriptExt || filepath.Ext(name) == notebookExt):
				add(path)
			}
			return nil
		})
		if err != nil {
			return nil, fault.Wrap(err, fault.Usage, cmd.CommandPath(), fault.Quote(arg, 80))
		}
	}
	return out, nil
}

func missing(cmd *cobra.Command, path string, err error) error {
	if os.IsNotExist(err) {
		return fault.New(fault.Usage, cmd.CommandPath(), fault.Quote(path, 80), "it is not there").
			Fix("give the path of a .tengo or .ipynb file, or of a folder")
	}
	return fault.Wrap(err, fault.Usage, cmd.CommandPath(), fault.Quote(path, 80))
}

// readScript reads a script from a regular file: reading a pipe would hang.
func readScript(cmd *cobra.Command, path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, missing(cmd, path, err)
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.Usage, cmd.CommandPath(), fault.Quote(path, 80), "it is not a regular file")
	case info.Size() > script.MaxSource:
		return nil, fault.New(fault.Limit, cmd.CommandPath(), fault.Quote(path, 80), "%d bytes long, more than %d", info.Size(), script.MaxSource)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, missing(cmd, path, err)
	}
	return src, nil
}

// eachFile does work on every file, whatever comes of the others. It returns the
// first error at the end; those after it are printed.
func eachFile(cmd *cobra.Command, files []string, work func(path string) error) error {
	var first error
	for _, path := range files {
		err := work(path)
		switch {
		case err == nil:
		case cmd.Context().Err() != nil:
			return err
		case first == nil:
			first = err
		default:
			fmt.Fprintln(cmd.ErrOrStderr(), "lab:", script.Detail(err))
		}
	}
	return first
}

// isNotebook reports whether a file is a notebook, by its name.
func isNotebook(path string) bool { return strings.EqualFold(filepath.Ext(path), notebookExt) }
