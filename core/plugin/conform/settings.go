package conform

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// textOf is the vocabulary of every question: the letters, the breakers that
// samplers know by default, and words.
func textOf(id int32) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz\n:\"* .0123456789{}[],-"
	if int(id) < len(letters) {
		return []byte(letters[id : id+1])
	}
	return []byte("w" + strconv.Itoa(int(id)))
}

// Values resolves settings given as name and value in turn; what is not given
// takes its default.
func Values(d sampler.Declaration, given ...any) (param.Values, error) {
	var list []param.Setting
	for i := 0; i+1 < len(given); i += 2 {
		list = append(list, param.Setting{Name: fmt.Sprint(given[i]), Value: given[i+1], Origin: "conformance"})
	}
	return d.Params.Resolve("conformance", d.Name, list)
}

// defaultOf returns a setting at its default.
func defaultOf(d sampler.Declaration, name string) (param.Value, error) {
	all, err := Values(d)
	if err != nil {
		return param.Value{}, err
	}
	i := slices.IndexFunc(all, func(v param.Value) bool { return v.Name == name })
	return all[i], nil
}

// legal draws settings for a vocabulary of n tokens; facts may replace some.
func legal(g *rand.Rand, d sampler.Declaration, f Facts, n int) (param.Values, error) {
	own := map[string]any{}
	if f.Settings != nil {
		own = f.Settings(g, n)
	}
	var given []any
	for _, s := range d.Params {
		v, ok := own[s.Name]
		if ok { // another system's range may not have it
			c, err := s.Convert(v)
			ok = err == nil && s.Check(c) == nil
		}
		if !ok {
			if g.IntN(4) == 0 {
				continue // the default
			}
			v = someValue(g, s, n)
		}
		given = append(given, s.Name, v)
	}
	return Values(d, given...)
}

// someValue draws a legal value of a setting: the limits, numbers spread over a
// finite range, numbers about the default and small ones where there is none.
// What a free text may hold only its author knows; it keeps its default.
func someValue(g *rand.Rand, s param.Spec, n int) any {
	switch s.Type {
	case param.Bool:
		return g.IntN(2) == 0
	case param.Text:
		if len(s.Choices) == 0 {
			return s.Default
		}
		return s.Choices[g.IntN(len(s.Choices))]
	case param.Tokens:
		return someTokens(g, s.Weighted, n)
	}
	for range 100 {
		x := someNumber(g, s, n)
		var v any = x
		if s.Type == param.Int {
			v = int64(math.Round(x))
		}
		if s.Check(v) == nil {
			return v
		}
	}
	return s.Default
}

func someNumber(g *rand.Rand, s param.Spec, n int) float64 {
	about, _ := s.Default.(float64)
	if k, ok := s.Default.(int64); ok {
		about = float64(k)
	}
	finite := s.Max-s.Min <= 1000
	switch g.IntN(6) {
	case 0:
		if math.Abs(s.Min) <= 1000 {
			return s.Min
		}
	case 1:
		if math.Abs(s.Max) <= 1000 {
			return s.Max
		}
	case 2:
		if s.Type == param.Int {
			return float64(g.IntN(n + 2))
		}
		return math.Exp(-8 * g.Float64())
	}
	if finite {
		return s.Min + g.Float64()*(s.Max-s.Min)
	}
	return about + g.NormFloat64()*max(1, math.Abs(about)/2)
}

func someTokens(g *rand.Rand, weighted bool, n int) string {
	items := make([]string, g.IntN(4))
	for i := range items {
		items[i] = strconv.Itoa(g.IntN(n))
		switch g.IntN(8) {
		case 0:
			items[i] += "+" + strconv.Itoa(g.IntN(n))
		case 1:
			items[i] = (param.Token{Text: string(textOf(int32(g.IntN(n))))}).String()
		}
		if weighted {
			items[i] += "=" + strconv.FormatFloat(g.NormFloat64()*2, 'g', 4, 64)
		}
	}
	return strings.Join(items, " ")
}
