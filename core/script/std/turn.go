package std

import (
	"fmt"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/script"
)

// turn is one call of a script's sampler: what its function is told besides the
// row, and where its result goes. It is of use during the call only.
type turn struct {
	to     *sampler.Row
	given  *row
	passes []*row
	params script.Record
	state  any
	broken error // of the state
	over   bool
}

func newTurn(r *sampler.Row, set param.Values) *turn {
	t := &turn{to: r, params: script.Record{Name: "params", Fields: make(map[string]any, len(set))}}
	for _, v := range set {
		t.params.Fields[v.Name] = v.Value
	}
	t.given = &row{turn: t, s: r.Scores.Clone()}
	t.given.origin = t.given
	for i := range r.Passes {
		pass := &row{turn: t, s: r.Passes[i].Clone()}
		pass.origin = pass
		t.passes = append(t.passes, pass)
	}
	if len(r.State) > 0 {
		t.state, t.broken = decodeState(r.State)
	}
	return t
}

func (t *turn) end() { t.over = true }

// Class implements script.Object.
func (*turn) Class() script.Class {
	return script.Class{Name: "turn", Doc: "What the apply function of lab.sampler is told besides the row. It is of use until the function returns.", Members: []script.Member{
		ofTurn("params", "record", "The settings by name; one that was not declared is an error.", func(t *turn) any { return t.params }),
		ofTurn("uniforms", "list of float", "As many uniform random numbers in [0, 1) as were declared, which depend on seed, prompt, sample and step alone.",
			func(t *turn) any { return slices.Clone(t.to.Uniforms) }),
		ofTurn("history", "list of int", "The context so far, prompt first.", func(t *turn) any { return slices.Clone(t.to.History) }),
		ofTurn("prompt", "int", "How many tokens of the history are prompt.", func(t *turn) any { return t.to.Prompt }),
		ofTurn("step", "int", "0 for the first generated token.", func(t *turn) any { return t.to.Step }),
		ofTurn("sample", "int", "Index of the sample.", func(t *turn) any { return t.to.Sample }),
		ofTurn("end_of_text", "list of int", "The tokens that end a text.", func(t *turn) any { return slices.Clone(t.to.EndOfText) }),
		ofTurn("passes", "list of row", "The rows of further model passes, as many as were declared.", func(t *turn) any { return t.passes }),
		{Name: "state", Returns: "any value", Doc: "What the function last returned as state for this sequence; undefined until it does. Sequences that fork share nothing.",
			Get: func(c *script.Call) (any, error) {
				t := script.Self[*turn](c)
				if t.over {
					return nil, errOver("state")
				}
				return t.state, t.broken
			}},
	}}
}

// String implements fmt.Stringer.
func (t *turn) String() string { return "<turn>" }

func ofTurn(name, returns, doc string, get func(*turn) any) script.Member {
	return script.Member{Name: name, Doc: doc, Returns: returns, Get: func(c *script.Call) (any, error) {
		t := script.Self[*turn](c)
		if t.over {
			return nil, errOver(name)
		}
		return get(t), nil
	}}
}

func errOver(name string) error {
	return fault.New(fault.Script, "turn", name, "its step is over").Fix("what one step hands to the next is the state: return {row: r, state: value}")
}

// resultType is what an apply function may return; take looks at what it is.
var resultType = script.Either(script.Host[*row](), script.Int(), script.Numbers(), script.Any()).
	Called("a row, its scores, a token, or a map of row, token and state")

// resultKeys are the keys of a result that is a map.
var resultKeys = []string{"row", "token", "state"}

// take puts the result of the function in the place of the row it was given.
func (t *turn) take(kind sampler.Kind, result any) error {
	parts, ok := result.(map[string]any)
	if !ok {
		parts = map[string]any{"row": result}
		if _, ok := result.(int64); ok {
			parts = map[string]any{"token": result}
		}
	}
	for _, key := range sortedKeys(parts) {
		if !slices.Contains(resultKeys, key) {
			return fault.Unknown("result", "key", key, resultKeys)
		}
	}
	shaped, has := parts["row"]
	if has {
		if err := t.place(shaped); err != nil {
			return err
		}
	}
	token, chose := parts["token"]
	switch {
	case kind == sampler.Reshape && chose:
		return wrongResult("it is a token (%v), and the sampler reshapes", shown(token)).Fix(`return a row, or declare {kind: "select"}`)
	case kind == sampler.Reshape && !has:
		return wrongResult("it has no row").Fix("return the row it was given when nothing changes")
	case kind == sampler.Select && !chose:
		return wrongResult("it has no token, and the sampler selects").Fix("return r.draw(turn.uniforms[0]) with {uniforms: 1}, or r.best")
	case chose:
		id, ok := token.(int64)
		if !ok || id < 0 || id >= int64(t.to.Scores.Vocab) || !t.to.Scores.Has(int32(id)) {
			return wrongResult("its token %v is none of the %d tokens of the row it leaves", shown(token), t.to.Scores.Len())
		}
		t.to.Chosen = int32(id)
	}
	if state, ok := parts["state"]; ok {
		return t.keep(state)
	}
	return nil
}

// keep stores a value for the same sequence's next step.
func (t *turn) keep(state any) error {
	b, err := encodeState(state)
	if err != nil {
		return err
	}
	if len(b) > sampler.MaxState {
		return wrongResult("its state takes %d bytes, more than %d", len(b), sampler.MaxState)
	}
	t.to.State = b
	return nil
}

// place makes the given row what a result says: a row that was made from it, or
// its new scores.
func (t *turn) place(result any) error {
	r, ok := result.(*row)
	if !ok {
		values, err := listOfNumbers(result)
		if err != nil {
			return err
		}
		if r, err = t.given.withScores("result", values); err != nil {
			return err
		}
	}
	switch {
	case r.turn != t:
		return wrongResult("its row is that of another step")
	case r.origin != t.given:
		return wrongResult("its row is that of another model pass").Fix("give its numbers to the row: r.with_scores(list)")
	case r == t.given:
		return nil
	}
	s := t.to.Scores
	s.Values = s.Values[:copy(s.Values, r.s.Values)]
	s.Unlisted = r.s.Unlisted
	if r.s.IDs != nil {
		s.IDs = slices.Clone(r.s.IDs)
	}
	return nil
}

// listOfNumbers reads the scores of a result.
func listOfNumbers(v any) ([]float64, error) {
	switch list := v.(type) {
	case []float64:
		return list, nil
	case []any:
		out := make([]float64, len(list))
		for i, e := range list {
			switch x := e.(type) {
			case float64:
				out[i] = x
			case int64:
				out[i] = float64(x)
			default:
				return nil, wrongResult("its score %d is %v, not a number", i, shown(e))
			}
		}
		return out, nil
	}
	return nil, wrongResult("its row is %v, neither a row nor a list of scores", shown(v))
}

func wrongResult(format string, args ...any) *fault.Error {
	return fault.New(fault.Script, "result", "", format, args...)
}

// shown is a value of a script in a message.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case string:
		return fault.Quote(v, 40)
	case bool, int64, float64:
		return param.Format(v)
	case error:
		return "an error value (" + v.Error() + ")"
	case fmt.Stringer:
		return v.String()
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	case *script.Func:
		return "a function"
	}
	return fmt.Sprintf("a %T", v)
}
