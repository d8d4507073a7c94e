package samplers

import "testing"

// recipe describes a large input in integer arithmetic, so that it rebuilds
// exactly anywhere.
type recipe struct {
	Kind          string
	Seed          uint64
	N             int
	Scale, Offset float64
	Mul, Add      int
	Num, Den      float64
	Value         float64
	HighN         int `json:"high_n"`
	High, Low     float64
	Set           [][2]float64
}

// splitmix is the generator of Steele, Lea and Flood 2014, Fast splittable
// pseudorandom number generators.
type splitmix uint64

func (s *splitmix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (r *recipe) build() []float32 {
	v := make([]float32, r.N)
	switch r.Kind {
	case "ih12": // twelve 16-bit uniforms: nearly Gaussian
		g := splitmix(r.Seed)
		for i := range v {
			sum := int64(0)
			for range 3 {
				for x, k := g.next(), 0; k < 4; k++ {
					sum += int64(x & 0xFFFF)
					x >>= 16
				}
			}
			v[i] = float32(float64(sum-393210)*r.Scale/65536 + r.Offset)
		}
	case "linear":
		for rank := range v {
			v[(rank*r.Mul+r.Add)%r.N] = float32(-(float64(rank) * r.Num) / r.Den)
		}
	case "const":
		for i := range v {
			v[i] = float32(r.Value)
		}
	case "two_level":
		for i := range v {
			v[i] = float32(r.Low)
			if i < r.HighN {
				v[i] = float32(r.High)
			}
		}
	default:
		panic("unknown recipe " + r.Kind)
	}
	for _, s := range r.Set {
		v[int(s[0])] = float32(s[1])
	}
	return v
}

func TestSplitmixKnownAnswer(t *testing.T) {
	var g splitmix
	if got := g.next(); got != 16294208416658607535 {
		t.Errorf("first output for seed 0 is %d", got)
	}
}
