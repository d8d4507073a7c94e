package notebook

import (
	"bytes"
	"strings"

	"lab/core/fault"
	"lab/core/script/cells"
)

// OutputKind says what an output is.
type OutputKind string

// The four kinds of outputs.
const (
	Stream  OutputKind = "stream"         // Name and Text
	Display OutputKind = "display_data"   // Data and Metadata
	Result  OutputKind = "execute_result" // also Count
	Error   OutputKind = "error"          // Name, Text and Traceback
)

// Output is one output of a code cell.
type Output struct {
	Kind      OutputKind
	Name      string         // "stdout" or "stderr"; the name of an error
	Text      string         // of a stream; the message of an error
	Data      map[string]any // by MIME type: a string, or any JSON
	Metadata  map[string]any // of Data
	Count     int            // 0: none
	Traceback []string       // lines of an error, may hold colours of a terminal
}

func readOutput(where string, raw any) (Output, error) {
	o := objectOf(where, raw)
	out := Output{Kind: OutputKind(take[string](o, "output_type"))}
	switch out.Kind {
	case Stream:
		out.Name, out.Text = take[string](o, "name"), o.text("text")
	case Display, Result:
		out.Metadata = take[map[string]any](o, "metadata")
		out.Data = map[string]any{}
		for mime, v := range take[map[string]any](o, "data") {
			if s, ok := joined(v); ok && !isJSON(mime) {
				v = s
			} else if !isJSON(mime) {
				o.fail("its %s is neither a string nor a list of strings", fault.Quote(mime, 60))
			}
			out.Data[mime] = v
		}
		if out.Kind == Result {
			if count, ok := o.m["execution_count"]; ok && count == nil {
				o.taken["execution_count"] = true
			} else {
				out.Count = o.whole("execution_count")
			}
		}
	case Error:
		out.Name, out.Text = take[string](o, "ename"), take[string](o, "evalue")
		for _, line := range take[[]any](o, "traceback") {
			s, ok := line.(string)
			if !ok {
				o.fail("a line of its traceback is %s", kindOf(line))
			}
			out.Traceback = append(out.Traceback, s)
		}
	default:
		if o.err == nil {
			o.fail("its output_type %s is not stream, display_data, execute_result or error", fault.Quote(string(out.Kind), 40))
		}
	}
	return out, o.done()
}

// isJSON reports whether data of a MIME type is any JSON, and not text.
func isJSON(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

func (out *Output) json() map[string]any {
	m := map[string]any{"output_type": string(out.Kind)}
	switch out.Kind {
	case Stream:
		m["name"], m["text"] = out.Name, lines(out.Text)
	case Error:
		trace := []any{}
		for _, line := range out.Traceback {
			trace = append(trace, line)
		}
		m["ename"], m["evalue"], m["traceback"] = out.Name, out.Text, trace
	default:
		data := map[string]any{}
		for mime, v := range out.Data {
			if s, ok := v.(string); ok && !isJSON(mime) {
				v = lines(s)
				if !cells.IsText(mime) {
					v = s // base64 stays one string, as Jupyter has it
				}
			}
			data[mime] = v
		}
		m["data"], m["metadata"] = data, out.Metadata
		if out.Metadata == nil {
			m["metadata"] = map[string]any{}
		}
		if out.Kind == Result {
			m["execution_count"] = nil
			if out.Count > 0 {
				m["execution_count"] = out.Count
			}
		}
	}
	return m
}

// outputOf returns a bundle as an output.
func outputOf(kind OutputKind, b cells.Bundle, count int) Output {
	data, metadata := b.JSON()
	out := Output{Kind: kind, Metadata: metadata, Data: map[string]any{}, Count: count}
	for mime, v := range data {
		out.Data[mime] = v
	}
	return out
}

// same reports whether two cells have the same number and outputs.
func (c *Cell) same(other *Cell) bool {
	if c.Count != other.Count || len(c.Outputs) != len(other.Outputs) {
		return false
	}
	for i := range c.Outputs {
		var a, b bytes.Buffer
		encode(&a, c.Outputs[i].json(), 0)
		encode(&b, other.Outputs[i].json(), 0)
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			return false
		}
	}
	return true
}
