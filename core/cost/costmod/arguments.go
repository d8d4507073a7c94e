package costmod

import (
	"encoding/json"
	"math"
	"sort"
	"strings"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/cost/tables"
	"lab/core/fault"
	"lab/core/script"
)

// uncertainType accepts a number, [lo, hi] or {median, lo, hi}.
func uncertainType() script.Type {
	return script.Either(script.Float(), script.Numbers(), script.Map(script.Any())).Called("number, [lo, hi] or {median, lo, hi}")
}

// points returns one, two or three numbers as [scenario.Between] wants them.
func points(where string, v any) ([]float64, error) {
	bad := func(problem string, args ...any) ([]float64, error) {
		return nil, fault.New(fault.Script, where, "", problem, args...).Fix("write 0.4, [0.3, 0.5] or {median: 0.4, lo: 0.3, hi: 0.5}")
	}
	var x []float64
	switch v := v.(type) {
	case float64:
		x = []float64{v}
	case int64:
		x = []float64{float64(v)}
	case []float64:
		x = v
	case []any:
		for _, e := range v {
			one, err := points(where, e)
			if err != nil || len(one) != 1 {
				return bad("an interval holds numbers")
			}
			x = append(x, one[0])
		}
	case map[string]any:
		m := &picker{where: where, m: v, names: []string{"lo", "median", "hi"}}
		for _, name := range m.names {
			n, ok := m.number(name)
			if !ok && m.err == nil {
				return bad("%s is missing", name)
			}
			x = append(x, n)
		}
		if err := m.done(); err != nil {
			return nil, err
		}
		return x, nil
	default:
		return bad("it is no number")
	}
	if len(x) == 3 {
		return bad("an interval has two ends")
	}
	for _, n := range x {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return bad("%g is not finite", n)
		}
	}
	return x, nil
}

func uncertain(where string, v any) (*cost.Uncertain, error) {
	x, err := points(where, v)
	if err != nil {
		return nil, err
	}
	u, err := scenario.Between(x)
	return &u, err
}

// optional returns an uncertain option that may be left out.
func optional(c *script.Call, name string) (*cost.Uncertain, error) {
	if !c.Given(name) {
		return nil, nil
	}
	return uncertain(c.Name()+": "+name, c.Any(name))
}

// picker takes the keys of a map and keeps the first thing wrong with them.
type picker struct {
	where string
	m     map[string]any
	names []string // every key that is known
	err   error
}

func pick(c *script.Call, name string, names ...string) *picker {
	p := &picker{where: c.Name() + ": " + name, names: names}
	if c.Given(name) {
		p.m = c.Map(name)
	}
	return p
}

func (p *picker) wrong(problem string, args ...any) {
	if p.err == nil {
		p.err = fault.New(fault.Script, p.where, "", problem, args...)
	}
}

func (p *picker) number(name string) (float64, bool) {
	switch v := p.m[name].(type) {
	case nil:
		return 0, false
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			p.wrong("%s is not finite", name)
		}
		return v, true
	case int64:
		return float64(v), true
	}
	p.wrong("%s is no number", name)
	return 0, false
}

// must is number of a key that has to be there.
func (p *picker) must(name string) float64 {
	v, ok := p.number(name)
	if !ok {
		p.wrong("%s is missing", name)
	}
	return v
}

func (p *picker) text(name string) string {
	v, ok := p.m[name].(string)
	if p.m[name] != nil && !ok {
		p.wrong("%s is no string", name)
	}
	return v
}

func (p *picker) uncertain(name string) *cost.Uncertain {
	v := p.m[name]
	if v == nil || p.err != nil {
		return nil
	}
	u, err := uncertain(p.where+"."+name, v)
	if err != nil {
		p.err = err
	}
	return u
}

func (p *picker) growth(name string) *cost.Uncertain {
	v := p.m[name]
	if v == nil || p.err != nil {
		return nil
	}
	x, err := points(p.where+"."+name, v)
	if err != nil {
		p.err = err
		return nil
	}
	u, err := scenario.Growth(x)
	if err != nil {
		p.err = err
	}
	return &u
}

