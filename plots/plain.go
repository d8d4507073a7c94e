package plots

import (
	"strconv"

	"lab/plots/canvas"
)

// A figure without a form of its own in a terminal shows the rows of its table
// there.

const plainRows = 16 // of the table in a terminal

// plainSketch writes the first rows of the table, as many columns as fit.
func (f *Figure) plainSketch(s *sketchpad) {
	t := f.Table()
	if len(t.Rows) == 0 {
		s.empty("the table has no rows")
		return
	}
	shown := append([][]string{t.Header}, t.Rows[:min(len(t.Rows), plainRows)]...)
	lines, used := make([]string, len(shown)), 0
	for c := range t.Header {
		column := make([]string, len(shown))
		for i, row := range shown {
			column[i] = rounded(row[c])
		}
		width := min(s.widest(column), 24)
		if used += width + 2; used > s.width+2 {
			break
		}
		for i, cell := range column {
			if _, err := strconv.ParseFloat(cell, 64); err == nil {
				lines[i] += s.label(cell, width) + "  "
			} else {
				lines[i] += cells().FillRight(s.cut(canvas.Clean(cell), width), width) + "  "
			}
		}
	}
	for i, line := range lines {
		if i == 0 {
			line = s.tint(line, s.theme.Muted)
		}
		s.line(line)
	}
	if left := len(t.Rows) - plainRows; left > 0 {
		s.more(left, "rows")
	}
}

// rounded shortens a number to four digits; other text stays.
func rounded(cell string) string {
	if x, err := strconv.ParseFloat(cell, 64); err == nil && len(cell) > 7 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return canvas.Clean(cell)
}
