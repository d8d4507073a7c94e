// Package mask holds the samplers that bias, remove, allow or force the tokens
// that a user lists, and the repair of broken rows.
//
// Every rule is the project's own superset; how other systems differ is in
// package compat. Masks that follow from the context alone (repeated n-grams,
// minimum lengths) are in package penalty, grammars in packages of their own.
// Lists are settings of type Tokens: ids, sequences and texts, of which the ones
// that a rule takes are said with it. A stage that would leave no token is a
// data error naming its setting. Start with [LogitBias]; [All] lists the family.
package mask

import (
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/mask/token"
)

// All returns the samplers of the family in the usual order of a chain.
func All() []sampler.Sampler {
	f := &token.Finder{}
	return []sampler.Sampler{
		Repair{}, LogitBias{find: f}, BadWords{find: f}, SuppressTokens{find: f}, AllowedTokens{find: f},
		BeginSuppress{find: f}, ForcedToken{find: f}, ForcedBOS{find: f}, ForcedEOS{find: f}, IgnoreEOS{find: f},
	}
}

func tokensSpec(name, meaning string, aliases ...string) param.Spec {
	return param.Spec{Name: name, Aliases: aliases, Type: param.Tokens, Default: "", Meaning: meaning}
}
