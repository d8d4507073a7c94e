// Command lab-models serves the built-in model backends as a plugin of its own:
// the pattern for a backend that lives elsewhere. lab itself does not need it,
// since it serves them from its own binary.
package main

import (
	"lab/core/plugin"
	"lab/plugins/models"
)

func main() {
	plugin.Serve(plugin.Plugin{Name: "models", Version: "0.1.0", Models: models.All()})
}
