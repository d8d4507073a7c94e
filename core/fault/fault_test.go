package fault

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorReadsOperationSubjectProblemCure(t *testing.T) {
	rows := []struct {
		name string
		err  error
		want string
	}{
		{"all four parts", New(Usage, "sampler", "top_p", "p = %g is outside (0, 1]", 1.2).Fix("use 1 to keep every token"),
			"sampler: top_p: p = 1.2 is outside (0, 1]; use 1 to keep every token"},
		{"no subject", New(Data, "read", "", "bad magic"), "read: bad magic"},
		{"the same place is not said twice", Wrap(New(Data, "read", `"x"`, "bad magic"), Data, "read", `"x"`), `read: "x": bad magic`},
		{"a cause", Wrap(io.EOF, Data, "read", `"x.gguf"`), `read: "x.gguf": EOF`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := r.err.Error(); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
		})
	}
}

func TestWrappingKeepsTheFirstKind(t *testing.T) {
	inner := New(Model, "open", "", "no weights")
	outer := fmt.Errorf("later: %w", Wrap(fmt.Errorf("between: %w", inner), Plugin, "call", "m"))
	if got := KindOf(outer); got != Model {
		t.Errorf("KindOf = %v, want model", got)
	}
	if got := KindOf(errors.New("plain")); got != Internal {
		t.Errorf("an unclassified error is %v, want internal", got)
	}
}

func TestExitCodesAreDistinctAndNeverZero(t *testing.T) {
	seen := map[int]Kind{}
	for _, k := range Kinds() {
		c := k.ExitCode()
		if c == 0 {
			t.Errorf("%v has exit code 0", k)
		}
		if other, ok := seen[c]; ok {
			t.Errorf("%v and %v share exit code %d", k, other, c)
		}
		seen[c] = k
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"temperature", "top_k", "top_p", "sample", "greedy"}
	rows := []struct{ name, got, want string }{
		{"one letter missing", "temperatur", "temperature"},
		{"swapped neighbours", "greeyd", "greedy"},
		{"dash for underscore", "top-k", "top_k"},
		{"ties go to the first in order", "top_x", "top_k"},
		{"far from all", "mirostat", ""},
		{"empty", "", ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := Suggest(r.got, names); got != r.want {
				t.Errorf("Suggest(%q) = %q, want %q", r.got, got, r.want)
			}
		})
	}
}

func TestQuoteShortensTheMiddle(t *testing.T) {
	if got := Quote("abcdefghij", 5); got != `"ab…ij"` {
		t.Errorf("got %s", got)
	}
	if got := Quote("a\x00b", 10); got != `"a\x00b"` {
		t.Errorf("got %s", got)
	}
}
