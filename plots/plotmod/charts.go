package plotmod

import (
	"fmt"
	"maps"
	"slices"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table/tablemod"
	"lab/plots"
)

// tableParam is the table that a chart is drawn of.
func tableParam() script.Param {
	return script.Param{Name: "table", Type: tablemod.Given(), Meaning: "a table of module table, or a list of maps from column name to value"}
}

func oneOrMore() script.Type { return script.Either(script.String(), script.List(script.String())) }

// axisOptions are what x or y takes in every general chart.
func axisOptions(letter, meaning string) []script.Param {
	return []script.Param{
		{Name: letter, Type: script.String(), Required: true, Meaning: meaning},
		{Name: letter + "_title", Type: script.String(), Default: "", Meaning: "on the axis; left out, the name of the column"},
		{Name: letter + "_unit", Type: script.String(), Default: "", Meaning: "behind the title"},
		{Name: "log_" + letter, Type: script.Bool(), Default: false, Meaning: "logarithmic; 0 is drawn open at the edge, a negative value is an error"},
	}
}

// seriesOptions are what tells rows apart.
func seriesOptions() []script.Param {
	return []script.Param{
		{Name: "by", Type: oneOrMore(), Optional: true, Meaning: "column, or columns, whose values are the series; numbers are in order"},
		{Name: "facet", Type: oneOrMore(), Optional: true, Meaning: "column, or columns, whose values are the panels; they share their scales"},
		{Name: "highlight", Type: script.Either(script.String(), script.Float()), Optional: true, Meaning: "the series in colour, all others in grey"},
	}
}

func bandOption(name, of string) script.Param {
	return script.Param{Name: name, Type: oneOrMore(), Optional: true,
		Meaning: "interval of " + of + `: ["lo_column", "hi_column"], or "ci95" for the columns that group.stats writes at its level 0.95`}
}

func moreOptions() []script.Param {
	return append([]script.Param{
		{Name: "labels", Type: script.String(), Default: "", Meaning: "column written beside the points, where there is room"},
		{Name: "rules", Type: script.List(script.Map(script.Any())), Optional: true, Meaning: `reference lines: [{x: 1, label: "model"}, {y: 0.5}]`},
		footerOption(),
	}, common...)
}

func footerOption() script.Param {
	return script.Param{Name: "footer", Type: script.String(), Default: "", Meaning: "where the numbers come from: run, model, seed"}
}

func (e *Env) lineMember() script.Member {
	return script.Member{
		Name: "line", Returns: "figure",
		Doc: "Draws lines of y over x, one per value of by, with a band. Rows of a series must differ in x; a row without x or y breaks the line and is counted." +
			" A y that is not in the table stands for its mean from group.stats, y_mean.",
		Params: []script.Param{tableParam()},
		Options: slices.Concat(axisOptions("x", "column along the axis"), axisOptions("y", "column, or measure of group.stats"), seriesOptions(),
			[]script.Param{bandOption("band", "y"), {Name: "points", Type: script.Bool(), Default: false, Meaning: "a marker at every point"}}, moreOptions()),
		Func: e.line,
	}
}

func (e *Env) scatterMember() script.Member {
	return script.Member{
		Name: "scatter", Returns: "figure",
		Doc:    "Draws a point per row, in the shape and colour of its by, with whiskers. More than 1,000 points become squares, larger the more points they hold.",
		Params: []script.Param{tableParam()},
		Options: slices.Concat(axisOptions("x", "column along the axis, or measure of group.stats"), axisOptions("y", "column, or measure of group.stats"), seriesOptions(),
			[]script.Param{bandOption("band", "y"), bandOption("x_band", "x"),
				{Name: "join", Type: script.Bool(), Default: false, Meaning: "points of a series are joined in the order of the rows"},
				{Name: "hollow", Type: script.String(), Default: "", Meaning: "column of true and false: points drawn open"}}, moreOptions()),
		Func: e.scatter,
	}
}

func (e *Env) line(c *script.Call) (any, error) {
	d, err := xyOf(c, false)
	if err != nil {
		return nil, err
	}
	d.Points = c.Bool("points")
	o, err := e.looks(c, c.String("footer"))
	if err != nil {
		return nil, err
	}
	return e.figureOf(c, o, func(o plots.Options) (*plots.Figure, error) { return plots.Line(d, o) })
}

