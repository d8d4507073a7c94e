package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

// The edge rows of calibration, ridgeline and timeline.

func shapeEdges() map[string][]edge {
	return map[string][]edge{calibrationName: calibrationEdges(), ridgelineName: ridgelineEdges(), timelineName: timelineEdges()}
}

func calibrationEdges() []edge {
	nan := math.NaN()
	of := func(probs []float64, counts []int) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Calibration(CalibrationData{Probs: probs, Counts: counts}, o) }
	}
	wrong := exampleCalibration(64, 5000)
	wrong.Counts[0], wrong.Counts[5] = 3000, 0
	big := exampleCalibration(262144, 50000)
	odd := CalibrationData{Prompt: "\xff\u202e", Tokens: oddTokens(), Probs: uniform(len(oddTokens())), Counts: slices.Repeat([]int{20}, len(oddTokens()))}
	return []edge{
		{name: "empty", draw: of(nil, nil), says: []string{"no data (no tokens)", "probability (log scale)", "share of the draws (log scale)"}},
		{name: "no draws", draw: of(uniform(3), make([]int, 3)), says: []string{"no data (no draws)"}},
		{name: "one draw", draw: of(uniform(4), []int{0, 1, 0, 0}), says: []string{"Too few draws to test them", "1 draw"}},
		{name: "one survivor", draw: of([]float64{1, 0}, []int{50, 0}), says: []string{"Too few draws to test them", "0 of 1 point lies outside the band"}},
		{name: "all equal", draw: of(uniform(10), slices.Repeat([]int{30}, 10)), says: []string{"The draws fit the distribution", "χ² = 0", "9 degrees of freedom"}},
		{name: "two tokens", draw: of(uniform(2), []int{48, 52}), says: []string{"χ² = 0.16, 1 degree of freedom, p = 0.69"}},
		{name: "wrong draws", draw: func(o Options) (*Figure, error) { return Calibration(wrong, o) }, says: []string{"The draws do not fit the distribution"}},
		{name: "impossible draws", draw: of([]float64{0.5, 0.5, 0}, []int{50, 50, 3}), says: []string{"Tokens of probability 0 were drawn", "χ² = ∞", "3 draws of tokens with probability 0: impossible draws."}},
		{name: "only impossible draws", draw: of([]float64{0, nan}, []int{5, 0}), says: []string{"no data (no token with a probability)"}},
		{name: "undefined", draw: of([]float64{0.5, nan, 0.4}, []int{50, 7, 40}), says: []string{"Distribution: 1 of 3 probabilities is undefined and left out", "90 draws"}},
		{name: "262,144 tokens", draw: func(o Options) (*Figure, error) { return Calibration(big, o) }, says: []string{"50,000 draws", "Squares: "}},
		{name: "odd tokens", draw: func(o Options) (*Figure, error) { return Calibration(odd, o) }, says: []string{"‹202E›"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Calibration(exampleCalibration(64, 900), o) }, says: []string{"900 draws"}},
		{name: "negative count", draw: of(uniform(2), []int{1, -1}), kind: fault.Data, err: "count 1 is -1"},
		{name: "lengths differ", draw: of(uniform(2), []int{1}), kind: fault.Data, err: "1 counts and 0 tokens for 2 probabilities"},
		{name: "sum not 1", draw: of([]float64{0.5, 0.4}, []int{1, 1}), kind: fault.Data, err: "sum to 0.9"},
	}
}

