// Package vega holds the part of the Vega-Lite language that the figures need,
// as plain structs that marshal to a specification of version 5: one JSON file
// that carries its data and opens in a notebook or a web page.
//
// It knows no figures and draws nothing. Fields are named as in the language, so
// its own reference explains them. Refused alternative: a map of maps, in which a
// misspelt key is seen by nobody.
//
// Start with [Spec] and [Spec.Write].
package vega

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"lab/core/fault"
)

// Schema is the version of the language.
const Schema = "https://vega.github.io/schema/vega-lite/v5.json"

// Spec is a specification: one view, layers, views side by side, or a view
// repeated over the values of a field.
type Spec struct {
	Schema      string      `json:"$schema,omitempty"`
	Title       *Title      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Data        *Data       `json:"data,omitempty"`
	Transform   []Transform `json:"transform,omitempty"`
	Facet       *Channel    `json:"facet,omitempty"`
	Columns     int         `json:"columns,omitempty"`
	Spec        *Spec       `json:"spec,omitempty"`
	HConcat     []Spec      `json:"hconcat,omitempty"`
	Concat      []Spec      `json:"concat,omitempty"` // in Columns
	Width       any         `json:"width,omitempty"`  // a number of pixels, or {"step": n}
	Height      any         `json:"height,omitempty"`
	Layer       []Spec      `json:"layer,omitempty"`
	Mark        *Mark       `json:"mark,omitempty"`
	Encoding    *Encoding   `json:"encoding,omitempty"`
	Config      *Config     `json:"config,omitempty"`
}

// Title is the title and what stands below it.
type Title struct {
	Text     string   `json:"text"`
	Subtitle []string `json:"subtitle,omitempty"`
	Anchor   string   `json:"anchor,omitempty"`
}

// Data is rows of cells by field.
type Data struct {
	Values []map[string]any `json:"values"`
}

// Transform keeps rows by a predicate.
type Transform struct {
	Filter *Filter `json:"filter,omitempty"`
}

// Filter compares a field with a value; exactly one comparison is set.
type Filter struct {
	Field string   `json:"field"`
	GT    *float64 `json:"gt,omitempty"`
	LTE   *float64 `json:"lte,omitempty"`
	Equal any      `json:"equal,omitempty"`
	OneOf []string `json:"oneOf,omitempty"`
}

// Mark is what is drawn for each row.
type Mark struct {
	Type        string    `json:"type"`
	Tooltip     *Tooltip  `json:"tooltip,omitempty"`
	Point       bool      `json:"point,omitempty"`
	Shape       string    `json:"shape,omitempty"`
	Filled      *bool     `json:"filled,omitempty"`
	Interpolate string    `json:"interpolate,omitempty"`
	Opacity     float64   `json:"opacity,omitempty"`
	Color       string    `json:"color,omitempty"`
	Stroke      string    `json:"stroke,omitempty"`
	StrokeDash  []float64 `json:"strokeDash,omitempty"`
	StrokeWidth float64   `json:"strokeWidth,omitempty"`
	Fill        string    `json:"fill,omitempty"`
	Size        float64   `json:"size,omitempty"`
	Align       string    `json:"align,omitempty"`
	DX          float64   `json:"dx,omitempty"`
	DY          float64   `json:"dy,omitempty"`
	Thickness   float64   `json:"thickness,omitempty"`
}

// Tooltip says what is shown when a mark is pointed at.
type Tooltip struct {
	Content string `json:"content"`
}

// Data shows all fields of the row.
func AllFields() *Tooltip { return &Tooltip{Content: "data"} }

// Encoding maps fields to channels.
type Encoding struct {
	X           *Channel `json:"x,omitempty"`
	X2          *Channel `json:"x2,omitempty"`
	Y           *Channel `json:"y,omitempty"`
	Y2          *Channel `json:"y2,omitempty"`
	YOffset     *Channel `json:"yOffset,omitempty"`
	Color       *Channel `json:"color,omitempty"`
	Fill        *Channel `json:"fill,omitempty"`
	Stroke      *Channel `json:"stroke,omitempty"`
	Shape       *Channel `json:"shape,omitempty"`
	FillOpacity *Channel `json:"fillOpacity,omitempty"`
	Detail      *Channel `json:"detail,omitempty"`
	Order       *Channel `json:"order,omitempty"`
	Text        *Channel `json:"text,omitempty"`
	Facet       *Channel `json:"facet,omitempty"`
}

// Channel is one mapping. Type is quantitative, nominal or ordinal.
type Channel struct {
	Field     string     `json:"field,omitempty"`
	Type      string     `json:"type,omitempty"`
	Title     any        `json:"title,omitempty"` // a string; nil takes the field's name
	Scale     *Scale     `json:"scale,omitempty"`
	Axis      *Axis      `json:"axis,omitempty"`
	Sort      any        `json:"sort,omitempty"` // a list of values in their order
	Value     any        `json:"value,omitempty"`
	Datum     any        `json:"datum,omitempty"`
	Condition *Condition `json:"condition,omitempty"`
	Columns   int        `json:"columns,omitempty"` // of a facet
	Bin       string     `json:"bin,omitempty"`     // "binned": X and X2 are its edges
}

