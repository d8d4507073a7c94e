package systems

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"lab/core/chain"
	"lab/core/plugin/param"
)

// Settings of the run, which every system has under some name.

func seedSetting() target {
	return target{kind: seeds, run: func(d *draft, v any) error {
		n, positive := v.(uint64)
		if !positive || n == 1<<32-1 { // "random" in llama.cpp and its kin
			d.NoEquivalent = append(d.NoEquivalent, Note{"seed", show(v), "a random seed; lab runs have a fixed one"})
			return nil
		}
		return once(&d.Seed, n)
	}}
}

// once sets what a setting of several names says, and returns an error when
// another of them said something else.
func once[T comparable](to **T, v T) error {
	if *to != nil && **to != v {
		return fmt.Errorf("is given by another name as %v", **to)
	}
	*to = &v
	return nil
}

func tokensSetting() target {
	return target{kind: whole, run: func(d *draft, v any) error {
		if v.(int64) > math.MaxInt32 {
			return fmt.Errorf("is above %d", math.MaxInt32)
		}
		n := int(v.(int64))
		if n < 1 {
			if note := (Note{"max tokens", show(v), "no limit; give lab generate --max-tokens"}); !slices.Contains(d.NoEquivalent, note) {
				d.NoEquivalent = append(d.NoEquivalent, note)
			}
			return nil
		}
		return once(&d.MaxTokens, n)
	}}
}

func samplesSetting() target {
	return target{kind: whole, run: func(d *draft, v any) error {
		n := int(v.(int64))
		if v.(int64) < 1 || v.(int64) > math.MaxInt32 {
			return fmt.Errorf("is outside 1 to %d", math.MaxInt32)
		}
		return once(&d.Samples, n)
	}}
}

func stopSetting() target {
	return target{kind: texts, run: func(d *draft, v any) error {
		d.Stop = append(d.Stop, v.([]string)...)
		return nil
	}}
}

// with returns params with more of them under their names.
func with(params map[string]target, t target, names ...string) {
	for _, n := range names {
		params[n] = t
	}
}

// Values that turn a stage off.
func is(off float64) func(any) bool {
	return func(v any) bool {
		switch x := v.(type) {
		case float64:
			return x == off
		case int64:
			return float64(x) == off
		}
		return false
	}
}

func notPositive(v any) bool {
	switch x := v.(type) {
	case float64:
		return x <= 0
	case int64:
		return x <= 0
	}
	return false
}

func oneOrMore(v any) bool { x, ok := v.(float64); return ok && x >= 1 }

func empty(v any) bool { s, ok := v.(string); return ok && s == "" }

func isFalse(v any) bool { b, ok := v.(bool); return ok && !b }

// anyObject is the schema of "some JSON object", which is what the JSON modes of
// other systems promise.
const anyObject = `{"type":"object"}`

// responseFormat reads an OpenAI-style response_format.
func responseFormat() target {
	return target{kind: text, run: func(d *draft, v any) error {
		var f struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
			Nested struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		}
		if err := json.Unmarshal([]byte(v.(string)), &f); err != nil {
			return fmt.Errorf("is no response format")
		}
		schema := f.Schema
		if schema == nil {
			schema = f.Nested.Schema
		}
		switch {
		case f.Type == "text":
			return nil
		case f.Type == "json_object" && schema == nil:
			schema = json.RawMessage(anyObject)
		case f.Type != "json_object" && f.Type != "json_schema" || schema == nil:
			return fmt.Errorf("is neither text, json_object, nor json_schema with a schema")
		}
		return d.add("json_schema", "schema", string(schema), d.sys.name+" response_format")
	}}
}

// choices returns the regular expression of one of several texts.
func choices(list []string) (string, error) {
	if len(list) == 0 {
		return "", fmt.Errorf("is an empty list")
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = regexp.QuoteMeta(s)
	}
	return "(" + strings.Join(out, "|") + ")", nil
}

// trimStage is the place, in an order, of koboldcpp's cut to the likeliest
// candidates.
const trimStage = "trim"

func trim(system string) chain.Request {
	from := system + " trim"
	return chain.Request{Name: "top_k", Origin: from, Settings: []param.Setting{{Name: "top_k", Value: int64(5000), Origin: from}}}
}
