package cells

import (
	"fmt"
	"strings"

	"github.com/d5/tengo/v2/token"

	"lab/core/script"
)

// Inspect returns what is known of the name at byte cursor of src, or of the
// function whose arguments are being written there: its signature, what it does,
// its arguments and options, or the type and value of a variable; "" when
// nothing is. It runs nothing.
func (s *Session) Inspect(src string, cursor int) string {
	if cursor < 0 || cursor > len(src) {
		cursor = len(src)
	}
	start, end := wordAt(src, cursor)
	if start < end {
		tokens, inside := lex(src[:end])
		if n := len(tokens); !inside && n > 0 && tokens[n-1].tok == token.Ident {
			if at := s.scopeOf(tokens).before(tokens, n); at != nil {
				if text := s.describe(at); text != "" {
					return text
				}
			}
		}
	}
	tokens, _ := lex(src[:start])
	if at := s.scopeOf(tokens).callAt(tokens); at != nil {
		return s.describe(at)
	}
	return ""
}

func (s *Session) describe(at *thing) string {
	var b strings.Builder
	switch {
	case at.Member != nil:
		describeMember(&b, at.Owner, at.Member)
	case at.Module != nil:
		fmt.Fprintf(&b, "module %s\n\n%s\n", at.Module.Name, at.Module.Doc)
		listMembers(&b, at.Module.Members)
	case at.variable != nil:
		fmt.Fprintf(&b, "%s: %s\n\n%s\n", at.variable.Name, at.variable.Type, cut(at.variable.Text, 2000))
		fallthrough
	case at.Class != nil:
		if at.Class == nil {
			break
		}
		fmt.Fprintf(&b, "\n%s: %s\n", at.Class.Name, at.Class.Doc)
		listMembers(&b, at.Class.Members)
	}
	return strings.TrimSpace(b.String())
}

func listMembers(b *strings.Builder, members []script.Member) {
	b.WriteString("\n")
	for _, m := range members {
		first, _, _ := strings.Cut(m.Doc, ". ")
		b.WriteString(strings.TrimSuffix(fmt.Sprintf("  %s: %s", m.Signature(), strings.TrimSuffix(first, ".")), ": ") + "\n")
	}
}

func describeMember(b *strings.Builder, owner string, m *script.Member) {
	if owner != "" {
		owner += "."
	}
	b.WriteString(owner + m.Signature())
	if m.Returns != "" {
		b.WriteString(" → " + m.Returns)
	}
	fmt.Fprintf(b, "\n\n%s\n", m.Doc)
	params(b, "Arguments", m.Params)
	params(b, "Options", m.Options)
}

func params(b *strings.Builder, title string, list []script.Param) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, p := range list {
		facts := []string{p.Type.String()}
		if r := p.Range.String(); r != "" {
			facts = append(facts, "in "+r)
		}
		if len(p.Choices) > 0 {
			facts = append(facts, "one of "+strings.Join(p.Choices, ", "))
		}
		if p.Unit != "" {
			facts = append(facts, p.Unit)
		}
		switch {
		case p.Required:
			facts = append(facts, "required")
		case p.Default != nil:
			facts = append(facts, fmt.Sprintf("default %#v", p.Default))
		}
		fmt.Fprintf(b, "  %s (%s): %s\n", p.Name, strings.Join(facts, "; "), p.Meaning)
	}
}

// cut shortens a text to about n bytes, at a border of characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
