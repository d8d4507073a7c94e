package plots

import (
	"fmt"
	"math"
	"slices"

	"lab/core/measure"
	"lab/plots/canvas"
	"lab/plots/mark"
)

// The question: are frequent and rare words as frequent and rare as in text that
// people write?

const zipfName = "zipf"

// ZipfData is how often the types of several texts occur. The slices are not
// kept.
type ZipfData struct {
	Unit  string // what is counted, in the singular; "": token
	Texts []ZipfText
}

// ZipfText is the counts of one text.
type ZipfText struct {
	Name      string
	Counts    []int // of its types, each at least 1, in any order
	Reference bool  // text of people, in ink
}

const zipfPoints = 300 // of a line, evenly spread over the logarithm of the rank

// Zipf draws how often the types of texts occur against their rank, both on
// logarithmic axes. A line ends at the first type that occurs once: behind it all
// do. At the end of the line stands the exponent s of count ~ rank^-s by least
// squares over the line's ranks, at most the first 5,000
// ([measure.ZipfRegression]); over all types, as stats.zipf gives it, the many
// that occur once would decide. A reference is drawn in ink.
//
// Errors: fault.Usage for more than 512 texts and options; fault.Data for a
// count below 1 and a name given twice. A text without types is named and not
// drawn; without any the picture says so.
func Zipf(d ZipfData, o Options) (fig *Figure, err error) {
	defer guard(zipfName, &err)
	unit := d.Unit
	if unit == "" {
		unit = "token"
	}
	c := curves{name: zipfName, title: "Rank and frequency"}
	c.chart = XYData{X: Quantity{Name: "rank", Title: "rank of the " + unit, Log: true}, Y: Quantity{Name: "count", Log: true}, Keys: true} // all lines end at one height
	type fitted struct {
		ZipfText
		exponent float64
		total    int
		ranks    []int // drawn, from 0
	}
	var texts []fitted
	empty := ""
	for i, text := range d.Texts {
		where := "text " + Series{Name: text.Name}.where(i)[len("series "):]
		f := fitted{ZipfText: text, exponent: math.NaN()}
		f.Counts = slices.Clone(text.Counts)
		for k, n := range f.Counts {
			if n < 1 {
				return nil, badNumber(zipfName, where, "count %d is %d", k, n).Fix("give the counts of types that occur")
			}
			f.total += n
		}
		if len(f.Counts) == 0 {
			empty += "; " + shortened(text.Name, nameLimit) + " has no " + unit + " and no line"
			continue
		}
		slices.SortFunc(f.Counts, func(a, b int) int { return b - a })
		end := slices.Index(f.Counts, 1) + 1
		if end == 0 {
			end = len(f.Counts)
		}
		if e, err := measure.ZipfRegression(f.Counts[:end]); err == nil { // fewer than two types have none
			f.exponent = e
		}
		f.ranks = mark.LogGrid(end, zipfPoints)
		texts = append(texts, f)
	}
	for _, f := range texts {
		s := Series{Name: f.Name, Ink: f.Reference}
		if s.Name == "" {
			s.Name = "text"
		}
		s.Name += ", s = " + exponentWords(f.exponent)
		for _, r := range f.ranks {
			s.X, s.Y = append(s.X, float64(r+1)), append(s.Y, float64(f.Counts[r]))
		}
		c.chart.Series = append(c.chart.Series, s)
		c.subtitle += fmt.Sprintf("%s: %s of %s; ", shortened(f.Name, nameLimit), plural(f.total, unit), plural(len(f.Counts), "type"))
	}
	if len(texts) > 0 {
		first := texts[0]
		c.title = fmt.Sprintf("%s falls off with the exponent %s", titleCase(first.Name, "The text"), exponentWords(first.exponent))
		for _, f := range texts {
			if len(texts) > 1 && f.Reference && !first.Reference {
				c.title += fmt.Sprintf(", %s with %s", shortened(f.Name, nameLimit), exponentWords(f.exponent))
				break
			}
		}
		c.subtitle += "s: exponent of count ∝ rank^−s" + empty + "."
	} else if empty != "" {
		c.subtitle = empty[2:] + "."
	}
	c.table = func() Table {
		out := Table{Header: []string{"text", "reference", "rank", "count", "exponent"}}
		for _, f := range texts {
			for _, r := range f.ranks {
				out.Rows = append(out.Rows, []string{canvas.Clean(f.Name), fmt.Sprint(f.Reference), fmt.Sprint(r + 1), fmt.Sprint(f.Counts[r]), number(f.exponent)})
			}
		}
		return out
	}
	return c.draw(o)
}

func exponentWords(e float64) string {
	if !defined(e) {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", e)
}

// titleCase returns a name at the start of a sentence, or what stands for none.
func titleCase(name, none string) string {
	if name == "" {
		return none
	}
	return shortened(name, nameLimit)
}
