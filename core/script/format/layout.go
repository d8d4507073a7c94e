package format

import (
	"strings"
	"unicode/utf8"

	"github.com/d5/tengo/v2/token"

	"lab/core/fault"
	"lab/core/script"
)

// line is one line of the result, or several when a token has line breaks.
type line struct {
	blank   bool // a blank line comes first
	indent  int
	code    strings.Builder
	comment string // at the end, after code
}

// bracket is one that is open, or the file around all.
type bracket struct {
	piece  *piece // nil: the file
	indent int    // of the line that it ends
	start  int    // indentation of the line in which the current statement or element begins
}

// inside is the indentation of what is in a bracket.
func (b *bracket) inside() int {
	if b.piece == nil {
		return 0
	}
	return b.indent + 1
}

// layouter makes lines of pieces.
type layouter struct {
	lines []*line
	size  int
	open  []bracket
	last  *piece // the piece before, line breaks left out
	fresh bool   // a statement or element begins here
}

// layOut returns the text of pieces, the last of which is the end.
func layOut(name string, pieces []piece) ([]byte, error) {
	l := &layouter{open: []bracket{{}}, fresh: true}
	for i := range pieces {
		p := &pieces[i]
		switch {
		case p.tok == token.EOF:
		case p.isBreak():
			l.fresh = true
		default:
			l.put(p)
		}
		if l.size > script.MaxSource {
			return nil, fault.New(fault.Limit, "format", name, "it would be longer than %d bytes, of blanks mostly; nest less", script.MaxSource)
		}
	}
	return l.text(), nil
}

func closes(t token.Token) bool { return t == token.RParen || t == token.RBrack || t == token.RBrace }
func opens(t token.Token) bool  { return t == token.LParen || t == token.LBrack || t == token.LBrace }

// put adds one piece.
func (l *layouter) put(p *piece) {
	top := &l.open[len(l.open)-1]
	if l.last == nil || p.breaks > 0 {
		l.newLine(p, top)
	}
	at := l.lines[len(l.lines)-1]
	isFirst := at.code.Len() == 0
	switch {
	case !isFirst && strings.HasPrefix(p.text, "//") && p.tok == token.Comment:
		at.comment = p.text
	default:
		if !isFirst && spaced(l.last, p, top.piece) {
			at.code.WriteByte(' ')
		}
		at.code.WriteString(p.text)
	}
	l.size += len(p.text) + 1
	l.last = p
	if p.tok == token.Comment {
		return
	}
	if closes(p.tok) && len(l.open) > 1 {
		l.open = l.open[:len(l.open)-1]
		l.fresh = false
		return
	}
	if l.fresh {
		top.start = at.indent
	}
	l.fresh = p.tok == token.Semicolon || p.tok == token.Comma && top.piece != nil && !isBlock(top.piece)
	if opens(p.tok) {
		indent := at.indent
		if p.role == bodyBrace {
			indent = min(indent, top.start)
		}
		l.open = append(l.open, bracket{piece: p, indent: indent, start: indent})
		l.fresh = true
	}
}

// isBlock reports whether the bracket that p opens holds statements.
func isBlock(p *piece) bool { return p.tok == token.LBrace && p.role != mapBrace }

// newLine begins the line of p.
func (l *layouter) newLine(p *piece, top *bracket) {
	n := &line{indent: top.inside()}
	switch {
	case closes(p.tok):
		n.indent = top.indent
	case !l.fresh:
		n.indent = top.start + 1
	}
	n.blank = p.breaks > 1 && l.last != nil && !opens(l.last.tok) && !closes(p.tok)
	l.lines = append(l.lines, n)
	l.size += n.indent + 2
}

// text returns the lines with their comments aligned.
func (l *layouter) text() []byte {
	var b strings.Builder
	for i := 0; i < len(l.lines); {
		run := l.run(i)
		width := 0
		for _, n := range l.lines[i : i+run] {
			width = max(width, utf8.RuneCountInString(n.code.String()))
		}
		for _, n := range l.lines[i : i+run] {
			if n.blank {
				b.WriteByte('\n')
			}
			code := n.code.String()
			for range n.indent {
				b.WriteByte('\t')
			}
			b.WriteString(code)
			if n.comment != "" {
				pad := 1
				if run > 1 {
					pad += width - utf8.RuneCountInString(code)
				}
				b.WriteString(strings.Repeat(" ", pad) + n.comment)
			}
			b.WriteByte('\n')
		}
		i += run
	}
	return []byte(b.String())
}

// run returns how many lines from i on have their comments under each other, at
// least 1.
func (l *layouter) run(i int) int {
	n := 1
	for ; i+n < len(l.lines) && l.lines[i].aligns() && l.lines[i+n].aligns(); n++ {
		if a := l.lines[i+n]; a.blank || a.indent != l.lines[i].indent {
			break
		}
	}
	return n
}

func (n *line) aligns() bool {
	return n.comment != "" && !strings.Contains(n.code.String(), "\n")
}
