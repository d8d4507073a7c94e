// Command lab-samplers serves the samplers that ship with lab as a plugin of
// its own. The lab binary serves the same list without it; this is the program
// to copy for a plugin of yours.
package main

import (
	"lab/core/plugin"
	"lab/plugins/samplers"
)

func main() {
	plugin.Serve(plugin.Plugin{
		Name:     "samplers",
		Version:  "1.0.0",
		Samplers: samplers.All(),
	})
}
