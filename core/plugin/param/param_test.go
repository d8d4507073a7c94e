package param

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

var specs = Specs{
	{Name: "top_p", Aliases: []string{"p"}, Type: Float, Default: 0.95, Min: 0, Max: 1, MinOpen: true, Meaning: "the mass to reach"},
	{Name: "min_keep", Type: Int, Default: int64(1), Min: 0, Max: math.Inf(1), Unit: "tokens", Meaning: "keep at least"},
	{Name: "ties", Type: Text, Default: "first", Choices: []string{"first", "keep_all"}, Meaning: "what to do with ties"},
	{Name: "strict", Type: Bool, Default: false, Meaning: "refuse more"},
	{Name: "note", Type: Text, Default: "", Meaning: "free text"},
}

func given(pairs ...any) []Setting {
	var out []Setting
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Setting{Name: pairs[i].(string), Value: pairs[i+1], Origin: "test"})
	}
	return out
}

func TestResolve(t *testing.T) {
	const defaults = "min_keep=1,ties=first,strict=false,note="
	rows := []struct {
		name string
		in   []Setting
		want string
	}{
		{"nothing given: the defaults", nil, "top_p=0.95," + defaults},
		{"no name is the first setting", given("", "0.5"), "top_p=0.5," + defaults},
		{"an alias", given("p", 0.5), "top_p=0.5," + defaults},
		{"a whole number where a real one is wanted", given("p", 1), "top_p=1," + defaults},
		{"an int64 likewise", given("p", int64(1)), "top_p=1," + defaults},
		{"text in scientific notation", given("p", "1e-9"), "top_p=1e-09," + defaults},
		{"a limit that is included", given("min_keep", 0, "p", 1.0), "top_p=1,min_keep=0,ties=first,strict=false,note="},
		{"a choice", given("ties", "keep_all"), "top_p=0.95,min_keep=1,ties=keep_all,strict=false,note="},
		{"words for true", given("strict", "yes"), "top_p=0.95,min_keep=1,ties=first,strict=true,note="},
		{"words for false", given("strict", "off"), "top_p=0.95," + defaults},
		{"any text", given("note", "p = 2, \"x\""), "top_p=0.95,min_keep=1,ties=first,strict=false,note=p = 2, \"x\""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := specs.Resolve("sampler", "top_p", r.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != r.want {
				t.Errorf("got %s, want %s", got, r.want)
			}
			for i, v := range got {
				if v.Name != specs[i].Name {
					t.Errorf("value %d is %s, want the declared order", i, v.Name)
				}
				if (v.Origin == "test") != (v.Origin != DefaultOrigin) {
					t.Errorf("%s comes from %q", v.Name, v.Origin)
				}
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	rows := []struct {
		name string
		in   []Setting
		want []string
	}{
		{"unknown name", given("min_kep", 2), []string{`unknown setting "min_kep"`, `did you mean "min_keep"?`}},
		{"given twice", given("p", 0.5, "top_p", 0.6), []string{"top_p is given twice (0.5, then 0.6)"}},
		{"above the range", given("p", 1.2), []string{"top_p = 1.2 is outside (0, 1]"}},
		{"an open limit", given("p", 0), []string{"top_p = 0 is outside (0, 1]"}},
		{"below the range", given("min_keep", -1), []string{"min_keep = -1 is outside [0, ∞)"}},
		{"NaN", given("p", math.NaN()), []string{"not a finite number"}},
		{"NaN as text", given("p", "NaN"), []string{`"NaN" is not a number`}},
		{"infinity as text", given("p", "inf"), []string{"not a finite number"}},
		{"text for a number", given("p", "much"), []string{`top_p = "much" is not a number`}},
		{"a real number for a whole one", given("min_keep", 2.0), []string{"min_keep = 2.0 is not a whole number"}},
		{"the same as text", given("min_keep", "2.0"), []string{`"2.0" is not a whole number`}},
		{"a whole number out of its type", given("min_keep", "99999999999999999999"), []string{"not a whole number"}},
		{"a number for true or false", given("strict", 1), []string{"not true or false"}},
		{"unknown choice", given("ties", "frist"), []string{`"frist"`, `did you mean "first"?`}},
		{"a number for text", given("note", 3), []string{"not a text"}},
		{"nil", given("p", nil), []string{"top_p = <nil> is not a number"}},
		{"a list", given("p", []float64{1, 2}), []string{"is not a number"}},
		{"a long value is shortened", given("p", strings.Repeat("9a", 500)), []string{"…"}},
		{"a long list is shortened", given("p", make([]int, 500)), []string{"…"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := specs.Resolve("sampler", "nucleus", r.in)
			if err == nil || fault.KindOf(err) != fault.Usage {
				t.Fatalf("got %v, want a usage error", err)
			}
			for _, want := range append(r.want, "sampler: nucleus: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
			if len(err.Error()) > 250 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestResolveWithoutSettings(t *testing.T) {
	var none Specs
	if v, err := none.Resolve("sampler", "greedy", nil); err != nil || len(v) != 0 {
		t.Errorf("%v, %v", v, err)
	}
	for name, in := range map[string][]Setting{"it takes no settings": given("", "1"), "it takes none": given("x", "1")} {
		if _, err := none.Resolve("sampler", "greedy", in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, s := range specs {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
	good := Spec{Name: "x", Type: Float, Default: 1.0, Min: 0, Max: 2, Meaning: "m"}
	rows := []struct {
		name, want string
		change     func(*Spec)
	}{
		{"upper case", "snake_case", func(s *Spec) { s.Name = "X" }},
		{"empty name", "snake_case", func(s *Spec) { s.Name = "" }},
		{"leading digit", "snake_case", func(s *Spec) { s.Name = "2x" }},
		{"letter outside ASCII", "snake_case", func(s *Spec) { s.Name = "é" }},
		{"too long", "snake_case", func(s *Spec) { s.Name = strings.Repeat("x", 65) }},
		{"alias with a dash", `alias "a-b"`, func(s *Spec) { s.Aliases = []string{"a-b"} }},
		{"no meaning", "meaning", func(s *Spec) { s.Meaning = "" }},
		{"unknown type", "type(9)", func(s *Spec) { s.Type = 9 }},
		{"no type", "type(0)", func(s *Spec) { s.Type = 0 }},
		{"range the wrong way round", "empty", func(s *Spec) { s.Min, s.Max = 2, 1 }},
		{"range with NaN", "empty", func(s *Spec) { s.Max = math.NaN() }},
		{"default outside the range", "x = 3 is outside [0, 2]", func(s *Spec) { s.Default = 3.0 }},
		{"default on an open limit", "x = 2 is outside [0, 2)", func(s *Spec) { s.Default, s.MaxOpen = 2.0, true }},
		{"default of another type", "not a number", func(s *Spec) { s.Default = int64(1) }},
		{"no default", "not a number", func(s *Spec) { s.Default = nil }},
		{"default not among the choices", `unknown x "c"`, func(s *Spec) { s.Type, s.Choices, s.Default = Text, []string{"a", "b"}, "c" }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := good
			r.change(&s)
			err := s.Validate()
			if err == nil || fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a plugin error with %q", err, r.want)
			}
		})
	}
}

func TestRange(t *testing.T) {
	rows := []struct {
		want string
		s    Spec
	}{
		{"[0, 1]", Spec{Type: Float, Min: 0, Max: 1}},
		{"(0, 1)", Spec{Type: Float, Min: 0, Max: 1, MinOpen: true, MaxOpen: true}},
		{"[-1, ∞)", Spec{Type: Int, Min: -1, Max: math.Inf(1)}},
		{"(-∞, ∞)", Spec{Type: Float, Min: math.Inf(-1), Max: math.Inf(1)}},
		{"a | b", Spec{Type: Text, Choices: []string{"a", "b"}}},
		{"any text", Spec{Type: Text}},
		{"true | false", Spec{Type: Bool}},
	}
	for _, r := range rows {
		if got := r.s.Range(); got != r.want {
			t.Errorf("got %s, want %s", got, r.want)
		}
	}
}

func TestValues(t *testing.T) {
	v, err := specs.Resolve("", "", given("strict", true, "note", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Float("top_p") != 0.95 || v.Int("min_keep") != 1 || v.Text("note") != "x" || !v.Bool("strict") {
		t.Errorf("%v", v)
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), `"nothing"`) {
			t.Errorf("reading an undeclared setting gives %v, want a panic that names it", r)
		}
	}()
	v.Float("nothing")
}

// Whatever was accepted reads back from its text to the bit.
func FuzzFormatReadsBack(f *testing.F) {
	for _, s := range []string{"0.1", "1e-300", "1", "-0", "0x1p-3", "1_0", "١"} {
		f.Add(s)
	}
	spec := Spec{Name: "x", Type: Float, Min: math.Inf(-1), Max: math.Inf(1)}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := spec.Convert(text)
		if err != nil || spec.Check(v) != nil {
			return
		}
		again, err := spec.Convert(Format(v))
		if err != nil || math.Float64bits(again.(float64)) != math.Float64bits(v.(float64)) {
			t.Errorf("%q is %v, and reads back as %v (%v)", text, v, again, err)
		}
	})
}

func ExampleSpecs_Resolve() {
	specs := Specs{{
		Name: "top_p", Aliases: []string{"p"}, Type: Float, Default: 0.95, Min: 0, Max: 1,
		Meaning: "the mass to reach; 1 keeps every token",
	}}
	v, err := specs.Resolve("sampler", "top_p", []Setting{{Value: "0.9", Origin: "chain"}})
	fmt.Println(v, err)
	_, err = specs.Resolve("sampler", "top_p", []Setting{{Name: "p", Value: 1.2}})
	fmt.Println(err)
	// Output:
	// top_p=0.9 <nil>
	// sampler: top_p: top_p = 1.2 is outside [0, 1]
}
