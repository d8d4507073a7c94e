package plotmod

import (
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/script"
	"lab/plots"
)

// nameOptions are what an axis of names takes.
func nameOptions(letter, meaning string) []script.Param {
	return []script.Param{
		{Name: letter, Type: oneOrMore(), Required: true, Meaning: meaning},
		{Name: letter + "_title", Type: script.String(), Default: "", Meaning: "on the axis; left out, the name of the column"},
	}
}

func rulesOption(meaning string) script.Param {
	return script.Param{Name: "rules", Type: script.List(script.Map(script.Any())), Optional: true, Meaning: meaning}
}

func facetOption() script.Param {
	return script.Param{Name: "facet", Type: oneOrMore(), Optional: true, Meaning: "column, or columns, whose values are the panels; they share their scales"}
}

func (e *Env) sampleMembers() []script.Member {
	byOption := script.Param{Name: "by", Type: oneOrMore(), Optional: true, Meaning: "column, or columns, whose values are the samples; numbers are in order"}
	looks := append([]script.Param{footerOption()}, common...)
	return []script.Member{
		{
			Name: "bar", Returns: "figure",
			Doc:    "Draws a horizontal bar from zero per row, named by x, with the value at its end; by puts several below each other. On a logarithmic axis dots take the place of bars.",
			Params: []script.Param{tableParam()},
			Options: slices.Concat(nameOptions("x", "column, or columns, whose values name the bars"), axisOptions("y", "column of the values, or measure of group.stats"),
				seriesOptions(), []script.Param{bandOption("band", "y"), rulesOption(`reference lines at values: [{y: 0.5, label: "chance"}]`)}, looks),
			Func: e.bar,
		},
		{
			Name: "heat", Returns: "figure",
			Doc:    "Draws a grid of cells coloured by a value, over two settings. Numbers are in order, rows upwards; a pair of settings without a row is grey.",
			Params: []script.Param{tableParam()},
			Options: slices.Concat(nameOptions("x", "column, or columns, whose values are the columns of the grid"), nameOptions("y", "column, or columns, whose values are its rows"),
				axisOptions("value", "column of the values, or measure of group.stats"), []script.Param{facetOption(),
					{Name: "best", Type: script.String(), Default: "none", Choices: []string{"none", "max", "min"}, Meaning: "which cell is framed"},
					{Name: "centre", Type: script.Float(), Optional: true, Meaning: "value in the colour of the background, with a colour to each side"}}, looks),
			Func: e.heat,
		},
		{
			Name: "hist", Returns: "figure",
			Doc:    "Draws how often each size of a column occurs, a panel per value of by and facet, all with the same round bins.",
			Params: []script.Param{tableParam()},
			Options: slices.Concat(axisOptions("x", "column of the values"), []script.Param{byOption, facetOption(),
				{Name: "bins", Type: script.Int(), Default: 0, Range: script.Between(0, 200), Meaning: "about how many; 0 chooses them (Freedman and Diaconis)"},
				{Name: "share", Type: script.Bool(), Default: false, Meaning: "shares of each sample in place of counts"},
				rulesOption(`reference lines: [{x: 1, label: "model"}]`)}, looks),
			Func: e.hist,
		},
		{
			Name: "ecdf", Returns: "figure",
			Doc:    "Draws what share of the values of a column is at most x, a line per value of by.",
			Params: []script.Param{tableParam()},
			Options: slices.Concat(axisOptions("x", "column of the values"), seriesOptions(), []script.Param{
				{Name: "level", Type: script.Float(), Default: 0.0, Range: script.Interval(0, 1, false, true), Meaning: "of confidence of a band for all places at once (Dvoretzky, Kiefer and Wolfowitz); 0 draws none"},
				rulesOption(`reference lines: [{x: 1, label: "model"}]`)}, looks),
			Func: e.ecdf,
		},
		{
			Name: "violin", Returns: "figure",
			Doc:    "Draws where the values of a column lie, a row per value of x: density, quartiles and median, or the values themselves when they are fewer than 20.",
			Params: []script.Param{tableParam()},
			Options: slices.Concat(nameOptions("x", "column, or columns, whose values are the rows of the picture"), axisOptions("y", "column of the values"),
				[]script.Param{facetOption(), rulesOption(`reference lines at values: [{y: 1, label: "human text"}]`)}, looks),
			Func: e.violin,
		},
	}
}

// chart finishes a chart: the options that all take, and the drawing.
func (e *Env) chart(c *script.Call, draw func(plots.Options) (*plots.Figure, error)) (any, error) {
	o, err := e.looks(c, c.String("footer"))
	if err != nil {
		return nil, err
	}
	return e.figureOf(c, o, func(o plots.Options) (*plots.Figure, error) { return draw(o) })
}

// sideways turns rules at values of y into vertical ones, for charts whose values
// lie along the horizontal axis though a script names them y.
func sideways(c *script.Call, rules []plots.Rule) ([]plots.Rule, error) {
	for i := range rules {
		if rules[i].Vertical {
			return nil, fault.New(fault.Script, c.Name(), "option rules", "x holds names, not numbers").Fix("write {y: 1}")
		}
		rules[i].Vertical = true
	}
	return rules, nil
}

