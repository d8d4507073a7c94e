package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: how does a measure depend on two settings at once?

// HeatData is what [Heat] draws: a grid of values over two settings, in one or
// several panels with the same rows, columns and colours. The slices are not
// kept.
type HeatData struct {
	Value   Quantity // Log: colours by the logarithm
	X, Y    Quantity // what columns and rows are; Log means nothing here
	Columns []string // names, from the left
	Rows    []string // names, from the top, or with RowsUp from the bottom
	RowsUp  bool
	Panels  []HeatPanel
	Facet   string // what the panels are values of

	Best   string   // "max" or "min": the cell framed in each panel; "" frames none
	Centre *float64 // value in the colour of the background, with a colour to each side; nil: a scale of amounts
}

// HeatPanel is one grid. Cells[row][column] is NaN where there is no value; a
// row may be nil when none of its cells has one.
type HeatPanel struct {
	Title string
	Cells [][]float64
}

const (
	heatName     = "heat"
	mostHeat     = 1 << 20 // cells
	heatColumns  = 160     // drawn across, and
	heatRows     = 100     // drawn down, of larger grids the means of blocks
	heatTileMost = 4800    // in all panels together
)

// heat is the content of the figure, and the drawing of every grid of cells over
// two settings: [SweepGrid] fills it too.
type heat struct {
	data          HeatData
	panels        []HeatPanel // as drawn: perhaps means of blocks
	columns, rows []string
	block         [2]int // columns and rows of a block
	lo, hi        float64
	missing       int
	cells         int
	zeros         int
	emptyWhy      string

	first  int                 // column of X in the table; then Y and the value
	spell  func(string) string // writes a name there
	frames [][2]int            // row and column framed in each panel; -1: none
	marks  map[[2]int]heatMark // cells of the first panel, by row and column, that are more than a value
}

// heatMark is what a cell is beside its value.
type heatMark struct {
	failed bool
	blank  bool   // was not run
	below  string // written under the value where there is room
}

// Heat draws a grid of cells, the value written in each while all fit. Cells
// without a value (NaN or infinite) are grey with "n/a", or crossed, and counted. Of grids
// beyond 160 columns or 100 rows the means of blocks are drawn, which the
// subtitle says; the data table has every cell. Of several best cells the first
// in reading order is framed.
//
// Errors: fault.Usage for Best, a Centre that is not finite or with a logarithmic
// scale, too many cells or panels, and options; fault.Data for cells that are
// more than rows or columns and negative values on a logarithmic scale.
func Heat(d HeatData, o Options) (fig *Figure, err error) {
	defer guard(heatName, &err)
	h, err := newHeat(d)
	if err != nil {
		return nil, err
	}
	return h.draw(o)
}

func newHeat(d HeatData) (*heat, error) {
	h := &heat{data: d, spell: canvas.Visible}
	usage := func(subject, problem string, args ...any) *fault.Error {
		return fault.New(fault.Usage, "figure "+heatName, subject, problem, args...)
	}
	switch {
	case d.Best != "" && d.Best != "max" && d.Best != "min":
		return nil, fault.Unknown("figure "+heatName, "best", d.Best, []string{"max", "min"})
	case d.Centre != nil && (!defined(*d.Centre) || d.Value.Log):
		return nil, usage("centre", "%v cannot be the middle of this scale", *d.Centre).Fix("leave out centre, or the logarithm")
	case len(d.Panels) > mostPanels:
		return nil, usage("panels", "%d are more than %d", len(d.Panels), mostPanels).Fix("choose a facet with fewer values")
	case len(d.Columns) > mostHeat || len(d.Rows) > mostHeat || len(d.Columns)*len(d.Rows)*len(d.Panels) > mostHeat:
		return nil, usage("cells", "%d columns, %d rows and %d panels are more than %d cells", len(d.Columns), len(d.Rows), len(d.Panels), mostHeat)
	}
	h.data.Columns, h.data.Rows, h.data.Panels = slices.Clone(d.Columns), slices.Clone(d.Rows), nil
	for k, p := range d.Panels {
		copied := HeatPanel{Title: p.Title, Cells: make([][]float64, len(d.Rows))}
		where := fmt.Sprintf("panel %d", k+1)
		if len(p.Cells) > len(d.Rows) {
			return nil, badNumber(heatName, where, "%d rows of cells for %d names", len(p.Cells), len(d.Rows))
		}
		for i := range copied.Cells {
			copied.Cells[i] = make([]float64, len(d.Columns))
			for j := range copied.Cells[i] {
				copied.Cells[i][j] = math.NaN()
			}
			if i >= len(p.Cells) {
				continue
			}
			if len(p.Cells[i]) > len(d.Columns) {
				return nil, badNumber(heatName, where, "row %d has %d cells for %d columns", i, len(p.Cells[i]), len(d.Columns))
			}
			copy(copied.Cells[i], p.Cells[i])
			for j, v := range p.Cells[i] {
				if tooLarge(v) {
					return nil, outsized(heatName, fmt.Sprintf("%s, row %d, column %d", where, i, j), v)
				}
				if d.Value.Log && v < 0 && defined(v) {
					return nil, badNumber(heatName, where, "row %d, column %d is negative (%v), which has no place on a logarithmic scale", i, j, v)
				}
			}
		}
		h.data.Panels = append(h.data.Panels, copied)
	}
	h.measure()
	h.first = len(h.header()) - 3
	for _, p := range h.panels {
		row, column := h.best(p)
		h.frames = append(h.frames, [2]int{row, column})
	}
	return h, nil
}

