package std

import (
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/param"
)

// specKeys are the keys of a setting in lab.sampler's params.
var specKeys = []string{"name", "default", "min", "max", "above", "below", "choices", "unit", "meaning"}

// specOf reads one setting as a script declares it.
func specOf(given map[string]any, defined string) (param.Spec, error) {
	for _, key := range sortedKeys(given) {
		if !slices.Contains(specKeys, key) {
			return param.Spec{}, fault.Unknown("", "key", key, specKeys)
		}
	}
	s := param.Spec{Min: math.Inf(-1), Max: math.Inf(1), Meaning: "a setting of the " + defined}
	wrong := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Script, "", s.Name, format, args...)
	}
	texts := []struct {
		key string
		to  *string
	}{{"name", &s.Name}, {"unit", &s.Unit}, {"meaning", &s.Meaning}}
	for _, t := range texts {
		v, has := given[t.key]
		if text, ok := v.(string); ok {
			*t.to = text
		} else if has || t.key == "name" {
			return s, wrong("%s must be a text", t.key)
		}
	}
	switch v := given["default"].(type) {
	case int64:
		s.Type, s.Default = param.Int, v
	case float64:
		s.Type, s.Default = param.Float, v
	case bool:
		s.Type, s.Default = param.Bool, v
	case string:
		s.Type, s.Default = param.Text, v
	default:
		return s, wrong("its default is missing, or neither a number, true or false, nor a text").Fix("every setting has a default, which decides its type")
	}
	if err := bounds(&s, given, wrong); err != nil {
		return s, err
	}
	if list, has := given["choices"]; has {
		options, ok := list.([]any)
		if !ok || s.Type != param.Text {
			return s, wrong("choices must be a list of texts, of a setting whose default is a text")
		}
		for _, o := range options {
			text, ok := o.(string)
			if !ok {
				return s, wrong("choices must be a list of texts")
			}
			s.Choices = append(s.Choices, text)
		}
	}
	return s, asScript(s.Validate())
}

// bounds reads the range of a number. A whole default with a bound that is not
// whole is a number somebody forgot the point of.
func bounds(s *param.Spec, given map[string]any, wrong func(string, ...any) *fault.Error) error {
	for _, b := range []struct {
		key  string
		to   *float64
		open *bool
	}{{"min", &s.Min, nil}, {"above", &s.Min, &s.MinOpen}, {"max", &s.Max, nil}, {"below", &s.Max, &s.MaxOpen}} {
		v, has := given[b.key]
		if !has {
			continue
		}
		if s.Type != param.Int && s.Type != param.Float {
			return wrong("it has a %s, and its default is no number", b.key)
		}
		if !math.IsInf(*b.to, 0) {
			return wrong("it has two bounds on one side").Fix("min or above, and max or below")
		}
		switch x := v.(type) {
		case int64:
			*b.to = float64(x)
		case float64:
			if s.Type == param.Int && x != math.Trunc(x) {
				return wrong("%s = %v, and its default %v is a whole number", b.key, x, s.Default).Fix("write the default with a point: %v.0", s.Default)
			}
			*b.to = x
		default:
			return wrong("%s must be a number", b.key)
		}
		if b.open != nil {
			*b.open = true
		}
	}
	return nil
}
