package script

import (
	"context"
	"strconv"
	"strings"

	"github.com/d5/tengo/v2"
)

// Form is one way of showing a value besides its text.
type Form struct {
	MIME string // "image/svg+xml", "image/png", "text/html"
	Data []byte // not encoded; text is UTF-8
	Alt  string // what a picture shows, in words; empty when it is text
}

// Shower is implemented by host objects that can be shown as more than text: a
// figure as a picture, a table as HTML. Forms is called without the interpreter
// lock, from any goroutine. HTML must hold nothing unescaped that came from
// outside, and neither HTML nor SVG a script or an address of a network.
type Shower interface {
	Object
	Forms() ([]Form, error)
}

// Shown is a value as it is shown to a reader.
type Shown struct {
	Value any    // as [Session.Run] returns it
	Text  string // never empty; strings within quotes
	Forms []Form // best first; nil when there is only the text
}

// maxShown is how many bytes of a value's text are shown.
const maxShown = 1 << 16

// quoted returns the text of a value as shown at the end of a cell: strings in
// quotes, what passes maxShown cut with a mark.
func quoted(o tengo.Object) string {
	p := printer{limit: maxShown}
	p.value(o, true)
	if p.err != nil {
		return strings.ToValidUTF8(p.b.String(), "\uFFFD") + "… (cut at " + strconv.Itoa(maxShown) + " bytes)"
	}
	if text := strings.ToValidUTF8(p.b.String(), "\uFFFD"); text != "" {
		return text
	}
	return "<" + typeName(o) + ">" // a String method that returns nothing
}

// Evaluate is [Session.Run] for cells of a notebook: it returns what to show for
// the last statement when that is an expression with a value, and else nil.
func (s *Session) Evaluate(ctx context.Context, name, src string) (*Shown, error) {
	var shown *Shown
	_, err := s.runThen(ctx, s.config.Folder, name, []byte(src), func(o tengo.Object) {
		if o == nil || o == tengo.UndefinedValue {
			return
		}
		shown = &Shown{Text: quoted(o)}
		if v, err := s.toGo(o); err == nil {
			shown.Value = v
		}
	})
	if err != nil {
		return nil, err
	}
	if shown == nil {
		return nil, nil
	}
	shown.Forms, err = forms(shown.Value)
	return shown, err
}

// forms returns the forms of a Go value of a script; a panic is an error.
func forms(v any) (out []Form, err error) {
	sh, ok := v.(Shower)
	if !ok {
		return nil, nil
	}
	defer (*Session)(nil).contain(sh.Class().Name, &err)
	return sh.Forms()
}

// show is the function of that name: where the session has no place for
// pictures it prints the text.
func show(c *Call) (any, error) {
	for _, v := range c.rest {
		o := v.(tengo.Object)
		if c.s.config.Show == nil {
			t, err := text(o)
			if err != nil {
				return nil, err
			}
			if err := c.s.write(t + "\n"); err != nil {
				return nil, err
			}
			continue
		}
		shown := Shown{Text: quoted(o)}
		if v, err := c.s.toGo(o); err == nil {
			shown.Value = v
		}
		if err := c.Blocking(func() (err error) {
			if shown.Forms, err = forms(shown.Value); err == nil {
				err = c.s.config.Show(shown)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
