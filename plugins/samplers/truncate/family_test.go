package truncate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// naive is what a rule keeps, from sorted probabilities: straightforward, as the
// formula reads. ids are in falling order of probability, ties by id.
type naive func(p []float64, logits []float64) (keep int)

func cumulative(p []float64, need float64) int {
	sum := 0.0
	for i, x := range p {
		if sum += x; sum >= need*(1-1e-9) {
			return i + 1
		}
	}
	return len(p)
}

func above(p []float64, threshold float64) int {
	n := 0
	for n < len(p) && p[n] >= threshold*(1-1e-11) {
		n++
	}
	return max(1, n)
}

func entropyOf(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		h -= xlnx(x)
	}
	return h
}

var rules = []struct {
	s    sampler.Sampler
	set  []param.Setting
	rule naive
}{
	{MinP{}, []param.Setting{setting("p", 0.07)}, func(p, _ []float64) int { return above(p, 0.07*p[0]) }},
	{TopA{}, []param.Setting{setting("a", 0.3)}, func(p, _ []float64) int { return above(p, 0.3*p[0]*p[0]) }},
	{Epsilon{}, []param.Setting{setting("epsilon", 0.01)}, func(p, _ []float64) int { return above(p, 0.01) }},
	{Eta{}, []param.Setting{setting("epsilon", 0.004)}, func(p, _ []float64) int {
		return above(p, min(0.004, math.Sqrt(0.004)*math.Exp(-entropyOf(p))))
	}},
	{PLess{}, nil, func(p, _ []float64) int {
		sum := 0.0
		for _, x := range p {
			sum += x * x
		}
		return above(p, sum)
	}},
	{PLessNorm{}, nil, func(p, _ []float64) int {
		sum, n := 0.0, float64(len(p))
		for _, x := range p {
			sum += x * x
		}
		return above(p, (n*sum-1)/(n-1))
	}},
	{TopNSigma{}, []param.Setting{setting("n", 1.3)}, func(_, l []float64) int {
		mean, v := 0.0, 0.0
		for _, x := range l {
			mean += x / float64(len(l))
		}
		for _, x := range l {
			v += (x - mean) * (x - mean) / float64(len(l))
		}
		n := 0
		for n < len(l) && l[n] >= l[0]-1.3*math.Sqrt(v)-1e-9 {
			n++
		}
		return n
	}},
	{TopH{}, []param.Setting{setting("h", 0.6)}, func(p, _ []float64) int {
		p = slices.Clone(p[:min(100, len(p))])
		sum := 0.0
		for _, x := range p {
			sum += x
		}
		for i := range p {
			p[i] /= sum
		}
		n, run := 0, 0.0
		for n < len(p) {
			if run -= xlnx(p[n]); run > 0.6*entropyOf(p)*(1+1e-9) {
				break
			}
			n++
		}
		return max(1, n)
	}},
	{EES{}, nil, func(p, _ []float64) int { return cumulative(p, entropyOf(p)/math.Log(float64(len(p)))) }},
	{ConformalTopP{}, []param.Setting{setting("thresholds", "0:0.3 2:0.6 5:0.9")}, func(p, _ []float64) int {
		switch h := entropyOf(p) / math.Ln2; {
		case h >= 5:
			return cumulative(p, 0.9)
		case h >= 2:
			return cumulative(p, 0.6)
		}
		return cumulative(p, 0.3)
	}},
	{MinK{}, []param.Setting{setting("tau", 40)}, func(_, l []float64) int {
		k, largest := 1, 0.0
		for j := range len(l) - 1 {
			if d := (l[j] - l[j+1]) / float64(j+1); d > largest {
				k, largest = j+1, d
			}
		}
		return min(len(l), max(k, int(40/(l[0]-l[len(l)-1]))))
	}},
}

// Every rule keeps what its formula says, on rows of many shapes and sizes, and
// the same tokens of a sparse row.
func TestRulesAgainstTheirFormulas(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for n := range 60 {
		values := make([]float32, 2+r.IntN([]int{12, 300, 20000}[n%3]))
		for i := range values {
			values[i] = float32(r.NormFloat64() * float64(1+n%5))
			if n%4 == 0 { // ties
				values[i] = float32(math.Round(float64(values[i])*4) / 4)
			}
		}
		values[r.IntN(len(values))] += 3
		ids := make([]int32, len(values))
		for i := range ids {
			ids[i] = int32(i)
		}
		slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b)) })
		p, l := make([]float64, len(ids)), make([]float64, len(ids))
		total := 0.0
		for i, id := range ids {
			l[i] = float64(values[id])
			p[i] = math.Exp(l[i] - float64(values[ids[0]]))
			total += p[i]
		}
		for i := range p {
			p[i] /= total
		}
		for _, c := range rules {
			keep := c.rule(p, l)
			want := slices.Clone(ids[:keep])
			slices.Sort(want)
			row := dist.NewDense(slices.Clone(values))
			if err := run(t, c.s, &row, c.set...); err != nil {
				t.Fatal(err)
			}
			if got := support(t, values, &row); !slices.Equal(got, want) {
				t.Errorf("%s on %d tokens kept %d, want %d", c.s.Declare().Name, len(values), len(got), len(want))
			}
		}
	}
}

