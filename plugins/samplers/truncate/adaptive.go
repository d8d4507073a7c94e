package truncate

import (
	"math"
	"strconv"
	"strings"

	"lab/core/dist"
	"lab/core/dist/vec"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// EES is a nucleus whose mass is the normalised entropy (after Cai et al. 2025).
type EES struct{}

// ConformalTopP is a nucleus whose mass was calibrated for ranges of the entropy
// (Ravfogel, Goldberg and Goldberger 2023).
type ConformalTopP struct{}

// Declare returns the declaration.
func (EES) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "ees", Aliases: []string{"entropy_equilibrium"}, Kind: sampler.Reshape,
		Summary: "Keeps the shortest list of likeliest tokens whose mass reaches the normalised entropy: nearly one token when the model is sure, nearly all when it is not; tied tokens enter in order of id.",
		Formula: "the nucleus of mass H / ln n, n tokens in the support",
		Source:  "after Cai et al. 2025, Auxiliary-hyperparameter-free sampling: entropy equilibrium for text generation (arXiv 2512.00789), whose abstract balances normalised entropy with probability mass; the paper's formula was not at hand",
		Params:  param.Specs{minKeep()},
	}
}

// Apply keeps the nucleus.
func (EES) Apply(row *sampler.Row, set param.Values) error {
	s := row.Scores
	if err := listedOnly(s, "ees"); err != nil {
		return err
	}
	n := vec.Support(s.Values)
	if n == 1 {
		return nil
	}
	return keepMass(s, min(1, max(0, shapeOf(s).entropy/math.Log(float64(n)))), set.Int("min_keep"))
}

// keepMass keeps the nucleus of a fully listed row.
func keepMass(s *dist.Scores, p float64, least int64) error {
	support := vec.Support(s.Values)
	c, _ := nucleus(s, p)
	switch {
	case int64(c.n) < least:
		cutTo(s, int(min(least, int64(support))), false)
	case c.n < support:
		s.KeepBest(c.floor, c.ties, c.n)
	}
	return nil
}

// Declare returns the declaration.
func (ConformalTopP) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "conformal_top_p", Aliases: []string{"conformal_nucleus"}, Kind: sampler.Reshape,
		Summary: "Keeps the nucleus whose mass is looked up by the entropy of the distribution, from thresholds that a calibration found; the token that crosses it stays, and tied tokens enter in order of id.",
		Formula: "top_p with p = p_b for the last bin b whose entropy is at most H",
		Source:  "Ravfogel, Goldberg, Goldberger 2023, Conformal nucleus sampling; the calibration that finds the thresholds is an experiment of its own",
		Params: param.Specs{
			{
				Name: "thresholds", Type: param.Text, Default: "0:0.95",
				Meaning: "the masses by entropy in bits, as BITS:P with blanks between, entropies rising from 0: \"0:0.6 2:0.8 5:0.95\"",
			},
			minKeep(),
		},
	}
}

// Apply keeps the nucleus of the mass that belongs to the entropy.
func (ConformalTopP) Apply(row *sampler.Row, set param.Values) error {
	s := row.Scores
	if err := listedOnly(s, "conformal_top_p"); err != nil {
		return err
	}
	p, err := massFor(set.Text("thresholds"), shapeOf(s).entropy/math.Ln2)
	if err != nil || p == 1 {
		return err
	}
	return keepMass(s, p, set.Int("min_keep"))
}

// massFor reads thresholds and returns the mass for an entropy in bits.
func massFor(text string, bits float64) (mass float64, err error) {
	last := -1.0
	for _, item := range strings.Fields(text) {
		left, right, _ := strings.Cut(item, ":")
		from, err1 := strconv.ParseFloat(left, 64)
		p, err2 := strconv.ParseFloat(right, 64)
		if err1 != nil || err2 != nil || !(from > last) || last < 0 && from != 0 || !(p >= 0 && p <= 1) {
			return 0, fault.New(fault.Usage, "conformal_top_p", "", "thresholds: %s is not BITS:P with rising entropies from 0 and P in [0, 1]", fault.Quote(item, 30)).
				Fix("for example \"0:0.6 2:0.8 5:0.95\"")
		}
		if last = from; from <= bits || from == 0 {
			mass = p
		}
	}
	if last < 0 {
		return 0, fault.New(fault.Usage, "conformal_top_p", "", "thresholds is empty").Fix("for example \"0:0.6 2:0.8 5:0.95\"")
	}
	return mass, nil
}
