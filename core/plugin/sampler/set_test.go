package sampler

import (
	"math"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/param"
)

// fake is a sampler whose behaviour a test writes.
type fake struct {
	decl  Declaration
	apply func(row *Row, set param.Values) error
}

func (f fake) Declare() Declaration { return f.decl }

func (f fake) Apply(row *Row, set param.Values) error {
	if f.apply == nil {
		return nil
	}
	return f.apply(row, set)
}

func decl(name string, kind Kind) Declaration {
	return Declaration{Name: name, Kind: kind, Summary: "s", Source: "s"}
}

func reshape(name string, apply func(row *Row, set param.Values) error) fake {
	return fake{decl: decl(name, Reshape), apply: apply}
}

func selecting(name string, apply func(row *Row, set param.Values) error) fake {
	return fake{decl: decl(name, Select), apply: apply}
}

func mustSet(t testing.TB, samplers ...Sampler) *Set {
	t.Helper()
	s, err := NewSet(samplers...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantFault(t *testing.T, err error, kind fault.Kind, parts ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("got %v, want a %v error", err, kind)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not contain %q", err, p)
		}
	}
}

type panics struct{ fake }

func (panics) Declare() Declaration { panic("no declaration today") }

func TestNewSetRefusesBadDeclarations(t *testing.T) {
	with := func(change func(*Declaration)) Sampler {
		d := decl("good", Reshape)
		change(&d)
		return fake{decl: d}
	}
	spec := param.Spec{Name: "x", Type: param.Float, Default: 1.0, Min: 0, Max: 2, Meaning: "m"}
	rows := []struct {
		name, want string
		samplers   []Sampler
	}{
		{"nil", "sampler 1: it is nil", []Sampler{nil}},
		{"Declare panics", "no declaration today", []Sampler{panics{}}},
		{"no name", "snake_case", []Sampler{with(func(d *Declaration) { d.Name = "" })}},
		{"name with a blank", "snake_case", []Sampler{with(func(d *Declaration) { d.Name = "top k" })}},
		{"alias with a dash", `alias "top-k"`, []Sampler{with(func(d *Declaration) { d.Aliases = []string{"top-k"} })}},
		{"no kind", "kind(0)", []Sampler{with(func(d *Declaration) { d.Kind = 0 })}},
		{"no summary", "summary", []Sampler{with(func(d *Declaration) { d.Summary = "" })}},
		{"no source", "source", []Sampler{with(func(d *Declaration) { d.Source = "" })}},
		{"too many uniforms", "needs", []Sampler{with(func(d *Declaration) { d.Needs.Uniforms = 1025 })}},
		{"negative history", "needs", []Sampler{with(func(d *Declaration) { d.Needs.History = -2 })}},
		{"a setting twice", "declared twice", []Sampler{with(func(d *Declaration) { d.Params = param.Specs{spec, spec} })}},
		{"a default outside its range", "outside [0, 2]", []Sampler{with(func(d *Declaration) {
			s := spec
			s.Default = 3.0
			d.Params = param.Specs{s}
		})}},
		{"a name twice", `the name "good" is already one of sampler "good"`, []Sampler{fake{decl: decl("good", Reshape)}, fake{decl: decl("good", Select)}}},
		{"an alias that is a name", `already one of sampler "good"`, []Sampler{fake{decl: decl("good", Reshape)},
			with(func(d *Declaration) { d.Name, d.Aliases = "other", []string{"good"} })}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := NewSet(r.samplers...)
			wantFault(t, err, fault.Plugin, r.want)
		})
	}
}

func TestLookup(t *testing.T) {
	d := decl("temperature", Reshape)
	d.Aliases = []string{"temp"}
	set := mustSet(t, fake{decl: d}, reshape("top_k", nil))
	for _, name := range []string{"temperature", "temp"} {
		if got, err := set.Lookup(name); err != nil || got.Name != "temperature" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	_, err := set.Lookup("temprature")
	wantFault(t, err, fault.Usage, `"temprature"`, `did you mean "temperature"?`)
	if n := len(set.Declarations()); n != 2 {
		t.Errorf("%d declarations, want 2", n)
	}
}

func TestValuesAreCheckedAgain(t *testing.T) {
	d := decl("scale", Reshape)
	d.Params = param.Specs{
		{Name: "factor", Aliases: []string{"f"}, Type: param.Float, Default: 2.0, Min: 0, Max: 10, Meaning: "m"},
		{Name: "twice", Type: param.Bool, Default: false, Meaning: "m"},
	}
	var seen param.Values
	set := mustSet(t, fake{decl: d, apply: func(_ *Row, v param.Values) error { seen = v; return nil }})
	try := func(v ...param.Value) error {
		return set.Run(t.Context(), &Call{Stages: []Stage{{Sampler: "scale", Values: v}}, Items: []*Item{{Scores: row(1)}}})
	}
	for _, r := range []struct {
		name string
		give []param.Value
		want string
	}{
		{"none: the defaults", nil, "factor=2,twice=false"},
		{"an alias", []param.Value{{Name: "f", Value: 3.0}}, "factor=3,twice=false"},
		{"another order", []param.Value{{Name: "twice", Value: true}, {Name: "factor", Value: 1.5}}, "factor=1.5,twice=true"},
		{"as declared", []param.Value{{Name: "factor", Value: 4.0}, {Name: "twice", Value: true}}, "factor=4,twice=true"},
	} {
		if err := try(r.give...); err != nil || seen.String() != r.want {
			t.Errorf("%s: %v, %v; want %s", r.name, seen, err, r.want)
		}
	}
	wantFault(t, try(param.Value{Name: "factor", Value: 11.0}), fault.Usage, "stage 1 (scale)", "factor = 11 is outside [0, 10]")
	wantFault(t, try(param.Value{Name: "factor", Value: math.NaN()}, param.Value{Name: "twice", Value: true}), fault.Usage, "not a finite number")
	wantFault(t, try(param.Value{Name: "factr", Value: 1.0}), fault.Usage, `did you mean "factor"?`)
	wantFault(t, try(param.Value{Name: "twice", Value: int64(1)}), fault.Usage, "true or false")
	wantFault(t, try(param.Value{Name: "factor", Value: nil}), fault.Usage, "not a number")
}
