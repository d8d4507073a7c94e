package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"lab/core/fault"
)

// Difference is one place in which two manifests differ.
type Difference struct {
	Path string `json:"path"` // "used.models[0].digest_open"
	A    string `json:"a"`    // as JSON, "" where there is none
	B    string `json:"b"`
}

// Differences returns the places in which two manifests differ, in the order of
// their fields' names; shards are not compared.
func Differences(a, b *Manifest) ([]Difference, error) {
	var values [2]any
	for i, m := range []*Manifest{a, b} {
		whole := *m
		whole.Part = nil
		data, err := json.Marshal(&whole)
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(data))
			d.UseNumber()
			err = d.Decode(&values[i])
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, op, "manifest")
		}
	}
	var out []Difference
	compare("", values[0], values[1], &out)
	return out, nil
}

// mostDifferences bounds the list.
const mostDifferences = 1000

func compare(path string, a, b any, out *[]Difference) {
	if len(*out) >= mostDifferences {
		return
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			all := maps.Clone(x)
			maps.Copy(all, y)
			for _, key := range slices.Sorted(maps.Keys(all)) {
				inner := key
				if path != "" {
					inner = path + "." + key
				}
				compare(inner, x[key], y[key], out)
			}
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				var left, right any
				if i < len(x) {
					left = x[i]
				}
				if i < len(y) {
					right = y[i]
				}
				compare(fmt.Sprintf("%s[%d]", path, i), left, right, out)
			}
			return
		}
	}
	if l, r := asJSON(a), asJSON(b); l != r {
		*out = append(*out, Difference{path, l, r})
	}
}

func asJSON(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// String says what differs.
func (d Difference) String() string {
	show := func(s string) string {
		if s == "" {
			return "nothing"
		}
		if len(s) > 100 {
			s = s[:100] + "…"
		}
		return s
	}
	return fmt.Sprintf("%s is %s and was %s", d.Path, show(d.B), show(d.A))
}
