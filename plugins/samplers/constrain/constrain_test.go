package constrain

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Whatever is drawn matches as a whole, and a token is allowed exactly when some
// match begins with it: of single bytes this is checked against a plain search.
func TestRegexWalks(t *testing.T) {
	for _, re := range []string{
		`abc`, `(yes|no)+`, `[a-c]{2,4}x?`, `-?(0|[1-9][0-9]*)(\.[0-9]+)?`, `(?i)größe`, `[^a]*b`, `.+@.+`, `\w+( \w+){0,3}`,
		`(a|ab)(c|bcd)(d*)`, `^日本.$`, `🙂?naïve`, `[α-ω]{1,3}`, `(?s).{3}`, ``, `a|^b$|c`, `\x{1F642}+`, `[\x00-\x1f]`,
	} {
		if re == "" {
			continue
		}
		whole := regexp.MustCompile(`^(?:` + re + `)$`)
		w := newWalker(t, NewRegex(), 1, setting("regex", re))
		ended := 0
		for range 40 {
			text, ok := w.walk(12)
			if !ok {
				continue
			}
			ended++
			if !whole.MatchString(text) {
				t.Errorf("%s does not match the text %q", re, text)
			}
		}
		if ended < 3 {
			t.Errorf("%s: only %d of 40 texts end", re, ended)
		}
	}
}

// Of a finite language every text can be drawn: the tokens of each, byte by
// byte, are allowed, and its end.
func TestEveryTextOfALanguageIsAllowed(t *testing.T) {
	const re = `(a|ab|é)(c|🙂)?x{1,2}`
	w := newWalker(t, NewRegex(), 2, setting("regex", re))
	n := 0
	for _, a := range []string{"a", "ab", "é"} {
		for _, b := range []string{"", "c", "🙂"} {
			for _, c := range []string{"x", "xx"} {
				var history []int32
				for _, x := range []byte(a + b + c) {
					ids, _, err := w.allowed(history, nil)
					if err != nil || !slices.Contains(ids, 1+int32(x)) {
						t.Fatalf("%q: byte %q after %q is not allowed (%v)", a+b+c, x, w.join(history), err)
					}
					history = append(history, 1+int32(x))
				}
				ids, _, err := w.allowed(history, nil)
				if err != nil || ids[0] != 0 {
					t.Errorf("%q may not end (%v)", a+b+c, err)
				}
				n++
			}
		}
	}
	if n != 18 {
		t.Errorf("%d texts", n)
	}
}

