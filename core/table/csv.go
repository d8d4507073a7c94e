package table

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
)

// CSV says how a CSV text is read. The zero value reads what [Table.CSV] writes.
type CSV struct {
	Delimiter byte            // 0 is a comma
	Types     map[string]Type // of columns, in place of the inferred ones
	Nulls     []string        // unquoted fields that are null besides the empty one: "NA"
	name      string          // in errors
}

// ReadCSV reads a CSV text as RFC 4180 has it, with a header, in lines that end in
// LF or CR LF. A byte order mark in front is skipped; so are empty lines, unless
// there is only one column. name says in errors what is read.
//
// An unquoted empty field is null, a quoted one the empty string. The type of a
// column is the first that fits all of its fields, null apart: bool (true, True or
// TRUE and the same of false), int (no plus sign or leading zero, within 64 bits),
// float (also NaN, Inf, -Inf; whole numbers among others count as floats), ints
// ([1 2 3]), string. One quoted field makes a column a string, and so does a column
// of nothing but nulls. Bytes are in base64 and only read when Types says so.
//
// Errors are of kind data and name the line.
//
// The reader is our own, since encoding/csv cannot tell a quoted field from an
// unquoted one and drops CR before LF inside quotes.
func ReadCSV(text []byte, name string, o CSV) (*Table, error) {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	o.name = name
	if o.Delimiter == '"' || o.Delimiter == '\n' || o.Delimiter == '\r' || o.Delimiter >= 0x80 {
		return nil, fault.New(fault.Usage, "read csv", name, "delimiter %q", o.Delimiter).Fix("use a comma, semicolon or tab")
	}
	s := &csvScanner{rest: string(bytes.TrimPrefix(text, []byte("\ufeff"))), delimiter: o.Delimiter, line: 1}
	header, err := s.record(nil)
	if err != nil {
		return nil, o.wrong(s, err)
	}
	if header == nil {
		return nil, fault.New(fault.Data, "read csv", name, "it is empty, without a header")
	}
	names := make([]string, len(header))
	for i, f := range header {
		names[i] = f.text
	}
	if _, err := build("read csv", names, slices.Repeat([]*Column{Of([]bool{})}, len(names))); err != nil {
		return nil, fault.Wrap(dataError(err), fault.Data, "read csv", name)
	}
	for column := range o.Types {
		if !slices.Contains(names, column) {
			return nil, fault.Unknown("read csv", "column", column, names)
		}
	}
	fields := make([][]csvField, len(names))
	var row []csvField
	for {
		at := s.line
		if row, err = s.record(row[:0]); err != nil {
			return nil, o.wrong(s, err)
		}
		if row == nil {
			break
		}
		if len(row) == 1 && len(names) > 1 && row[0] == (csvField{}) {
			continue
		}
		if len(row) != len(names) {
			return nil, fault.New(fault.Data, "read csv", name, "line %d has %d fields, the header %d", at, len(row), len(names))
		}
		for i, f := range row {
			fields[i] = append(fields[i], f)
		}
	}
	cols := make([]*Column, len(names))
	for i, f := range fields {
		t, given := o.Types[names[i]]
		if !given {
			t = o.infer(f)
		}
		if cols[i], err = o.parse(names[i], t, f); err != nil {
			return nil, err
		}
	}
	return build("read csv", names, cols)
}

// dataError gives an error about a file its kind.
func dataError(err error) error {
	if e, ok := err.(*fault.Error); ok {
		e.Kind, e.Op = fault.Data, ""
	}
	return err
}

func (o CSV) wrong(s *csvScanner, err error) error {
	return fault.New(fault.Data, "read csv", o.name, "line %d: %s", s.line, err)
}

// csvField is one field, without its quotes.
type csvField struct {
	text   string
	quoted bool
}

// csvScanner cuts a text into records.
type csvScanner struct {
	rest      string
	delimiter byte
	line      int
}

// record appends the fields of the next record to out, or returns nil at the end.
func (s *csvScanner) record(out []csvField) ([]csvField, error) {
	if s.rest == "" {
		return nil, nil
	}
	for {
		f, err := s.field()
		if err != nil {
			return nil, err
		}
		out = append(out, f)
		switch {
		case s.rest == "":
			return out, nil
		case s.rest[0] == s.delimiter:
			s.rest = s.rest[1:]
			continue
		case strings.HasPrefix(s.rest, "\r\n"):
			s.rest = s.rest[2:]
		default: // a line feed
			s.rest = s.rest[1:]
		}
		s.line++
		return out, nil
	}
}

