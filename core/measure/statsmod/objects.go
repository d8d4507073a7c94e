package statsmod

import (
	"fmt"
	"math"
	"strings"

	"lab/core/measure"
	"lab/core/script"
)

// Estimate is a [measure.Estimate] as a script holds it.
type Estimate struct{ measure.Estimate }

// get declares a value of a host object.
func get[T any](name, returns, doc string, f func(T) any) script.Member {
	return script.Member{Name: name, Returns: returns, Doc: doc, Get: func(c *script.Call) (any, error) { return f(script.Self[T](c)), nil }}
}

// Class implements script.Object.
func (Estimate) Class() script.Class {
	return script.Class{Name: "estimate", Doc: "A number with what is known about its error.", Members: []script.Member{
		get("value", "float", "The estimate.", func(e Estimate) any { return e.Value }),
		get("lo", "float", "Lower end of the interval; NaN where it is not known, and note says why.", func(e Estimate) any { return e.Lo }),
		get("hi", "float", "Upper end.", func(e Estimate) any { return e.Hi }),
		get("n", "int", "Values it was made from.", func(e Estimate) any { return e.N }),
		get("level", "float", "Confidence of the interval.", func(e Estimate) any { return e.Level }),
		get("method", "string", "How the interval was made.", func(e Estimate) any { return e.Method }),
		get("missing", "int", "Samples that were left out because the measure is not defined for them.", func(e Estimate) any { return e.Missing }),
		get("clusters", "int", "Clusters, where the method looks at them; otherwise 0.", func(e Estimate) any { return e.Clusters }),
		get("design_effect", "float", "Variance over that of independent values, where values are clustered; otherwise 0, NaN when not known.", func(e Estimate) any { return e.DesignEffect }),
		get("note", "string", "What the reader has to know; often empty.", func(e Estimate) any { return e.Note }),
	}}
}

// String implements fmt.Stringer: "0.833 [0.71, 0.95] (95% t, n = 12)".
func (e Estimate) String() string {
	ends := "no interval"
	if !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) {
		ends = fmt.Sprintf("[%.4g, %.4g]", e.Lo, e.Hi)
	}
	out := fmt.Sprintf("%.4g %s (%.4g%% %s, n = %d", e.Value, ends, 100*e.Level, e.Method, e.N)
	if e.Missing > 0 {
		out += fmt.Sprintf(", %d missing", e.Missing)
	}
	if e.Clusters > 0 {
		out += fmt.Sprintf(", %d clusters", e.Clusters)
	}
	if e.Note != "" {
		out += "; " + e.Note
	}
	return out + ")"
}

// Test is a [measure.Test] as a script holds it.
type Test struct{ measure.Test }

// Class implements script.Object.
func (Test) Class() script.Class {
	return script.Class{Name: "test", Doc: "The outcome of a test of no difference, in either direction.", Members: []script.Member{
		get("name", "string", "Which test.", func(t Test) any { return t.Name }),
		get("statistic", "float", "What it computed.", func(t Test) any { return t.Statistic }),
		get("df", "float", "Degrees of freedom; 0 when it has none.", func(t Test) any { return t.DF }),
		get("p", "float", "Two-sided p; NaN when the data does not say, and note says why.", func(t Test) any { return t.P }),
		get("n", "int", "Values or pairs that entered.", func(t Test) any { return t.N }),
		get("exact", "bool", "Whether p is from the test's own distribution, not from a normal or sampled one.", func(t Test) any { return t.Exact }),
		get("note", "string", "What the reader has to know; often empty.", func(t Test) any { return t.Note }),
	}}
}

// String implements fmt.Stringer: "paired t: p = 0.0123 (n = 20)".
func (t Test) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: p = %.4g (n = %d; %s", t.Name, t.P, t.N, t.Note), "; ") + ")"
}
