package main

import (
	"io"
	"path/filepath"

	"lab/core/cost/costmod"
	"lab/core/experiment"
	"lab/core/measure/statsmod"
	"lab/core/script"
	"lab/core/script/cells"
	"lab/core/script/std"
	"lab/core/table/tablemod"
	"lab/plots/plotmod"
)

// scriptModules are the modules that scripts and cells of notebooks can import.
// Progress of measurements goes to errOut.
func scriptModules(env *std.Env, figures *plotmod.Env, tables *tablemod.Env, errOut io.Writer) []script.Module {
	env.Table = tables.Object
	return []script.Module{std.Module(env), plotmod.Module(figures), tablemod.Module(tables), statsmod.Module(), costmod.Module(costEnv(tables.Object, errOut))}
}

// cellPlace is where the cells of one notebook, kernel or prompt work.
type cellPlace struct {
	name   string // of the sweeps they make
	folder string // of the notebook: imports and tables are read there
	out    string // where figures, tables and sweeps are saved
	seed   uint64
	track  func(label string, total int) (func(finished, tokens int), func())
	errOut io.Writer
	stop   func() // says that a sweep finishes the samples under way
}

// newCells returns a session of cells over an open session of experiments.
func newCells(session *experiment.Session, at cellPlace) (*cells.Session, error) {
	env := &std.Env{Session: session, Seed: at.seed, Track: at.track,
		Sweeps: &std.Sweeps{Folder: filepath.Join(at.out, runsFolder), Script: at.name, Lab: version, Stopping: at.stop}}
	modules := scriptModules(env, &plotmod.Env{Folder: at.out, Version: version}, &tablemod.Env{Script: at.folder, Folder: at.out}, at.errOut)
	return cells.New(cells.Config{Modules: modules, Folder: at.folder})
}