// JSON texts drawn under a schema are valid under it, by the library's judgement.
func TestSchemaWalks(t *testing.T) {
	schemas := []string{
		`{}`, `true`,
		`{"type":"string","minLength":2,"maxLength":5}`,
		`{"type":"string","pattern":"^[a-z]+[0-9]$"}`, `{"type":"string","pattern":"b.d"}`,
		`{"type":"string","format":"date"}`, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"uuid"}`,
		`{"type":"string","format":"ipv4"}`, `{"type":"string","format":"email"}`, `{"type":"string","format":"duration"}`,
		`{"type":"string","format":"ipv6"}`, `{"type":"string","format":"uri"}`, `{"type":"string","format":"time"}`, `{"type":"string","format":"hostname"}`,
		`{"type":"integer"}`, `{"type":"integer","minimum":-17,"maximum":205}`, `{"type":"integer","exclusiveMinimum":99}`,
		`{"type":"integer","maximum":-8}`, `{"type":"integer","minimum":7,"maximum":7}`, `{"type":"integer","minimum":1.5,"maximum":3.5}`,
		`{"type":"number"}`, `{"type":"number","minimum":-2,"maximum":3}`, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
		`{"type":"number","minimum":5}`, `{"type":"number","exclusiveMaximum":-3}`,
		`{"type":"number","minimum":0.25,"maximum":0.75}`, `{"type":"number","exclusiveMinimum":-1.05,"maximum":2.5}`,
		`{"type":"number","minimum":12.34,"exclusiveMaximum":12.3456}`, `{"type":"number","minimum":1.5,"maximum":1.5}`,
		`{"type":"number","maximum":-0.125}`, `{"type":"number","exclusiveMinimum":0,"maximum":1e-3}`, `{"type":"number","minimum":-0.5,"maximum":0}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"number","minimum":2,"exclusiveMinimum":true,"maximum":2.5}`,
		`{"enum":["2024-01-31","x"],"format":"date"}`, `{"enum":[1,2,3,4],"not":{"const":2},"multipleOf":2}`,
		`{"enum":["a","b\"c",3,null,[1,{"x":true}]]}`, `{"const":{"k":[1,2]}}`, `{"type":"string","enum":["a",1]}`,
		`{"type":["null","boolean","integer"]}`,
		`{"type":"array","items":{"type":"integer","minimum":0,"maximum":9},"minItems":2,"maxItems":4}`,
		`{"type":"array","prefixItems":[{"type":"boolean"},{"const":"x"}],"items":false}`,
		`{"type":"array","prefixItems":[{"type":"boolean"}],"items":{"type":"null"},"minItems":2}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"boolean"},{"type":"null"}],"additionalItems":false,"minItems":1}`,
		`{"type":"object","properties":{"name":{"type":"string","maxLength":4},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["age"]}`,
		`{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"const":1},"ab":{"const":2}},"required":["ab"],"additionalProperties":{"type":"boolean"}}`,
		`{"type":"object","required":["x"],"properties":{}}`,
		`{"type":"object","additionalProperties":true,"properties":{"é":{"const":1}}}`,
		`{"anyOf":[{"type":"integer","minimum":0,"maximum":3},{"type":"string","maxLength":2}]}`,
		`{"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"n":{"type":"null"}},"required":["k","n"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}`,
		`{"allOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":2}},"required":["b"]}]}`,
		`{"$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer","minimum":0,"maximum":9},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":2}},"required":["v"]}},"$ref":"#/$defs/tree"}`,
		`{"title":"annotated","description":"d","type":"boolean","default":true,"examples":[false]}`,
	}
	for _, blanks := range []string{"compact", "spaced", "free"} {
		for i, text := range schemas {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			c := jsonschema.NewCompiler()
			c.AssertFormat()
			if err := c.AddResource("s.json", doc); err != nil {
				t.Fatal(err)
			}
			judge, err := c.Compile("s.json")
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			w := newWalker(t, NewJSONSchema(), uint64(i), setting("schema", text), setting("blanks", blanks))
			ended := 0
			for range 12 {
				got, ok := w.walk(25)
				if !ok {
					continue
				}
				ended++
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(got))
				if err == nil {
					err = judge.Validate(v)
				}
				if err != nil || !json.Valid([]byte(got)) {
					t.Errorf("%s gives %q: %v", text, got, err)
				}
			}
			if ended == 0 {
				t.Errorf("%s: no text ends", text)
			}
		}
	}
}

// A grammar that allows only characters of several bytes works on tokens that
// are single bytes (FR-50).
func TestCharactersSplitOverTokens(t *testing.T) {
	w := newWalker(t, NewGrammar(), 3, setting("grammar", `root ::= [🙂-🙄]{2}`))
	for range 10 {
		text, ok := w.walk(10)
		if !ok || len([]rune(text)) != 2 || len(text) != 8 {
			t.Errorf("drew %q", text)
		}
	}
	ids, _, err := w.allowed(nil, nil)
	if err != nil || slices.ContainsFunc(ids, func(id int32) bool { return w.pieces[id][0] != 0xF0 }) {
		t.Errorf("tokens %v may begin it (%v)", ids, err)
	}
}

