package script_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

// vec is a host object with every optional ability.
type vec struct{ v []float64 }

func (*vec) Class() script.Class {
	return script.Class{Name: "vector", Doc: "Numbers.", Members: []script.Member{
		{Name: "size", Doc: "The number of numbers.", Get: func(c *script.Call) (any, error) { return len(script.Self[*vec](c).v), nil }},
		{Name: "scale", Doc: "Returns the vector times f.", Returns: "vector",
			Params: []script.Param{{Name: "f", Type: script.Float(), Range: script.MoreThan(0), Meaning: "the factor"}},
			Func: func(c *script.Call) (any, error) {
				out := &vec{}
				for _, x := range script.Self[*vec](c).v {
					out.v = append(out.v, x*c.Float("f"))
				}
				return out, nil
			}},
		{Name: "dot", Doc: "Returns the product with another vector.", Returns: "number",
			Params: []script.Param{{Name: "other", Type: script.Host[*vec](), Meaning: "as long as this one"}},
			Func: func(c *script.Call) (any, error) {
				sum := 0.0
				for i, x := range script.Self[*vec](c).v {
					sum += x * script.Arg[*vec](c, "other").v[i]
				}
				return sum, nil
			}},
	}}
}

func (v *vec) String() string { return fmt.Sprintf("vector%v", v.v) }
func (v *vec) Len() int       { return len(v.v) }
func (v *vec) At(i int) any   { return v.v[i] }
func (v *vec) EqualTo(o any) bool {
	w, ok := o.(*vec)
	return ok && fmt.Sprint(w.v) == fmt.Sprint(v.v)
}

// plain is a host object with none, and of a type that == cannot compare.
type plain struct{ list []int }

func (plain) Class() script.Class { return script.Class{Name: "plain", Doc: "Nothing."} }

func vectors() script.Module {
	return script.Module{Name: "vec", Doc: "Vectors.", Classes: []script.Class{(*vec)(nil).Class()}, Members: []script.Member{
		{Name: "of", Doc: "Returns a vector.", Returns: "vector",
			Params: []script.Param{{Name: "numbers", Type: script.List(script.Float()), Meaning: "its numbers"}},
			Func:   func(c *script.Call) (any, error) { return &vec{c.Floats("numbers")}, nil }},
		{Name: "plain", Doc: "Returns a plain object.", Func: func(*script.Call) (any, error) { return plain{}, nil }},
		{Name: "none", Doc: "Returns no vector.", Func: func(*script.Call) (any, error) { return (*vec)(nil), nil }},
		{Name: "settings", Doc: "Returns its settings as text.", Returns: "string",
			Params: []script.Param{
				{Name: "name", Type: script.String(), Choices: []string{"uniform", "normal"}, Meaning: "of the law"},
				{Name: "weight", Type: script.Float(), Default: 1, Range: script.Interval(0, 1, true, false), Meaning: "of it"},
			},
			Options: []script.Param{
				{Name: "count", Type: script.Int(), Default: 3, Range: script.AtLeast(1), Meaning: "how many"},
				{Name: "temperature", Type: script.Float(), Range: script.AtLeast(0), Meaning: "how hot"},
				{Name: "exact", Type: script.Bool(), Meaning: "without rounding"},
				{Name: "labels", Type: script.List(script.String()), Meaning: "of the axes"},
				{Name: "limits", Type: script.Map(script.Float()), Meaning: "by name"},
				{Name: "chain", Type: script.Either(script.String(), script.List(script.String())), Meaning: "stages"},
				{Name: "f", Type: script.Callback("x", "i"), Meaning: "a function"},
			},
			Func: func(c *script.Call) (any, error) {
				return fmt.Sprintf("%v %v %v %v %v %v %v %v %v %v %v", c.String("name"), c.Float("weight"), c.Int("count"), c.Given("count"), c.Given("temperature"),
					c.Float("temperature"), c.Bool("exact"), c.Strings("labels"), c.Map("limits"), c.Any("chain"), c.Func("f") != nil), nil
			}},
		{Name: "join", Doc: "Returns the texts with a separator.", Variadic: true, Returns: "string",
			Params:  []script.Param{{Name: "parts", Type: script.String(), Meaning: "texts"}},
			Options: []script.Param{{Name: "by", Type: script.String(), Required: true, Meaning: "the separator"}},
			Func: func(c *script.Call) (any, error) {
				var parts []string
				for _, p := range c.Rest() {
					parts = append(parts, p.(string))
				}
				return strings.Join(parts, c.String("by")), nil
			}},
	}}
}

