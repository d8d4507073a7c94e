package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Layout says how a table is shown. The zero value is 100 cells wide with 10 rows.
type Layout struct {
	Width int // in cells of a terminal; 0 is 100
	Rows  int // shown at most; 0 is 10
	Cell  int // the widest text in cells, longer ones are cut with …; 0 is 32
}

// String returns the table in the layout of the zero [Layout].
func (t *Table) String() string { return t.Text(Layout{}) }

// Text returns the table for a terminal: names, types and the first rows, plain
// text without colours. Numbers are aligned at the right, floats of one column with
// the same number of decimals, such that the smallest in size shows 4 digits, at
// most 6 decimals; columns beyond 1e-4 to 1e9 use exponents. Control characters and
// bytes that are no UTF-8 are escaped. Columns that do not fit are left out at the
// right, and a last line says how many rows and columns are not shown. At least one
// column is always shown. Null is a dot.
func (t *Table) Text(l Layout) string {
	if l.Width <= 0 {
		l.Width = 100
	}
	if l.Rows <= 0 {
		l.Rows = 10
	}
	if l.Cell <= 0 {
		l.Cell = 32
	}
	n := min(l.Rows, t.rows)
	var shown [][]string
	var widths []int
	used := 0
	for i, c := range t.cols {
		cells := append([]string{visible(t.names[i], l.Cell), c.Type().String()}, c.slice(0, n).texts(l.Cell)...)
		w := 0
		for _, s := range cells {
			w = max(w, cellWidth(s))
		}
		gap := 2
		if i == 0 {
			gap = 0
		}
		if i > 0 && used+gap+w > l.Width {
			break
		}
		used += gap + w
		shown, widths = append(shown, cells), append(widths, w)
	}
	var b strings.Builder
	for r := range n + 2 {
		if len(shown) == 0 {
			break
		}
		var line strings.Builder
		for k, cells := range shown {
			if k > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[k]-cellWidth(cells[r]))
			if t.cols[k].Type().numeric() {
				line.WriteString(pad + cells[r])
			} else {
				line.WriteString(cells[r] + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	b.WriteString(t.remains(n, len(shown)))
	return strings.TrimSuffix(b.String(), "\n")
}

// remains says what is not shown.
func (t *Table) remains(rows, cols int) string {
	var parts []string
	if more := t.rows - rows; more > 0 {
		parts = append(parts, counted(more, "more row"))
	}
	if more := len(t.cols) - cols; more > 0 {
		parts = append(parts, fmt.Sprintf("%s: %s", counted(more, "more column"), visible(strings.Join(t.names[cols:], ", "), 60)))
	}
	switch {
	case len(parts) > 0:
		return "… " + strings.Join(parts, ", ") + "\n"
	case t.rows == 0:
		return "no rows\n"
	}
	return ""
}

func counted(n int, what string) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if n != 1 {
		what += "s"
	}
	return s + " " + what
}

// narrow measures text as most terminals show it, whatever the locale of this
// process.
var narrow = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

func cellWidth(s string) int { return narrow.StringWidth(s) }

// visible escapes what a terminal would obey and cuts to n cells.
func visible(s string, n int) string {
	var b strings.Builder
	for len(s) > 0 && b.Len() <= 8*n {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !strconv.IsPrint(r):
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	out := b.String()
	if len(s) > 0 {
		out += "…"
	}
	if cellWidth(out) > n {
		return narrow.Truncate(out, n, "…")
	}
	return out
}

// texts returns the rows of a column as they are shown.
func (c *Column) texts(width int) []string {
	out := make([]string, c.Len())
	format := c.floatFormat()
	for i := range out {
		if c.Null(i) {
			out[i] = "·"
			continue
		}
		switch x := c.data.(type) {
		case values[float64]:
			out[i] = format(x.v[i])
		case values[int64]:
			out[i] = strconv.FormatInt(x.v[i], 10)
		case values[bool]:
			out[i] = strconv.FormatBool(x.v[i])
		case values[string]:
			out[i] = visible(x.v[i], width)
		case values[[]byte]:
			out[i] = visible(string(x.v[i]), width)
		case values[[]int64]:
			v := x.v[i]
			out[i] = visible(string(appendInts(nil, v[:min(len(v), width)])), width) // each int is at least a cell
		}
	}
	return out
}

// floatFormat chooses the decimals of a column: as many for all of it as give its
// least number four digits. Where numbers of very different size meet, each has
// four digits, with an exponent only if it is very small or large itself.
func (c *Column) floatFormat() func(float64) string {
	v, ok := Values[float64](c)
	if !ok {
		return nil
	}
	least, most, whole := math.Inf(1), 0.0, true
	for i, x := range v {
		if a := math.Abs(x); !c.Null(i) && !math.IsInf(x, 0) && x == x && a > 0 {
			least, most = min(least, a), max(most, a)
			whole = whole && x == math.Trunc(x)
		}
	}
	decimals := 1
	if !whole {
		decimals = min(max(3-int(math.Floor(math.Log10(least))), 1), 6)
	}
	const small, large = 1e-4, 1e9
	apart := most >= large || least < small
	return func(x float64) string {
		switch {
		case x != x:
			return "NaN"
		case math.IsInf(x, 0):
			return strings.TrimPrefix(strconv.FormatFloat(x, 'g', -1, 64), "+")
		case apart && x == 0:
			return "0"
		case apart:
			if a := math.Abs(x); a < small || a >= large {
				return strconv.FormatFloat(x, 'e', 3, 64)
			}
			return strconv.FormatFloat(x, 'f', max(3-int(math.Floor(math.Log10(math.Abs(x)))), 0), 64)
		}
		return strconv.FormatFloat(x, 'f', decimals, 64)
	}
}
