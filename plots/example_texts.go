package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The examples of the figures of texts, sweeps and draws, from made-up numbers:
// the same in every run.

// exampleText is a text of nineteen tokens with the probabilities that a small
// model might give them, the same in every run.
func exampleText() TokensData {
	d := TokensData{Prompt: weatherPrompt}
	for _, row := range []struct {
		text  string
		model float64
		rank  int
		after float64 // under the sampling distribution
	}{
		{" cold", 0.11, 3, 0.14}, {" and", 0.34, 1, 0.42}, {" bright", 0.012, 14, 0.015}, {",", 0.41, 1, 0.5}, {" with", 0.18, 2, 0.22},
		{" a", 0.44, 1, 0.53}, {" thin", 0.0021, 61, 0.0026}, {" wind", 0.21, 2, 0.27}, {" off", 0.06, 4, 0.07}, {" the", 0.88, 1, 0.97},
		{" har", 0.0008, 118, 0.001}, {"bour", 0.93, 1, 1}, {".", 0.55, 1, 0.66}, {"\n", 0.13, 2, 0.16}, {"To", 0.03, 7, 0.036},
		{"morrow", 0.71, 1, 0.82}, {":", 0.004, 22, 0.005}, {" rain", 0.24, 1, 0.3}, {".", 0.62, 1, 0.71},
	} {
		d.Tokens = append(d.Tokens, TextToken{Text: row.text,
			Model:    TokenSide{Prob: row.model, SurprisalBits: -math.Log2(row.model), Rank: row.rank, EntropyBits: 3.1},
			Sampling: TokenSide{Prob: row.after, SurprisalBits: -math.Log2(row.after), Rank: row.rank, EntropyBits: 2.7},
			Stages:   []TokenStage{{Name: "top_k:200", Before: 512, After: 200, KeptMass: 0.96, ProbBefore: row.model, ProbAfter: min(row.model/0.96, 1)}}})
	}
	return d
}

// exampleSteps is sixteen steps of the weather distribution, sharpened and
// flattened in turn, with the chosen ranks given.
func exampleSteps(n int) HeatStepsData {
	d := HeatStepsData{Prompt: weatherPrompt}
	w := newWeather(64)
	ranks := []int{3, 1, 1, 2, 1, 4, 1, 17, 1, 1, 2, 1, 3, 1, 6, 1}
	for i := range n {
		p := w.at(0.4 + 0.16*float64(i%8))
		order := make([]int, len(p))
		for k := range order {
			order[k] = (k + 5*i) % len(p) // which token has which probability changes from step to step
		}
		s := HeatStep{ChosenRank: ranks[i%len(ranks)]}
		best := sorted(p)
		for k := range 12 {
			s.Likeliest = append(s.Likeliest, HeatToken{Text: w.tokens[order[k]], Prob: best[k]})
		}
		s.ChosenProb = best[s.ChosenRank-1]
		s.Chosen = w.tokens[order[s.ChosenRank-1]]
		d.Steps = append(d.Steps, s)
	}
	return d
}

// exampleGrid is a measure over temperature and top_p from a closed formula; one
// cell failed and one was not run.
func exampleGrid(nx, ny int) GridData {
	d := GridData{X: Quantity{Name: "temperature"}, Y: Quantity{Name: "top_p"}, Value: Quantity{Name: "distinct_2", Title: "distinct bigrams"}, Interval: "95 % interval of 64 samples"}
	for i := range nx {
		d.XNames = append(d.XNames, fmt.Sprint(float64(2*i+2)/10))
	}
	for j := range ny {
		d.YNames = append(d.YNames, fmt.Sprint(math.Round(1000-50*float64(ny-1-j))/1000))
	}
	for i := range nx {
		for j := range ny {
			x, y := float64(i)/float64(max(nx-1, 1)), float64(j)/float64(max(ny-1, 1))
			v := 0.3 + 0.5*x*(1.55-x)*(0.6+0.4*y)
			c := GridCell{X: i, Y: j, Value: v, Lo: v - 0.03, Hi: v + 0.03}
			if nx > 2 && ny > 2 {
				switch {
				case i == nx-1 && j == ny-1:
					c = GridCell{X: i, Y: j, Value: math.NaN(), Failed: "the plugin lab-samplers ended with exit status 2"}
				case i == 0 && j == ny-1:
					continue
				}
			}
			d.Cells = append(d.Cells, c)
		}
	}
	return d
}

// exampleOutcomes is one metric of strategies whose spread differs; greedy gives
// the same text for every seed.
func exampleOutcomes(n int) SampleData {
	d := surprisals(n)
	d.Value = Quantity{Name: "model_surprisal_bits", Title: "surprisal", Unit: "bits"}
	d.Rules = nil
	return d
}

// exampleCalibration is draws from the weather distribution, made by an
// independent generator.
func exampleCalibration(vocabulary, draws int) CalibrationData {
	w := newWeather(vocabulary)
	d := CalibrationData{Prompt: weatherPrompt, Probs: w.at(1), Counts: make([]int, vocabulary), Tokens: w.tokens}
	sums := make([]float64, vocabulary)
	total := 0.0
	for i, p := range d.Probs {
		total += p
		sums[i] = total
	}
	r := rand.New(rand.NewPCG(7, 2))
	for range draws {
		i, _ := slices.BinarySearch(sums, r.Float64()*total)
		d.Counts[min(i, vocabulary-1)]++
	}
	return d
}

func exampleRidgeline(vocabulary int, ts ...float64) RidgelineData {
	w := newWeather(vocabulary)
	d := RidgelineData{Prompt: weatherPrompt, By: "temperature"}
	for _, t := range ts {
		d.Rows = append(d.Rows, RidgelineRow{fmt.Sprint(t), w.at(t)})
	}
	return d
}

// exampleTimeline is requests that are prefilled one after the other and then
// decode side by side.
func exampleTimeline(requests, tokens int) TimelineData {
	var d TimelineData
	for i := range requests {
		at := 9 * float64(i)
		r := TimelineRequest{Name: fmt.Sprintf("request %d", i+1), Spans: []TimeSpan{{"prefill", at, at + 8}}}
		at += 8
		for k := range tokens {
			step := 4 + 0.3*float64(i) + float64(k%5)*0.2
			r.Spans = append(r.Spans, TimeSpan{"decode", at, at + step}, TimeSpan{"sampling", at + step, at + step + 0.7}, TimeSpan{"plugin", at + step + 0.7, at + step + 1.1})
			at += step + 1.1
			if k == 0 {
				r.TTFTMS = at
			}
		}
		d.Requests = append(d.Requests, r)
	}
	return d
}
