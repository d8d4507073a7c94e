package plots

import (
	"fmt"
	"math"
	"slices"
)

// weather is the next-token distribution after "The weather today is" that the
// examples and golden pictures use: thirty likely continuations with hand-set
// logits, and a tail that falls as ranks do in text.
type weather struct {
	tokens []string
	logits []float64
}

func newWeather(vocabulary int) weather {
	head := []struct {
		token string
		logit float64
	}{
		{" nice", 6.1}, {" sunny", 5.9}, {" cold", 5.45}, {" perfect", 5.2}, {" warm", 5.0}, {" beautiful", 4.85},
		{" a", 4.6}, {" lovely", 4.45}, {" cloudy", 4.3}, {" rainy", 4.25}, {" quite", 3.9}, {" not", 3.7},
		{" terrible", 3.5}, {" hot", 3.45}, {" windy", 3.3}, {" very", 3.2}, {" grey", 2.9}, {" fine", 2.85},
		{" pleasant", 2.6}, {" so", 2.4}, {" wet", 2.2}, {" going", 2.0}, {" mild", 1.9}, {" freezing", 1.7},
		{" just", 1.5}, {" too", 1.3}, {",", 1.1}, {"\n", 0.9}, {".", 0.8}, {" the", 0.6},
	}
	w := weather{}
	for i := range vocabulary {
		if i < len(head) {
			w.tokens = append(w.tokens, head[i].token)
			w.logits = append(w.logits, head[i].logit)
			continue
		}
		w.tokens = append(w.tokens, fmt.Sprintf(" word%d", i))
		w.logits = append(w.logits, 1.5-0.9*math.Log(float64(i-len(head)+2)))
	}
	return w
}

// at returns the distribution at temperature t.
func (w weather) at(t float64) []float64 {
	if t == 0 {
		p := make([]float64, len(w.logits))
		p[slices.Index(w.logits, slices.Max(w.logits))] = 1
		return p
	}
	top, sum := slices.Max(w.logits), 0.0
	p := make([]float64, len(w.logits))
	for i, l := range w.logits {
		p[i] = math.Exp((l - top) / t)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// topK keeps the k likeliest of p, ties lowest index first; topP keeps the
// smallest such set whose mass reaches mass.
func topK(p []float64, k int) []float64 {
	return keep(p, func(n int, _ float64) bool { return n < k })
}

func topP(p []float64, mass float64) []float64 {
	return keep(p, func(_ int, sum float64) bool { return sum < mass })
}

func keep(p []float64, more func(n int, sum float64) bool) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	out, sum, n := make([]float64, len(p)), 0.0, 0
	for _, i := range order {
		if !more(n, sum) {
			break
		}
		out[i] = p[i]
		sum += p[i]
		n++
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

const weatherPrompt = "The weather today is"

func weatherReshape(vocabulary int) ReshapeData {
	w := newWeather(vocabulary)
	p := w.at(1)
	return ReshapeData{
		Prompt: weatherPrompt, Tokens: w.tokens, Model: p,
		Panels: []ReshapePanel{
			{Title: "temperature:0.5", Sampling: w.at(0.5)},
			{Title: "top_k:8", Sampling: topK(p, 8)},
			{Title: "top_p:0.9", Sampling: topP(p, 0.9)},
		},
	}
}

func weatherTemperatures(vocabulary int, ts ...float64) TemperaturesData {
	w := newWeather(vocabulary)
	d := TemperaturesData{Prompt: weatherPrompt}
	for _, t := range ts {
		d.Rows = append(d.Rows, TemperatureRow{Temperature: t, Probs: w.at(t)})
	}
	return d
}

// weatherChain is the ledger of temperature 1.5, top_k 40, top_p 0.9 and min_p
// 0.1 on the weather distribution, computed here from the definitions.
func weatherChain() ChainData {
	w := newWeather(512)
	model := w.at(1)
	rows := [][]float64{model, w.at(1.5)}
	rows = append(rows, topK(rows[1], 40))
	rows = append(rows, topP(rows[2], 0.9))
	most := slices.Max(rows[3])
	rows = append(rows, keep(rows[3], func(n int, _ float64) bool { return sorted(rows[3])[n] >= 0.1*most }))
	d := ChainData{Prompt: weatherPrompt, Support: 512}
	for i, name := range []string{"temperature:1.5", "top_k:40", "top_p:0.9", "min_p:0.1"} {
		before, after := rows[i], rows[i+1]
		s := ChainStage{Name: name}
		for k := range after {
			s.TV += math.Abs(after[k]-before[k]) / 2
			if after[k] > 0 {
				s.Support++
				s.Mass += model[k]
				s.KLBits += after[k] * math.Log2(after[k]/before[k])
			}
		}
		d.Stages = append(d.Stages, s)
	}
	final := rows[len(rows)-1]
	d.Chosen = &ChainChoice{Selector: "sample", Token: w.tokens[2], Rank: 3, Prob: final[2]}
	return d
}

func sorted(p []float64) []float64 {
	out := slices.Clone(p)
	slices.Sort(out)
	slices.Reverse(out)
	return out
}
