package cost

import (
	"math"
	"testing"

	"lab/core/fault"
)

// Formulas of plain numbers, by hand.
func TestPlainFormulas(t *testing.T) {
	d := Device{Peak: 100, Bandwidth: 10, Chips: 2}
	for name, c := range map[string]struct {
		v    float64
		err  error
		want float64
	}{
		"8-bit elements with a 2-byte scale for 32": of2(CacheElement(8, 2, 32))(1.0625),
		"4-bit weights":                            of2(WeightBytes(10, 4))(5),
		"linear intensity":                         of2(LinearIntensity(8, 2))(8),
		"attention intensity of grouped queries":   of2(AttentionIntensity(64, 8, 2))(8),
		"ridge":                                    of2(Ridge(300, 2))(150),
		"a row of scores":                          of2(SamplerBytes(128256))(513024),
		"sorting four scores and a call":           of2(SamplerTime(4, 0.5, 3))(7),
		"throughput":                               of2(Throughput(8, 0.5))(16),
		"first token, bound by arithmetic":         of2(TTFT(FirstToken{Queue: 1, Prefill: 800, Weights: 20, Overhead: 0.5}, d, Floor()))(5.5),
		"first token, bound by weights":            of2(TTFT(FirstToken{Prefill: 20, Weights: 80}, d, Efficiency{1, 0.5, 1}))(8),
		"launches":                                 of2(LaunchTime(4e-6, 4, 32))(512e-6),
		"reading once":                             of2(Stream(100, 10, 2))(5),
		"little's law":                             of2(Concurrency(4, 2.5))(10),
		"rent":                                     of2(Rented(100, 2))(200),
		"a day's rate of 4% in 30 days":            of2(PerDay(0.04, 30))(math.Log(1.04) / 30),
		"the loss of a fit":                        of2(Loss{E: 1, A: 2, B: 3, Alpha: 1, Beta: 1}.At(2, 3))(3),
		"error of a median of 100 uniform numbers": of2(QuantileSE(0.5, 100, 1))(0.05),
		"layers of 24 d²":                          of2(DenseLayers(2, 3, 24))(432),
		"joules of a chip at half load in a real house": of2(Energy(10, Power{Watts: 100, Load: 0.5, PUE: 1.2}))(600),
	} {
		if c.err != nil {
			t.Errorf("%s: %v", name, c.err)
		}
		near(t, name, c.v, c.want, rounding)
	}
}

func of2(v float64, err error) func(float64) struct {
	v    float64
	err  error
	want float64
} {
	return func(want float64) struct {
		v    float64
		err  error
		want float64
	} {
		return struct {
			v    float64
			err  error
			want float64
		}{v, err, want}
	}
}

