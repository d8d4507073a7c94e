package steptime

import "slices"

// column is what one constant is multiplied with.
type column struct {
	name  string
	holds []string
	// In the split form weights count up to this batch and arithmetic above it
	// when the constants are sought, and whichever is longer afterwards.
	split int // 0: the form is sum
}

func (c *column) at(p *Point) float64 {
	switch c.name {
	case "weights":
		if c.split > 0 && p.Batch > c.split {
			return 0
		}
		return p.Weights
	case "arithmetic":
		if c.split > 0 && p.Batch <= c.split {
			return 0
		}
		return p.Linear
	case "cache":
		return p.Cache
	case "row":
		return float64(p.Batch)
	}
	return 1
}

func (c *column) unit(opt Options) string {
	switch c.name {
	case "weights":
		return "byte"
	case "cache":
		if opt.Uncounted {
			return "token"
		}
		return "byte"
	case "arithmetic":
		if opt.Uncounted {
			return "token"
		}
		return "FLOP"
	}
	return c.name
}

// candidates returns the forms that points can be fitted with.
func candidates(points []Point, opt Options) []*candidate {
	// In the order in which time goes to terms that cannot be told apart: F11
	// takes the intercept for the weights.
	names := []string{"weights", "arithmetic", "cache", "step", "row"}
	if opt.Prefill { // attention may be slower than the products with weights
		return []*candidate{newCandidate("sum", []string{"arithmetic", "step"}, 0, points),
			newCandidate("sum", []string{"arithmetic", "cache", "step"}, 0, points)}
	}
	var out []*candidate
	if opt.Form != "split" {
		out = append(out, newCandidate("sum", names, 0, points))
	}
	if opt.Form == "sum" {
		return out
	}
	var batches []int
	for _, p := range points {
		batches = append(batches, p.Batch)
	}
	slices.Sort(batches)
	batches = slices.Compact(batches)
	for _, b := range batches[:max(0, len(batches)-1)] {
		c := newCandidate("split", names, b, points)
		has := func(name string) bool {
			return slices.ContainsFunc(c.columns, func(c column) bool { return c.name == name })
		}
		if has("weights") && has("arithmetic") {
			out = append(out, c)
		}
	}
	return out
}

// newCandidate returns a form with those terms that the points can tell apart; a
// term holds those after it that it takes to make up.
func newCandidate(form string, names []string, split int, points []Point) *candidate {
	all := &candidate{form: form}
	for _, n := range names {
		all.columns = append(all.columns, column{name: n, split: split})
	}
	a := all.matrix(points)
	for j := range a { // as shares of the times, which is how they are fitted
		for i := range points {
			a[j][i] /= points[i].Seconds
		}
	}
	kept := separable(a)
	c := &candidate{form: form}
	for _, j := range kept {
		c.columns = append(c.columns, all.columns[j])
	}
	for j, n := range names {
		if slices.Contains(kept, j) || dot(a[j], a[j]) == 0 {
			continue
		}
		for _, partner := range partners[n] {
			k := slices.IndexFunc(c.columns, func(c column) bool { return c.name == partner })
			if k >= 0 {
				c.columns[k].holds = append(c.columns[k].holds, n)
				break
			}
		}
	}
	return c
}

// partners are the terms of which the first that is there holds another one, when
// the points cannot tell that one apart: what every step costs is with the weights,
// what every row costs with the arithmetic.
var partners = map[string][]string{
	"arithmetic": {"weights"},
	"cache":      {"arithmetic", "weights"},
	"step":       {"weights"},
	"row":        {"arithmetic", "weights"},
}

// predictAll returns the seconds of points under constants.
func predictAll(columns []column, x []float64, points []Point) []float64 {
	out := make([]float64, len(points))
	for i := range points {
		out[i] = predict(columns, x, &points[i])
	}
	return out
}

// predict returns the seconds of a point whose Seconds are not known.
func predict(columns []column, x []float64, p *Point) float64 {
	sum, weights, arithmetic, split := 0.0, 0.0, 0.0, false
	for j := range columns {
		c := columns[j]
		split = split || c.split > 0
		c.split = 0
		switch t := x[j] * c.at(p); c.name {
		case "weights":
			weights = t
		case "arithmetic":
			arithmetic = t
		default:
			sum += t
		}
	}
	if split {
		return sum + max(weights, arithmetic)
	}
	return sum + weights + arithmetic
}