// The typical set is the cheapest by deviation, which a full sort finds too.
func TestTypicalAgainstAFullSort(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for n := range 80 {
		values := make([]float32, 1+r.IntN([]int{10, 400, 30000}[n%3]))
		for i := range values {
			values[i] = float32(r.NormFloat64() * float64(1+n%6))
			if n%5 == 0 && r.IntN(3) == 0 {
				values[i] = float32(math.Inf(-1))
			}
		}
		values[0] = 1
		mass := r.Float64()
		full := dist.NewDense(slices.Clone(values))
		d := shapeOf(&full)
		type one struct {
			id      int
			cost, p float64
		}
		var all []one
		for i, v := range values {
			if dist.Finite(v) {
				all = append(all, one{i, math.Abs(d.top - float64(v) + math.Log(d.total) - d.entropy), math.Exp(float64(v)-d.top) / d.total})
			}
		}
		slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.cost, b.cost) })
		var want []int32
		sum := 0.0
		for _, o := range all {
			want = append(want, int32(o.id))
			if sum += o.p; sum >= mass*(1-1e-9) {
				break
			}
		}
		slices.Sort(want)
		row := dist.NewDense(slices.Clone(values))
		if err := run(t, Typical{}, &row, setting("p", mass)); err != nil {
			t.Fatal(err)
		}
		if got := support(t, values, &row); !slices.Equal(got, want) {
			t.Errorf("%d tokens, mass %v: kept %d, want %d", len(values), mass, len(got), len(want))
		}
	}
}

func TestXTC(t *testing.T) {
	row := func() dist.Scores {
		return dist.NewDense([]float32{float32(math.Log(0.4)), float32(math.Log(0.3)), float32(math.Log(0.2)), float32(math.Log(0.1))})
	}
	apply := func(u float64, set ...param.Setting) dist.Scores {
		t.Helper()
		s := row()
		v, err := XTC{}.Declare().Params.Resolve("", "", append(set, setting("threshold", 0.15)))
		if err != nil {
			t.Fatal(err)
		}
		if err := (XTC{}).Apply(&sampler.Row{Scores: &s, Uniforms: []float64{u}}, v); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := apply(0.49, setting("probability", 0.5)); !slices.Equal(s.IDs, []int32{2, 3}) {
		t.Errorf("below the coin it kept %v", s.IDs)
	}
	if s := apply(0.5, setting("probability", 0.5)); !s.Dense() {
		t.Errorf("at the coin it kept %v", s.IDs)
	}
	if s := apply(0, setting("probability", 1), setting("protect", "0")); !slices.Equal(s.IDs, []int32{0, 2, 3}) {
		t.Errorf("with token 0 protected it kept %v", s.IDs)
	}
	if s := apply(0, setting("probability", 1), setting("min_keep", 3)); !s.Dense() {
		t.Errorf("with three to keep it kept %v", s.IDs)
	}
	// The mixture is q times one outcome and 1-q times the other.
	s := apply(0.9, setting("probability", 0.25), setting("mode", "expected"))
	d, err := dist.NewSampling(&s)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range []float64{0.75 * 0.4, 0.75 * 0.3, 0.75*0.2 + 0.25*2.0/3, 0.75*0.1 + 0.25/3} {
		if got := d.P(int32(id)); !(math.Abs(got-want) <= 1e-7) { // float32 scores
			t.Errorf("token %d has %v in the mixture, want %v", id, got, want)
		}
	}
}

func TestByBitsSorts(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	values := make([]float32, 5000)
	for i := range values {
		values[i] = math.Float32frombits(r.Uint32())
		if values[i] != values[i] || math.IsInf(float64(values[i]), 0) || values[i] == 0 {
			values[i] = float32(r.NormFloat64())
		}
	}
	want := slices.Clone(values)
	slices.SortFunc(want, func(a, b float32) int { return cmp.Compare(b, a) })
	byBits(values)
	if !slices.Equal(values, want) {
		t.Error("the order is another")
	}
}

func TestThresholdsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "1:0.5", "0:0.5 0:0.6", "0:1.5", "0:x", "0", "2:0.1 1:0.2"} {
		row := dist.NewDense([]float32{1, 2})
		err := run(t, ConformalTopP{}, &row, setting("thresholds", text))
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "thresholds") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
