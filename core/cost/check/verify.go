package check

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"lab/core/fault"
)

// Verdict says how a number came out.
type Verdict string

// Verdicts.
const (
	Holds      Verdict = "holds"
	Differs    Verdict = "differs"
	Refused    Verdict = "refused"     // the inputs are wrong; Why says how
	NotCovered Verdict = "not_covered" // the op is not known, or the file lacks an input of the output
)

// Verdicts in the order they are reported.
var Verdicts = []Verdict{Holds, Differs, Refused, NotCovered}

// Result is one number of a check. Numbers are nil where they are never or not
// there.
type Result struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Op         string   `json:"op"`
	Output     string   `json:"output"`            // with its place in a list: values[2]
	Expected   *float64 `json:"expected"`          // null: never
	Ours       *float64 `json:"ours"`              // null: never, or not computed
	Difference *float64 `json:"difference"`        // |ours − expected|/|expected|; |ours| where 0 is expected
	Tolerance  float64  `json:"tolerance"`         // of the difference; 0: equal
	Verdict    Verdict  `json:"verdict"`           //
	Why        string   `json:"why,omitempty"`     // unless it holds
	Assumed    string   `json:"assumed,omitempty"` // what was taken where the file is silent
	Unit       string   `json:"unit"`
	Source     string   `json:"source"`
	Provenance string   `json:"provenance"`
}

// Print is a published figure against ours.
type Print struct {
	ID        string   `json:"id"`
	Output    string   `json:"output"`
	Published float64  `json:"published"`
	Ours      *float64 `json:"ours"`      // null: not computed
	Gap       *float64 `json:"gap"`       // (ours − published)/published
	Tolerance float64  `json:"tolerance"` // of the published rounding
	Says      string   `json:"says"`      // reproduced or differs, as the file says
	Holds     bool     `json:"holds"`     // reproduced still is, differs keeps its sign, and the gap is the file's
	Why       string   `json:"why,omitempty"`
	Note      string   `json:"note,omitempty"` // the file's reason
}

// Verify runs every check. Results come in the order of the file, outputs by
// name.
func (f *File) Verify() ([]Result, []Print) {
	var results []Result
	var prints []Print
	for i := range f.Items {
		r, p := f.Items[i].verify()
		results = append(results, r...)
		prints = append(prints, p...)
	}
	return results, prints
}

// Give adds an input, a JSON value, that a check lacks, and reports whether the file
// has the check. What a check gives itself, and what its operation does not know, is
// a usage error: a file's own inputs are never replaced. Results name it as assumed.
func (f *File) Give(id, name string, input json.RawMessage) (found bool, err error) {
	for i := range f.Items {
		it := &f.Items[i]
		if it.ID != id {
			continue
		}
		bad := func(format string, args ...any) (bool, error) {
			return true, fault.New(fault.Usage, "cost verify", "input "+id+"."+name, format, args...)
		}
		inputs, err := object(it.Inputs)
		if err != nil {
			return bad("%v", err)
		}
		if _, ok := inputs[name]; ok {
			return bad("%s gives it itself", f.Name)
		}
		var names []string
		for _, in := range Inputs(it.Op) {
			names = append(names, in.Name)
		}
		if !slices.Contains(names, name) {
			return true, fault.Unknown("cost verify", "input of "+it.Op, name, names)
		}
		inputs[name] = input
		all, err := json.Marshal(inputs)
		if err != nil {
			return bad("%v", err)
		}
		it.Inputs, it.given = all, append(it.given, fmt.Sprintf("%s = %s, which the file lacks", name, input))
		return true, nil
	}
	return false, nil
}

