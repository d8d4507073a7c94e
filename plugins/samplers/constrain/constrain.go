// Package constrain holds the samplers that keep a text inside a language: a
// grammar, a regular expression, a JSON Schema; and infill, which decides when a
// gap is filled.
//
// The three languages are front ends of one engine, internal/bytegram, which
// follows texts byte by byte, so that a token may split a character. The
// constraint speaks about the completion alone. A text may end exactly where the
// language says that it is complete. Start with [Grammar].
package constrain

import (
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/constrain/internal/bytegram"
	"lab/plugins/samplers/constrain/internal/gbnf"
	"lab/plugins/samplers/constrain/internal/regex"
	"lab/plugins/samplers/constrain/internal/schema"
)

// All returns the samplers of the package, in the order in which they are
// listed.
func All() []sampler.Sampler {
	return []sampler.Sampler{NewGrammar(), NewRegex(), NewJSONSchema(), Infill{}}
}

// Grammar keeps the tokens that a context-free grammar allows.
type Grammar struct{ *store }

// Regex keeps the tokens that a regular expression allows.
type Regex struct{ *store }

// JSONSchema keeps the tokens that lead to a JSON text valid under a schema.
type JSONSchema struct{ *store }

// NewGrammar returns a sampler that remembers compiled grammars.
func NewGrammar() Grammar { return Grammar{newStore()} }

// NewRegex returns a sampler that remembers compiled expressions.
func NewRegex() Regex { return Regex{newStore()} }

// NewJSONSchema returns a sampler that remembers compiled schemas.
func NewJSONSchema() JSONSchema { return JSONSchema{newStore()} }

var needs = sampler.Needs{History: -1, TokenTexts: true}

// Declare returns the declaration.
func (Grammar) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "grammar", Aliases: []string{"gbnf", "grammar_gbnf"}, Kind: sampler.Reshape,
		Summary: "Removes every token that cannot continue the completion inside a grammar; the end of text stays exactly where the grammar is complete. A token that leads nowhere later is allowed until then.",
		Formula: "keep i when the completion followed by text_i begins a text of the grammar",
		Source:  "the notation is llama.cpp's GBNF; set-of-parses matching after Lang 1974, Deterministic techniques for efficient non-deterministic parsers",
		Params: param.Specs{
			{Name: "grammar", Type: param.Text, Default: "", Meaning: `the rules, as root ::= "yes" | "no"; empty is off`},
			{Name: "root", Type: param.Text, Default: "root", Meaning: "the rule that a whole completion matches"},
		},
		Needs: needs,
	}
}

// Apply keeps the allowed tokens.
func (g Grammar) Apply(row *sampler.Row, set param.Values) error {
	text, root := set.Text("grammar"), set.Text("root")
	if text == "" {
		return nil
	}
	return g.keep("grammar", row, root+"\x00"+text, func() (*bytegram.Program, error) {
		x, n, err := gbnf.Parse(text, root)
		if err != nil {
			return nil, err
		}
		return x.Compile(n, bytegram.Unchecked())
	})
}

// Declare returns the declaration.
func (Regex) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "regex", Aliases: []string{"regular_expression"}, Kind: sampler.Reshape,
		Summary: "Removes every token that cannot continue the completion towards a full match of a regular expression; the end of text stays exactly where the match is complete.",
		Formula: "keep i when the completion followed by text_i begins a text that matches",
		Source:  "Willard, Louf 2023, Efficient guided generation for large language models; the notation is RE2's",
		Params: param.Specs{
			{Name: "regex", Aliases: []string{"pattern"}, Type: param.Text, Default: "",
				Meaning: "matched as a whole, in the notation of Go's regexp: no look-around, no references to groups; empty is off"},
		},
		Needs: needs,
	}
}

// Apply keeps the allowed tokens.
func (r Regex) Apply(row *sampler.Row, set param.Values) error {
	text := set.Text("regex")
	if text == "" {
		return nil
	}
	return r.keep("regex", row, text, func() (*bytegram.Program, error) {
		x, err := regex.Parse(text, regex.Options{})
		if err != nil {
			return nil, err
		}
		var g bytegram.Grammar
		return g.Compile(g.Add("", x), bytegram.Characters())
	})
}

