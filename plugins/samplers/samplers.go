// Package samplers is the list of samplers that ship with lab. Each family has
// a folder of its own: rescale moves scores, truncate removes tokens, selection
// chooses one.
//
// What every sampler does is in its declaration; the rules are those of the
// project's sampler catalogue, and testdata/golden holds what other systems
// answer. Start with [All]; the smallest plugin around it is lab-samplers.
package samplers

import (
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/rescale"
	"lab/plugins/samplers/selection"
	"lab/plugins/samplers/truncate"
)

// All returns every sampler, in the order in which they are listed to a reader:
// by family, in the usual order of a chain.
func All() []sampler.Sampler {
	return []sampler.Sampler{
		rescale.Temperature{},
		truncate.TopK{},
		truncate.TopP{},
		selection.Sample{},
		selection.Greedy{},
	}
}
