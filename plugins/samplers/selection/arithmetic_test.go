package selection

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/seed"
)

func samples(n int64) param.Values {
	return param.Values{{Name: "samples", Value: n, Origin: "test"}}
}

// The intervals of the tokens cover the unit interval without gap or overlap, in
// order of id, and are as long as the probabilities say.
func TestIntervalsCoverTheUnitInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for n, row := range rows(r) {
		top, total := math.Inf(-1), 0.0
		for _, v := range row.Values {
			top = max(top, float64(v))
		}
		for _, v := range row.Values {
			total += math.Exp(float64(v) - top)
		}
		at, covered := uint64(0), new(big.Int)
		for last := -1; ; {
			place, low, width := decode(&row, at)
			if low != at || place <= last {
				t.Fatalf("row %d: the interval of place %d starts at %d, want %d, after place %d", n, place, low, at, last)
			}
			size := new(big.Int).SetUint64(width)
			if width == 0 {
				size.Lsh(big.NewInt(1), 64)
			}
			covered.Add(covered, size)
			share, _ := new(big.Float).SetInt(size).Float64()
			// Running sums of some thousand terms round by 1e-12 of the total.
			if want := math.Exp(float64(row.Values[place])-top) / total; !(math.Abs(share*0x1p-64-want) <= 1e-11) {
				t.Fatalf("row %d: place %d has a share of %v, want %v", n, place, share*0x1p-64, want)
			}
			if p, _, w := decode(&row, low+width-1); p != place || w != width {
				t.Fatalf("row %d: the end of the interval of place %d belongs to %d", n, place, p)
			}
			if last, at = place, low+width; at == 0 {
				break
			}
		}
		if covered.Cmp(new(big.Int).Lsh(big.NewInt(1), 64)) != 0 {
			t.Errorf("row %d: the intervals add up to %v", n, covered)
		}
	}
}

// Equal tokens and as many samples: each token is drawn once, whatever the shift.
// Then, after a first token of probability 1/4, the four samples that share it
// draw each of four second tokens once: the code is what a text is made of.
func TestSamplesCoverTheTextsEvenly(t *testing.T) {
	flat := func(n int) dist.Scores { return dist.NewDense(make([]float32, n)) }
	for _, u := range []float64{0, 0.3, 0.77, justBelow1} {
		seen := map[[2]int32]int{}
		for i := range uint64(16) {
			row := flat(4)
			r := sampler.Row{Scores: &row, Uniforms: []float64{u}, Sample: i}
			first := choose(t, Arithmetic{}, &r, samples(16))
			r.Step, r.Uniforms = 1, []float64{0.123}
			seen[[2]int32{first, choose(t, Arithmetic{}, &r, samples(16))}]++
		}
		if len(seen) != 16 {
			t.Errorf("u = %v: %d of 16 texts", u, len(seen))
		}
		// By the golden ratio any first n are nearly even: no token of 8 misses out or
		// comes more than twice too often among 24 samples.
		var count [8]int
		for i := range uint64(24) {
			row := flat(8)
			count[choose(t, Arithmetic{}, &sampler.Row{Scores: &row, Uniforms: []float64{u}, Sample: i}, samples(0))]++
		}
		for token, n := range count {
			if n < 2 || n > 4 {
				t.Errorf("u = %v: token %d comes %d times of 24, 3 expected", u, token, n)
			}
		}
	}
}

// One sample by itself has the law of a plain draw, at the first step and after
// 200 steps, which use up the bits of any fixed code: chi-squared as elsewhere.
func TestASampleFollowsTheDistribution(t *testing.T) {
	for _, sample := range []uint64{0, 3} {
		chiSquared(t, func(stream seed.Stream, row dist.Scores, i uint64) int32 {
			var u [1]float64
			stream.Uniforms(u[:], i, 0, seed.Draw)
			return choose(t, Arithmetic{}, &sampler.Row{Scores: &row, Uniforms: u[:], Sample: sample}, samples(5))
		})
	}
	// One long text: its tokens are independent draws.
	state := map[uint64][]byte{}
	chiSquared(t, func(stream seed.Stream, row dist.Scores, i uint64) int32 {
		var u [1]float64
		stream.Uniforms(u[:], 0, i, seed.Draw)
		r := sampler.Row{Scores: &row, Uniforms: u[:], Sample: 1, Step: int(i)}
		if i > 0 {
			r.State = state[0]
		}
		token := choose(t, Arithmetic{}, &r, samples(0))
		state[0] = r.State
		return token
	})
}