// measure counts cells, finds the range, and puts cells together where there are
// too many to see.
func (h *heat) measure() {
	h.lo, h.hi = math.Inf(1), math.Inf(-1)
	for _, p := range h.data.Panels {
		for _, row := range p.Cells {
			for _, v := range row {
				h.cells++
				if !defined(v) {
					h.missing++
				}
			}
		}
	}
	switch {
	case len(h.data.Panels) == 0 || h.cells == 0:
		h.emptyWhy = "no cells"
		return
	case h.missing == h.cells:
		h.emptyWhy = "all " + plural(h.cells, "cell") + " undefined"
		return
	}
	per := max(heatTileMost/len(h.data.Panels), 16)
	h.block = [2]int{blocks(len(h.data.Columns), heatColumns), blocks(len(h.data.Rows), heatRows)}
	for ((len(h.data.Columns)+h.block[0]-1)/h.block[0])*((len(h.data.Rows)+h.block[1]-1)/h.block[1]) > per {
		if len(h.data.Columns)/h.block[0] >= len(h.data.Rows)/h.block[1] {
			h.block[0]++
		} else {
			h.block[1]++
		}
	}
	h.columns, h.rows = every(h.data.Columns, h.block[0]), every(h.data.Rows, h.block[1])
	for _, p := range h.data.Panels {
		drawn := HeatPanel{Title: p.Title, Cells: h.merge(p.Cells)}
		for _, row := range drawn.Cells {
			for _, v := range row {
				if !defined(v) {
					continue
				}
				if h.data.Value.Log && v == 0 {
					h.zeros++
					continue
				}
				h.lo, h.hi = min(h.lo, v), max(h.hi, v)
			}
		}
		h.panels = append(h.panels, drawn)
	}
	if h.lo > h.hi {
		h.emptyWhy = "no value above zero for the logarithmic scale"
	}
}

func blocks(n, most int) int { return max(1, (n+most-1)/most) }

// every returns the first of each block of names.
func every(names []string, block int) []string {
	var out []string
	for i := 0; i < len(names); i += block {
		out = append(out, names[i])
	}
	return out
}

// merge returns the means of the defined cells of each block.
func (h *heat) merge(cells [][]float64) [][]float64 {
	if h.block == [2]int{1, 1} {
		return cells
	}
	out := make([][]float64, len(h.rows))
	for i := range out {
		out[i] = make([]float64, len(h.columns))
		for j := range out[i] {
			mean, n := math.NaN(), 0.0
			for r := i * h.block[1]; r < min((i+1)*h.block[1], len(cells)); r++ {
				for c := j * h.block[0]; c < min((j+1)*h.block[0], len(cells[r])); c++ {
					if v := cells[r][c]; defined(v) {
						n++
						if n == 1 {
							mean = v
						} else {
							mean += (v - mean) / n
						}
					}
				}
			}
			out[i][j] = mean
		}
	}
	return out
}

// best returns the cell to frame in a panel, or -1.
func (h *heat) best(p HeatPanel) (row, column int) {
	row, column = -1, -1
	if h.data.Best == "" || h.block != [2]int{1, 1} {
		return row, column
	}
	for i := range p.Cells {
		if h.data.RowsUp { // reading order is from the top
			i = len(p.Cells) - 1 - i
		}
		for j, v := range p.Cells[i] {
			if !defined(v) {
				continue
			}
			if row < 0 || h.data.Best == "max" && v > p.Cells[row][column] || h.data.Best == "min" && v < p.Cells[row][column] {
				row, column = i, j
			}
		}
	}
	return row, column
}

