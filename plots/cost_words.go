package plots

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"lab/plots/canvas"
)

// allNotes says what was left out, after what the figure says itself.
func (c *chart) allNotes() []string {
	if c.emptyWhy != "" {
		return nil
	}
	notes := append([]string{}, c.notes...)
	if c.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s undefined and left out.", canvas.Count(c.undefined), plural(c.total, "point"), verb(c.undefined, "is", "are")))
	}
	if c.zeros > 0 {
		notes = append(notes, fmt.Sprintf("%s of exactly 0 %s no place on a logarithmic axis and %s left out.",
			plural(c.zeros, "value"), verb(c.zeros, "has", "have"), verb(c.zeros, "is", "are")))
	}
	if c.open > 0 {
		notes = append(notes, fmt.Sprintf("%s %s undefined and not drawn.", plural(c.open, "interval"), verb(c.open, "is", "are")))
	}
	if c.below > 0 {
		notes = append(notes, fmt.Sprintf("%s %s zero or below and %s at the edge of the logarithmic axis.",
			plural(c.below, "interval"), verb(c.below, "reaches", "reach"), verb(c.below, "ends", "end")))
	}
	if c.unplaced > 0 {
		notes = append(notes, fmt.Sprintf("%s without room %s in the data table only.", plural(c.unplaced, "label"), verb(c.unplaced, "is", "are")))
	}
	return notes
}

// describe puts the chart into words.
func (c *chart) describe() string {
	pl := c.planes[0]
	begin := c.begin + ": " + pl.y.axisName() + " over " + pl.x.axisName()
	if c.emptyWhy != "" {
		return begin + ": no data (" + c.emptyWhy + ")."
	}
	var b strings.Builder
	b.WriteString(begin + ". ")
	said := 0
	for _, pl := range c.planes {
		for _, k := range pl.curves {
			if k.silent {
				continue
			}
			if said++; said <= mostDescribed {
				b.WriteString(pl.extent(k.name, k.X, k.Y))
			}
		}
		for _, d := range pl.dots {
			if said++; said <= mostDescribed {
				name := d.name
				if d.kind != name {
					name = strings.TrimSpace(name + " " + d.kind)
				}
				b.WriteString(pl.extent(name, d.X, d.Y))
			}
		}
	}
	if said > mostDescribed {
		fmt.Fprintf(&b, "And %d more series, in the table. ", said-mostDescribed)
	}
	for _, s := range append(append([]string{}, c.says...), c.allNotes()...) {
		b.WriteString(s + " ")
	}
	b.WriteString(c.basis.words())
	return b.String()
}

// extent says where a series begins and ends, in the order of x given.
func (pl *plane) extent(name string, x, y []float64) string {
	first, last, n := -1, -1, 0
	for k := range x {
		if pl.placeable(x[k], y[k]) {
			if first < 0 {
				first = k
			}
			last = k
			n++
		}
	}
	name = shortened(name, nameLimit)
	if pl.title != "" && pl.title != name {
		name = strings.TrimSpace(shortened(pl.title, nameLimit) + ", " + name)
	}
	if name != "" {
		name += ": "
	}
	point := func(k int) string {
		return canvas.Significant(y[k], 3) + " at " + canvas.Significant(x[k], 3)
	}
	switch n {
	case 0:
		return name + "no point. "
	case 1:
		return name + "one point, " + point(first) + ". "
	}
	return fmt.Sprintf("%s%s from %s to %s. ", name, plural(n, "point"), point(first), point(last))
}

// table returns every number drawn, in long form.
func (c *chart) table() Table {
	pl := c.planes[0]
	same := true
	for _, other := range c.planes {
		same = same && other.y.Name == pl.y.Name
	}
	yName := pl.y.Name
	if !same {
		yName = "value"
	}
	var t Table
	for _, h := range []string{"panel", "series", "kind", pl.x.Name, yName, yName + "_lo", yName + "_hi", pl.x.Name + "_lo", pl.x.Name + "_hi", "label", "hollow"} {
		t.Header = append(t.Header, columnName(h, "value", t.Header))
	}
	end := func(list []float64, k int) string {
		if len(list) == 0 {
			return number(math.NaN())
		}
		return number(list[k])
	}
	for _, pl := range c.planes {
		title := pl.title
		if title == "" && !same {
			title = pl.y.Name
		}
		title = canvas.Clean(title)
		for _, k := range pl.curves {
			for i := range k.X {
				t.Rows = append(t.Rows, []string{title, canvas.Clean(k.name), k.kind, number(k.X[i]), number(k.Y[i]), end(k.Lo, i), end(k.Hi, i), "NaN", "NaN", "", "false"})
			}
		}
		for _, d := range pl.dots {
			for i := range d.X {
				label := ""
				if len(d.Labels) > 0 {
					label = canvas.Clean(d.Labels[i])
				}
				t.Rows = append(t.Rows, []string{title, canvas.Clean(d.name), d.kind, number(d.X[i]), number(d.Y[i]), end(d.Lo, i), end(d.Hi, i),
					end(d.XLo, i), end(d.XHi, i), label, fmt.Sprint(i < len(d.Hollow) && d.Hollow[i])})
			}
		}
		for _, r := range pl.rules {
			x, y := number(math.NaN()), number(r.At)
			if r.Vertical {
				x, y = y, x
			}
			t.Rows = append(t.Rows, []string{title, "", "rule", x, y, "NaN", "NaN", "NaN", "NaN", canvas.Clean(r.Label), "false"})
		}
	}
	return t
}

// Words of numbers shared by the cost figures.

// amountWords returns a number with its unit: "45T tokens", "USD 4.1M".
func amountWords(v float64, unit string) string {
	text := canvas.Significant(v, 3)
	switch unit {
	case "":
		return text
	case "USD", "EUR":
		return unit + "\u00a0" + text
	}
	return text + "\u00a0" + unit
}

// sentence begins words with a capital.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