func TestArgumentsAreCheckedBeforeTheFunctionRuns(t *testing.T) {
	const head = `vec := import("vec"); v := vec.of([1, 2.5]); cfg := {}; `
	rows := []struct{ name, src, want, err string }{
		{"defaults", `vec.settings("normal")`, "normal 1 3 false false 0 false [] map[] <nil> false", ""},
		{"options alone", `vec.settings("normal", {count: 4})`, "normal 1 4 true false 0 false [] map[] <nil> false", ""},
		{"all of it", `vec.settings("uniform", 0.5, {count: 1, temperature: 2, exact: true, labels: ["a"], limits: {x: 1}, chain: "c", f: func(x, i) {}})`,
			"uniform 0.5 1 true true 2 true [a] map[x:1] c true", ""},
		{"an immutable options map", `vec.settings("normal", immutable({count: 2}))`, "normal 1 2 true false 0 false [] map[] <nil> false", ""},
		{"the other type of a choice", `vec.settings("normal", {chain: ["a", "b"]})`, "normal 1 3 false false 0 false [] map[] [a b] false", ""},
		{"a variadic callback fits any number", `vec.settings("normal", {f: func(...x) {}})`, "normal 1 3 false false 0 false [] map[] <nil> true", ""},
		{"variadic with options", `vec.join("a", "b", {by: "-"})`, "a-b", ""},
		{"variadic of none", `vec.join({by: "-"})`, "", ""},

		{"a misspelt option", `vec.settings("normal", {cuont: 4})`, "", `vec.settings: unknown option "cuont"; did you mean "count"?`},
		{"an option far from all", `vec.settings("normal", {zzzzzz: 4})`, "", `vec.settings: unknown option "zzzzzz"; known: chain, count, exact, f, labels, limits, temperature`},
		{"a misspelt option hides a required one", `vec.join("a", {bye: "-"})`, "", `vec.join: unknown option "bye"; did you mean "by"?`},
		{"a required option", `vec.join("a", {})`, "", `vec.join: option by is missing`},
		{"text is not a number", `vec.settings("normal", {temperature: "0.7"})`, "", `vec.settings: option temperature: expected number, got string "0.7"`},
		{"a float is not a count", `vec.settings("normal", {count: 4.0})`, "", `vec.settings: option count: expected whole number, got float 4`},
		{"a char is not a number", `vec.settings("normal", {temperature: 'a'})`, "", `vec.settings: option temperature: expected number, got char`},
		{"an int is not a truth", `vec.settings("normal", {exact: 1})`, "", `vec.settings: option exact: expected true or false, got int 1`},
		{"out of range", `vec.settings("normal", {count: 0})`, "", `vec.settings: option count = 0 is outside [1, ∞)`},
		{"at an open end", `vec.settings("normal", 0)`, "", `vec.settings: argument 2 (weight) = 0 is outside (0, 1]`},
		{"infinite", `vec.settings("normal", {temperature: 1/0.0})`, "", `vec.settings: option temperature is +Inf, not a finite number`},
		{"not a number", `vec.of([1, 0.0/0.0])`, "", `vec.of: argument 1 (numbers): element 1 is NaN, not a finite number`},
		{"a choice", `vec.settings("norml")`, "", `vec.settings: argument 1 (name) = "norml" is not one of uniform, normal; did you mean "normal"?`},
		{"an undefined option", `vec.settings("normal", {temperature: cfg.temprature})`, "",
			`vec.settings: option temperature is undefined, expected number; a misspelt variable member reads as undefined`},
		{"a missing argument", `vec.settings()`, "", `vec.settings: argument 1 (name) is missing`},
		{"one too many", `vec.settings("normal", 1, 2)`, "", `vec.settings: takes 2 arguments, got 3`},
		{"an element", `vec.of([1, "2"])`, "", `vec.of: argument 1 (numbers): element 1 expected number, got string "2"`},
		{"not a list", `vec.of(7)`, "", `vec.of: argument 1 (numbers): expected list of number, got int 7`},
		{"an entry", `vec.settings("normal", {limits: {x: "y"}})`, "", `vec.settings: option limits: key "x" expected number, got string "y"`},
		{"neither type", `vec.settings("normal", {chain: 3})`, "", `vec.settings: option chain: expected string or list of string, got int 3`},
		{"a callback of another arity", `vec.settings("normal", {f: func(x) {}})`, "", `vec.settings: option f: expected func(x, i), got a function of 1 argument`},
		{"not a callback", `vec.settings("normal", {f: 1})`, "", `vec.settings: option f: expected func(x, i), got int 1`},
		{"another object", `v.dot(vec.plain())`, "", `vector.dot: argument 1 (other): expected vector, got plain`},
		{"no object", `v.dot([1])`, "", `vector.dot: argument 1 (other): expected vector, got a list of 1 elements`},
		{"a variadic argument", `vec.join("a", 1, {by: ""})`, "", `vec.join: argument 2 (parts): expected string, got int 1`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.Run(t, head+"\n"+r.src, vectors())
			if r.err == "" {
				got.Returned(t, r.want)
				return
			}
			if want := "script: test.tengo:2:1: " + r.err; got.Err == nil || got.Err.Error() != want {
				t.Errorf("got  %v\nwant %s", got.Err, want)
			}
			if k := fault.KindOf(got.Err); k != fault.Script {
				t.Errorf("kind %v, want script", k)
			}
		})
	}
}

