// Package chat renders the chat templates that GGUF files carry: Jinja, in the
// dialect of the transformers library, from a conversation to the text that a
// model was trained to answer.
//
// The Jinja engine is github.com/ardanlabs/jinja, which evaluates whatever it is
// given. A template comes with a file from anywhere, so its expressions are
// rewritten first: every operation that makes something calls a function of ours
// that charges its size before it is made. Rendering in a process of its own with
// a limit from the system would bound as much, but not everywhere, and a copy of
// the engine would have to be kept. Also added: a date that does not change, and
// errors of our kinds.
//
// Telling control tokens of the template from those that a user spells is not
// here but in package token. Start with [Compile].
package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"

	"lab/core/fault"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string // system, user or assistant
	Content string
}

// Roles are the roles a message may have.
func Roles() []string { return []string{"system", "user", "assistant"} }

// Template is a compiled template, safe for concurrent use.
type Template struct {
	compiled *jinja.Template
	bos, eos string
}

// MaxSource is the most bytes of a template; the longest known have a tenth.
const MaxSource = 256 << 10

// Compile reads a template. bos and eos are how the begin and the end token are
// spelled, empty when there is none. A template that cannot be read is a model
// error, for the library may know less than the one it was written for.
func Compile(source, bos, eos string) (t *Template, err error) {
	defer recovered(&err)
	if len(source) > MaxSource {
		return nil, wrong("it has %d bytes; the most is %d", len(source), MaxSource)
	}
	prepared, err := prepare(source)
	if err != nil {
		return nil, err
	}
	compiled, err := jinja.Compile(prepared)
	if err != nil {
		return nil, wrong("%v", err)
	}
	return &Template{compiled: compiled, bos: bos, eos: eos}, nil
}

func wrong(format string, args ...any) *fault.Error {
	return fault.New(fault.Model, "chat template", "", format, args...)
}

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = wrong("it is beyond the template engine: %v", r)
	}
}

// date is what a template learns when it asks for the day. It never changes:
// the same prompt must give the same tokens tomorrow. It is the day that Meta's
// templates take where they cannot ask.
func date() time.Time { return time.Date(2024, time.July, 26, 0, 0, 0, 0, time.UTC) }

// Render returns the text of a conversation up to where the model's answer
// begins. Errors: usage for a conversation that the template refuses, limit for a
// template that does not come to an end, model for one that fails otherwise.
func (t *Template) Render(conversation []Message) (string, error) {
	return t.render(conversation, newBudget())
}

func (t *Template) render(conversation []Message, b *budget) (string, error) {
	messages := make([]jinja.Value, len(conversation))
	for i, m := range conversation {
		messages[i] = jinja.NewDict() // keeps its order, which tojson shows
		messages[i].AsDict().Set("role", jinja.NewString(m.Role))
		messages[i].AsDict().Set("content", jinja.NewString(m.Content))
	}
	data := map[string]jinja.Value{
		"messages":              jinja.NewList(messages),
		"add_generation_prompt": jinja.NewBool(true),
		"bos_token":             jinja.NewString(t.bos),
		"eos_token":             jinja.NewString(t.eos),
		"tools":                 jinja.None(),
		"documents":             jinja.None(),
		"raise_exception":       jinja.NewCallable("raise_exception", b.refuse),
		"strftime_now":          jinja.NewCallable("strftime_now", dateOf),
		"range":                 jinja.NewCallable("range", b.span),
		"namespace":             jinja.NewCallable("namespace", b.fields),
		"dict":                  jinja.NewCallable("dict", b.fields),
		tick:                    jinja.NewCallable(tick, b.tick),
	}
	for name, guard := range b.guards() {
		data[name] = jinja.NewCallable(name, guard)
	}
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() { // so that one that hangs between two charges is given up
		var r result
		defer func() { done <- r }()
		defer recovered(&r.err)
		r.text, r.err = t.compiled.RenderValues(data)
		if b.failed != nil {
			r.err = b.failed
		}
	}()
	select {
	case r := <-done:
		if r.err != nil && fault.KindOf(r.err) == fault.Internal {
			return "", wrong("%v", r.err)
		}
		return r.text, r.err
	case <-time.After(2 * longest):
		return "", newBudget().spent("it took longer than %v", 2*longest)
	}
}

// refuse is raise_exception: how a template says that it has no form for a
// conversation.
func (b *budget) refuse(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	said := ""
	if len(args) > 0 {
		said = args[0].String() // do has charged it
	}
	return jinja.Undefined(), b.fail(fault.New(fault.Usage, "chat template", "", "it refuses the conversation: %s", fault.Quote(said, 200)))
}

// dateOf formats the date as Python's strftime does.
func dateOf(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 1 || !args[0].IsString() {
		return jinja.Undefined(), fmt.Errorf("strftime_now takes one format")
	}
	forms := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'b': "Jan", 'B': "January", 'A': "Monday", 'a': "Mon", 'y': "06",
		'H': "15", 'M': "04", 'S': "05", 'p': "PM", 'I': "03", 'j': "002", '%': "%"}
	var out strings.Builder
	format := args[0].AsString()
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		form, known := forms[format[i]]
		if !known {
			return jinja.Undefined(), fmt.Errorf("strftime_now: %%%c is not known", format[i])
		}
		out.WriteString(date().Format(form))
	}
	return jinja.NewString(out.String()), nil
}
