package selection

import "lab/core/plugin/sampler"

// All returns the samplers of the package, in the order in which they are
// listed.
func All() []sampler.Sampler {
	return []sampler.Sampler{Sample{}, Greedy{}, GumbelMax{}, Arithmetic{}}
}