// No formula takes what is no number: NaN, an infinity or a negative one in any
// place is a usage error and the result is 0.
func TestNoFormulaTakesWhatIsNoNumber(t *testing.T) {
	fit := Loss{E: 1, A: 2, B: 3, Alpha: 0.3, Beta: 0.4}
	for name, c := range map[string]struct {
		n int // arguments
		f func([]float64) (float64, error)
	}{
		"weight bytes":        {2, func(x []float64) (float64, error) { return WeightBytes(x[0], x[1]) }},
		"6ND":                 {2, func(x []float64) (float64, error) { return Train6ND(x[0], x[1]) }},
		"dense layers":        {3, func(x []float64) (float64, error) { return DenseLayers(x[0], x[1], x[2]) }},
		"cache element":       {3, func(x []float64) (float64, error) { return CacheElement(x[0], x[1], x[2]) }},
		"distinct experts":    {3, func(x []float64) (float64, error) { return DistinctExperts(x[0], x[1], x[2]) }},
		"linear intensity":    {2, func(x []float64) (float64, error) { return LinearIntensity(x[0], x[1]) }},
		"attention intensity": {3, func(x []float64) (float64, error) { return AttentionIntensity(x[0], x[1], x[2]) }},
		"ridge":               {2, func(x []float64) (float64, error) { return Ridge(x[0], x[1]) }},
		"max context":         {5, func(x []float64) (float64, error) { return MaxContext(x[0], x[1], x[2], x[3], x[4]) }},
		"stream":              {3, func(x []float64) (float64, error) { return Stream(x[0], x[1], x[2]) }},
		"launch":              {3, func(x []float64) (float64, error) { return LaunchTime(x[0], x[1], x[2]) }},
		"collectives": {8, func(x []float64) (float64, error) {
			return Collectives{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]}.Time()
		}},
		"MFU":           {4, func(x []float64) (float64, error) { return MFU(x[0], x[1], Device{Peak: x[2], Chips: x[3]}) }},
		"MBU":           {4, func(x []float64) (float64, error) { return MBU(x[0], x[1], Device{Bandwidth: x[2], Chips: x[3]}) }},
		"time from MFU": {4, func(x []float64) (float64, error) { return TimeFromMFU(x[0], x[1], Device{Peak: x[2], Chips: x[3]}) }},
		"ttft": {9, func(x []float64) (float64, error) {
			return TTFT(FirstToken{x[0], x[1], x[2], x[3]}, Device{Peak: x[4], Bandwidth: x[5], Chips: x[6]}, Efficiency{x[7], x[8], 1})
		}},
		"e2e":             {2, func(x []float64) (float64, error) { return E2E(x[0], x[1], 3) }},
		"tpot":            {2, func(x []float64) (float64, error) { return TPOT(x[0], x[1], 3) }},
		"throughput":      {1, func(x []float64) (float64, error) { return Throughput(3, x[0]) }},
		"concurrency":     {2, func(x []float64) (float64, error) { return Concurrency(x[0], x[1]) }},
		"energy":          {4, func(x []float64) (float64, error) { return Energy(x[0], Power{x[1], x[2], x[3]}) }},
		"CO2":             {2, func(x []float64) (float64, error) { return CO2(x[0], x[1]) }},
		"rent":            {2, func(x []float64) (float64, error) { return Rented(x[0], x[1]) }},
		"per million":     {3, func(x []float64) (float64, error) { return USDPerMillion(x[0], x[1], x[2]) }},
		"cost per solved": {2, func(x []float64) (float64, error) { return CostPerSolved(2, x[0], x[1]) }},
		"sampler time":    {2, func(x []float64) (float64, error) { return SamplerTime(8, x[0], x[1]) }},
		"crossover":       {2, func(x []float64) (float64, error) { return Crossover(x[0], x[1]) }},
		"crossover FLOP":  {3, func(x []float64) (float64, error) { return CrossoverFLOP(x[0], x[1], x[2]) }},
		"crossover money": {7, func(x []float64) (float64, error) {
			return CrossoverMoney(x[0], x[1], x[2], Side{x[3], x[4]}, Side{x[5], x[6]})
		}},
		"amortised":           {3, func(x []float64) (float64, error) { return Amortised(x[0], x[1], x[2]) }},
		"days":                {2, func(x []float64) (float64, error) { return Demand{FirstDay: x[0]}.Days(x[1]) }},
		"sum of demand":       {2, func(x []float64) (float64, error) { return Demand{FirstDay: x[0]}.Sum(x[1]) }},
		"loss":                {2, func(x []float64) (float64, error) { return fit.At(x[0], x[1]) }},
		"tokens for":          {1, func(x []float64) (float64, error) { return fit.TokensFor(x[0]) }},
		"error of a quantile": {1, func(x []float64) (float64, error) { return QuantileSE(0.5, 10, x[0]) }},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = 1
		}
		if v, err := c.f(x); err != nil || math.IsNaN(v) {
			t.Errorf("%s of ones: %g, %v", name, v, err)
		}
		for i := range x {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
				x[i] = bad
				if v, err := c.f(x); err == nil || v != 0 || fault.KindOf(err) != fault.Usage {
					t.Errorf("%s with argument %d = %g: %g, %v", name, i, bad, v, err)
				}
			}
			x[i] = 1
		}
		// Beyond what a float64 holds is no result either.
		huge := make([]float64, c.n)
		for i := range huge {
			huge[i] = math.MaxFloat64
		}
		if v, err := c.f(huge); err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
			t.Errorf("%s of the largest numbers is %g", name, v)
		}
	}
}
