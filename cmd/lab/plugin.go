package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
)

func pluginCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Find, make, test and trust plugins", Args: subcommandOnly, RunE: showHelp}
	list := &cobra.Command{Use: "list", Short: "List every plugin, what it offers and where it was found", Args: noArgs}
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
			writePlugins(cmd.OutOrStdout(), out.Plugins) // the warnings are log lines already
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

// noArgs is cobra's NoArgs with our kind of error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes no arguments, and %s was given", fault.Quote(args[0], 40))
}

// mostOffers is how many samplers and models a line of the list names.
const mostOffers = 8

func writePlugins(w io.Writer, plugins []pluginJSON) {
	table(w, "name | version | where | offers", func(line func(...any)) {
		for _, p := range plugins {
			where := p.Path
			if p.Builtin {
				where = "built in"
			}
			names := slices.Concat(p.Samplers, p.Models)
			offers := strings.Join(names[:min(len(names), mostOffers)], ", ")
			if more := len(names) - mostOffers; more > 0 {
				offers += fmt.Sprintf(" and %d more", more)
			}
			if p.Error != "" {
				offers = "broken: " + p.Error
			}
			line(p.Name, p.Version, where, offers)
		}
	})
}