func (e *Env) bar(c *script.Call) (any, error) {
	r := newReader(c)
	names, by, facet := r.kinds("x"), r.kinds("by"), r.kinds("facet")
	y, yName := r.measured("y")
	band := r.interval("band", yName)
	rules, err := rulesOf(c)
	if err == nil {
		rules, err = sideways(c, rules)
	}
	if r.fail(err); r.err != nil {
		return nil, r.err
	}
	d := plots.BarData{Value: quantity(c, "y", yName), Category: names.by, By: by.by, Ordered: by.ordered, Facet: facet.by, Interval: band.words, Rules: rules}
	if title := c.String("x_title"); title != "" {
		d.Category = title
	}
	if v := c.Any("highlight"); v != nil {
		d.Highlight = text(v)
	}
	for _, i := range inOrder(facet, names, by) {
		bar := plots.CategoryBar{Name: names.names[names.of[i]], Series: by.names[by.of[i]], Panel: facet.names[facet.of[i]], Value: y[i], Lo: math.NaN(), Hi: math.NaN()}
		if band.lo != nil {
			bar.Lo, bar.Hi = band.lo[i], band.hi[i]
		}
		d.Bars = append(d.Bars, bar)
	}
	return e.chart(c, func(o plots.Options) (*plots.Figure, error) { return plots.Bar(d, o) })
}

// inOrder returns the rows sorted by several kinds, the first one first.
func inOrder(list ...kinds) []int {
	rows := make([]int, len(list[0].of))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		for _, k := range list {
			if k.of[a] != k.of[b] {
				return k.of[a] - k.of[b]
			}
		}
		return 0
	})
	return rows
}

func (e *Env) heat(c *script.Call) (any, error) {
	r := newReader(c)
	x, y, facet := r.kinds("x"), r.kinds("y"), r.kinds("facet")
	value, name := r.measured("value")
	if r.err != nil {
		return nil, r.err
	}
	d := plots.HeatData{Value: quantity(c, "value", name), X: plots.Quantity{Name: x.by, Title: c.String("x_title")}, Y: plots.Quantity{Name: y.by, Title: c.String("y_title")},
		Columns: x.names, Rows: y.names, RowsUp: y.ordered, Facet: facet.by, Best: c.String("best")}
	if d.Best == "none" {
		d.Best = ""
	}
	if c.Given("centre") {
		centre := c.Float("centre")
		d.Centre = &centre
	}
	const most = 1 << 20
	if len(x.names)*len(y.names)*len(facet.names) > most {
		return nil, fault.New(fault.Script, c.Name(), "", "%d columns, %d rows and %d panels are more than %d cells", len(x.names), len(y.names), len(facet.names), most).
			Fix("name settings with fewer values, or group first")
	}
	from := make([][][]int, len(facet.names)) // the row of the table in each cell, plus 1
	for k, title := range facet.names {
		p := plots.HeatPanel{Title: title, Cells: make([][]float64, len(y.names))}
		from[k] = make([][]int, len(y.names))
		for i := range p.Cells {
			p.Cells[i], from[k][i] = make([]float64, len(x.names)), make([]int, len(x.names))
			for j := range p.Cells[i] {
				p.Cells[i][j] = math.NaN()
			}
		}
		d.Panels = append(d.Panels, p)
	}
	for i := range value {
		k, row, column := facet.of[i], y.of[i], x.of[i]
		if first := from[k][row][column]; first > 0 {
			return nil, fault.New(fault.Script, c.Name(), "", "rows %d and %d are both in the cell %s, %s", first-1, i, fault.Quote(x.names[column], 40), fault.Quote(y.names[row], 40)).
				Fix("average them (group, then stats), or tell them apart with facet")
		}
		from[k][row][column] = i + 1
		d.Panels[k].Cells[row][column] = value[i]
	}
	if len(value) == 0 {
		d.Panels = nil
	}
	return e.chart(c, func(o plots.Options) (*plots.Figure, error) { return plots.Heat(d, o) })
}

// samplesOf reads the values of a column as samples told apart by one option.
func samplesOf(c *script.Call, value, by string, turned bool) (plots.SampleData, error) {
	r := newReader(c)
	k, facet := r.kinds(by), r.kinds("facet")
	name := c.String(value)
	v := r.numbers(value, name)
	rules, err := rulesOf(c)
	if err == nil && turned {
		rules, err = sideways(c, rules)
	}
	if r.fail(err); r.err != nil {
		return plots.SampleData{}, r.err
	}
	d := plots.SampleData{Value: quantity(c, value, name), By: k.by, Ordered: k.ordered, Facet: facet.by, Rules: rules}
	at := map[[2]int]int{} // of each sample in d.Samples
	for _, i := range inOrder(facet, k) {
		key := [2]int{facet.of[i], k.of[i]}
		n, known := at[key]
		if !known {
			n = len(d.Samples)
			at[key] = n
			d.Samples = append(d.Samples, plots.Sample{Name: k.names[k.of[i]], Panel: facet.names[facet.of[i]]})
		}
		s := &d.Samples[n]
		s.Values = append(s.Values, v[i])
	}
	return d, nil
}

func (e *Env) hist(c *script.Call) (any, error) {
	d, err := samplesOf(c, "x", "by", false)
	if err != nil {
		return nil, err
	}
	d.Bins, d.Share = int(c.Int("bins")), c.Bool("share")
	return e.chart(c, func(o plots.Options) (*plots.Figure, error) { return plots.Hist(d, o) })
}

func (e *Env) ecdf(c *script.Call) (any, error) {
	d, err := samplesOf(c, "x", "by", false)
	if err != nil {
		return nil, err
	}
	d.Level = c.Float("level")
	if v := c.Any("highlight"); v != nil {
		d.Highlight = text(v)
	}
	return e.chart(c, func(o plots.Options) (*plots.Figure, error) { return plots.Ecdf(d, o) })
}

func (e *Env) violin(c *script.Call) (any, error) {
	d, err := samplesOf(c, "y", "x", true)
	if err != nil {
		return nil, err
	}
	if title := c.String("x_title"); title != "" {
		d.By = title
	}
	return e.chart(c, func(o plots.Options) (*plots.Figure, error) { return plots.Violin(d, o) })
}