func (h *heat) subtitle() string {
	if h.emptyWhy != "" {
		return ""
	}
	text := plural(h.cells, "cell")
	if h.block != [2]int{1, 1} {
		text += fmt.Sprintf("; each drawn is the mean of up to %d × %d", h.block[0], h.block[1])
	}
	if h.data.Best != "" && h.block == [2]int{1, 1} {
		text += map[string]string{"max": "; framed: the highest", "min": "; framed: the lowest"}[h.data.Best]
	}
	if len(h.panels) > 1 && h.data.Facet != "" {
		text += "; a panel per " + h.data.Facet
	}
	return text
}

func (h *heat) notes() []string {
	var notes []string
	if h.emptyWhy != "" {
		return nil
	}
	if h.missing > 0 {
		notes = append(notes, fmt.Sprintf("%s of %s %s no value (n/a).", canvas.Count(h.missing), plural(h.cells, "cell"), verb(h.missing, "has", "have")))
	}
	if h.zeros > 0 {
		notes = append(notes, fmt.Sprintf("%s of exactly 0 %s the colour of the lowest value.", plural(h.zeros, "cell"), verb(h.zeros, "has", "have")))
	}
	return notes
}

func (h *heat) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Heat map of %s over %s and %s", h.data.Value.axisName(), h.data.X.words(), h.data.Y.words())
	if h.emptyWhy != "" {
		return b.String() + ": no data (" + h.emptyWhy + ")."
	}
	fmt.Fprintf(&b, ": %d columns from %s to %s and %d rows from %s to %s.", len(h.data.Columns), shortened(h.data.Columns[0], nameLimit),
		shortened(h.data.Columns[len(h.data.Columns)-1], nameLimit), len(h.data.Rows), shortened(h.data.Rows[0], nameLimit), shortened(h.data.Rows[len(h.data.Rows)-1], nameLimit))
	for _, p := range h.data.Panels {
		lo, hi := [2]int{-1}, [2]int{-1}
		for i, row := range p.Cells {
			for j, v := range row {
				if !defined(v) {
					continue
				}
				if lo[0] < 0 || v < p.Cells[lo[0]][lo[1]] {
					lo = [2]int{i, j}
				}
				if hi[0] < 0 || v > p.Cells[hi[0]][hi[1]] {
					hi = [2]int{i, j}
				}
			}
		}
		if lo[0] < 0 {
			continue
		}
		place := func(at [2]int) string {
			return fmt.Sprintf("%s at %s = %s, %s = %s", canvas.Significant(p.Cells[at[0]][at[1]], 3), h.data.X.words(), shortened(h.data.Columns[at[1]], nameLimit),
				h.data.Y.words(), shortened(h.data.Rows[at[0]], nameLimit))
		}
		title := ""
		if p.Title != "" {
			title = shortened(p.Title, nameLimit) + ": "
		}
		fmt.Fprintf(&b, " %sLowest %s; highest %s.", title, place(lo), place(hi))
	}
	for _, n := range h.notes() {
		b.WriteString(" " + n)
	}
	return b.String()
}

// header is that of the data table: the panel when there are several,
// then x, y and the value.
func (h *heat) header() []string {
	var header []string
	add := func(name, fallback string) { header = append(header, columnName(name, fallback, header)) }
	if len(h.data.Panels) > 1 || len(h.data.Panels) == 1 && h.data.Panels[0].Title != "" {
		add(h.data.Facet, "panel")
	}
	add(h.data.X.Name, "x")
	add(h.data.Y.Name, "y")
	add(h.data.Value.Name, "value")
	return header
}

func (h *heat) textColumns() []string {
	header := h.header()
	return header[:len(header)-1]
}

func (h *heat) table() Table {
	t := Table{Header: h.header()}
	panels := len(t.Header) == 4
	for _, p := range h.data.Panels {
		for i, row := range p.Cells {
			for j, v := range row {
				var cells []string
				if panels {
					cells = append(cells, canvas.Clean(p.Title))
				}
				t.Rows = append(t.Rows, append(cells, h.spell(h.data.Columns[j]), h.spell(h.data.Rows[i]), number(v)))
			}
		}
	}
	return t
}
