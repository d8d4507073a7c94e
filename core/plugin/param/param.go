// Package param holds the typed settings of samplers and backends: what a
// setting is called, which values it takes, and what it means.
//
// One declaration ([Spec]) serves validation, "did you mean", help pages and
// the script API. The package knows nothing of what the settings are for.
// Start with [Specs.Resolve], which turns what a user gave into [Values].
package param

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"lab/core/fault"
)

// Type is the type of a setting's value. The numbers cross the plugin border
// and are append-only.
type Type uint8

const (
	Float  Type = iota + 1 // a real number, float64
	Int                    // a whole number, int64
	Bool                   // true or false
	Text                   // a string, one of Choices when there are any
	Tokens                 // a list of token ids, sequences of ids and token texts, see [ParseTokens]
)

// String returns the type's name in messages.
func (t Type) String() string {
	switch t {
	case Float:
		return "number"
	case Int:
		return "whole number"
	case Bool:
		return "true or false"
	case Text:
		return "text"
	case Tokens:
		return "list of tokens"
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Spec declares one setting.
type Spec struct {
	Name    string   // snake_case, the same name in flags, scripts, records and axes
	Aliases []string // names other systems use for the same setting
	Type    Type
	Default any // float64, int64, bool, string or TokenList according to Type; the text of a TokenList will do

	// Min and Max bound a number: Min <= v <= Max, or strictly where the
	// matching Open flag is set. Use ±Inf for no bound; +Inf and NaN are never
	// legal values themselves.
	Min, Max         float64
	MinOpen, MaxOpen bool

	Choices  []string // the legal values of a Text, when limited
	Weighted bool     // every item of a Tokens carries a number: "15=-1.5"
	Unit     string   // "bits", "tokens"; empty when there is none
	Meaning  string   // one sentence, with what the limits do
}

// Range returns the legal range in mathematical notation, or the choices.
func (s Spec) Range() string {
	switch s.Type {
	case Float, Int:
		left, right := "[", "]"
		if s.MinOpen || math.IsInf(s.Min, -1) {
			left = "("
		}
		if s.MaxOpen || math.IsInf(s.Max, 1) {
			right = ")"
		}
		return left + bound(s.Min) + ", " + bound(s.Max) + right
	case Text:
		if len(s.Choices) > 0 {
			return strings.Join(s.Choices, " | ")
		}
		return "any text"
	case Tokens:
		if s.Weighted {
			return "items ID=NUMBER, ID+ID=NUMBER or 'text'=NUMBER, separated by blanks"
		}
		return "items ID, ID+ID or 'text', separated by blanks"
	}
	return "true | false"
}

func bound(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "-∞"
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', -1, 64) // 65536 and 4294967295 as they are typed
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Check returns an error when v, of the Go type that s.Type names, is not a
// legal value of the setting. The error names the value and the range.
func (s Spec) Check(v any) error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Usage, "", s.Name, format, args...)
	}
	switch s.Type {
	case Float, Int:
		x, ok := number(v, s.Type)
		if !ok {
			return bad("%v is not a %s", show(v), s.Type)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return bad("%v is not a finite number", x)
		}
		if x < s.Min || x > s.Max || s.MinOpen && x == s.Min || s.MaxOpen && x == s.Max {
			return bad("%s = %s is outside %s", s.Name, Format(v), s.Range())
		}
	case Bool:
		if _, ok := v.(bool); !ok {
			return bad("%v is not true or false", show(v))
		}
	case Text:
		t, ok := v.(string)
		if !ok {
			return bad("%v is not text", show(v))
		}
		if len(s.Choices) == 0 {
			return nil
		}
		for _, c := range s.Choices {
			if c == t {
				return nil
			}
		}
		return fault.Unknown("", s.Name, t, s.Choices)
	case Tokens:
		if _, err := s.tokensOf(v); err != nil {
			return bad("%s: %v", s.Name, err)
		}
	default:
		return fault.New(fault.Plugin, "declaration", s.Name, "unknown setting %v", s.Type)
	}
	return nil
}

// show returns a value for a message: text in quotes, and nothing of any length
// that a script may have passed.
func show(v any) string {
	if t, ok := v.(string); ok {
		return fault.Quote(t, 40)
	}
	s := []rune(fmt.Sprint(v))
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1e15 {
		s = []rune(fmt.Sprintf("%.1f", f)) // a real number that happens to be whole
	}
	if len(s) > 40 {
		return string(s[:39]) + "…"
	}
	return string(s)
}

func number(v any, t Type) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, t == Float
	case int64:
		return float64(n), t == Int
	}
	return 0, false
}

// Validate returns an error when the declaration itself is wrong: a bad name,
// an unknown type, a default outside its own range.
func (s Spec) Validate() error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Plugin, "declaration", fmt.Sprintf("setting %q", s.Name), format, args...)
	}
	if !IsName(s.Name) {
		return wrong("the name is not snake_case (a-z, 0-9, _, starting with a letter)")
	}
	for _, alias := range s.Aliases {
		if !IsName(alias) {
			return wrong("the alias %q is not snake_case (a-z, 0-9, _, starting with a letter)", alias)
		}
	}
	if s.Meaning == "" {
		return wrong("it has no meaning text")
	}
	if (s.Type == Float || s.Type == Int) && !(s.Min <= s.Max) {
		return wrong("its range %s is empty", s.Range())
	}
	if err := s.Check(s.Default); err != nil {
		var e *fault.Error
		if errors.As(err, &e) && e.Problem != "" {
			return wrong("its default is illegal: %s", e.Problem)
		}
		return wrong("its default is illegal: %v", err)
	}
	return nil
}

// IsName reports whether s is a legal name of a setting, sampler or backend:
// lower-case letters, digits and underscores, starting with a letter, at most
// 64 bytes.
func IsName(s string) bool {
	if s == "" || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return true
}
