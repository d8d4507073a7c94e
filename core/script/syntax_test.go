package script_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
	"lab/core/script"
)

// Walk meets every node of a tree in the order of the text, but keys, members,
// parameters and the variables of for … in: a walk over the fields of the nodes by
// reflection finds no others.
func TestWalkMeetsEveryNode(t *testing.T) {
	src := `a := [1, 2.5, 'c', "s", true, undefined, import("text"), {k: a}]
b[0].x = func(p, ...q) { return p(q...) + -1 ? immutable(a[1:2]) : error((b)) }
for i := 0; i < 3; i++ { if x := 1; x { continue } else if y { break } else { ; } }
for k, v in a { }
export a[:]`
	tree, err := script.Parse("t", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	met := map[parser.Node]bool{}
	var order []parser.Pos
	script.Walk(tree, func(n parser.Node) bool {
		if met[n] {
			t.Errorf("%T is met twice", n)
		}
		met[n] = true
		switch n := n.(type) {
		case *parser.Ident:
			order = append(order, n.NamePos)
		case *parser.IntLit:
			order = append(order, n.ValuePos)
		}
		return true
	})
	if !slices.IsSorted(order) {
		t.Errorf("the order is %v", order)
	}
	node := reflect.TypeFor[parser.Node]()
	var all func(v reflect.Value, within string)
	missed := map[string]int{}
	all = func(v reflect.Value, within string) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if v.IsNil() || v.Type() == reflect.TypeFor[*parser.SourceFile]() {
				return
			}
			if v.Kind() == reflect.Pointer && v.Type().Implements(node) && !met[v.Interface().(parser.Node)] {
				missed[fmt.Sprintf("%s in %s", v.Type().Elem().Name(), within)]++
			}
			all(v.Elem(), within)
		case reflect.Struct:
			for i := range v.NumField() {
				all(v.Field(i), v.Type().Name())
			}
		case reflect.Slice:
			for i := range v.Len() {
				all(v.Index(i), within)
			}
		}
	}
	all(reflect.ValueOf(tree), "")
	want := map[string]int{"FuncType in FuncLit": 1, "IdentList in FuncType": 1, "Ident in IdentList": 2, "StringLit in SelectorExpr": 1, "Ident in ForInStmt": 2}
	if !reflect.DeepEqual(missed, want) {
		t.Errorf("not met: %v, want %v", missed, want)
	}
}