func ridgelineEdges() []edge {
	of := func(rows ...RidgelineRow) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Ridgeline(RidgelineData{By: "step", Rows: rows}, o) }
	}
	nan := math.NaN()
	return []edge{
		{name: "empty", draw: of(), says: []string{"no data (no rows)", "rank, likeliest first (log scale)"}},
		{name: "a row without tokens", draw: of(RidgelineRow{"1", nil}), says: []string{"no data (no token with a defined probability)"}},
		{name: "one row without tokens among others", draw: of(RidgelineRow{"1", nil}, RidgelineRow{"2", uniform(4)}), says: []string{"step 1: no tokens, no ridge", "n/a"}},
		{name: "one token", draw: of(RidgelineRow{"1", []float64{1}}), says: []string{"The likeliest token has 100\u00a0% of the mass", "step 1: one survivor; the seed has no effect here", "0.00 bits"}},
		{name: "one row", draw: of(RidgelineRow{"first", uniform(10)}), says: []string{"first", "3.32 bits"}},
		{name: "all equal", draw: of(RidgelineRow{"1", uniform(4)}, RidgelineRow{"2", uniform(4)}), says: []string{"keeps 25\u00a0% of the mass"}},
		{name: "undefined", draw: of(RidgelineRow{"1", []float64{0.5, nan, 0.2}}, RidgelineRow{"2", uniform(2)}), says: []string{"step 1: 1 of 3 probabilities is undefined and left out", "n/a"}},
		{name: "zero probabilities", draw: of(RidgelineRow{"1", []float64{0, 0.5, 0.5, 0}}), says: []string{"1.00 bits"}},
		{name: "eight rows of 262,144 tokens", draw: func(o Options) (*Figure, error) {
			return Ridgeline(exampleRidgeline(262144, 0.3, 0.5, 0.7, 1, 1.3, 1.6, 2, 4), o)
		}, says: []string{"temperature 4", "100k"}},
		{name: "long and odd labels", draw: of(RidgelineRow{strings.Repeat("long ", 60), uniform(3)}, RidgelineRow{"\u202e<b>\xff", uniform(3)}), says: []string{"‹202E›"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) {
			o.Width = 3.5
			return Ridgeline(exampleRidgeline(64, 0.5, 1), o)
		}, says: []string{"temperature 1"}},
		{name: "nine rows", draw: of(make([]RidgelineRow, 9)...), kind: fault.Usage, err: "9 are more than 8; draw fewer"},
		{name: "negative probability", draw: of(RidgelineRow{"1", []float64{1, -0.0001}}), kind: fault.Data, err: `row 1 ("1"): entry 1 is negative`},
		{name: "sum not 1", draw: of(RidgelineRow{"a", []float64{0.2}}), kind: fault.Data, err: "sum to 0.2"},
	}
}

func timelineEdges() []edge {
	nan := math.NaN()
	of := func(requests ...TimelineRequest) func(Options) (*Figure, error) {
		return func(o Options) (*Figure, error) { return Timeline(TimelineData{requests}, o) }
	}
	one := func(spans ...TimeSpan) TimelineRequest { return TimelineRequest{Name: "r", Spans: spans, TTFTMS: nan} }
	var nine []TimeSpan
	for i := range 9 {
		nine = append(nine, TimeSpan{fmt.Sprint("kind ", i), float64(i), float64(i + 1)})
	}
	var odd []TimelineRequest
	for _, token := range oddTokens()[:12] {
		odd = append(odd, TimelineRequest{Name: token, Spans: []TimeSpan{{"\u202e", 0, 1}}, TTFTMS: 0.5})
	}
	return []edge{
		{name: "empty", draw: of(), says: []string{"no data (no requests)", "time, ms", "request"}},
		{name: "no spans", draw: of(TimelineRequest{Name: "a", TTFTMS: 3}), says: []string{"no data (no spans)"}},
		{name: "everything undefined", draw: of(one(TimeSpan{"decode", nan, 1})), says: []string{"no data (all 1 span undefined)"}},
		{name: "one span", draw: of(one(TimeSpan{"decode", 0, 5})), says: []string{"decode takes 100\u00a0% of the time"}, not: []string{"TTFT"}},
		{name: "a span of no time", draw: of(one(TimeSpan{"decode", 2, 2})), says: []string{"Where the time of requests goes"}},
		{name: "all at one time", draw: of(one(TimeSpan{"decode", 0, 0}), one(TimeSpan{"decode", 0, 0})), says: []string{"2 requests from top to bottom"}},
		{name: "undefined", draw: of(one(TimeSpan{"decode", 0, 5}, TimeSpan{"decode", 5, math.Inf(1)})), says: []string{"1 span is undefined and left out."}},
		{name: "eight kinds", draw: of(one(nine[:8]...)), says: []string{"kind 7"}},
		{name: "negative times", draw: of(one(TimeSpan{"decode", -5, 5})), says: []string{"decode"}},
		{name: "60 requests", draw: func(o Options) (*Figure, error) { return Timeline(exampleTimeline(60, 5), o) }, says: []string{"The first 40 of 60 requests", "request 40"}},
		{name: "262,144 spans", draw: func(o Options) (*Figure, error) { return Timeline(exampleTimeline(8, 10923), o) }, says: []string{"8 requests have too many spans to draw each"}},
		{name: "odd names", draw: of(odd...), says: []string{"‹202E›"}},
		{name: "narrow column", draw: func(o Options) (*Figure, error) { o.Width = 3.5; return Timeline(exampleTimeline(3, 8), o) }, says: []string{"triangle: the first token"}},
		{name: "backwards", draw: of(one(TimeSpan{"decode", 5, 3})), kind: fault.Data, err: `request 1 ("r"), span 0: it runs from 5 to 3 ms`},
		{name: "nine kinds", draw: of(one(nine...)), kind: fault.Usage, err: "kinds: 9 are more than 8"},
		{name: "out of reach", draw: of(one(TimeSpan{"decode", 0, 1e305})), kind: fault.Data, err: "it runs from 0 to 1e+305 ms"},
	}
}