func (e *Env) scatter(c *script.Call) (any, error) {
	d, err := xyOf(c, true)
	if err != nil {
		return nil, err
	}
	d.Join = c.Bool("join")
	o, err := e.looks(c, c.String("footer"))
	if err != nil {
		return nil, err
	}
	return e.figureOf(c, o, func(o plots.Options) (*plots.Figure, error) { return plots.Scatter(d, o) })
}

// quantity reads what an axis shows.
func quantity(c *script.Call, letter, name string) plots.Quantity {
	return plots.Quantity{Name: name, Title: c.String(letter + "_title"), Unit: c.String(letter + "_unit"), Log: c.Bool("log_" + letter)}
}

// xyOf reads the rows of a table as series of points; some options are those of
// a scatter only.
func xyOf(c *script.Call, scatter bool) (plots.XYData, error) {
	r := newReader(c)
	x, xName := r.measured("x")
	y, yName := r.measured("y")
	by, facet := r.kinds("by"), r.kinds("facet")
	d := plots.XYData{X: quantity(c, "x", xName), Y: quantity(c, "y", yName), By: by.by, Ordered: by.ordered, Facet: facet.by}
	band := r.interval("band", yName)
	d.Interval = band.words
	var across interval
	if scatter {
		if across = r.interval("x_band", xName); d.Interval == "" {
			d.Interval = across.words
		}
	}
	var labels []string
	if name := c.String("labels"); name != "" {
		labels = r.words("labels", name)
	}
	var hollow []bool
	if scatter && c.String("hollow") != "" {
		d.Hollow = c.String("hollow")
		hollow = r.bools("hollow", d.Hollow)
	}
	rules, err := rulesOf(c)
	if r.err == nil && err != nil {
		r.err = err
	}
	if r.err != nil {
		return d, r.err
	}
	d.Rules = rules
	if v := c.Any("highlight"); v != nil {
		d.Highlight = text(v)
	}
	at := map[[2]int]int{} // of each series in d.Series
	for _, i := range inOrder(facet, by) {
		key := [2]int{facet.of[i], by.of[i]}
		k, known := at[key]
		if !known {
			k = len(d.Series)
			at[key] = k
			d.Series = append(d.Series, plots.Series{Name: by.names[by.of[i]], Panel: facet.names[facet.of[i]]})
		}
		s := &d.Series[k]
		s.X, s.Y = append(s.X, x[i]), append(s.Y, y[i])
		if band.lo != nil {
			s.Lo, s.Hi = append(s.Lo, band.lo[i]), append(s.Hi, band.hi[i])
		}
		if across.lo != nil {
			s.XLo, s.XHi = append(s.XLo, across.lo[i]), append(s.XHi, across.hi[i])
		}
		if labels != nil {
			s.Labels = append(s.Labels, labels[i])
		}
		if hollow != nil {
			s.Hollow = append(s.Hollow, hollow[i])
		}
	}
	return d, nil
}

// rulesOf reads [{x: 1, label: "model"}, {y: 0.5}].
func rulesOf(c *script.Call) ([]plots.Rule, error) {
	var out []plots.Rule
	for i, v := range c.List("rules") {
		wrong := func(problem string, args ...any) ([]plots.Rule, error) {
			return nil, fault.New(fault.Script, c.Name(), fmt.Sprintf("option rules, element %d", i), problem, args...).
				Fix("write {x: 1, label: \"words\"} or {y: 0.5}")
		}
		var rule plots.Rule
		places := 0
		given := v.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(given)) {
			value := given[key]
			switch key {
			case "x", "y":
				places++
				rule.Vertical = key == "x"
				switch n := value.(type) {
				case float64:
					rule.At = n
				case int64:
					rule.At = float64(n)
				default:
					return wrong("%s is not a number", key)
				}
			case "label":
				s, ok := value.(string)
				if !ok {
					return wrong("the label is not a string")
				}
				rule.Label = s
			default:
				e := fault.Unknown(c.Name(), "key", key, []string{"x", "y", "label"})
				e.Kind = fault.Script
				return nil, e
			}
		}
		if places != 1 {
			return wrong("it has %d of x and y, a rule has one", places)
		}
		out = append(out, rule)
	}
	return out, nil
}
