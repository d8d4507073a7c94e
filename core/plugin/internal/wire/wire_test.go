package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// distinct gives every field of a struct a value of its own, so that a field
// which a conversion forgets cannot go unnoticed.
func distinct(t *testing.T, v any) {
	t.Helper()
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		f, n := s.Field(i), i+1
		switch f.Kind() {
		case reflect.Int, reflect.Int32, reflect.Int64:
			f.SetInt(int64(n))
		case reflect.Uint8:
			f.SetUint(1)
		case reflect.Float64:
			f.SetFloat(float64(n) / 64)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString(fmt.Sprintf("text_%d", n))
		case reflect.Slice:
			switch p := f.Addr().Interface().(type) {
			case *[]int32:
				*p = []int32{int32(n), int32(n) + 1}
			case *[]string:
				*p = []string{fmt.Sprintf("a_%d", n)}
			case *param.Specs, *[]sampler.System, *[]model.Detail: // set by the test
			default:
				t.Fatalf("field %s has a type this test does not know", s.Type().Field(i).Name)
			}
		case reflect.Struct:
			distinct(t, f.Addr().Interface())
		default:
			t.Fatalf("field %s has a kind this test does not know", s.Type().Field(i).Name)
		}
	}
}

// over sends a message over the wire and back.
func over[M proto.Message](t *testing.T, m M) M {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	return back.(M)
}

func check[T any](t *testing.T, want, got T, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(want, got) {
		t.Errorf("err %v\nwant %+v\ngot  %+v", err, want, got)
	}
}

var specs = param.Specs{
	{Name: "f", Aliases: []string{"ff"}, Type: param.Float, Default: 0.5, Min: 0, Max: math.Inf(1), MinOpen: true, Unit: "bits", Meaning: "m"},
	{Name: "i", Type: param.Int, Default: int64(-3), Min: -5, Max: 5, MaxOpen: true, Meaning: "m"},
	{Name: "b", Type: param.Bool, Default: true, Meaning: "m"},
	{Name: "t", Type: param.Text, Default: "x", Choices: []string{"x", "y"}, Meaning: "m"},
	{Name: "w", Type: param.Tokens, Weighted: true, Default: "3=1", Meaning: "m"},
}

// No field is lost on the way, whatever is added to these types later.
func TestEveryFieldSurvives(t *testing.T) {
	var c dist.Change
	distinct(t, &c)
	back, err := GetChange(over(t, PutChange(c)), 1000)
	check(t, c, back, err)
	c.KL = math.Inf(1)
	back, err = GetChange(over(t, PutChange(c)), 1000)
	check(t, c, back, err)

	var u model.Usage
	distinct(t, &u)
	u.CachedTokens = 0 // the loop's own
	usage, err := GetUsage(over(t, PutUsage(u)))
	check(t, u, usage, err)

	var i model.Info
	distinct(t, &i)
	i.VocabSize = 1000
	i.Details = []model.Detail{{Name: "kernels", Value: "fast ones"}, {Name: "b", Value: ""}}
	info, err := GetInfo(over(t, PutInfo(i)))
	check(t, i, info, err)

	var sd sampler.Declaration
	distinct(t, &sd)
	sd.Params = specs
	sd.Systems = make([]sampler.System, 1)
	distinct(t, &sd.Systems[0])
	sd.Systems[0].Params = specs[1:2]
	sd.Needs.Passes = 2
	s, err := GetSampler(over(t, PutSampler(sd)))
	check(t, sd, s, err)

	var bd model.Declaration
	distinct(t, &bd)
	bd.Params = specs
	b, err := GetBackend(over(t, PutBackend(bd)))
	check(t, bd, b, err)
}