// Declare returns the declaration.
func (JSONSchema) Declare() sampler.Declaration {
	return sampler.Declaration{
		Name: "json_schema", Aliases: []string{"json"}, Kind: sampler.Reshape,
		Summary: "Removes every token that cannot continue the completion towards a JSON text that is valid under a schema; the end of text stays exactly where it is complete. Properties come in the schema's order.",
		Formula: "keep i when the completion followed by text_i begins a valid JSON text",
		Source:  "JSON Schema drafts 4 to 2020-12 (json-schema.org)",
		Params: param.Specs{
			{Name: "schema", Type: param.Text, Default: "", Meaning: "the JSON Schema; a keyword that cannot be followed is an error with its JSON pointer; {} allows any JSON, and empty is off"},
			{Name: "blanks", Aliases: []string{"whitespace"}, Type: param.Text, Default: string(schema.Spaced),
				Choices: []string{string(schema.Compact), string(schema.Spaced), string(schema.Free)},
				Meaning: "between the parts: compact none, spaced one after each comma and colon, free any of up to 16"},
		},
		Needs: needs,
	}
}

// Apply keeps the allowed tokens.
func (j JSONSchema) Apply(row *sampler.Row, set param.Values) error {
	text, blanks := set.Text("schema"), set.Text("blanks")
	if text == "" {
		return nil
	}
	return j.keep("json_schema", row, blanks+"\x00"+text, func() (*bytegram.Program, error) {
		g, root, err := schema.Parse(text, schema.Blanks(blanks))
		if err != nil {
			return nil, err
		}
		return g.Compile(root, bytegram.Characters())
	})
}

// keep removes the tokens that a language does not allow after the completion.
func (s *store) keep(op string, row *sampler.Row, source string, compile func() (*bytegram.Program, error)) error {
	m, err := s.matcher(row, source, compile)
	if err != nil {
		return named(err, op)
	}
	next, err := m.Next(row.History[row.Prompt:], row.State)
	if err != nil {
		return named(err, op)
	}
	row.State = next.Memo
	var ends []int32
	if next.Ends {
		ends = row.EndOfText
	}
	if err := keepMask(row.Scores, next.Tokens, ends); err != nil {
		return named(err, op)
	}
	if !slices.ContainsFunc(row.Scores.Values, dist.Finite) {
		what := "expects " + next.Expected()
		if next.Ends && len(row.EndOfText) == 0 {
			what += ", and the model has no token that ends a text"
		}
		return fault.New(fault.Data, op, "", "no token is left %s: it %s, and earlier stages or the vocabulary leave none of that", next.Where(), what).
			Fix("put the constraint before stages that truncate, or widen it")
	}
	return nil
}

// named returns an error of the engine or a front end as one of a stage.
func named(err error, op string) error {
	e, ok := err.(*fault.Error)
	if !ok || e.Op != "" && e.Op != op {
		return fault.Wrap(err, fault.Internal, op, "")
	}
	c := *e
	c.Op = op
	return &c
}

// keepMask keeps the tokens of a set, and the ends. When they are most of a
// dense row, the others are masked in place: listing the ones that stay would
// cost more.
func keepMask(s *dist.Scores, tokens *bytegram.Mask, ends []int32) error {
	if s.Dense() && s.Unlisted == 0 && tokens.Count() > s.Vocab/2 {
		inside := slices.DeleteFunc(slices.Clone(ends), func(id int32) bool { return id < 0 || int(id) >= s.Vocab })
		tokens.Strike(s.Values, inside)
		return nil
	}
	ids := tokens.Append(make([]int32, 0, tokens.Count()+len(ends)))
	if len(ends) > 0 {
		ids = append(ids, ends...)
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	return keepIDs(s, ids)
}

// keepIDs keeps the given tokens, ascending, of those that a row lists. What an
// unlisted tail holds of them is not known, so they must all be listed then.
func keepIDs(s *dist.Scores, ids []int32) error {
	if s.Unlisted > 0 {
		for _, id := range ids {
			if s.Index(id) < 0 {
				return fault.New(fault.Data, "", "", "token %d is allowed and unlisted, and its probability is not known", id).
					Fix("use a backend that lists every token")
			}
		}
		s.Unlisted = 0
	}
	if s.Dense() {
		places := make([]int32, 0, len(ids))
		for _, id := range ids {
			if id >= 0 && int(id) < len(s.Values) && dist.Finite(s.Values[id]) {
				places = append(places, id)
			}
		}
		s.KeepPlaces(places)
		return nil
	}
	at := 0
	s.Keep(func(i int) bool {
		for at < len(ids) && ids[at] < s.IDs[i] {
			at++
		}
		return at < len(ids) && ids[at] == s.IDs[i] && dist.Finite(s.Values[i])
	}, nil)
	return nil
}