func TestHostObjects(t *testing.T) {
	const head = `vec := import("vec"); kit := import("kit"); v := vec.of([1, 2.5]); p := vec.plain(); `
	rows := []struct{ name, src, want string }{
		{"prints", `print(v, [v], p, "is " + v, string(v), v.scale)`, "vector[1 2.5] [vector[1 2.5]] <plain> is vector[1 2.5] vector[1 2.5] <function vector.scale>\n"},
		{"fluent", `print(v.scale(2).scale(3))`, "vector[6 15]\n"},
		{"stays as it was", `v.scale(2); print(v)`, "vector[1 2.5]\n"},
		{"property", `print(v.size)`, "2\n"},
		{"index", `print(v[1])`, "2.5\n"},
		{"len", `print(len(v))`, "2\n"},
		{"loop", `for i, x in v { print(i, x) }`, "0 1\n1 2.5\n"},
		{"other objects as arguments", `print(v.dot(v.scale(2)))`, "14.5\n"},
		{"equality", `print(v == vec.of([1, 2.5]), v != v.scale(2), v == 1, p == p)`, "true true false false\n"},
		{"names of types", `print(type_name(v), type_name(p), type_name(vec), type_name(vec.of))`, "vector plain module vec function vec.of\n"},
		{"copies are themselves", `print(copy(v) == v, copy([v])[0] == v, copy({a: vec})["a"] == vec)`, "true true true\n"},
		{"through a host and back", `print(kit.echo(v).size, kit.go_type(v), kit.go_type([v]))`, "2 *script_test.vec []interface {}\n"},
		{"a method is a value", `f := v.scale; print(f(2), kit.apply(f, 4))`, "vector[2 5] vector[4 10]\n"},
		{"a nil pointer is undefined", `print(is_undefined(vec.none()))`, "true\n"},
		{"a value of a module", `print(kit.version)`, "v1\n"},
		{"calling position", "print(kit.where())\nf := func() { return kit.where() }\nprint(f(), kit.apply(f), kit.apply(kit.where))",
			"test.tengo:1:92\ntest.tengo:2:22 test.tengo:2:22 test.tengo:3:26\n"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, head+r.src, vectors(), kit()).Printed(t, r.want)
		})
	}
	failures := []struct{ name, src, want string }{
		{"misspelt method", `v.scal(2)`, `vector: unknown member "scal"; did you mean "scale"?`},
		{"misspelt function", `vec.off()`, `module vec: unknown member "off"; did you mean "of"?`},
		{"index past the end", `v[2]`, `vector: index 2 is outside 0 to 1`},
		{"index before the start", `v[-1]`, `vector: index -1 is outside 0 to 1`},
		{"no elements", `p[0]`, `plain: has no elements to index`},
		{"not iterable", `for x in p {}`, `not iterable: plain`},
		{"not assignable", `v.size = 3`, `not index-assignable: vector`},
		{"module not assignable", `vec.of = 3`, `not index-assignable: module vec`},
		{"arithmetic", `v + 1`, `invalid operation: vector + int`},
		{"odd index", `v[1.5]`, `vector: cannot be indexed by float 1.5`},
	}
	for _, r := range failures {
		t.Run(r.name, func(t *testing.T) {
			scripttest.Run(t, head+r.src, vectors(), kit()).Failed(t, "script: test.tengo:1:", r.want)
		})
	}
}

