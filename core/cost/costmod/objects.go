package costmod

import (
	"fmt"

	"lab/core/cost"
	"lab/core/cost/scenario"
	"lab/core/script"
)

// Quantity is a [cost.Quantity] as a script holds it.
type Quantity struct{ cost.Quantity }

// get declares a value of a quantity.
func get(name, returns, doc string, f func(Quantity) any) script.Member {
	return script.Member{Name: name, Returns: returns, Doc: doc, Get: func(c *script.Call) (any, error) { return f(script.Self[Quantity](c)), nil }}
}

// Class implements script.Object.
func (Quantity) Class() script.Class {
	return script.Class{Name: quantityKind, Doc: "A number with its unit, its formula and how far to trust it.", Members: []script.Member{
		get("value", "float", "The number; with a band, the median. Infinite: never.", func(q Quantity) any { return q.Value }),
		get("lo", "float", "5% point of the band; NaN without one.", func(q Quantity) any { return q.Lo }),
		get("hi", "float", "95% point.", func(q Quantity) any { return q.Hi }),
		get("unit", "string", "Such as FLOP, bytes, s, USD.", func(q Quantity) any { return q.Unit }),
		get("formula", "string", "Id in docs/cost.md, such as F9.", func(q Quantity) any { return q.Formula }),
		get("kind", "string", "exact, bound (a floor or a ceiling), measured, fitted or scenario.", func(q Quantity) any { return string(q.Kind) }),
		get("note", "string", "What the reader has to know; often empty.", func(q Quantity) any { return q.Note }),
	}}
}

// String implements fmt.Stringer: "0.0104 [0.0098, 0.012] s (F13, bound)".
func (q Quantity) String() string {
	s := scenario.Number(q.Value)
	if q.HasBand() {
		s += fmt.Sprintf(" [%s, %s]", scenario.Number(q.Lo), scenario.Number(q.Hi))
	}
	return fmt.Sprintf("%s %s (%s, %s)", s, q.Unit, q.Formula, q.Kind)
}

// of returns the quantity that a formula gave, or its error.
func of(unit, formula string, kind cost.Kind) func(float64, error) (any, error) {
	return func(v float64, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return Quantity{cost.Of(v, unit, formula, kind, "")}, nil
	}
}

// record returns the lines of an answer by name, with what is absent and what was
// assumed.
func record(name string, a *scenario.Answer, more map[string]any) script.Record {
	fields := map[string]any{}
	for _, l := range a.Lines {
		fields[l.Name] = Quantity{l.Quantity}
	}
	absent := map[string]any{}
	for _, x := range a.Absent {
		absent[x.Name] = x.Why
	}
	fields["absent"], fields["assumed"] = absent, a.Assumed
	for k, v := range more {
		fields[k] = v
	}
	return script.Record{Name: name, Fields: fields}
}
