package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// mostDraws bounds the draws in a row that a case may ask for.
const mostDraws = 1 << 12

// schemaName reads any JSON value, so that a file of something else is refused
// for its schema and not for the shape of the rest.
type schemaName string

// UnmarshalJSON implements json.Unmarshaler.
func (s *schemaName) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*s = schemaName(text)
	return nil
}

// idOf returns the id of a case that cannot be read as a whole.
func idOf(raw []byte) string {
	var v struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &v) // what else is wrong with it is being reported
	return v.ID
}

// misread adds to an error of reading a case the field that caused it, which a
// field's own decoder cannot know.
func misread(raw []byte, err error) error {
	if field, why := faulty(raw, reflect.TypeFor[Case]()); field != "" {
		return fmt.Errorf("its field %s: %w", field, why)
	}
	return err
}

// faulty returns the path of the first field of raw that cannot be read into a
// type, "" when the fault is of the whole: an unknown field, say.
func faulty(raw []byte, t reflect.Type) (path string, err error) {
	err = strict(raw, reflect.New(t).Interface())
	if err == nil {
		return "", nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return "", err
	}
	switch t.Kind() {
	case reflect.Pointer:
		return faulty(raw, t.Elem())
	case reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return "", err
		}
		for i, e := range list {
			if below, why := faulty(e, t.Elem()); why != nil {
				return join(fmt.Sprintf("[%d]", i), below), why
			}
		}
	case reflect.Struct:
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return "", err
		}
		for i := range t.NumField() {
			name := t.Field(i).Tag.Get("json")
			value, given := fields[name]
			if name == "" || !given {
				continue
			}
			if below, why := faulty(value, t.Field(i).Type); why != nil {
				return join(name, below), why
			}
		}
	}
	return "", err
}

func join(name, below string) string {
	if below == "" || strings.HasPrefix(below, "[") {
		return name + below
	}
	return name + "." + below
}

// check returns what is wrong with a case by itself.
func (c *Case) check() error {
	if c.Method == "" {
		return fmt.Errorf("it names no method")
	}
	if c.Input.Recipe != nil && c.Input.Logits != nil {
		return fmt.Errorf("its input has both logits and a recipe")
	}
	if c.Input.Logits != nil && len(c.Input.Logits) == 0 {
		return fmt.Errorf("its input has no logits")
	}
	if r := c.Input.Recipe; r != nil {
		if err := r.check(); err != nil {
			return err
		}
	}
	if !(c.Tolerance.ProbRel >= 0 && c.Tolerance.ProbRel <= 1) {
		return fmt.Errorf("its tolerance is %v, outside [0, 1]", c.Tolerance.ProbRel)
	}
	for _, id := range c.History.tokens {
		if id < 0 || id >= mostVocab {
			return fmt.Errorf("its history has the token %d", id)
		}
	}
	draws := 0
	if raw, given := c.Params["steps"]; given && !bytes.HasPrefix(raw, []byte("[")) { // a list is the steps of a chain
		if err := json.Unmarshal(raw, &draws); err != nil || draws < 1 || draws > mostDraws {
			return fmt.Errorf("its parameter steps is %.20s, outside 1 to %d", raw, mostDraws)
		}
	}
	seen := map[string]bool{}
	for i := range c.Answers {
		a := &c.Answers[i]
		if len(a.Systems) == 0 {
			return fmt.Errorf("its answer %d names no system", i+1)
		}
		for _, s := range a.Systems {
			if seen[s] {
				return fmt.Errorf("it has two answers of %.40q", s)
			}
			seen[s] = true
		}
		if err := a.check(draws); err != nil {
			return fmt.Errorf("its answer %d %w", i+1, err)
		}
	}
	if c.Reference != nil {
		if err := c.Reference.check(draws); err != nil {
			return fmt.Errorf("its reference %w", err)
		}
	}
	return nil
}

// check returns what is wrong with an answer. One that says nothing is refused,
// since anything would agree with it.
func (w *answer) check(draws int) error {
	if w.Outcome != "" {
		return nil
	}
	if draws > 0 {
		return w.checkDraws(draws)
	}
	switch {
	case w.Tokens != nil || w.PSelected != nil || len(w.NKept) > 1:
		return fmt.Errorf("is of several draws, and its case asks for one")
	case w.Steps == nil && w.Kept == nil && w.Token == nil && w.NKept == nil:
		return fmt.Errorf("has no outcome and nothing to compare")
	case w.Steps != nil && len(w.Steps) == 0:
		return fmt.Errorf("has no step")
	case len(w.Probs) != len(w.Kept) && len(w.Probs) > 0, len(w.Logits) != len(w.Kept) && len(w.Logits) > 0:
		return fmt.Errorf("has %d probabilities and %d logits for %d kept tokens", len(w.Probs), len(w.Logits), len(w.Kept))
	}
	if err := ascending(w.Kept); err != nil {
		return fmt.Errorf("has kept tokens %w", err)
	}
	for _, p := range w.Probes { // no row has another token, so anything would agree
		if id := float64(p[0]); !(id >= 0 && id < mostVocab) || id != math.Trunc(id) {
			return fmt.Errorf("has a probe of the token %v", id)
		}
	}
	for i, s := range w.Steps {
		if (s.Probs == nil) == (s.Allowed == nil) {
			return fmt.Errorf("has at step %d not one of probs and allowed", i)
		}
		if err := ascending(s.Allowed); err != nil {
			return fmt.Errorf("has at step %d allowed tokens %w", i, err)
		}
	}
	return nil
}

func (w *answer) checkDraws(draws int) error {
	any := false
	for _, n := range []int{len(w.Tokens), len(w.NKept), len(w.PSelected)} {
		if n != 0 && n != draws {
			return fmt.Errorf("has a list of %d for %d draws", n, draws)
		}
		any = any || n != 0
	}
	if !any {
		return fmt.Errorf("has no outcome and nothing to compare")
	}
	return nil
}

// ascending returns how a list of ids is none, or not in ascending order.
func ascending(ids []int32) error {
	for i, id := range ids {
		if id < 0 || id >= mostVocab {
			return fmt.Errorf("with the id %d", id)
		}
		if i > 0 && id <= ids[i-1] {
			return fmt.Errorf("out of order: %d after %d", id, ids[i-1])
		}
	}
	return nil
}
