package golden

import (
	"fmt"
	"math"
)

// recipe is an input that is computed, by integer arithmetic so that it is the
// same everywhere.
type recipe struct {
	Kind   string      `json:"kind"`
	Seed   uint64      `json:"seed"`
	N      int         `json:"n"`
	Scale  float64     `json:"scale"`
	Offset float64     `json:"offset"`
	Mul    int         `json:"mul"`
	Add    int         `json:"add"`
	Num    float64     `json:"num"`
	Den    float64     `json:"den"`
	Value  number      `json:"value"`
	High   number      `json:"high"`
	Low    number      `json:"low"`
	HighN  int         `json:"high_n"`
	Set    [][2]number `json:"set"` // ids and values, applied last
}

// check returns what is wrong with a recipe, so that build cannot fail.
func (r *recipe) check() error {
	if r.N < 1 || r.N > mostVocab {
		return fmt.Errorf("its recipe has n = %d, outside 1 to %d", r.N, mostVocab)
	}
	switch r.Kind {
	case "ih12", "const":
	case "linear":
		if r.Den == 0 || r.Mul < 1 || r.Mul > mostVocab || r.Add < 0 || r.Add > mostVocab {
			return fmt.Errorf("its recipe has mul %d, add %d, den %v", r.Mul, r.Add, r.Den)
		}
		for a, b := r.Mul, r.N; ; a, b = b, a%b {
			if b == 0 {
				if a != 1 {
					return fmt.Errorf("its recipe's mul %d and n %d share the factor %d", r.Mul, r.N, a)
				}
				break
			}
		}
	case "two_level":
		if r.HighN < 0 || r.HighN > r.N {
			return fmt.Errorf("its recipe has high_n = %d of %d", r.HighN, r.N)
		}
	default:
		return fmt.Errorf("its recipe is of the unknown kind %.40q", r.Kind)
	}
	for _, s := range r.Set {
		if id := float64(s[0]); !(id >= 0 && id < float64(r.N)) || id != math.Trunc(id) {
			return fmt.Errorf("its recipe sets the token %v of %d", id, r.N)
		}
	}
	return nil
}

// build returns the scores that a checked recipe describes.
func (r *recipe) build() []float32 {
	out := make([]float32, r.N)
	switch r.Kind {
	case "ih12":
		r.gaussian(out)
	case "linear": // rank i goes to token (i*mul + add) mod n
		for i := range out {
			out[(int64(i)*int64(r.Mul)+int64(r.Add))%int64(r.N)] = float32(-(float64(i) * r.Num) / r.Den)
		}
	case "const":
		for i := range out {
			out[i] = float32(r.Value)
		}
	case "two_level":
		for i := range out {
			out[i] = float32(r.Low)
			if i < r.HighN {
				out[i] = float32(r.High)
			}
		}
	}
	for _, s := range r.Set {
		out[int(s[0])] = float32(s[1])
	}
	return out
}

// gaussian fills out with sums of twelve 16-bit values from splitmix64 (Steele,
// Lea, Flood 2014): nearly Gaussian, with standard deviation scale.
func (r *recipe) gaussian(out []float32) {
	state := r.Seed
	for i := range out {
		sum := 0.0
		for range 3 {
			state += 0x9E3779B97F4A7C15
			z := state
			z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
			z = (z ^ z>>27) * 0x94D049BB133111EB
			z ^= z >> 31
			for k := range 4 {
				sum += float64(z >> (16 * k) & 0xffff)
			}
		}
		out[i] = float32((sum-393210)*r.Scale/65536 + r.Offset)
	}
}
