package plotmod

import (
	"bytes"

	"lab/core/script"
)

var _ script.Shower = (*figure)(nil)

// Forms implements script.Shower: a notebook shows a figure as SVG and keeps a PNG
// for readers that draw none.
func (f *figure) Forms() ([]script.Form, error) {
	var svg, png bytes.Buffer
	if err := f.SVG(&svg); err != nil {
		return nil, err
	}
	if err := f.PNG(&png); err != nil {
		return nil, err
	}
	alt := f.Title() + ". " + f.Description()
	return []script.Form{{MIME: "image/svg+xml", Data: svg.Bytes(), Alt: alt}, {MIME: "image/png", Data: png.Bytes(), Alt: alt}}, nil
}

// String is what print and readers without pictures show.
func (f *figure) String() string { return "<figure: " + f.Title() + ">" }
