package golden

import (
	"encoding/json"
	"fmt"
	"math"
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

func cannot(format string, args ...any) error { return unanswerable{fmt.Sprintf(format, args...)} }

// names are the methods whose sampler has another name than the method and does
// not list it as an alias.
var names = map[string]string{
	"dist": "sample", "grammar_gbnf": "grammar", "logit_normalization": "logit_normalization",
	"classifier_free_guidance": "cfg", "classifier_free_guidance_unbatched": "cfg", "inf_nan_remove": "repair", "sequence_bias": "logit_bias",
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
		if err != nil {
			return nil, cannot("there is no sampler %q", name)
		}
		specs, err := d.ParamsFor(system)
		if err != nil {
			return nil, cannot("sampler %q does not follow %s", d.Name, system)
		}
		var given []param.Setting
		for key, raw := range params {
			if key == "method" {
				continue
			}
			settings, err := q.setting(method, key, raw, specs, system == "")
			if err != nil {
				return nil, err
			}
			given = append(given, settings...)
		}
		if _, has := specs.Find("breakers"); has && method == "dry" && params["breakers"] == nil {
			given = append(given, param.Setting{Name: "breakers", Value: "", Origin: "golden"}) // a case without breakers has none
		}
		values, err := specs.Resolve("case", d.Name, given)
		if err != nil {
			return nil, err
		}
		q.stages = append(q.stages, sampler.Stage{Sampler: d.Name, Values: values, System: system})
		q.decls = append(q.decls, d)
	}
	return q, nil
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
		return read(&q.prompt)
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
	"bad_words.bad_words": "tokens", "forced_bos.bos": "token", "forced_eos.eos": "token", "classifier_free_guidance.scale": "scale",
	"sequence_bias.bias": "bias", "no_repeat_ngram.n": "n",
}

// setting returns what a parameter sets.
func (q *question) setting(method, key string, raw json.RawMessage, specs param.Specs, own bool) ([]param.Setting, error) {
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
	if n, ok := v.(int64); ok && n < 0 && own && method+"."+key == "penalties.last_n" {
		// The schema's windows begin at 0; a subject may give -1 a meaning of its
		// own, such as the whole history.
		return nil, fault.New(fault.Usage, "case", method, "last_n = %d is outside [0, ∞)", n)
	}
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
			w, ok := pair[1].(float64)
			if !ok {
				return nil, fmt.Errorf("a weight is no number")
			}
			weight, e = "="+strconv.FormatFloat(w, 'g', -1, 64), pair[0]
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