func TestValuesKeepTheirTypesThroughGo(t *testing.T) {
	for src, want := range map[string]string{
		`1`: "int64", `1.0`: "float64", `"a"`: "string", `true`: "bool", `'a'`: "string", `bytes("a")`: "[]uint8", `[1]`: "[]interface {}",
		`{a: 1}`: "map[string]interface {}", `immutable([1])`: "[]interface {}", `func() {}`: "*script.Func", `error("x")`: "*fault.Error", `time(0)`: "time.Time",
	} {
		scripttest.Run(t, `import("kit").go_type(`+src+`)`, kit()).Returned(t, want)
	}
	r := scripttest.Run(t, `kit := import("kit")
for x in [1, 1.5, "é", true, [1, [2.0]], {a: {b: undefined}}, 0.0/0.0, -1/0.0] { y := kit.echo(x); print(y, type_name(y) == type_name(x)) }`, kit())
	r.Printed(t, "1 true\n1.5 true\né true\ntrue true\n[1, [2]] true\n{a: {b: undefined}} true\nNaN true\n-Inf true\n")
	scripttest.Run(t, `import("kit").echo(undefined)`, kit()).Failed(t, "is undefined, expected a value")
	scripttest.Run(t, `import("kit").echo(import("math"))`, kit()).Failed(t, "a module math cannot be handed to a host function")
	scripttest.Run(t, `import("kit").bad_result()`, kit()).Failed(t, "a Go chan int has no script value")
}

func TestGoResultsOfEveryShape(t *testing.T) {
	type weight float32
	m := script.Module{Name: "shapes", Members: []script.Member{{Name: "all", Get: func(*script.Call) (any, error) {
		return map[string]any{
			"ints": []int{1, 2}, "int32": int32(3), "uint8": uint8(4), "named": weight(0.5), "floats": []float32{0.25}, "strings": [2]string{"a", "b"},
			"nested": map[string][]float64{"x": {1, 2}}, "bytes": []byte("hi"), "nil": nil, "error": fmt.Errorf("oops"), "nan": math.NaN(),
		}, nil
	}}, {Name: "big", Get: func(*script.Call) (any, error) { return uint64(math.MaxUint64), nil }}}}
	scripttest.Run(t, `s := import("shapes").all; for k, v in s { print(k, type_name(v), v) }`, m).Printed(t, strings.Join([]string{
		"bytes bytes hi", "error error error: oops", "floats array [0.25]", "int32 int 3", "ints array [1, 2]", "named float 0.5", "nan float NaN",
		"nested map {x: [1, 2]}", "nil undefined undefined", "strings array [\"a\", \"b\"]", "uint8 int 4", "",
	}, "\n"))
	scripttest.Run(t, `import("shapes").big`, m).Failed(t, "does not fit an int")
}

func TestWarningsHaveThePlaceOfTheCall(t *testing.T) {
	r := scripttest.Run(t, "kit := import(\"kit\")\nkit.warn()\nt := 1/4 + 4/2 + 1/2.0 + 7/1", kit())
	want := []string{"test.tengo:3:6 1/4 is the whole number 0; write 1.0/4 for the fraction", "test.tengo:2:1 careful: 7"}
	if len(r.Warnings) != len(want) {
		t.Fatalf("warnings %v", r.Warnings)
	}
	for i, w := range r.Warnings {
		if got := w.At.String() + " " + w.Text; got != want[i] {
			t.Errorf("got %q, want %q", got, want[i])
		}
	}
}

