// Package rescale holds the samplers that move scores and remove nothing.
//
// Truncations are in package truncate. Start with [Temperature].
package rescale

import "lab/core/plugin/sampler"

// All returns the samplers of the package, in the order in which they are
// listed.
func All() []sampler.Sampler {
	return []sampler.Sampler{Temperature{}, DynamicTemperature{}, Quadratic{}, Normalization{}}
}