func TestValuesSurviveAndAreChecked(t *testing.T) {
	want, err := specs.Resolve("", "s", []param.Setting{{Name: "f", Value: 0.1}, {Name: "i", Value: 4}, {Name: "t", Value: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	m := &Stage{Values: PutValues(want)}
	got, err := GetValues("op", "s", specs, over(t, m).GetValues())
	if err != nil {
		t.Fatal(err)
	}
	for k := range want {
		if got[k].Name != want[k].Name || !reflect.DeepEqual(got[k].Value, want[k].Value) {
			t.Errorf("%v became %v", want[k], got[k])
		}
	}
	if got, err := GetValues("op", "s", specs, nil); err != nil || got.Int("i") != -3 {
		t.Errorf("defaults: %v, %v", got, err)
	}
	for name, bad := range map[string]*NamedValue{
		"unknown": {Name: "ff2", Value: putValue(1.0)}, "type": {Name: "b", Value: putValue(1.0)}, "range": {Name: "f", Value: putValue(0.0)},
		"NaN": {Name: "f", Value: putValue(math.NaN())}, "absent": {Name: "f"}, "nameless": {Value: putValue(1.0)}, "choice": {Name: "t", Value: putValue("z")},
	} {
		if _, err := GetValues("op", "s", specs, []*NamedValue{bad}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRowsSurviveToTheBit(t *testing.T) {
	odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32, -1.5}
	for name, row := range map[string]dist.Scores{
		"dense":    dist.NewDense(odd),
		"sparse":   {Vocab: 1000, IDs: []int32{0, 7, 999}, Values: []float32{1, 2, 3}},
		"one":      {Vocab: 1, Values: []float32{4}},
		"unlisted": {Vocab: 10, IDs: []int32{9}, Values: []float32{-1}, Unlisted: 0.25},
	} {
		got, err := GetRow(over(t, PutRow(&row, nil)), nil)
		if err != nil || got.Vocab != row.Vocab || got.Dense() != row.Dense() || !slices.Equal(got.IDs, row.IDs) || got.Unlisted != row.Unlisted {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		for i := range row.Values {
			if math.Float32bits(got.Values[i]) != math.Float32bits(row.Values[i]) {
				t.Errorf("%s: score %d is %v", name, i, got.Values[i])
			}
		}
	}
}

// Numbers are read from any alignment.
func TestNumbersAtOddAddresses(t *testing.T) {
	want := []float32{1, -2, 3.5}
	raw := append([]byte{0}, bytesOf(want)...)
	if got, err := numbersOf[float32](raw[1:], "x"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	u := []float64{0, 0.5}
	raw = append([]byte{0, 0, 0}, bytesOf(u)...)
	if got, err := GetUniforms(raw[3:]); err != nil || !slices.Equal(got, u) {
		t.Errorf("%v, %v", got, err)
	}
	tokens := []int32{1, -2, math.MaxInt32}
	raw = append([]byte{0}, PutTokens(tokens)...)
	if got, err := GetTokens(raw[1:], 0, "x"); err != nil || !slices.Equal(got, tokens) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := GetTokens(raw[1:], 5, "x"); fault.KindOf(err) != fault.Data {
		t.Errorf("a negative token passed: %v", err)
	}
	for _, bad := range []float64{1, -0.1, math.NaN()} {
		if _, err := GetUniforms(bytesOf([]float64{bad})); err == nil {
			t.Errorf("%v passed as a uniform number", bad)
		}
	}
}

func TestPiecesSurvive(t *testing.T) {
	want := [][]byte{[]byte("ab"), {}, {0xff}, []byte("weather")}
	text, ends, err := PutPieces(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := GetPieces(text, ends, 4)
	if err != nil || len(got) != 4 {
		t.Fatalf("%q, %v", got, err)
	}
	for i := range want {
		if string(got[i]) != string(want[i]) {
			t.Errorf("piece %d is %q", i, got[i])
		}
	}
	for name, e := range map[string][]int32{"falling": {3, 1}, "beyond": {3, 900}, "negative": {-1, 0}} {
		if _, err := GetPieces(text, bytesOf(e), 2); fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := GetPieces(text, ends, 5); err == nil {
		t.Error("a piece is missing and nobody noticed")
	}
}

func TestFaultsSurviveWithTheirKind(t *testing.T) {
	for _, kind := range fault.Kinds() {
		want := fault.New(kind, "op", "subject", "problem %d", 7).Fix("cure")
		err, verdict := FromStatus(ToStatus(fmt.Errorf("wrapped: %w", want)))
		if fault.KindOf(err) != kind || verdict != Answered || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%v: %v (%v), verdict %d", kind, err, fault.KindOf(err), verdict)
		}
		err, _ = FromStatus(ToStatus(want))
		if err.Error() != want.Error() {
			t.Errorf("%q became %q", want, err)
		}
	}
	nested := fault.Wrap(fault.New(fault.Data, "inner", "", "broken"), fault.Model, "outer", "x")
	if err, _ := FromStatus(ToStatus(nested)); err.Error() != nested.Error() || fault.KindOf(err) != fault.Data {
		t.Errorf("%v", err)
	}
	for err, kind := range map[error]fault.Kind{errors.New("plain"): fault.Plugin, context.Canceled: fault.Interrupted, context.DeadlineExceeded: fault.Limit} {
		if got, _ := FromStatus(ToStatus(err)); fault.KindOf(got) != kind {
			t.Errorf("%v has kind %v", err, fault.KindOf(got))
		}
	}
	long := fault.New(fault.Data, "op", "", "%s", strings.Repeat("ü", 1<<20)+"\nend\xff")
	if err, _ := FromStatus(ToStatus(long)); len(err.Error()) > longestText+100 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%d bytes came through", len(err.Error()))
	}
}

func TestVerdicts(t *testing.T) {
	crash := &Crash{fault.New(fault.Plugin, "", "", "it panicked")}
	for name, tt := range map[string]struct {
		err  error
		want Verdict
	}{
		"nothing": {nil, Answered}, "late": {status.Error(codes.DeadlineExceeded, ""), Late}, "gone": {status.Error(codes.Unavailable, "EOF"), Gone},
		"too large": {status.Error(codes.ResourceExhausted, "grpc: received message larger than max"), Answered},
		"stranger":  {status.Error(codes.Unknown, "oops"), Answered}, "crash": {ToStatus(crash), Broken},
	} {
		if _, got := FromStatus(tt.err); got != tt.want {
			t.Errorf("%s: verdict %d, want %d", name, got, tt.want)
		}
	}
}

func TestGreetings(t *testing.T) {
	g := ParseGreeting("1|1|unix|/tmp/x|grpc|\n")
	if !g.Sound || g.Version != 1 || g.Network != "unix" || g.Address != "/tmp/x" || g.Protocol != "grpc" {
		t.Errorf("%+v", g)
	}
	for _, line := range []string{"", "hello", "1|1|unix|/x", "2|1|unix|/x|grpc|", "1|one|unix|/x|grpc|", "||||||"} {
		if ParseGreeting(line).Sound {
			t.Errorf("%q passed", line)
		}
	}
}

// Whatever a row message holds, reading it is bounded and never panics, and
// what is accepted is well formed.
func FuzzGetRow(f *testing.F) {
	for _, row := range []dist.Scores{dist.NewDense([]float32{1, 2}), {Vocab: 9, IDs: []int32{1, 4}, Values: []float32{0, 1}}} {
		b, err := proto.Marshal(PutRow(&row, nil))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Row{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		row, err := GetRow(m, nil)
		if err != nil {
			return
		}
		if row.Len() > row.Vocab || row.Dense() && row.Len() != row.Vocab || !row.Dense() && len(row.IDs) != row.Len() {
			t.Errorf("accepted: %+v", row)
		}
	})
}

func TestDetailsThatCouldConfuseAreRefused(t *testing.T) {
	many := make([]*Detail, mostDetails+1)
	for i := range many {
		many[i] = &Detail{Name: fmt.Sprintf("d%d", i)}
	}
	rows := []struct {
		name    string
		details []*Detail
		want    string
	}{
		{"too many", many, "more than 64"},
		{"a name with a blank", []*Detail{{Name: "two words"}}, "snake_case"},
		{"no name", []*Detail{{Value: "x"}}, "snake_case"},
		{"a name twice", []*Detail{{Name: "a"}, {Name: "a"}}, "twice"},
		{"a control character", []*Detail{{Name: "a", Value: "\x1b[2J"}}, "printable"},
		{"two lines", []*Detail{{Name: "a", Value: "x\ny"}}, "printable"},
		{"bytes that are no text", []*Detail{{Name: "a", Value: "\xff"}}, "printable"},
		{"a long value", []*Detail{{Name: "a", Value: strings.Repeat("x", longestDetail+1)}}, "more than 1000"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			m := PutInfo(model.Info{Name: "m", VocabSize: 10, ContextLength: 10, Digest: "d"})
			if _, err := GetInfo(m); err != nil {
				t.Fatal(err)
			}
			m.Details = r.details
			if _, err := GetInfo(m); fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a plugin error with %q", err, r.want)
			}
		})
	}
}
