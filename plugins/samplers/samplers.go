// Package samplers is the list of samplers that ship with lab. Each family has
// a folder of its own: mask removes tokens for reasons outside the distribution,
// constrain keeps the text inside a language,
// penalty looks at the history, rescale moves scores, truncate removes the
// unlikely, guide compares with another model pass, watermark leaves a mark,
// selection chooses a token, feedback chooses one and steers by it.
//
// What every sampler does is in its declaration; the rules are those of the
// project's sampler catalogue, and testdata/golden holds what other systems
// answer. Start with [All]; the smallest plugin around it is lab-samplers.
package samplers

import (
	"slices"

	"lab/core/plugin/sampler"
	"lab/plugins/samplers/compat"
	"lab/plugins/samplers/constrain"
	"lab/plugins/samplers/feedback"
	"lab/plugins/samplers/guide"
	"lab/plugins/samplers/mask"
	"lab/plugins/samplers/penalty"
	"lab/plugins/samplers/rescale"
	"lab/plugins/samplers/selection"
	"lab/plugins/samplers/truncate"
	"lab/plugins/samplers/watermark"
)

// All returns every sampler, in the order in which they are listed to a reader:
// by family, in the usual order of a chain.
func All() []sampler.Sampler {
	return compat.Follow(slices.Concat(
		mask.All(),
		constrain.All(),
		penalty.All(),
		rescale.All(),
		truncate.All(),
		guide.All(),
		watermark.All(),
		selection.All(),
		feedback.All(),
	))
}
