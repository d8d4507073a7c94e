package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// question is a case made ready to be asked: stages, and what they are told
// besides the row.
type question struct {
	stages []sampler.Stage
	decls  []sampler.Declaration
	end    []int32 // tokens that end a text
	tokens []int32 // the history
	prompt int
	passes []number // the further row, if there is one
	row    []number // the row, when the parameters hold it
	steps  int      // draws in a row; 0: one application
}

// unanswerable is why a subject cannot be asked.
type unanswerable struct{ why string }

func (u unanswerable) Error() string { return u.why }

// broken is an error of the subject itself, not of a case.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

func cannot(format string, args ...any) error { return unanswerable{fmt.Sprintf(format, args...)} }

// names are the methods whose sampler has another name than the method and does
// not list it as an alias.
var names = map[string]string{
	"dist": "sample", "grammar_gbnf": "grammar", "classifier_free_guidance": "cfg",
	"classifier_free_guidance_unbatched": "cfg", "inf_nan_remove": "repair", "sequence_bias": "logit_bias",
}

// asked turns the parameters of a case into a question to a subject, under the
// rules of a system ("" for the subject's own). An error of type unanswerable
// says that the subject has no such thing; any other is a refusal of the
// parameters.
func (c *Case) asked(f *File, s Subject, system string) (*question, error) {
	q := &question{end: f.end, tokens: c.History.tokens, prompt: c.History.prompt}
	steps := []map[string]json.RawMessage{c.Params}
	if c.Method == "chain" {
		steps = nil
		if err := json.Unmarshal(c.Params["steps"], &steps); err != nil {
			return nil, cannot("its steps cannot be read: %v", err)
		}
	}
	for _, params := range steps {
		method := c.Method
		if c.Method == "chain" {
			if err := json.Unmarshal(params["method"], &method); err != nil {
				return nil, cannot("a step names no method")
			}
		}
		name := method
		if n, ok := names[method]; ok {
			name = n
		}
		d, err := s.Lookup(name)
		switch {
		case fault.KindOf(err) == fault.Usage:
			return nil, cannot("there is no sampler %q", name)
		case err != nil:
			return nil, broken{err}
		}
		specs, err := d.ParamsFor(system)
		if err != nil {
			return nil, cannot("sampler %q does not follow %s", d.Name, system)
		}
		var given []param.Setting
		for _, key := range slices.Sorted(maps.Keys(params)) { // sorted, so that of several errors always the same is reported
			if key == "method" {
				continue
			}
			settings, err := q.setting(method, key, params[key], specs)
			if err != nil {
				return nil, err
			}
			given = append(given, settings...)
		}
		for _, u := range unsaid {
			if _, has := specs.Find(u.setting); has && u.method == method && params[u.setting] == nil {
				given = append(given, param.Setting{Name: u.setting, Value: u.value, Origin: "golden"})
			}
		}
		values, err := specs.Resolve("case", d.Name, given)
		if err != nil {
			return nil, err
		}
		if n, ok := number64(params["last_n"]); ok && n < 0 && method == "penalties" && system == "" {
			return nil, cannot("the subject takes last_n = %v, which the schema has no window for", n)
		}
		q.stages = append(q.stages, sampler.Stage{Sampler: d.Name, Values: values, System: system})
		q.decls = append(q.decls, d)
	}
	return q, nil
}

// unsaid are settings that a case does not give and whose default is not what
// it means.
var unsaid = []struct{ method, setting, value string }{
	{"dry", "breakers", ""},                        // a case without breakers has none
	{"classifier_free_guidance", "form", "logits"}, // the other of the two methods works on log probabilities
}

// number64 returns a JSON number, and false for anything else.
func number64(raw json.RawMessage) (v float64, ok bool) {
	return v, raw != nil && json.Unmarshal(raw, &v) == nil
}

