package param

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestTokensReadBack(t *testing.T) {
	rows := []struct {
		name     string
		weighted bool
		in       any
		want     string
	}{
		{"nothing", false, "", ""},
		{"ids", false, " 15  7\t0 ", "15 7 0"},
		{"a sequence", false, "4+7+15", "4+7+15"},
		{"a text with escapes", false, `'it\'s' '\n' '\\' 'a b'`, `'it\'s' '\n' '\\' 'a b'`},
		{"weights", true, "15=-1.50 4+7=-Inf 'dog'=2e0", "15=-1.5 4+7=-inf 'dog'=2"},
		{"a script's list", false, []any{int64(3), "dog", []any{int64(1), int64(2)}}, "3 'dog' 1+2"},
		{"a script's one id", false, int64(3), "3"},
		{"a script's map", true, map[string]any{"15": -1.5, "'b'": int64(2)}, "'b'=2 15=-1.5"},
		{"a script's pairs", true, []any{[]any{int64(15), 0.5}, []any{[]any{int64(1), int64(2)}, int64(3)}}, "15=0.5 1+2=3"},
		{"bytes that are not UTF-8", false, "'\xff'", "'\xff'"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			spec := Spec{Name: "x", Type: Tokens, Default: "", Weighted: r.weighted, Meaning: "m"}
			v, err := spec.Convert(r.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := Format(v); got != r.want {
				t.Fatalf("got %s, want %s", got, r.want)
			}
			again, err := spec.Convert(Format(v))
			if err != nil || Format(again) != r.want || spec.Check(again) != nil {
				t.Errorf("it reads back as %v, %v", again, err)
			}
		})
	}
}

func TestTokensRefuse(t *testing.T) {
	rows := []struct {
		name, want string
		weighted   bool
		in         any
	}{
		{"a negative id", "is not a token id", false, "-1"},
		{"an id beyond 32 bits", "is not a token id", false, "4294967296"},
		{"an open sequence", "is not a token id", false, "4+"},
		{"an open text", "does not end", false, "'dog"},
		{"an empty text", "empty text", false, "''"},
		{"an unknown escape", "escape", false, `'\x'`},
		{"a bare word", "is not a token id", false, "dog"},
		{"two items in one", "does not end where", false, "'a''b'"},
		{"a weight where none is taken", "takes none", false, "1=2"},
		{"no weight", "append =NUMBER", true, "1"},
		{"a weight that is none", "no number", true, "1=x"},
		{"NaN", "no number", true, "1=nan"},
		{"+Inf", "no number", true, "1=+inf"},
		{"a number from a script", "neither", false, 1.5},
		{"a map for a list", "without weights", false, map[string]any{"1": 2.0}},
		{"a bare element of a weighted list", "not [item, number]", true, []any{int64(1)}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			spec := Spec{Name: "x", Type: Tokens, Default: "", Weighted: r.weighted, Meaning: "m"}
			if _, err := spec.Convert(r.in); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
		})
	}
}

func TestTokensOfValues(t *testing.T) {
	specs := Specs{{Name: "bias", Type: Tokens, Weighted: true, Default: "1=2", Meaning: "m"}}
	v, err := specs.Resolve("", "", nil)
	if err != nil || len(v.Tokens("bias")) != 1 || v.Tokens("bias")[0].IDs[0] != 1 {
		t.Fatalf("%v, %v", v, err)
	}
	v, err = specs.Resolve("", "", given("bias", "7+8=-inf"))
	if err != nil || !math.IsInf(v.Tokens("bias")[0].Weight, -1) || len(v.Tokens("bias")[0].IDs) != 2 {
		t.Fatalf("%v, %v", v, err)
	}
	if b, err := json.Marshal(v[0].Value); err != nil || string(b) != `"7+8=-inf"` {
		t.Errorf("%s, %v", b, err)
	}
	bad := Specs{{Name: "bias", Type: Tokens, Default: "1=2", Meaning: "m"}}
	if err := bad[0].Validate(); err == nil {
		t.Error("a default with a weight in a list without weights is accepted")
	}
}

func FuzzTokensReadBack(f *testing.F) {
	for _, s := range []string{"1 2+3 'a'", "1=2 'x'=-inf", `'\'\\'=1e3`} {
		f.Add(s, strings.Contains(s, "="))
	}
	f.Fuzz(func(t *testing.T, text string, weighted bool) {
		l, err := ParseTokens(text, weighted)
		if err != nil {
			return
		}
		again, err := ParseTokens(l.String(), weighted)
		if err != nil || again.String() != l.String() || len(again.Items()) != len(l.Items()) {
			t.Errorf("%q is %q, and reads back as %q (%v)", text, l, again, err)
		}
	})
}
