package plots

import (
	"math"
	"slices"
	"strconv"

	"lab/plots/canvas"
	"lab/plots/vega"
)

// A figure without a form of its own in a viewer or a terminal shows its table
// there: as points over its first two columns of numbers, and as rows.

// plainView draws the rows as points: the first column of numbers along x, the
// second (or the first of names) along y, coloured by the first of names.
func (f *Figure) plainView(v *view, t Table) {
	numbers, names := f.kinds(t)
	v.note = "Points of the data table; the picture itself shows more."
	e := &vega.Encoding{Color: &vega.Channel{Value: css(v.theme.Series[0])}}
	if len(numbers) > 0 {
		e.X = v.of(numbers[0], "quantitative", "")
	}
	if len(numbers) > 1 {
		e.Y = v.of(numbers[1], "quantitative", "")
	}
	if len(names) > 0 {
		by := v.of(names[0], "nominal", "")
		if e.Y == nil {
			e.Y = by
		} else {
			e.Color = by
		}
	}
	v.spec.Width, v.spec.Height = viewWidth, viewHeight
	v.spec.Mark, v.spec.Encoding = &vega.Mark{Type: "point", Filled: vega.Yes(), Tooltip: vega.AllFields()}, e
}

// kinds returns the columns that hold numbers, with at least one, and the others.
func (f *Figure) kinds(t Table) (numbers, names []int) {
	for c, name := range t.Header {
		numeric, filled := !slices.Contains(f.text, name), false
		for _, row := range t.Rows {
			if row[c] == "" {
				continue
			}
			x, err := strconv.ParseFloat(row[c], 64)
			numeric = numeric && err == nil
			filled = filled || err == nil && !math.IsNaN(x)
		}
		if numeric && filled {
			numbers = append(numbers, c)
		} else {
			names = append(names, c)
		}
	}
	return numbers, names
}

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