// TestChiSquaredAgainstItsDefinition uses a case small enough to do by hand and
// counts that are far from any distribution.
func TestChiSquaredAgainstItsDefinition(t *testing.T) {
	c, err := newCalibration(CalibrationData{Probs: []float64{0.5, 0.25, 0.2, 0.04, 0.01}, Counts: []int{45, 30, 18, 6, 1}})
	if err != nil {
		t.Fatal(err)
	}
	// The two rarest expect 4 and 1 draws and are one cell of 5.
	want := 25.0/50 + 25.0/25 + 4.0/20 + 4.0/5
	if !(math.Abs(c.chi2-want) <= 1e-9) || c.df != 3 { // sums of five decimals
		t.Errorf("chi-squared %v with %d degrees of freedom, want %v with 3", c.chi2, c.df, want)
	}
	// The survival function of 3 degrees of freedom in closed form.
	p := math.Erfc(math.Sqrt(want/2)) + math.Sqrt(2*want/math.Pi)*math.Exp(-want/2)
	if !(math.Abs(c.p-p) <= 1e-9) { // the accuracy of the incomplete gamma function
		t.Errorf("p = %v, want %v", c.p, p)
	}
}

// TestCalibratedDrawsFitAsOftenAsTheyShould draws from the distribution itself:
// p is then near uniform.
func TestCalibratedDrawsFitAsOftenAsTheyShould(t *testing.T) {
	d := exampleCalibration(64, 1)
	r := rand.New(rand.NewPCG(3, 3))
	low, outside, points := 0, 0, 0
	const rounds = 200
	for range rounds {
		d.Counts = make([]int, 64)
		for range 2000 {
			u, k := r.Float64(), 0
			for ; k < 63 && u >= d.Probs[k]; k++ {
				u -= d.Probs[k]
			}
			d.Counts[k]++
		}
		c, err := newCalibration(d)
		if err != nil {
			t.Fatal(err)
		}
		if c.p < 0.1 {
			low++
		}
		outside, points = outside+c.outside, points+len(c.points)
	}
	// A tenth of 200 are 20 with a standard deviation of 4.2; the seed is fixed.
	if low < 6 || low > 36 {
		t.Errorf("p is below 0.1 in %d of %d rounds, want about 20", low, rounds)
	}
	// Binomial intervals hold at least 95 %, a little more where counts are small.
	if share := float64(outside) / float64(points); !(share > 0.01 && share < 0.06) {
		t.Errorf("%.3f of the points lie outside the band, want a little below 0.05", share)
	}
}

func TestBinomialQuantileIsTheSmallest(t *testing.T) {
	for _, n := range []int{1, 7, 300} {
		for _, p := range []float64{0.001, 0.3, 0.97, 1} {
			for _, q := range []float64{0.025, 0.5, 0.975} {
				k := binomialQuantile(q, n, p)
				sum, below := 0.0, 0.0
				for i := 0; i <= k; i++ {
					below = sum
					lc, _ := math.Lgamma(float64(n + 1))
					la, _ := math.Lgamma(float64(i + 1))
					lb, _ := math.Lgamma(float64(n - i + 1))
					term := math.Exp(lc - la - lb + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
					if p == 1 {
						term = 0
						if i == n {
							term = 1
						}
					}
					sum += term
				}
				if sum < q-1e-9 || k > 0 && below > q+1e-9 {
					t.Errorf("n %d, p %v: %d is not the %v quantile: %v below it, %v with it", n, p, k, q, below, sum)
				}
			}
		}
	}
}