// Pairs of successive tokens are independent: chi-squared of 40,000 pairs of four
// equal tokens, 15 degrees of freedom, 0.1 % limit 37.697; the seed is fixed.
func TestSuccessiveTokensAreIndependent(t *testing.T) {
	const n = 40000
	stream := seed.New(11, []byte("pairs"))
	var count [16]float64
	var state []byte
	last := int32(-1)
	for i := range uint64(2 * n) {
		row := dist.NewDense(make([]float32, 4))
		var u [1]float64
		stream.Uniforms(u[:], 0, i, seed.Draw)
		r := sampler.Row{Scores: &row, Uniforms: u[:], State: state, Sample: 2}
		token := choose(t, Arithmetic{}, &r, samples(0))
		if state = r.State; i%2 == 1 {
			count[4*last+token]++
		}
		last = token
	}
	chi := 0.0
	for _, c := range count {
		chi += (c - n/16) * (c - n/16) / (n / 16)
	}
	if !(chi <= 37.697) {
		t.Errorf("chi-squared %.1f", chi)
	}
}

// A token of probability 1 uses nothing up.
func TestCertainTokensLeaveTheCode(t *testing.T) {
	row := dist.NewDense([]float32{negInf, 0})
	r := sampler.Row{Scores: &row, Uniforms: []float64{0.4}, State: binary.LittleEndian.AppendUint64(nil, 12345)}
	if token := choose(t, Arithmetic{}, &r, samples(0)); token != 1 || binary.LittleEndian.Uint64(r.State) != 12345 {
		t.Errorf("drew %d, code %d", token, binary.LittleEndian.Uint64(r.State))
	}
}

func TestArithmeticRefusals(t *testing.T) {
	row := dist.NewDense([]float32{0, 1})
	err := (Arithmetic{}).Apply(&sampler.Row{Scores: &row, Uniforms: []float64{0.5}, Sample: 4}, samples(4))
	if err == nil || fault.KindOf(err) != fault.Usage {
		t.Errorf("a sample too many: %v", err)
	}
	err = (Arithmetic{}).Apply(&sampler.Row{Scores: &row, Uniforms: []float64{0.5}, State: []byte{1, 2}}, samples(0))
	if err == nil || fault.KindOf(err) != fault.Data {
		t.Errorf("two bytes of state: %v", err)
	}
}

// Any eight bytes are a code, any others are refused, and a token of the support
// is drawn.
func FuzzArithmetic(f *testing.F) {
	f.Add([]byte{}, []byte{1, 2, 3}, 0.5)
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255}, []byte{0, 0}, 0.0)
	f.Add([]byte{1}, []byte{9}, 0.9)
	f.Fuzz(func(t *testing.T, state, scores []byte, u float64) {
		if !(u >= 0 && u < 1) || len(scores) == 0 || len(scores) > 5000 {
			return
		}
		v := make([]float32, len(scores))
		for i, b := range scores {
			if v[i] = float32(int8(b)) * 8; b == 128 && i > 0 {
				v[i] = negInf
			}
		}
		row := dist.NewDense(v)
		r := sampler.Row{Scores: &row, Uniforms: []float64{u}, State: state}
		err := (Arithmetic{}).Apply(&r, samples(0))
		switch legal := len(state) == 0 || len(state) == 8; {
		case legal != (err == nil):
			t.Errorf("state of %d bytes: %v", len(state), err)
		case legal && (!row.Has(r.Chosen) || len(r.State) != 8):
			t.Errorf("chose %d, state %v", r.Chosen, r.State)
		}
	})
}