// Operations returns the names of the operations that can be checked, sorted.
func Operations() []string {
	names := make([]string, 0, len(operations))
	for n := range operations {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Inputs returns the inputs of an operation of [Operations].
func Inputs(op string) []Input { return operations[op].inputs }

func (it *Item) verify() ([]Result, []Print) {
	run, known := operations[it.Op]
	var out map[string]value
	var err error
	if known {
		out, err = run.run(it.Inputs)
	}
	var results []Result
	ours := map[string]*float64{}
	for _, e := range it.outputs {
		got, have := out[e.name]
		for i, want := range e.numbers {
			r := Result{ID: it.ID, Title: it.Title, Op: it.Op, Output: e.name, Expected: finite(want), Tolerance: *it.RelTol,
				Unit: it.Unit, Source: it.Source, Provenance: it.Provenance, Assumed: strings.Join(slices.DeleteFunc(append(slices.Clone(it.given), got.assumed), func(s string) bool { return s == "" }), "; ")}
			if e.list {
				r.Output = fmt.Sprintf("%s[%d]", e.name, i)
			}
			switch {
			case !known:
				r.Verdict, r.Why = NotCovered, fault.Unknown("cost verify", "op", it.Op, Operations()).Error()
			case err != nil:
				r.Verdict, r.Why = Refused, err.Error()
			case !have:
				r.Verdict, r.Why = NotCovered, fmt.Sprintf("op %s has no output %s for these inputs", it.Op, fault.Quote(e.name, 40))
			case got.lacks != "":
				r.Verdict, r.Why = NotCovered, "the inputs lack "+got.lacks
			case got.list != e.list || len(got.numbers) != len(e.numbers):
				r.Verdict, r.Why = Differs, fmt.Sprintf("%d number(s) come out and %d are expected", len(got.numbers), len(e.numbers))
			default:
				r.compare(got.numbers[i], want)
				if !e.list {
					v := got.numbers[i]
					ours[e.name] = &v
				}
			}
			results = append(results, r)
		}
	}
	var prints []Print
	for _, p := range it.Published {
		prints = append(prints, p.derive(it, ours[p.Output]))
	}
	return results, prints
}

// compare sets the difference and the verdict. Never equals only never.
func (r *Result) compare(got, want float64) {
	r.Ours = finite(got)
	r.Verdict = Holds
	if math.IsInf(want, 1) || math.IsInf(got, 1) {
		if !(math.IsInf(want, 1) && math.IsInf(got, 1)) {
			r.Verdict, r.Why = Differs, "one of the two never happens"
		}
		return
	}
	d := math.Abs(got - want)
	if want != 0 {
		d /= math.Abs(want)
	}
	r.Difference = finite(d)
	if !(d <= r.Tolerance) {
		r.Verdict, r.Why = Differs, fmt.Sprintf("%.17g is expected and %.17g comes out, a difference of %.3g where %.3g is allowed", want, got, d, r.Tolerance)
	}
}

// derive finds the gap of a published figure again. Gaps are printed to six
// decimals, so they agree within 1e-6.
func (p *Published) derive(it *Item, ours *float64) Print {
	out := Print{ID: it.ID, Output: p.Output, Published: *p.Value, Ours: ours, Tolerance: *p.TolRel, Says: p.Verdict, Note: it.Note}
	if ours == nil || math.IsInf(*ours, 0) {
		out.Ours, out.Why = nil, "there is no number of ours"
		return out
	}
	gap := (*ours - *p.Value) / *p.Value
	out.Gap = &gap
	switch inside := math.Abs(gap) <= *p.TolRel; {
	case !(math.Abs(gap-*p.GapRel) <= 1e-6):
		out.Why = fmt.Sprintf("the file says a gap of %.6f and it is %.6f", *p.GapRel, gap)
	case p.Verdict == "reproduced" && !inside:
		out.Why = fmt.Sprintf("the gap of %.6f is beyond the rounding of %g", gap, *p.TolRel)
	case p.Verdict == "differs" && inside:
		out.Why = fmt.Sprintf("the gap of %.6f is within the rounding of %g", gap, *p.TolRel)
	case math.Signbit(gap) != math.Signbit(*p.GapRel) && gap != 0 && *p.GapRel != 0:
		out.Why = fmt.Sprintf("the gap of %.6f has the other sign", gap)
	default:
		out.Holds = true
	}
	return out
}

func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}