// done returns the first error; a key that is not known is one.
func (p *picker) done() error {
	keys := make([]string, 0, len(p.m))
	for k := range p.m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		known := false
		for _, n := range p.names {
			known = known || n == k
		}
		if !known && p.err == nil {
			e := fault.Unknown(p.where, "key", k, p.names)
			e.Kind = fault.Script
			p.err = e
		}
	}
	return p.err
}

// modelParam is the first argument of everything about a model.
var modelParam = script.Param{Name: "model", Type: script.Either(script.String(), script.Map(script.Any())).Called("name or map"),
	Meaning: "a name of lab cost models, or an architecture: {layers, d_model, heads, d_ff, vocab, …}, fields in docs/cost.md"}

// setup fills the model of a setup from the first argument.
func (env *Env) setup(c *script.Call) (scenario.Setup, *tables.Tables, error) {
	t, err := env.Tables()
	if err != nil {
		return scenario.Setup{}, nil, err
	}
	switch v := c.Any("model").(type) {
	case string:
		return scenario.Setup{Model: v}, t, nil
	case map[string]any:
		a, err := architecture(v)
		return scenario.Setup{Arch: a}, t, err
	}
	return scenario.Setup{}, nil, fault.New(fault.Script, c.Name(), "model", "it is neither a name nor a map")
}

// arch returns the architecture of the first argument.
func (env *Env) arch(c *script.Call) (*cost.Arch, error) {
	s, t, err := env.setup(c)
	if err != nil || s.Arch != nil {
		return s.Arch, err
	}
	m, err := t.Model(s.Model)
	if err != nil {
		return nil, err
	}
	return m.Architecture()
}

func architecture(v map[string]any) (*cost.Arch, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Script, "cost", "model", "it holds what no architecture does: %v", strings.TrimPrefix(err.Error(), "json: "))
	}
	return cost.ParseArch(text)
}

// hardware sets the device of a setup: a name, or a map of one's own.
func hardware(c *script.Call, s *scenario.Setup) error {
	if !c.Given("hardware") {
		return nil
	}
	name, ok := c.Any("hardware").(string)
	if ok {
		s.Hardware = name
		return nil
	}
	p := pick(c, "hardware", "name", "peak", "bytes_per_s", "memory_bytes", "watts", "usd_per_hour", "as_of", "source")
	h := &tables.Hardware{Fact: tables.Fact{Name: p.text("name"), Source: p.text("source"), AsOf: tables.Date(p.text("as_of"))}, BytesPerS: p.must("bytes_per_s")}
	if h.Name == "" {
		h.Name = "the device given"
	}
	if h.Source == "" {
		h.Source = "the script"
	}
	h.MemoryBytes, _ = p.number("memory_bytes")
	if w, ok := p.number("watts"); ok {
		h.Watts = &w
	}
	if u, ok := p.number("usd_per_hour"); ok {
		h.USDPerHour = &u
		if !h.AsOf.Valid() {
			p.wrong("usd_per_hour needs as_of, the day of the price")
		}
	}
	peak, ok := p.m["peak"].(map[string]any)
	if !ok {
		p.wrong("peak is no map of FLOP/s by arithmetic type, such as {bf16: 989.4e12}")
	}
	h.Peak = map[string]float64{}
	q := &picker{where: p.where + ".peak", m: peak, names: tables.Dtypes()}
	for _, d := range tables.Dtypes() {
		if v, ok := q.number(d); ok {
			h.Peak[d] = v
		}
	}
	if err := p.done(); err != nil {
		return err
	}
	if err := q.done(); err != nil {
		return err
	}
	s.Device = h
	return nil
}

// convention reads the option attention.
func convention(c *script.Call) cost.Convention {
	return cost.Convention{Full: c.String("attention") == "full"}
}

var attentionOption = script.Param{Name: "attention", Type: script.String(), Default: "causal", Choices: []string{"causal", "full"}, Meaning: "how prefill and training count it: the causal half, or the full square"}