func TestRefusals(t *testing.T) {
	rows := []struct {
		name string
		s    sampler.Sampler
		key  string
		text string
		want string
	}{
		{"no rule", NewGrammar(), "grammar", `rooot ::= "a"`, `no rule "root"`},
		{"an undefined rule", NewGrammar(), "grammar", "root ::= a b\nb ::= \"x\"", `line 1, column 10: the rule "a" is not defined`},
		{"a rule twice", NewGrammar(), "grammar", "root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1"},
		{"an open literal", NewGrammar(), "grammar", `root ::= "a`, "the literal does not end"},
		{"an open class", NewGrammar(), "grammar", `root ::= [a`, "the class does not end"},
		{"an open group", NewGrammar(), "grammar", `root ::= ("a"`, "the group does not end"},
		{"a backward range", NewGrammar(), "grammar", `root ::= [b-a]`, "is empty"},
		{"a bad escape", NewGrammar(), "grammar", `root ::= "\q"`, `escape \q is unknown`},
		{"a bad repetition", NewGrammar(), "grammar", `root ::= "a"{3,2}`, "ends before it begins"},
		{"a huge repetition", NewGrammar(), "grammar", `root ::= "a"{1000000}`, "more than"},
		{"left recursion", NewGrammar(), "grammar", `root ::= root "a" | "b"`, "left-recursive"},
		{"garbage", NewGrammar(), "grammar", `root ::= "a" ]`, "does not belong"},
		{"look-around", NewRegex(), "regex", `a(?=b)`, "Go's regexp"},
		{"an anchor inside", NewRegex(), "regex", `a^b`, "anchor"},
		{"a word boundary", NewRegex(), "regex", `\bab`, "word boundaries"},
		{"no JSON", NewJSONSchema(), "schema", `{`, "no JSON"},
		{"a key twice", NewJSONSchema(), "schema", `{"type":"null","type":"null"}`, "comes twice"},
		{"an invalid schema", NewJSONSchema(), "schema", `{"type":"strin"}`, "json_schema: /type: value must be one of"},
		{"an invalid schema inside", NewJSONSchema(), "schema", `{"properties":{"a":{"minLength":-1}}}`, "json_schema: /properties/a/minLength: "},
		{"a reference to nothing", NewJSONSchema(), "schema", `{"$ref":"#/$defs/a"}`, "/$defs/a"},
		{"an unknown keyword", NewJSONSchema(), "schema", `{"type":"string","maxLenght":3}`, "/maxLenght"},
		{"a keyword that cannot be followed", NewJSONSchema(), "schema", `{"properties":{"a":{"type":"array","uniqueItems":true}}}`, "/properties/a/uniqueItems"},
		{"patternProperties", NewJSONSchema(), "schema", `{"type":"object","patternProperties":{"a":{}}}`, "/patternProperties"},
		{"not", NewJSONSchema(), "schema", `{"not":{"type":"null"}}`, "/not"},
		{"a remote reference", NewJSONSchema(), "schema", `{"$ref":"http://example.com/x.json"}`, "not loaded"},
		{"overlapping oneOf", NewJSONSchema(), "schema", `{"oneOf":[{"type":"integer"},{"type":"number"}]}`, "may be valid together"},
		{"a format", NewJSONSchema(), "schema", `{"type":"string","format":"regex"}`, "/format"},
		{"an impossible number", NewJSONSchema(), "schema", `{"type":"number","minimum":1e9999999}`, "/minimum"},
		{"no integer in the bounds", NewJSONSchema(), "schema", `{"type":"integer","minimum":1.2,"maximum":1.8}`, "matches no text"},
		{"no number in the bounds", NewJSONSchema(), "schema", `{"type":"number","exclusiveMinimum":1.25,"maximum":1.25}`, "matches no text"},
		{"nullable", NewJSONSchema(), "schema", `{"type":"string","nullable":true}`, "/nullable"},
		{"an unknown keyword beside enum", NewJSONSchema(), "schema", `{"enum":["a"],"maxLenght":3}`, "/maxLenght"},
		{"a format beside enum", NewJSONSchema(), "schema", `{"enum":["a"],"format":"colour"}`, "/format"},
		{"const in draft 4", NewJSONSchema(), "schema", `{"$schema":"http://json-schema.org/draft-04/schema#","const":1}`, "/const"},
		{"prefixItems in draft 7", NewJSONSchema(), "schema", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","prefixItems":[{}]}`, "/prefixItems"},
		{"additionalItems today", NewJSONSchema(), "schema", `{"type":"array","additionalItems":false}`, "/additionalItems"},
		{"only a most length beside a pattern", NewJSONSchema(), "schema", `{"type":"string","pattern":"^a*$","maxLength":3}`, "/maxLength"},
		{"a pattern that is none", NewJSONSchema(), "schema", `{"type":"string","pattern":"a\\bc"}`, "/pattern"},
		{"a token outside the vocabulary", NewGrammar(), "grammar", `root ::= <[99999]>`, "outside the vocabulary"},
		{"a token without its text", NewGrammar(), "grammar", `root ::= <nowhere>`, "no token of the vocabulary"},
		{"the end as a token", NewGrammar(), "grammar", `root ::= "a" <[0]>`, "ends a text"},
		{"a rule without an end", NewGrammar(), "grammar", `root ::= "a" root`, "matches no text that ends"},
		{"left recursion over an empty rule", NewGrammar(), "grammar", "root ::= e a\ne ::= \"x\"?\na ::= e root | \"y\"", "left-recursive"},
		{"multipleOf", NewJSONSchema(), "schema", `{"type":"integer","multipleOf":3}`, "/multipleOf"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			w := newWalker(t, r.s, 4, setting(r.key, r.text))
			_, _, err := w.allowed(nil, nil)
			if err == nil || fault.KindOf(err) != fault.Usage && fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want %q", err, r.want)
			}
			if name := r.s.Declare().Name; err != nil && (!strings.HasPrefix(err.Error(), name+": ") || strings.Count(err.Error(), name+": ") != 1 || strings.Contains(err.Error(), "://") && !strings.Contains(err.Error(), "example.com")) {
				t.Errorf("the message is badly put: %v", err)
			}
		})
	}
}

