package plots

import "math"

// The examples of the figures over many texts, from closed formulas.

// exampleEntropy is entropy and divergence of the weather distribution for
// prompts that sharpen and flatten it, at the given temperatures.
func exampleEntropy(prompts int, temperatures ...float64) EntropyData {
	w := newWeather(512)
	var d EntropyData
	for _, t := range temperatures {
		r := EntropyRow{Temperature: t}
		for i := range prompts {
			own := 0.6 + 0.1*float64(i)
			model, q := w.at(own), w.at(own*t)
			entropy, kl := 0.0, 0.0
			for k := range q {
				if q[k] > 0 {
					entropy -= q[k] * math.Log2(q[k])
					kl += q[k] * math.Log2(q[k]/model[k])
				}
			}
			r.EntropyBits = append(r.EntropyBits, max(entropy, 0))
			r.KLBits = append(r.KLBits, max(kl, 0))
		}
		d.Rows = append(d.Rows, r)
	}
	return d
}

// zipfCounts is counts of types that fall as rank^-s from a first count.
func zipfCounts(first, s float64, types int) []int {
	var out []int
	for r := range types {
		out = append(out, max(1, int(first*math.Pow(float64(r+1), -s))))
	}
	return out
}

func exampleZipf() ZipfData {
	return ZipfData{Unit: "word", Texts: []ZipfText{
		{Name: "temperature 0.7", Counts: zipfCounts(9000, 1.25, 4000)},
		{Name: "temperature 1.2", Counts: zipfCounts(4200, 0.86, 9000)},
		{Name: "people", Counts: zipfCounts(6000, 1.02, 7000), Reference: true},
	}}
}

// loopingText is n tokens that run into a loop of the given period after the
// given length; 0 never loops. The ids come from a fixed recurrence.
func loopingText(n, after, period, salt int) []int32 {
	out := make([]int32, n)
	state := uint32(salt)*2654435761 + 12345
	for i := range out {
		state = state*1664525 + 1013904223
		out[i] = int32(state >> 27) // 32 different tokens
		if after > 0 && i >= after+period {
			out[i] = out[i-period]
		}
	}
	return out
}

func exampleRepetition() RepetitionData {
	d := RepetitionData{N: 3}
	for i, name := range []string{"greedy", "top_p 0.9", "temperature 1"} {
		s := RepetitionStrategy{Name: name}
		for k := range 24 {
			after := 0
			if i == 0 {
				after = 30 + 3*k
			} else if i == 1 && k%3 == 0 {
				after = 90 + 4*k
			}
			s.Samples = append(s.Samples, loopingText(256, after, 7+k%5, 100*i+k))
		}
		d.Strategies = append(d.Strategies, s)
	}
	return d
}

func examplePairs(n int) PairsData {
	d := PairsData{A: "before", B: "after"}
	for i := range n {
		p := Pair{A: loopingText(64, 0, 1, i), B: loopingText(64, 0, 1, i), AtA: " cold", AtB: " warm"}
		from := 3 + 5*i%61
		for k := range p.B {
			if k >= from && k%3 != 1 {
				p.B[k] = 100 + int32(k)
			}
			p.TV = append(p.TV, math.Min(1, 0.02+0.8*math.Max(0, float64(k-from))/float64(64)))
		}
		d.Pairs = append(d.Pairs, p)
	}
	return d
}