// elsewhere are parameters that are no settings but part of the question.
func (q *question) elsewhere(method, key string, raw json.RawMessage) (taken bool, err error) {
	read := func(v any) (bool, error) {
		if err := json.Unmarshal(raw, v); err != nil {
			return true, cannot("its parameter %s cannot be read: %v", key, err)
		}
		return true, nil
	}
	switch method + "." + key {
	case "dist.steps", "xtc.steps", "mirostat_v1.steps", "mirostat_v2.steps", "adaptive_p.steps":
		return read(&q.steps)
	case "mirostat_v2.m", "watermark_green_list.vocab": // said again, or unused
		return true, nil
	case "classifier_free_guidance.conditional", "classifier_free_guidance_unbatched.conditional":
		return read(&q.row)
	case "classifier_free_guidance.unconditional", "classifier_free_guidance_unbatched.unconditional":
		return read(&q.passes)
	case "min_new_tokens.prompt_length", "exponential_decay_length_penalty.prompt_length":
		if taken, err = read(&q.prompt); err == nil && (q.prompt < 0 || q.prompt > len(q.tokens)) {
			err = cannot("its prompt has %d tokens, and its history %d", q.prompt, len(q.tokens))
		}
		return taken, err
	case "min_length.eos", "min_new_tokens.eos", "exponential_decay_length_penalty.eos":
		return read(&q.end)
	case "bad_words.eos": // protected there; no entry of the list is that token
		return true, nil
	}
	return false, nil
}

// renamed are parameters whose setting has another name and does not list it as
// an alias.
var renamed = map[string]string{
	"bad_words.bad_words": "tokens", "forced_bos.bos": "token",
}

// setting returns what a parameter sets.
func (q *question) setting(method, key string, raw json.RawMessage, specs param.Specs) ([]param.Setting, error) {
	if taken, err := q.elsewhere(method, key, raw); taken {
		return nil, err
	}
	name := key
	if n, ok := renamed[method+"."+key]; ok {
		name = n
	}
	spec, ok := specs.Find(name)
	if !ok {
		return nil, cannot("its parameter %q has no setting", key)
	}
	v, err := valueOf(raw, spec)
	if err != nil {
		return nil, cannot("its parameter %s cannot be read: %v", key, err)
	}
	return []param.Setting{{Name: spec.Name, Value: v, Origin: "golden"}}, nil
}

// valueOf returns a JSON value as a setting of the spec takes it.
func valueOf(raw json.RawMessage, spec param.Spec) (any, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case float64:
		if spec.Type == param.Int && x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
			return int64(x), nil
		}
		if spec.Type == param.Tokens {
			return listOf([]any{x}, spec)
		}
		if spec.Type == param.Text {
			return strconv.FormatFloat(x, 'g', -1, 64), nil
		}
		return x, nil
	case string:
		if x == "nan" || x == "+inf" || x == "-inf" {
			return strconv.ParseFloat(x, 64)
		}
		return x, nil
	case []any:
		return listOf(x, spec)
	}
	return v, nil
}

// listOf returns a list of ids, of sequences, or of pairs with a weight in the
// text form of a token list; for a text setting, its numbers with blanks
// between.
func listOf(list []any, spec param.Spec) (any, error) {
	var items []string
	for _, e := range list {
		weight := ""
		if pair, ok := e.([]any); ok && spec.Weighted {
			if len(pair) != 2 {
				return nil, fmt.Errorf("an entry is no pair")
			}
			switch w := pair[1].(type) {
			case float64:
				weight = "=" + strconv.FormatFloat(w, 'g', -1, 64)
			case string: // "-inf"; the setting judges any other
				weight = "=" + w
			default:
				return nil, fmt.Errorf("a weight is no number")
			}
			e = pair[0]
		}
		item, err := itemOf(e)
		if err != nil {
			return nil, err
		}
		items = append(items, item+weight)
	}
	return strings.Join(items, " "), nil
}

func itemOf(v any) (string, error) {
	switch x := v.(type) {
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), nil
	case string:
		return param.Token{Text: x}.String(), nil
	case []any:
		parts := make([]string, len(x))
		for i, e := range x {
			id, ok := e.(float64)
			if !ok {
				return "", fmt.Errorf("a sequence holds something else than ids")
			}
			parts[i] = strconv.FormatFloat(id, 'f', -1, 64)
		}
		return strings.Join(parts, "+"), nil
	}
	return "", fmt.Errorf("an entry is neither an id nor a sequence")
}
