package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/lock"
	"lab/core/plugin/project"
)

func pluginInfoCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "info NAME", Short: "Describe one plugin: version, files, digest, trust, what it offers",
		Long: `Starts a plugin and shows what it says of itself: its samplers and models with
their settings, the language it is written in, whether it can use shared memory,
the environment variables it declares to read, and whether lab.lock trusts it.`,
		Example: `  lab plugin info sharper
  lab plugin info samplers --json`,
		Args: oneArg("the name of a plugin", "lab plugin info sharper")}
	asJSON := jsonFlag(cmd)
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.with(cmd, args[:1], func(ctx context.Context, session *experiment.Session) error {
			out, err := describePlugin(ctx, session.Host(), args[0])
			if out == nil {
				return err
			}
			if s.develops(args[0]) {
				out.Trust, out.Trusted = "unpinned", ""
			}
			if *asJSON {
				if jsonErr := writeJSON(cmd.OutOrStdout(), out); err == nil {
					err = jsonErr
				}
				return err
			}
			writePluginInfo(cmd.OutOrStdout(), out)
			return err
		}, nil)
	}
	return cmd
}

// describePlugin returns what is known of a plugin, also when it cannot be
// started; nil when there is none of that name.
func describePlugin(ctx context.Context, h *host.Host, name string) (*pluginInfoReport, error) {
	p, err := h.Plugin(ctx, name)
	if p.Name == "" {
		return nil, err
	}
	out := &pluginInfoReport{Schema: "lab/plugin-info/1", Name: p.Name, Version: p.Version, Language: p.Language, Builtin: p.Builtin,
		Path: p.Path, SHA256: p.SHA256, Protocol: p.Protocol, SharedMemory: p.Plane, Environment: append([]string{}, p.Environment...),
		Samplers: []samplerJSON{}, Models: []backendJSON{}}
	out.Trust, out.Trusted = trustOf(p)
	if err != nil {
		out.Error = err.Error()
		return out, err
	}
	for _, d := range h.Samplers(ctx) {
		if d.Plugin == name {
			out.Samplers = append(out.Samplers, newSamplerJSON(d))
		}
	}
	for _, b := range h.Backends(ctx) {
		if b.Plugin == name {
			out.Models = append(out.Models, newBackendJSON(b))
		}
	}
	return out, nil
}

// trustOf says what the lock of the working folder makes of a plugin.
func trustOf(p host.PluginInfo) (word, day string) {
	if p.Builtin {
		return "built in", ""
	}
	cwd, err := os.Getwd()
	if err != nil {
		return "unknown", ""
	}
	entry, listed, err := lock.At(cwd).Find(p.Name)
	switch {
	case err != nil:
		return "unknown", ""
	case !listed:
		return "not recorded", ""
	case entry.SHA256 != p.SHA256:
		return "changed", entry.Trusted
	}
	return "trusted", entry.Trusted
}

func writePluginInfo(w io.Writer, r *pluginInfoReport) {
	orNone := func(list []string) string {
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(list, ", ")
	}
	memory := "no: rows travel as bytes"
	if r.SharedMemory {
		memory = "yes"
	}
	trust := r.Trust
	switch {
	case r.Trusted != "":
		trust += " (recorded on " + r.Trusted + ")"
	case trust == "unpinned":
		trust += " (built for this command by --plugin)"
	}
	rows := [][2]string{{"path", r.Path}, {"sha256", r.SHA256}, {"trust", trust}}
	if r.Error == "" {
		rows = append(rows, [][2]string{{"language", r.Language}, {"protocol", fmt.Sprint(r.Protocol)}, {"shared memory", memory},
			{"environment", orNone(r.Environment)}}...)
	}
	table(w, "plugin | "+strings.TrimSpace(r.Name+" "+r.Version), func(line func(...any)) {
		for _, row := range rows {
			line(row[0], row[1])
		}
	})
	if len(r.Samplers) > 0 {
		fmt.Fprintln(w)
		table(w, "sampler | kind | settings | summary", func(line func(...any)) {
			for _, d := range r.Samplers {
				line(d.Name, d.Kind, settingNames(d.Settings), d.Summary)
			}
		})
	}
	if len(r.Models) > 0 {
		fmt.Fprintln(w)
		table(w, "model | also opens | settings | summary", func(line func(...any)) {
			for _, b := range r.Models {
				line(b.Name, strings.Join(b.Patterns, ", "), settingNames(b.Settings), b.Summary)
			}
		})
	}
}

func settingNames(settings []settingJSON) string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

func pluginRemoveCommand() *cobra.Command {
	var user bool
	cmd := &cobra.Command{Use: "remove NAME", Short: "Delete an installed plugin and forget its digest",
		Long: `Deletes a plugin from .lab/plugins of the working folder or, with --user, from the
user's data folder, with all its files, and takes it out of lab.lock.`,
		Example: `  lab plugin remove sharper
  lab plugin remove other --user`,
		Args: oneArg("the name of a plugin", "lab plugin remove sharper")}
	cmd.Flags().BoolVar(&user, "user", false, "remove it from the user's data folder")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, err := removePlugin(args[0], user)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), out)
		}
		for _, path := range out.Removed {
			fmt.Fprintln(cmd.OutOrStdout(), "removed", path)
		}
		for _, warning := range out.Warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
		}
		return nil
	}
	return cmd
}

func removePlugin(name string, user bool) (*pluginRemoveReport, error) {
	if isBuiltin(name) {
		return nil, fault.New(fault.Usage, "remove plugin", name, "it is built in and cannot be removed")
	}
	place, cwd, err := placeOf(user)
	if err != nil {
		return nil, err
	}
	path, there := place.Find(name)
	if !there {
		other, flag := project.ProjectPlace(cwd), "without --user"
		if !user {
			flag = "with --user"
			if other, err = project.UserPlace(); err != nil {
				other = project.Place{}
			}
		}
		if at, elsewhere := other.Find(name); other.Dir != "" && elsewhere {
			return nil, fault.New(fault.Usage, "remove plugin", name, "it is installed at %s", at).Fix("remove it from there %s", flag)
		}
	}
	removed, err := place.Remove(name)
	if err != nil {
		return nil, err
	}
	out := &pluginRemoveReport{Schema: "lab/plugin-remove/1", Name: name, Removed: removed}
	pins := lock.At(cwd)
	entry, listed, err := pins.Find(name)
	if err == nil && listed && (entry.Path == path || !user && !installedForUser(name)) {
		if out.Forgotten, err = pins.Forget(name); err == nil {
			err = removeEmpty(pins)
		}
	}
	if err != nil {
		out.Warnings = append(out.Warnings, err.Error())
	}
	return out, nil
}

// removeEmpty deletes a lock that lists nothing any more, which means the same as
// none.
func removeEmpty(pins *lock.Lock) error {
	entries, err := pins.Entries()
	if err != nil || len(entries) > 0 {
		return err
	}
	if info, err := os.Lstat(pins.Path()); err != nil || !info.Mode().IsRegular() {
		return nil // it is gone, or a link that the user made
	}
	return os.Remove(pins.Path())
}

// installedForUser reports whether the user's data folder has a plugin, to which
// an entry in the lock may belong.
func installedForUser(name string) bool {
	place, err := project.UserPlace()
	if err != nil {
		return false
	}
	_, there := place.Find(name)
	return there
}