func TestWrongDeclarationsAreRefused(t *testing.T) {
	f := func(*script.Call) (any, error) { return nil, nil }
	p := func(name string) script.Param { return script.Param{Name: name, Type: script.Float()} }
	member := func(m script.Member) script.Module {
		return script.Module{Name: "m", Members: []script.Member{m}}
	}
	rows := []struct {
		name string
		m    script.Module
		want string
	}{
		{"module name", script.Module{Name: "My Module"}, "not snake_case"},
		{"member name", member(script.Member{Name: "Foo", Func: f}), "not snake_case"},
		{"twice", script.Module{Name: "m", Members: []script.Member{{Name: "a", Func: f}, {Name: "a", Func: f}}}, "declared twice"},
		{"neither", member(script.Member{Name: "a"}), "exactly one of Func and Get"},
		{"both", member(script.Member{Name: "a", Func: f, Get: f}), "exactly one of Func and Get"},
		{"value with arguments", member(script.Member{Name: "a", Get: f, Params: []script.Param{p("x")}}), "takes no arguments"},
		{"no type", member(script.Member{Name: "a", Func: f, Params: []script.Param{{Name: "x"}}}), "has no type"},
		{"repeated", member(script.Member{Name: "a", Func: f, Params: []script.Param{p("x")}, Options: []script.Param{p("x")}}), "declared twice"},
		{"order", member(script.Member{Name: "a", Func: f, Params: []script.Param{{Name: "x", Type: script.Int(), Optional: true}, p("y")}}), "follows an optional"},
		{"ambiguous", member(script.Member{Name: "a", Func: f, Params: []script.Param{{Name: "x", Type: script.Any(), Optional: true}}, Options: []script.Param{p("y")}}), "cannot be told from the options"},
		{"default out of range", member(script.Member{Name: "a", Func: f, Options: []script.Param{{Name: "y", Type: script.Int(), Range: script.AtLeast(1), Default: 0}}}), "default of y = 0 is outside [1, ∞)"},
		{"default of another type", member(script.Member{Name: "a", Func: f, Options: []script.Param{{Name: "y", Type: script.Int(), Default: 0.5}}}), "default of y: expected whole number"},
		{"default of a Go type the accessor cannot read", member(script.Member{Name: "a", Func: f, Options: []script.Param{{Name: "y", Type: script.List(script.String()), Default: []string{"a"}}}}), "default of y is a Go []string"},
		{"class", script.Module{Name: "m", Classes: []script.Class{{Name: "c", Members: []script.Member{{Name: "a"}}}}}, "class c: a: exactly one"},
		{"a name that is taken", script.Module{Name: "math"}, "declared twice"},
		{"variadic of nothing", member(script.Member{Name: "a", Func: f, Variadic: true}), "variadic without a parameter"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := script.New(script.Config{Modules: []script.Module{r.m}})
			if err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
	for _, m := range append(script.StandardModules(), vectors()) {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestSignatures(t *testing.T) {
	got := map[string]string{}
	for _, m := range append(vectors().Members, script.Globals()...) {
		got[m.Name] = m.Signature()
	}
	for name, want := range map[string]string{
		"settings": "settings(name, [weight], {count, temperature, exact, labels, limits, chain, f})",
		"join":     "join(parts..., {by})", "of": "of(numbers)", "print": "print(values...)", "assert": "assert(condition, [message])",
	} {
		if got[name] != want {
			t.Errorf("got %q, want %q", got[name], want)
		}
	}
	if s := kit().Members[len(kit().Members)-1].Signature(); s != "version" {
		t.Errorf("a value has the signature %q", s)
	}
}

func TestCompletion(t *testing.T) {
	s := session(t, script.Config{Modules: []script.Module{vectors()}})
	if _, err := s.Run(context.Background(), "x", `vec := import("vec"); v := vec.of([1]); cfg := {b: 1, a: 2}; n := 3; for i := 0; i < 1; i++ {}`); err != nil {
		t.Fatal(err)
	}
	names := strings.Join(s.Names(), " ")
	for _, want := range []string{"assert", "cfg", "len", "n", "v", "vec"} {
		if !strings.Contains(" "+names+" ", " "+want+" ") {
			t.Errorf("names %s lack %s", names, want)
		}
	}
	if strings.ContainsAny(names, ":") {
		t.Errorf("hidden names show: %s", names)
	}
	for name, want := range map[string]string{"v": "size scale dot", "vec": "join none of plain settings", "cfg": "a b", "n": "", "nope": ""} {
		var got []string
		for _, m := range s.Members(name) {
			got = append(got, m.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("members of %s: %v, want %s", name, got, want)
		}
	}
	if m := s.Members("v"); m[1].Doc == "" || len(m[1].Params) != 1 {
		t.Errorf("the declaration is lost: %+v", m[1])
	}
	if n := len(s.Modules()); n != 4 {
		t.Errorf("%d modules", n)
	}
}
