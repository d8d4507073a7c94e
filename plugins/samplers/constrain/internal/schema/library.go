package schema

import (
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lab/core/fault"
)

// address is what the library calls the text; its messages never show it.
const address = "schema:///"

// compile hands a schema to the library: it is checked against the metaschema of
// its draft, and references are resolved inside the text.
func compile(value any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(address, value); err != nil {
		return nil, err
	}
	return c.Compile(address)
}

// noLoader refuses schemas outside the text.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("schemas outside the text are not loaded")
}

// refusal says in one line what the library finds wrong with a schema: of what a
// metaschema refuses, the innermost part.
func refusal(err error) error {
	var outer *jsonschema.SchemaValidationError
	if errors.As(err, &outer) {
		err = outer.Err
	}
	at := ""
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		invalid = innermost(invalid)
		err = invalid
		for _, part := range invalid.InstanceLocation {
			at += "/" + escape(part)
		}
	}
	text := strings.NewReplacer("\n", " ", address, "").Replace(err.Error())
	if _, what, ok := strings.Cut(text, "': "); ok && at != "" {
		text = what // the library begins with the place
	}
	if r := []rune(text); len(r) > 300 {
		text = string(r[:300]) + "…"
	}
	return fault.New(fault.Usage, "json_schema", at, "%s", text)
}

// innermost returns the first of the causes whose place lies deepest.
func innermost(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	best := e
	for _, cause := range e.Causes {
		c := innermost(cause)
		if best == e || len(c.InstanceLocation) > len(best.InstanceLocation) {
			best = c
		}
	}
	return best
}
