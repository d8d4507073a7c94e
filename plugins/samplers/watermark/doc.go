// Package watermark holds the samplers that leave a mark in a text. What the mark
// is made of, and how to find it, is in core/watermark; the settings of both come
// from one list there.
//
// Two of them reshape: [GreenList] and [SynthID] change the distribution for the
// selector that follows. Two select: [Gumbel] and [Keyed] draw with pseudo-random
// numbers instead of the host's, and leave the distribution as it is. Contexts
// are taken from the row's history; what a stage remembers is in its state. The
// samplers keep tables between calls, which are pure functions of the settings.
//
// Put truncations before a mark: a mark does not bring back what was removed, and
// a mark that is laid on tokens that are cut later is lost. Start with
// [NewGreenList].
package watermark

import (
	"math"
	"sync"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/watermark"
)

// declare returns the declaration of a method of core/watermark.
func declare(name string, kind sampler.Kind, needs sampler.Needs) sampler.Declaration {
	m, err := watermark.Find(name)
	if err != nil {
		return sampler.Declaration{Name: name} // which its host refuses; a test shows that it does not happen
	}
	d := sampler.Declaration{Name: m.Name, Aliases: m.Aliases, Kind: kind, Summary: m.Summary, Formula: m.Formula, Source: m.Source, Needs: needs}
	for _, s := range m.Settings {
		if s.Detector {
			continue
		}
		p := param.Spec{Name: s.Name, Aliases: s.Aliases, Type: param.Text, Default: s.Default, Min: s.Min, Max: s.Max,
			MinOpen: s.MinOpen, MaxOpen: s.MaxOpen, Choices: s.Choices, Unit: s.Unit, Meaning: s.Meaning}
		switch s.Default.(type) {
		case float64:
			p.Type = param.Float
		case int64:
			p.Type = param.Int
		}
		d.Params = append(d.Params, p)
	}
	return d
}

// listed returns a data error when a row has an unlisted tail.
func listed(op string, s *dist.Scores) error {
	if s.Unlisted == 0 {
		return nil
	}
	return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, and cannot be marked", s.Unlisted).
		Fix("truncate to listed tokens first, with top_k or top_p")
}

// raise adds a bias to the score at a place, if that token is in the support.
func raise(op string, s *dist.Scores, place int, bias float64) error {
	v := s.Values[place]
	if !dist.Finite(v) {
		return nil
	}
	x := float32(float64(v) + bias)
	if !(x <= math.MaxFloat32) {
		return fault.New(fault.Data, op, "", "token %d has score %v, to which %v cannot be added", s.ID(place), v, bias)
	}
	s.Values[place] = x
	return nil
}

// kept is how many values a cache holds.
const kept = 4

// cache holds the last few values of a pure function. Its zero value is ready,
// and it is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu   sync.Mutex
	keys []K // the latest used last
	vals []V
}

// get returns the value of a key, which it makes when it is not held. Making one
// keeps other calls waiting, so that it is made once.
func (c *cache[K, V]) get(key K, make func() (V, error)) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range c.keys {
		if k == key {
			v := c.vals[i]
			c.keys = append(append(c.keys[:i], c.keys[i+1:]...), k)
			c.vals = append(append(c.vals[:i], c.vals[i+1:]...), v)
			return v, nil
		}
	}
	v, err := make()
	if err != nil {
		return v, err
	}
	if len(c.keys) == kept {
		c.keys, c.vals = append(c.keys[:0], c.keys[1:]...), append(c.vals[:0], c.vals[1:]...)
	}
	c.keys, c.vals = append(c.keys, key), append(c.vals, v)
	return v, nil
}
