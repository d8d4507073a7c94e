package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/store"
	"lab/core/sweep"
)

// rerunReport is the answer of lab rerun.
type rerunReport struct {
	Schema  string             `json:"schema"`
	Run     string             `json:"run"`
	Again   string             `json:"again,omitempty"` // folder of the new run; none with --verify
	Equal   bool               `json:"equal"`
	Changed []store.Difference `json:"changed"`
	Samples store.Comparison   `json:"samples"`
}

func rerunCommand(s *settings) *cobra.Command {
	var out string
	var verify bool
	var batch int
	cmd := &cobra.Command{
		Use:   "rerun RUN",
		Short: "Repeat a stored run from its folder alone, and compare",
		Long: `Runs a stored sweep again, from what its folder says, into a new folder beside it,
and compares the samples bit by bit. With --verify the new run is removed again. When
they differ, the first sample and step that do are named, and what has changed since:
lab, a plugin, a model. The exit code is then 6.`,
		Example: `  lab rerun temperatures --verify`,
		Args:    oneArg("one run", "lab rerun temperatures --verify"),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder of the new run (default RUN-2, or the next that is free)")
	cmd.Flags().BoolVar(&verify, "verify", false, "only compare: keep no new run")
	cmd.Flags().IntVar(&batch, "batch", 0, "most samples in one model call; changes nothing but speed")
	s.pluginFlag(cmd)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		old, err := openRun(args[0])
		if err != nil {
			return err
		}
		if verify && out != "" {
			return fault.New(fault.Usage, "lab rerun", "", "--verify keeps no run, and --out names one").Fix("give one of the two")
		}
		var spec sweep.Spec
		if err := json.Unmarshal(old.Manifest.Spec, &spec); err != nil {
			return fault.New(fault.Data, "lab rerun", old.Dir, "its specification is damaged: %v", err)
		}
		spec = spec.Plain()
		at := sweep.Folder{Dir: old.Dir, Name: old.Manifest.Name, Part: old.Manifest.Part, Source: old.Manifest.Source, Lab: version, ForceNew: true}
		if out != "" {
			at.Dir, at.ForceNew = out, false
		}
		if verify {
			temporary, err := os.MkdirTemp("", "lab-rerun-*")
			if err != nil {
				return fault.Wrap(err, fault.Data, "lab rerun", "temporary folder")
			}
			defer os.RemoveAll(temporary)
			at.Dir, at.ForceNew = filepath.Join(temporary, "run"), false
		}
		done, err := sweepInto(s, cmd, spec, at, sweep.Options{Batch: batch})
		if err != nil {
			return err
		}
		again, err := store.Open(done.Run)
		if err != nil {
			return err
		}
		r := &rerunReport{Schema: "lab/rerun/1", Run: old.Dir, Again: done.Run}
		if verify {
			r.Again = ""
		}
		if r.Changed, err = store.Differences(old.Manifest, again.Manifest); err != nil {
			return err
		}
		if r.Samples, err = store.Compare(old, again); err != nil {
			return err
		}
		r.Equal = r.Samples.Differ+r.Samples.OnlyA+r.Samples.OnlyB == 0
		if *asJSON {
			err = writeJSON(cmd.OutOrStdout(), r)
		} else {
			r.write(cmd.OutOrStdout())
		}
		if err == nil && !r.Equal {
			err = fault.New(fault.Data, "lab rerun", old.Dir, "its repetition is not the same")
		}
		return err
	}
	return cmd
}

func (r *rerunReport) write(w io.Writer) {
	if r.Again != "" {
		fmt.Fprintf(w, "%s: the new run\n", r.Again)
	}
	if r.Equal {
		fmt.Fprintf(w, "equal: %s\n", r.Samples)
	} else {
		fmt.Fprintf(w, "not equal (a is the stored run, b its repetition): %s\n", r.Samples)
	}
	const most = 20
	for _, d := range r.Changed[:min(most, len(r.Changed))] {
		fmt.Fprintf(w, "changed since: %s\n", d)
	}
	if len(r.Changed) == 0 {
		fmt.Fprintln(w, "lab, models and plugins are the same")
	}
}
