package cost

import "math"

// MaxContext returns the context, in tokens, that fits where distinct chips hold
// different parts of the cache, each giving it the share of its memory (F13): distinct ×
// memory × share / (B × bytes per token). Not rounded. Windows are not counted.
// Source: Pope et al. 2022, table 1.
func MaxContext(distinct, memoryPerChip, share, batch, cachePerToken float64) (float64, error) {
	g := guarded("longest context")
	g.positive("chips that hold different parts of the cache", distinct)
	g.positive("memory of a chip", memoryPerChip)
	g.share("share of memory", share)
	g.positive("batch", batch)
	g.positive("cache bytes per token", cachePerToken)
	return g.of(distinct * memoryPerChip * share / (batch * cachePerToken))
}

// Fit is how a model and its cache lie in memory, in bytes.
type Fit struct {
	Usable   float64 // memory × usable share × chips
	Weights  float64 // w × all parameters, experts included
	PerSeq   float64 // cache of one sequence at the context
	MaxBatch int64   // sequences that fit; 0 when not even one does
	// Missing is how many bytes more one sequence would need; 0 when it fits.
	Missing float64
}

// MaxBatch returns what fits (F13): B = ⌊(usable − w N)/(cache of one sequence)⌋
// with N all parameters. memory is of all chips together.
func (a *Arch) MaxBatch(context int64, memory, usable float64, f Format) (Fit, error) {
	g := guarded("memory")
	a.attended(g, context)
	g.positive("memory", memory)
	g.share("usable share", usable)
	f.check(g)
	if err := a.usable(g); err != nil {
		return Fit{}, err
	}
	x := Fit{Usable: memory * usable, Weights: f.Weight * a.total(), PerSeq: a.cached(float64(context)) * f.Cache}
	left := x.Usable - x.Weights
	if left < x.PerSeq {
		x.Missing = x.PerSeq - left
		return x, nil
	}
	x.MaxBatch = int64(min(math.Floor(left/x.PerSeq), largest))
	return x, nil
}

// BeamCache is the bytes of the cache under beam search (F22).
type BeamCache struct {
	Unshared float64 // every beam holds the prompt
	Shared   float64 // the prompt once, beams that part at the first token: the worst case of a paged cache
}

// BeamCacheBytes returns the cache of b beams (F22): b (prompt + T) and prompt + b T tokens.
// The best case, beams that never part, is prompt + T.
func BeamCacheBytes(cachePerToken float64, prompt, output, beams int64) (BeamCache, error) {
	g := guarded("beam cache")
	g.positive("cache bytes per token", cachePerToken)
	g.atLeast("prompt", prompt, 0)
	g.atLeast("output", output, 1)
	g.atLeast("beams", beams, 1)
	p, t, b := float64(prompt), float64(output), float64(beams)
	return BeamCache{Unshared: cachePerToken * b * (p + t), Shared: cachePerToken * (p + b*t)}, g.result()
}
