package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/experiment"
)

func pluginCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Find, make, test and trust plugins", Args: subcommandOnly, RunE: showHelp}
	list := &cobra.Command{Use: "list", Short: "List every plugin, what it offers and where it was found", Args: cobra.NoArgs}
	asJSON := jsonFlag(list)
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.with(cmd, nil, func(ctx context.Context, session *experiment.Session) error {
			h := session.Host()
			offers := map[string][2][]string{}
			for _, d := range h.Samplers(ctx) {
				o := offers[d.Plugin]
				o[0] = append(o[0], d.Name)
				offers[d.Plugin] = o
			}
			for _, b := range h.Backends(ctx) {
				o := offers[b.Plugin]
				o[1] = append(o[1], b.Name)
				offers[b.Plugin] = o
			}
			out := struct {
				Schema   string       `json:"schema"`
				Plugins  []pluginJSON `json:"plugins"`
				Warnings []string     `json:"warnings,omitempty"`
			}{"lab/plugin-list/1", []pluginJSON{}, nil}
			for _, p := range h.Plugins(ctx) {
				j := pluginJSON{Name: p.Name, Version: p.Version, Builtin: p.Builtin, Path: p.Path, SHA256: p.SHA256,
					Protocol: p.Protocol, Samplers: offers[p.Name][0], Models: offers[p.Name][1]}
				if p.Err != nil {
					j.Error = p.Err.Error()
				}
				out.Plugins = append(out.Plugins, j)
			}
			out.Warnings = h.Warnings()
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), out)
			}
			writePlugins(cmd.OutOrStdout(), out.Plugins)
			for _, w := range out.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
			}
			return nil
		}, nil)
	}
	cmd.AddCommand(list)
	cmd.AddCommand(pluginTrustCommand(s))
	cmd.AddCommand(projectCommands(s)...)
	cmd.AddCommand(pluginTestCommand(s))
	cmd.AddCommand(pluginBenchCommand(s))
	return cmd
}

func writePlugins(w io.Writer, plugins []pluginJSON) {
	table(w, "name | version | where | offers", func(line func(...any)) {
		for _, p := range plugins {
			where := p.Path
			if p.Builtin {
				where = "built in"
			}
			offers := strings.Join(append(append([]string(nil), p.Samplers...), p.Models...), ", ")
			if p.Error != "" {
				offers = "broken: " + p.Error
			}
			line(p.Name, p.Version, where, offers)
		}
	})
}
