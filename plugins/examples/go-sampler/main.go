// Command lab-plugin-entmax is a plugin of lab outside lab's own module: one
// sampler, entmax, which the built-in plugins do not have.
//
// entmax.go is the sampler. All that a plugin adds to it is the call of Serve.
package main

import (
	"lab/core/plugin"
	"lab/core/plugin/sampler"
)

func main() {
	plugin.Serve(plugin.Plugin{Name: "entmax", Version: "1.0.0", Samplers: []sampler.Sampler{entmax{}}})
}