// Axis is what an axis writes at its ticks, as a format of d3: "~s" has letters
// for powers of a thousand.
type Axis struct {
	Format string `json:"format,omitempty"`
}

// Condition is a value for rows that pass a test.
type Condition struct {
	Test  *Filter `json:"test"`
	Value any     `json:"value"`
}

// Scale maps values to places or colours.
type Scale struct {
	Type      string `json:"type,omitempty"` // "log"
	Zero      *bool  `json:"zero,omitempty"`
	Nice      *bool  `json:"nice,omitempty"` // false: the axis ends with the data
	Domain    any    `json:"domain,omitempty"`
	DomainMid any    `json:"domainMid,omitempty"`
	Range     any    `json:"range,omitempty"`
	// Interpolate is how colours between those of Range are mixed: "rgb" as the
	// pictures do; "" is the viewer's own way, which passes through other hues.
	Interpolate string `json:"interpolate,omitempty"`
}

// Config is the colours of the page.
type Config struct {
	Background string     `json:"background,omitempty"`
	Axis       *AxisStyle `json:"axis,omitempty"`
	Legend     *TextStyle `json:"legend,omitempty"`
	Title      *TextStyle `json:"title,omitempty"`
	Header     *TextStyle `json:"header,omitempty"`
	View       *View      `json:"view,omitempty"`
}

// AxisStyle is the colours of axes.
type AxisStyle struct {
	LabelColor  string `json:"labelColor,omitempty"`
	TitleColor  string `json:"titleColor,omitempty"`
	GridColor   string `json:"gridColor,omitempty"`
	DomainColor string `json:"domainColor,omitempty"`
	TickColor   string `json:"tickColor,omitempty"`
	LabelLimit  int    `json:"labelLimit,omitempty"` // longest label, in pixels
}

// TextStyle is the colours of words outside axes.
type TextStyle struct {
	Color         string `json:"color,omitempty"`
	SubtitleColor string `json:"subtitleColor,omitempty"`
	LabelColor    string `json:"labelColor,omitempty"`
	TitleColor    string `json:"titleColor,omitempty"`
	// SymbolOpacity is that of the signs of a legend; 0: that of its first mark,
	// which may be a pale band.
	SymbolOpacity float64 `json:"symbolOpacity,omitempty"`
}

// View is the frame of a panel.
type View struct {
	Stroke string `json:"stroke,omitempty"`
}

// Yes and No are the truth values of optional settings.
func Yes() *bool { v := true; return &v }

// No is false.
func No() *bool { v := false; return &v }

// Write writes the specification as indented JSON. Errors: fault.Data when w
// fails, fault.Internal for a value that JSON cannot hold.
func (s *Spec) Write(w io.Writer) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fault.Wrap(err, fault.Internal, "write specification", "vega-lite")
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fault.Wrap(err, fault.Data, "write specification", "vega-lite")
	}
	return nil
}

// Fields names the fields of a table: its header, except that a name with a
// sign that the language reads as part of a path becomes column_N.
func Fields(header []string) []string {
	out := make([]string, len(header))
	for i, name := range header {
		out[i] = name
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return !(r == '_' || r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
		}) {
			out[i] = "column_" + strconv.Itoa(i+1)
		}
	}
	return out
}

// Rows returns the cells of a table by field. A column whose cells are all
// numbers becomes numbers, with null for NaN and infinities, which JSON does not
// have; one of true and false becomes those; any other stays text. text names
// columns that stay text in any case.
func Rows(header []string, rows [][]string, text func(column int) bool) *Data {
	fields := Fields(header)
	columns := make([]func(string) any, len(header))
	for c := range header {
		columns[c] = kindOf(rows, c, text(c))
	}
	d := &Data{Values: make([]map[string]any, len(rows))}
	for i, row := range rows {
		d.Values[i] = make(map[string]any, len(row))
		for c, cell := range row {
			d.Values[i][fields[c]] = columns[c](cell)
		}
	}
	return d
}

func kindOf(rows [][]string, c int, text bool) func(string) any {
	asText := func(s string) any { return s }
	if text {
		return asText
	}
	numbers, bools, filled := true, true, false
	for _, row := range rows {
		cell := row[c]
		if cell == "" {
			continue
		}
		filled = true
		if _, err := strconv.ParseFloat(cell, 64); err != nil {
			numbers = false
		}
		bools = bools && (cell == "true" || cell == "false")
	}
	switch {
	case filled && numbers:
		return func(s string) any {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil
			}
			return v
		}
	case filled && bools:
		return func(s string) any { return s == "true" }
	}
	return asText
}