func TestWalkLeavesOutWhatVisitRefuses(t *testing.T) {
	tree, err := script.Parse("t", []byte("f := func() { inside }\noutside"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	script.Walk(tree, func(n parser.Node) bool {
		if id, ok := n.(*parser.Ident); ok {
			names = append(names, id.Name)
		}
		_, isFunc := n.(*parser.FuncLit)
		return !isFunc
	})
	if got := strings.Join(names, " "); got != "f outside" {
		t.Errorf("met %s", got)
	}
}

func TestParse(t *testing.T) {
	if _, err := script.Parse("t", []byte("#!/usr/bin/env lab\nx := 1")); err != nil {
		t.Errorf("a hash-bang line: %v", err)
	}
	_, err := script.Parse("t", []byte("x := )\ny := 1 2\nz"))
	var places []string
	for _, e := range script.SyntaxErrors(err) {
		places = append(places, e.At.String()+" "+e.Text)
	}
	if want := []string{"t:1:6 expected operand, found ')'"}; len(places) == 0 || places[0] != want[0] || fault.KindOf(err) != fault.Script {
		t.Errorf("got %q, %v", places, err)
	}
	if text, fix := script.Problem(err); !strings.HasPrefix(text, "expected operand") || fix != "" {
		t.Errorf("the problem is %q, %q", text, fix)
	}
	if !strings.Contains(script.Detail(err), "x := )") {
		t.Errorf("the detail does not show the line: %s", script.Detail(err))
	}
	if script.SyntaxErrors(errors.New("other")) != nil {
		t.Error("another error has places")
	}
	for law, row := range map[string]struct {
		src  string
		kind fault.Kind
	}{
		"bytes":  {strings.Repeat(" ", script.MaxSource+1), fault.Limit},
		"levels": {strings.Repeat("(", 2000), fault.Script},
	} {
		if _, err := script.Parse("t", []byte(row.src)); fault.KindOf(err) != row.kind || err == nil {
			t.Errorf("too many %s: %v", law, err)
		}
	}
}

func TestCheckRunsNothing(t *testing.T) {
	var out strings.Builder
	s, err := script.New(script.Config{Modules: []script.Module{kit()}, Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check("a", "print(1)\nx := 7"); err != nil || out.Len() > 0 {
		t.Errorf("got %v and printed %q", err, &out)
	}
	if v, err := s.Run(t.Context(), "b", "x"); v != nil || err != nil {
		t.Errorf("x is %v, %v after a check; want undefined", v, err)
	}
	err = s.Check("c", "print(1)\nprint(y)")
	if at := script.Positions(err); len(at) == 0 || at[0].String() != "c:2:7" {
		t.Errorf("got %v", err)
	}
	if text, fix := script.Problem(err); text != `unknown name "y"` || fix == "" {
		t.Errorf("the problem is %q, %q", text, fix)
	}
	if errors.Is(err, script.ErrOversize) {
		t.Error("an unknown name is oversize")
	}
	err = s.Check("d", "print(["+strings.Repeat("1,", 2000)+"1])")
	if !errors.Is(err, script.ErrOversize) || fault.KindOf(err) != fault.Script {
		t.Errorf("got %v, want ErrOversize", err)
	}
}

func TestUnknownNamesThatAreDefinedElsewhereAreNotSuggested(t *testing.T) {
	s, err := script.New(script.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Check("t", "print(later)\nlater := 1")
	if err == nil || !strings.HasSuffix(err.Error(), `unknown name "later"; it is defined later, or inside of a block`) {
		t.Errorf("got %v", err)
	}
}

func TestDeclarationsOfArguments(t *testing.T) {
	m := script.Member{Name: "f", Params: []script.Param{{Name: "a", Type: script.Int(), Range: script.Between(1, 3)}, {Name: "b", Type: script.Map(script.Any()), Optional: true}},
		Options: []script.Param{{Name: "o", Type: script.String(), Choices: []string{"x", "y"}}}}
	if least, most := m.Arity(); least != 1 || most != 2 {
		t.Errorf("arity %d, %d", least, most)
	}
	v := script.Member{Name: "v", Params: []script.Param{{Name: "a", Type: script.Int()}}, Variadic: true}
	if least, most := v.Arity(); least != 0 || most != -1 {
		t.Errorf("arity %d, %d", least, most)
	}
	for i, want := range map[int]bool{-1: false, 0: true, 1: false, 2: true} {
		if m.HasOptionsAt(i) != want {
			t.Errorf("options at %d: %v", i, !want)
		}
	}
	if v.HasOptionsAt(0) {
		t.Error("a function without options has some")
	}
	for _, row := range []struct {
		p    *script.Param
		v    any
		want string
	}{
		{&m.Params[0], int64(2), ""}, {&m.Params[0], int64(4), "a = 4 is outside [1, 3]"}, {&m.Params[0], "4", "a: expected whole number, got string \"4\""},
		{&m.Params[0], 2.0, "a: expected whole number, got float 2"}, {&m.Params[0], nil, ""}, {&m.Params[0], []any{1}, ""},
		{&m.Options[0], "x", ""}, {&m.Options[0], "z", "o = \"z\" is not one of x, y; did you mean \"x\"?"},
	} {
		if got := row.p.Refuses(row.v); got != row.want {
			t.Errorf("%s refuses %v with %q, want %q", row.p.Name, row.v, got, row.want)
		}
	}
}

func TestDeclaredMeanings(t *testing.T) {
	some := func(*script.Call) (any, error) { return nil, nil }
	class := script.Class{Name: "thing", Members: []script.Member{{Name: "size", Returns: "float", Get: some}, {Name: "parts", Returns: "list of thing", Func: some}, {Name: "either", Returns: "thing, or list of thing", Func: some}}}
	d := script.Declared([]script.Module{{Name: "things", Members: []script.Member{{Name: "make", Returns: "thing", Func: some}}, Classes: []script.Class{class}}})
	member := func(m script.Meaning, name string) script.Meaning {
		owner, list := m.Members()
		for i := range list {
			if list[i].Name == name {
				return d.Read(owner, &list[i])
			}
		}
		t.Fatalf("no member %s", name)
		return script.Meaning{}
	}
	made := d.Called(member(d.Import("things"), "make"))
	if made.Class == nil || made.Class.Name != "thing" {
		t.Fatalf("make gives %+v", made)
	}
	if size := member(made, "size"); size.Word != "float" || size.Owner != "thing" || size.Class != nil {
		t.Errorf("size is %+v", size)
	}
	parts := d.Called(member(made, "parts"))
	if e := parts.Element(); e.Class == nil || e.Class.Name != "thing" || parts.Class != nil {
		t.Errorf("parts are %+v of %+v", parts, e)
	}
	if e := d.Called(member(made, "either")); !e.Either || e.Class == nil {
		t.Errorf("either is %+v", e)
	}
	if pow := member(d.Import("math"), "pow"); pow.Member == nil || d.Called(pow) != (script.Meaning{}) {
		t.Errorf("math.pow is %+v", pow)
	}
	if say := d.Global("say"); say.Member == nil || say.Member.Name != "say" {
		t.Errorf("say is %+v", say)
	}
	if d.Global("nothing") != (script.Meaning{}) || d.Import("nothing") != (script.Meaning{}) || made.Element() != (script.Meaning{}) || d.Called(made) != (script.Meaning{}) {
		t.Error("something is known of what nobody declared")
	}
}
