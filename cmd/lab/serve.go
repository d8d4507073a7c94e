package main

import (
	"github.com/spf13/cobra"

	"lab/core/fault"
	"lab/core/plugin"
	"lab/core/plugin/host"
	"lab/plugins/models"
	"lab/plugins/samplers"
)

// serveWord is the hidden subcommand that makes this binary a plugin of itself:
// what ships with lab runs out of process, but needs no second build.
const serveWord = "plugin-serve"

// builtins are the plugins compiled into this binary, by name.
func builtins() []host.Command {
	return []host.Command{
		{Name: "samplers", Argv: host.Self(serveWord, "samplers")},
		{Name: "models", Argv: host.Self(serveWord, "models")},
	}
}

// serveBuiltin serves a built-in plugin and does not return, when args ask for
// one; main calls it before anything else, so that nothing is printed first.
func serveBuiltin(args []string) {
	if len(args) != 3 || args[1] != serveWord {
		return
	}
	switch args[2] {
	case "samplers":
		plugin.Serve(plugin.Plugin{Name: "samplers", Version: version, Samplers: samplers.All()})
	case "models":
		plugin.Serve(plugin.Plugin{Name: "models", Version: version, Models: models.All()})
	}
}

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    serveWord + " samplers|models",
		Short:  "Serve a built-in plugin; lab starts this itself",
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return fault.New(fault.Usage, serveWord, "", "it takes the name of a built-in plugin: samplers or models").
				Fix("there is no need to call it: lab starts its plugins itself")
		},
	}
}
