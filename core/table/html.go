package table

import (
	"html"
	"strings"
)

// maxHTMLColumns bounds the width of a table as HTML.
const maxHTMLColumns = 60

// HTML returns the table as an HTML table without styles of its own but the
// alignment of numbers: names, types and the first l.Rows rows, at most 60 columns,
// with cells as [Table.Text] shows them and a line below that says what is not shown.
// Everything in it is escaped. The zero Layout shows 20 rows; Width is not used.
func (t *Table) HTML(l Layout) string {
	if l.Rows <= 0 {
		l.Rows = 20
	}
	if l.Cell <= 0 {
		l.Cell = 80
	}
	n, cols := min(l.Rows, t.rows), min(maxHTMLColumns, len(t.cols))
	cells := make([][]string, cols)
	var b strings.Builder
	b.WriteString("<table class=\"lab-table\">\n<thead><tr>")
	for i := range cols {
		cells[i] = t.cols[i].slice(0, n).texts(l.Cell)
		b.WriteString("<th scope=\"col\"" + alignment(t.cols[i]) + " title=\"" + t.cols[i].Type().String() + "\">" + html.EscapeString(visible(t.names[i], l.Cell)) + "</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for r := range n {
		b.WriteString("<tr>")
		for i := range cols {
			b.WriteString("<td" + alignment(t.cols[i]) + ">" + html.EscapeString(cells[i][r]) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>")
	if rest := strings.TrimSpace(t.remains(n, cols)); rest != "" {
		b.WriteString("\n<p>" + html.EscapeString(rest) + "</p>")
	}
	return b.String()
}

func alignment(c *Column) string {
	if c.Type().numeric() {
		return ` style="text-align: right"`
	}
	return ` style="text-align: left"`
}
