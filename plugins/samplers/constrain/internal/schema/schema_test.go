package schema

import (
	"strings"
	"testing"

	"lab/core/fault"
)

// Texts that a schema allows in the compact form, and others that it does not.
// That what is drawn is always valid is tested where the samplers are.
func TestTextsOfSchemas(t *testing.T) {
	const many = `{"type":"object","properties":{"b":{"const":1},"a":{"const":2},"c":{"const":3}},"required":["a"],"additionalProperties":false}`
	rows := []struct {
		name, schema string
		yes, no      []string
	}{
		{"properties in the order of the schema", many,
			[]string{`{"a":2}`, `{"b":1,"a":2}`, `{"a":2,"c":3}`, `{"b":1,"a":2,"c":3}`},
			[]string{`{}`, `{"b":1}`, `{"a":2,"b":1}`, `{"a":2,"a":2}`, `{"a":2,}`, `{,"a":2}`, `{"a":2,"d":1}`, `{"a": 2}`}},
		{"other properties only when they are asked for", `{"type":"object","properties":{"a":{"type":"null"}}}`,
			[]string{`{}`, `{"a":null}`}, []string{`{"x":1}`}},
		{"other properties have other names", `{"type":"object","properties":{"ab":{"type":"null"}},"additionalProperties":{"type":"boolean"}}`,
			[]string{`{}`, `{"ab":null,"a":true,"abc":false}`, `{"":true}`, `{"b":true}`, `{"\n":true}`}, []string{`{"ab":true}`, `{"a":null}`, `{"\u0061b":true}`}},
		{"any value", `{}`,
			[]string{`null`, `-0.5e-3`, `[]`, `{}`, `[1,[2],{"a":{}}]`, `"é\n🙂"`, `{"":""}`}, []string{``, `01`, `+1`, `.5`, `1.`, `nul`, `[1,]`, `"`, "\"\n\"", `'a'`}},
		{"enum and const", `{"enum":["a\"\\\t\u0001é",1.50,null,{"k":[]}]}`,
			[]string{`"a\"\\\t\u0001é"`, `1.50`, `null`, `{"k":[]}`}, []string{`"a"`, `1`, `{}`}},
		{"lengths count characters", `{"type":"string","minLength":1,"maxLength":2}`,
			[]string{`"é"`, `"🙂🙂"`, `"\n\""`}, []string{`""`, `"abc"`}},
		{"patterns are searched for", `{"type":"string","pattern":"b\"?$"}`, []string{`"b"`, `"ab\""`}, []string{`"bc"`, `""`}},
		{"arrays", `{"type":"array","prefixItems":[{"const":1},{"const":2}],"items":{"const":3},"minItems":1,"maxItems":4}`,
			[]string{`[1]`, `[1,2]`, `[1,2,3]`, `[1,2,3,3]`}, []string{`[]`, `[2]`, `[1,3]`, `[1,2,3,3,3]`, `[1,]`, `[1 ]`}},
		{"an array of few", `{"type":"array","prefixItems":[{"const":1},{"const":2}],"items":false,"maxItems":1}`, []string{`[]`, `[1]`}, []string{`[1,2]`}},
		{"a reference to itself", `{"type":"object","properties":{"n":{"$ref":"#"}}}`, []string{`{}`, `{"n":{"n":{}}}`}, []string{`{"n":null}`}},
		{"types", `{"type":["null","boolean"]}`, []string{`null`, `true`, `false`}, []string{`0`, `""`}},
		{"a keyword of another type says nothing", `{"type":"boolean","maxLength":1}`, []string{`true`}, []string{`"a"`}},
		{"allOf joins properties", `{"allOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"type":"object","properties":{"b":{"const":2}}}]}`,
			[]string{`{"a":1}`, `{"a":1,"b":2}`}, []string{`{}`, `{"b":2}`}},
		{"days of months and leap years", `{"type":"string","format":"date"}`,
			[]string{`"2024-02-29"`, `"2000-02-29"`, `"2023-02-28"`, `"1999-12-31"`, `"2023-04-30"`},
			[]string{`"2023-02-29"`, `"1900-02-29"`, `"2024-02-30"`, `"2023-04-31"`, `"2023-13-01"`, `"2023-00-10"`, `"2023-01-00"`}},
		{"false allows nothing", `{"anyOf":[false,{"const":1}]}`, []string{`1`}, []string{`null`}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ok := follow(t, r.schema)
			for _, text := range r.yes {
				if !ok(text) {
					t.Errorf("%s is not allowed", text)
				}
			}
			for _, text := range r.no {
				if ok(text) {
					t.Errorf("%s is allowed", text)
				}
			}
		})
	}
}

// Every keyword of JSON Schema that cannot be followed is refused by its JSON
// pointer, and so is one that is none.
func TestKeywordsAreNotPassedOver(t *testing.T) {
	rows := []struct{ pointer, schema string }{
		{"/not", `{"type":"string","not":{"const":"a"}}`},
		{"/if", `{"type":"object","if":{},"then":{}}`},
		{"/dependentRequired", `{"type":"object","dependentRequired":{"a":["b"]}}`},
		{"/dependentSchemas", `{"type":"object","dependentSchemas":{"a":{}}}`},
		{"/patternProperties", `{"type":"object","patternProperties":{"a":{}}}`},
		{"/propertyNames", `{"type":"object","propertyNames":{"maxLength":2}}`},
		{"/minProperties", `{"type":"object","minProperties":1}`},
		{"/maxProperties", `{"type":"object","maxProperties":1}`},
		{"/unevaluatedProperties", `{"type":"object","unevaluatedProperties":false}`},
		{"/contains", `{"type":"array","contains":{}}`},
		{"/minContains", `{"type":"array","minContains":1}`},
		{"/uniqueItems", `{"type":"array","uniqueItems":true}`},
		{"/unevaluatedItems", `{"type":"array","unevaluatedItems":false}`},
		{"/contentEncoding", `{"type":"string","contentEncoding":"base64"}`},
		{"/multipleOf", `{"type":"integer","multipleOf":2}`},
		{"/$dynamicRef", `{"$dynamicRef":"#"}`},
		{"/$defs/a/descripton", `{"$ref":"#/$defs/a","description":"d","$defs":{"a":{"descripton":"x"}}}`},
		{"/properties/a~1b/items/maxLenght", `{"properties":{"a/b":{"type":"array","items":{"type":"string","maxLenght":1}}}}`},
		{"/type", `{"type":"object","anyOf":[{}]}`}, // beside anyOf
	}
	for _, r := range rows {
		_, _, err := Parse(r.schema, Compact)
		want := "json_schema: " + r.pointer + ": "
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", r.schema, err, want)
		}
	}
}

// Readers of schemas survive any text.
func FuzzParse(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"enum":[1]}},"required":["a"],"additionalProperties":{"$ref":"#"}}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"number","minimum":1e2,"exclusiveMinimum":true}`)
	f.Add(`{"allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"oneOf":[{"const":1},{"type":"string","pattern":"^a+$"}]}}}`)
	f.Fuzz(func(t *testing.T, source string) {
		if _, _, err := Parse(source, Free); err != nil {
			if k := fault.KindOf(err); k != fault.Usage && k != fault.Limit {
				t.Errorf("%q: %v", source, err)
			}
		}
	})
}
