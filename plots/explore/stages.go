package explore

import (
	"fmt"
	"math"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// stage is one of the stages that the page computes itself. Its name is that of
// the sampler and of the sampler's first setting; the slider goes over the usual
// values, the number box over all legal ones.
type stage struct {
	name              string
	least, most, step float64 // of the slider
	neutral           float64 // the value that changes nothing
}

var offered = []stage{
	{"temperature", 0, 3, 0.01, 1},
	{"top_k", 0, 200, 1, 0},
	{"top_p", 0, 1, 0.01, 1},
	{"min_p", 0, 1, 0.005, 0},
	{"typical", 0, 1, 0.01, 1},
	{"top_n_sigma", 0, 5, 0.05, 0},
}

// Stages returns the names of the samplers that the page offers, in the order in
// which it first shows them.
func Stages() []string {
	names := make([]string, len(offered))
	for i, s := range offered {
		names[i] = s.name
	}
	return names
}

// Setting is a stage of the chain with which a page opens.
type Setting struct {
	Name  string
	Value float64
}

type stageData struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Meaning string   `json:"meaning"`
	Least   float64  `json:"least"`
	Most    float64  `json:"most"`
	Step    float64  `json:"step"`
	Neutral float64  `json:"neutral"`
	Min     *float64 `json:"min"` // of legal values; null: no bound
	Max     *float64 `json:"max"`
	Whole   bool     `json:"whole"` // legal values are whole numbers
	Value   float64  `json:"value"`
}

// stagesData joins what the samplers declare with what the page knows of them. The
// stages of the opening chain come first, in their order.
func stagesData(declared []sampler.Declaration, chain []Setting) ([]stageData, error) {
	byName := map[string]stageData{}
	for _, s := range offered {
		d, err := declaration(declared, s)
		if err != nil {
			return nil, err
		}
		p := d.Params[0]
		byName[s.name] = stageData{Name: s.name, About: d.Summary, Meaning: p.Meaning, Least: s.least, Most: s.most, Step: s.step,
			Neutral: s.neutral, Value: s.neutral, Min: finite(p.Min), Max: finite(p.Max), Whole: p.Type == param.Int}
	}
	var out []stageData
	for _, c := range chain {
		s, ok := byName[c.Name]
		if !ok {
			return nil, fault.New(fault.Usage, op, "chain", "stage %s is unknown to the page, or there twice", fault.Quote(c.Name, 60)).
				Fix("use each of %v at most once", Stages())
		}
		if math.IsNaN(c.Value) || math.IsInf(c.Value, 0) || s.Min != nil && c.Value < *s.Min || s.Max != nil && c.Value > *s.Max {
			return nil, fault.New(fault.Usage, op, "chain", "%s = %v is no value it can have", c.Name, c.Value).Fix("see lab sampler info %s", c.Name)
		}
		s.Value = c.Value
		out = append(out, s)
		delete(byName, c.Name)
	}
	for _, s := range offered {
		if d, ok := byName[s.name]; ok {
			out = append(out, d)
		}
	}
	return out, nil
}

// declaration finds what a sampler says of itself, and holds it to what the page
// takes for granted.
func declaration(declared []sampler.Declaration, s stage) (sampler.Declaration, error) {
	for _, d := range declared {
		if d.Name != s.name {
			continue
		}
		if len(d.Params) == 0 || d.Params[0].Name != s.name || d.Params[0].Min > s.least || d.Params[0].Max < s.most {
			return d, fault.New(fault.Internal, op, fmt.Sprintf("sampler %q", s.name), "its first setting is not %q from %g to %g", s.name, s.least, s.most)
		}
		return d, nil
	}
	return sampler.Declaration{}, fault.New(fault.Internal, op, fmt.Sprintf("sampler %q", s.name), "it is not declared")
}

func finite(bound float64) *float64 {
	if math.IsInf(bound, 0) {
		return nil
	}
	return &bound
}
