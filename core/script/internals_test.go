package script

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"
)

// What machine.go reads by reflection must be there, and be what it was.
func TestPrivateFieldsOfTengo(t *testing.T) {
	vm := reflect.TypeOf(tengo.VM{})
	field := func(of reflect.Type, name string, kind reflect.Kind) reflect.Type {
		t.Helper()
		f, ok := of.FieldByName(name)
		if !ok || f.Type.Kind() != kind {
			t.Fatalf("%v.%s is %v, want a %v: errors of scripts would lose their positions", of, name, f.Type, kind)
		}
		return f.Type
	}
	field(vm, "ip", reflect.Int)
	field(vm, "framesIndex", reflect.Int)
	frame := field(vm, "frames", reflect.Array).Elem()
	field(frame, "ip", reflect.Int)
	if fn := field(frame, "fn", reflect.Pointer); fn != reflect.TypeOf(&tengo.CompiledFunction{}) {
		t.Errorf("frame.fn is a %v", fn)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/d5/tengo/v2" && d.Version != "v2.17.0" {
				t.Errorf("tengo %s: read machine.go, errors.go and compile.go again, then change this test", d.Version)
			}
		}
	}
}

// The rest of what is relied upon without tengo promising it.
func TestWhatTengoIsReliedUponFor(t *testing.T) {
	for _, name := range []string{"len", "copy", "format"} {
		builtin(name) // panics when it is gone
	}
	for _, f := range []struct {
		op   parser.Opcode
		want []int
	}{{parser.OpConstant, []int{2}}, {parser.OpCall, []int{1, 1}}, {parser.OpClosure, []int{2, 1}}, {parser.OpGetLocal, []int{1}}, {parser.OpGetGlobal, []int{2}}} {
		if got := parser.OpcodeOperands[f.op]; !reflect.DeepEqual(got, f.want) {
			t.Errorf("operands of %s are %v, were %v: the limits of compile.go rest on them", parser.OpcodeNames[f.op], got, f.want)
		}
	}
	if tengo.MaxStringLen > maxText || tengo.MaxBytesLen > maxText {
		if _, err := New(Config{}); err != nil {
			t.Fatal(err)
		}
		if tengo.MaxStringLen != maxText || tengo.MaxBytesLen != maxText {
			t.Errorf("limits are %d and %d", tengo.MaxStringLen, tengo.MaxBytesLen)
		}
	}
}

func TestUnwindTakesFramesOffInOrder(t *testing.T) {
	cause := errors.New("cause\n\tat no:1:1") // a message like a frame
	err := fmt.Errorf("Runtime Error: %w\n\tat a b.tengo:3:4", cause)
	err = fmt.Errorf("%w\n\tat -", err)
	err = fmt.Errorf("%w\n\tat c:d.tengo:5:6", err)
	got, frames := unwind(err)
	want := []Position{{"a b.tengo", 3, 4}, {"c:d.tengo", 5, 6}}
	if got != cause || !reflect.DeepEqual(frames, want) {
		t.Errorf("got %v, %v", got, frames)
	}
	if got, frames := unwind(cause); got != cause || frames != nil {
		t.Errorf("a plain error: %v, %v", got, frames)
	}
}

func TestTheTextOfValuesIsBounded(t *testing.T) {
	long := &tengo.Array{}
	for range 1000 {
		long.Value = append(long.Value, &tengo.String{Value: strings.Repeat("x", 100)})
	}
	p := printer{limit: 5000}
	p.value(long, false)
	if p.err == nil || p.b.Len() > 5000 {
		t.Errorf("%d bytes, error %v", p.b.Len(), p.err)
	}
	if n := len([]rune(brief(long))); n > 210 {
		t.Errorf("a brief text of %d characters", n)
	}
}

func TestNumbersReadBackAsTheyWere(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 0.1, 1.0 / 3, 1e-7, 123456789.125, 5e-324, 1.7976931348623157e308, 1e21, 1e20, 1e-6} {
		var got float64
		if _, err := fmt.Sscan(number(v), &got); err != nil || got != v {
			t.Errorf("%v prints as %s, which reads as %v", v, number(v), got)
		}
	}
}
