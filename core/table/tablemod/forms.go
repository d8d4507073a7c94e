package tablemod

import (
	"lab/core/script"
	"lab/core/table"
)

var _ script.Shower = (*object)(nil)

// Forms implements script.Shower: a notebook shows a table as HTML.
func (t *object) Forms() ([]script.Form, error) {
	return []script.Form{{MIME: "text/html", Data: []byte(t.HTML(table.Layout{}))}}, nil
}
