package plots

import (
	"encoding/csv"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"lab/core/fault"
	"lab/plots/canvas"
)

// Table is the data behind a picture. Numbers are written with the digits that
// restore them exactly, undefined ones as NaN. Words hold no control characters
// and no invalid UTF-8: a token stands in its visible form, and its bytes in
// hexadecimal beside it, so that every CSV reader gets back what was written
// (readers turn a carriage return inside a cell into something else).
type Table struct {
	Header []string
	Rows   [][]string
}

func (t Table) clone() Table {
	out := Table{Header: slices.Clone(t.Header), Rows: make([][]string, len(t.Rows))}
	for i, r := range t.Rows {
		out.Rows[i] = slices.Clone(r)
	}
	return out
}

// CSV writes the table as RFC 4180 CSV with a header line and \n line ends.
// Errors: fault.Data when w fails; fault.Internal for a cell that would not
// survive the journey.
func (t Table) CSV(w io.Writer) error {
	for i, row := range append([][]string{t.Header}, t.Rows...) {
		if len(row) != len(t.Header) {
			return fault.New(fault.Internal, "write table", "", "line %d has %d cells, the header %d", i, len(row), len(t.Header))
		}
		for _, cell := range row {
			if !utf8.ValidString(cell) || strings.ContainsAny(cell, "\r\x00") {
				return fault.New(fault.Internal, "write table", "", "line %d holds %q, which CSV readers change", i, cell)
			}
		}
	}
	out := csv.NewWriter(w)
	err := out.Write(t.Header)
	if err == nil {
		err = out.WriteAll(t.Rows) // flushes
	}
	if err != nil {
		return fault.Wrap(err, fault.Data, "write table", "csv")
	}
	return nil
}

// tokenCells returns a token as its visible form and as the hexadecimal of its
// bytes.
func tokenCells(token string) (visible, bytes string) {
	return canvas.Visible(token), hex.EncodeToString([]byte(token))
}