// A constraint that no token can satisfy says where, and what it expects.
func TestNothingLeft(t *testing.T) {
	w := newWalker(t, NewGrammar(), 5, setting("grammar", `root ::= "yes"`))
	row := dist.NewDense([]float32{0, 1, 2})
	texts := [][]byte{nil, []byte("no"), []byte("maybe")}
	err := w.s.Apply(&sampler.Row{Scores: &row, Texts: func(id int32) []byte { return texts[id] }, EndOfText: []int32{0}}, w.set)
	if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), `expects 'y'`) || !strings.HasPrefix(err.Error(), "grammar: ") {
		t.Errorf("got %v", err)
	}
	// A text that is complete needs an end.
	row = dist.NewDense([]float32{0, 1, 2})
	texts[2] = []byte("yes")
	err = w.s.Apply(&sampler.Row{Scores: &row, History: []int32{2}, Texts: func(id int32) []byte { return texts[id] }}, w.set)
	if err == nil || !strings.Contains(err.Error(), "no token that ends a text") {
		t.Errorf("got %v", err)
	}
	// A completion that left the language is an error, not a repair.
	row = dist.NewDense([]float32{0, 1, 2})
	err = w.s.Apply(&sampler.Row{Scores: &row, History: []int32{1}, Texts: func(id int32) []byte { return texts[id] }, EndOfText: []int32{0}}, w.set)
	if err == nil || fault.KindOf(err) != fault.Data {
		t.Errorf("got %v", err)
	}
	// The prompt is no part of the completion.
	row = dist.NewDense([]float32{0, 1, 2})
	err = w.s.Apply(&sampler.Row{Scores: &row, History: []int32{1, 1}, Prompt: 2, Texts: func(id int32) []byte { return texts[id] }, EndOfText: []int32{0}}, w.set)
	if err != nil || !slices.Equal(row.IDs, []int32{2}) {
		t.Errorf("kept %v, %v", row.IDs, err)
	}
}

// Foreign bytes as a state change nothing but the time.
func FuzzState(f *testing.F) {
	f.Add([]byte("x"), uint8(3))
	f.Fuzz(func(t *testing.T, state []byte, n uint8) {
		w := newWalker(t, NewJSONSchema(), 6, setting("schema", `{"type":"array","items":{"type":"boolean"}}`))
		var history []int32
		for _, b := range []byte(`[true, false, true]`)[:int(n)%15] {
			history = append(history, 1+int32(b))
		}
		want, _, err := w.allowed(history, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := w.allowed(history, state); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d tokens with the state %x, %d without (%v)", len(got), state, len(want), err)
		}
	})
}

// The three parsers survive any text, and what they accept can be used.
func FuzzSources(f *testing.F) {
	f.Add(`root ::= [a-z]+ ("," root)? # c`)
	f.Add(`(a|b)*[^x]{2,3}$`)
	f.Add(`{"type":"object","properties":{"a":{"enum":[1]}},"required":["a"]}`)
	pieces := vocabulary(rand.New(rand.NewPCG(7, 7)), words, 20)
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []struct {
			s   sampler.Sampler
			key string
		}{{NewGrammar(), "grammar"}, {NewRegex(), "regex"}, {NewJSONSchema(), "schema"}} {
			set, err := c.s.Declare().Params.Resolve("", "", []param.Setting{setting(c.key, text)})
			if err != nil || text == "" {
				continue
			}
			row := dist.NewDense(make([]float32, len(pieces)))
			err = c.s.Apply(&sampler.Row{Scores: &row, Texts: func(id int32) []byte { return pieces[id] }, Vocabulary: "v", EndOfText: []int32{0}}, set)
			if fault.KindOf(err) == fault.Internal && err != nil {
				t.Errorf("%s %q: %v", c.key, text, err)
			}
		}
	})
}

// Rows of several sequences use one sampler at once.
func TestConcurrentUse(t *testing.T) {
	s := NewJSONSchema()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			w := newWalker(t, s, uint64(i%3), setting("schema", fmt.Sprintf(`{"type":"integer","minimum":%d}`, i%2)))
			for range 5 {
				if text, ok := w.walk(8); ok && !json.Valid([]byte(text)) {
					t.Errorf("drew %q", text)
				}
			}
		})
	}
	group.Wait()
}