// field reads to the delimiter, line end or end of the text.
func (s *csvScanner) field() (csvField, error) {
	if !strings.HasPrefix(s.rest, `"`) {
		end := strings.IndexFunc(s.rest, func(r rune) bool { return r == rune(s.delimiter) || r == '\n' || r == '"' })
		if end < 0 {
			end = len(s.rest)
		}
		text := s.rest[:end]
		if end < len(s.rest) {
			if s.rest[end] == '"' {
				return csvField{}, fmt.Errorf("a quote inside an unquoted field")
			}
			if s.rest[end] == '\n' && strings.HasSuffix(text, "\r") {
				end--
				text = s.rest[:end]
			}
		}
		s.rest = s.rest[end:]
		return csvField{text: text}, nil
	}
	var b strings.Builder
	for {
		s.rest = s.rest[1:]
		end := strings.IndexByte(s.rest, '"')
		if end < 0 {
			return csvField{}, fmt.Errorf("a quote is not closed")
		}
		b.WriteString(s.rest[:end])
		s.line += strings.Count(s.rest[:end], "\n")
		s.rest = s.rest[end+1:]
		if !strings.HasPrefix(s.rest, `"`) {
			break
		}
		b.WriteByte('"')
	}
	if s.rest != "" && s.rest[0] != s.delimiter && s.rest[0] != '\n' && !strings.HasPrefix(s.rest, "\r\n") {
		return csvField{}, fmt.Errorf("%q after a closing quote", s.rest[:1])
	}
	return csvField{b.String(), true}, nil
}

func (o CSV) null(f csvField) bool {
	return !f.quoted && (f.text == "" || slices.Contains(o.Nulls, f.text))
}

// infer returns the type that the fields of a column fit.
func (o CSV) infer(fields []csvField) Type {
	fits := [...]Type{Bool, Int, Float, Ints}
	var no [len(typeNames)]bool
	any := false
	for _, f := range fields {
		if o.null(f) {
			continue
		}
		if f.quoted {
			return String
		}
		any = true
		_, isBool := parseBool(f.text)
		no[Bool] = no[Bool] || !isBool
		if !no[Int] {
			_, ok := parseInt(f.text)
			no[Int] = !ok
		}
		if !no[Float] {
			_, ok := parseFloat(f.text)
			no[Float] = !ok
		}
		if !no[Ints] {
			_, ok := parseInts(f.text)
			no[Ints] = !ok
		}
	}
	for _, t := range fits {
		if any && !no[t] {
			return t
		}
	}
	return String
}

func parseBool(s string) (bool, bool) {
	switch s {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// plainDigits reports whether s starts like a number that nothing is lost of: no
// plus sign, no leading zero.
func plainDigits(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && s[0] >= '0' && s[0] <= '9' && (s[0] != '0' || len(s) == 1 || s[1] == '.' || s[1] == 'e' || s[1] == 'E')
}

func parseInt(s string) (int64, bool) {
	if !plainDigits(s) || s == "-0" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func parseFloat(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "Inf":
		return math.Inf(1), true
	case "-Inf":
		return math.Inf(-1), true
	}
	if !plainDigits(s) || strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	if _, isInt := parseInt(s); !isInt && !strings.ContainsAny(s, ".eE") && s != "-0" {
		return 0, false // a whole number beyond 64 bits would lose digits
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

func parseInts(s string) ([]int64, bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, false
	}
	words := strings.Fields(s[1 : len(s)-1])
	out := make([]int64, len(words))
	for i, w := range words {
		n, ok := parseInt(w)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// parse reads the fields as values of a type.
func (o CSV) parse(name string, t Type, fields []csvField) (*Column, error) {
	switch t {
	case Float:
		return parseAll(o, name, t, fields, parseFloat)
	case Int:
		return parseAll(o, name, t, fields, parseInt)
	case Bool:
		return parseAll(o, name, t, fields, parseBool)
	case String:
		return parseAll(o, name, t, fields, func(s string) (string, bool) { return s, true })
	case Bytes:
		return parseAll(o, name, t, fields, func(s string) ([]byte, bool) {
			b, err := base64.StdEncoding.DecodeString(s)
			return b, err == nil
		})
	}
	return parseAll(o, name, t, fields, parseInts)
}

func parseAll[T Value](o CSV, name string, t Type, fields []csvField, take func(string) (T, bool)) (*Column, error) {
	out, null := make([]T, len(fields)), newBitmap(len(fields))
	for i, f := range fields {
		if o.null(f) {
			null.set(i)
			continue
		}
		v, ok := take(f.text)
		if !ok {
			return nil, fault.New(fault.Data, "read csv", o.name, "%s: row %d: %s is no %s", subject(name), i, fault.Quote(f.text, 40), t).Fix("read the column as a string")
		}
		out[i] = v
	}
	return nullable(out, null), nil
}
