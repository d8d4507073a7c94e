// Package tablemod is the script module "table": tables as scripts make, read,
// change and save them.
//
// It turns the values of a script into those of core/table and back, and confines
// files to the script's folder and the run's. What an operation means is decided
// in core/table, what an interval is in core/measure.
package tablemod

import (
	"os"
	"slices"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/table"
)

// Env is where files are.
type Env struct {
	Script string            // the folder of the script; "" when it has none
	Folder string            // of the run; tables are saved below it
	Saved  func(name string) // is told each file written, relative to Folder
}

var (
	names   = script.List(script.String())
	columns = script.Param{Name: "columns", Type: names, Meaning: "names of columns"}
	typeMap = script.Param{Name: "types", Type: script.Map(script.String()), Meaning: "types of columns by name, in place of the inferred ones: float, int, string, bool, bytes, ints"}
	order   = script.Param{Name: "order", Type: names, Meaning: "names of columns in their order; left out, they are sorted by name"}
	reading = []script.Param{typeMap,
		{Name: "delimiter", Type: script.String(), Default: ",", Meaning: "one character of CSV"},
		{Name: "nulls", Type: names, Meaning: "unquoted fields of CSV that are null besides the empty one"}}
)

// Module returns the module "table".
func Module(e *Env) script.Module {
	return script.Module{
		Name: "table",
		Doc:  "Tables of columns: filter, group, join, sort, read and save. A null is undefined in a script. Tables are immutable.",
		Members: []script.Member{
			{Name: "of", Returns: "table", Doc: "Returns the table of the columns, lists of values of one type or undefined.",
				Params:  []script.Param{{Name: "columns", Type: script.Map(script.Any()), Meaning: "the values by column name"}},
				Options: []script.Param{order, typeMap}, Func: e.ofColumns},
			{Name: "rows", Returns: "table", Doc: "Returns the table of the rows; what a row lacks is null there.",
				Params:  []script.Param{{Name: "rows", Type: script.Any().Called("list of maps"), Meaning: "maps from column name to value"}},
				Options: []script.Param{order, typeMap}, Func: e.ofRows},
			{Name: "read", Returns: "table", Doc: "Reads a .csv, .tsv or .parquet file.",
				Params: []script.Param{{Name: "name", Type: script.String(), Meaning: "a path inside the folder"}},
				Options: append(slices.Clone(reading), script.Param{Name: "from", Type: script.String(), Default: "script", Choices: []string{"script", "run"},
					Meaning: "the folder: that of the script, or the run's, where save writes"}), Func: e.read},
			{Name: "csv", Returns: "table", Doc: "Returns the table in a CSV text with a header.",
				Params: []script.Param{{Name: "text", Type: script.String(), Meaning: "as RFC 4180 has it"}}, Options: reading, Func: e.parseCSV},
			{Name: "concat", Returns: "table", Doc: "Returns the rows of the tables one after the other; their columns must agree.",
				Params: []script.Param{{Name: "tables", Type: script.List(script.Host[*object]()), Meaning: "tables"}}, Func: e.concat},
		},
		Classes: []script.Class{(*object)(nil).Class(), (*group)(nil).Class()},
	}
}

// failure gives an error of a table the kind of a script's.
func failure(err error) error {
	if e, ok := err.(*fault.Error); ok && e.Kind == fault.Usage {
		e.Kind = fault.Script
	}
	return err
}

// wrap returns a table as a script's object.
// Object returns a table as a script holds it, for modules that make some.
func (e *Env) Object(t *table.Table) any { return &object{env: e, Table: t} }

func (e *Env) wrap(t *table.Table, err error) (any, error) {
	if err != nil {
		return nil, failure(err)
	}
	return &object{env: e, Table: t}, nil
}

func typesOf(c *script.Call) (map[string]table.Type, error) {
	out := map[string]table.Type{}
	for name, v := range c.Map("types") {
		t, err := table.TypeNamed(v.(string))
		if err != nil {
			return nil, failure(err)
		}
		out[name] = t
	}
	return out, nil
}

func (e *Env) make(c *script.Call, values map[string][]any) (any, error) {
	types, err := typesOf(c)
	if err != nil {
		return nil, err
	}
	var known []string
	for name := range values {
		known = append(known, name)
	}
	slices.Sort(known)
	in := known
	if c.Given("order") {
		in = c.Strings("order")
	}
	if len(in) != len(known) {
		return nil, fault.New(fault.Script, c.Name(), "order", "%d names for %d columns", len(in), len(known))
	}
	for name := range types {
		if !slices.Contains(known, name) {
			return nil, failure(fault.Unknown(c.Name(), "column", name, known))
		}
	}
	cols := make([]table.Named, len(in))
	for i, name := range in {
		list, ok := values[name]
		if !ok {
			return nil, failure(fault.Unknown(c.Name(), "column", name, known))
		}
		var col *table.Column
		if t, given := types[name]; given {
			col, err = table.FromAnyAs("table", name, list, t)
		} else {
			col, err = table.FromAny("table", name, list)
		}
		if err != nil {
			return nil, failure(err)
		}
		cols[i] = table.Named{Name: name, Column: col}
	}
	return e.wrap(table.New(cols...))
}

func (e *Env) ofColumns(c *script.Call) (any, error) {
	values := map[string][]any{}
	for name, v := range c.Map("columns") {
		list, ok := v.([]any)
		if !ok {
			return nil, fault.New(fault.Script, c.Name(), "column "+fault.Quote(name, 40), "it is not a list")
		}
		values[name] = list
	}
	return e.make(c, values)
}

func (e *Env) ofRows(c *script.Call) (any, error) {
	rows, ok := c.Any("rows").([]any)
	if !ok {
		return nil, fault.New(fault.Script, c.Name(), "", "the rows are not a list")
	}
	values, err := columnsOf(c.Name(), rows)
	if err != nil {
		return nil, err
	}
	return e.make(c, values)
}

func readingOf(c *script.Call) (table.CSV, error) {
	types, err := typesOf(c)
	o := table.CSV{Types: types, Nulls: c.Strings("nulls")}
	if c.Given("delimiter") {
		d := c.String("delimiter")
		if len(d) != 1 {
			return o, fault.New(fault.Script, c.Name(), "delimiter", "%s is not one character", fault.Quote(d, 20))
		}
		o.Delimiter = d[0]
	}
	return o, err
}

func (e *Env) parseCSV(c *script.Call) (any, error) {
	o, err := readingOf(c)
	if err != nil {
		return nil, err
	}
	return e.wrap(table.ReadCSV([]byte(c.String("text")), "text", o))
}

func (e *Env) read(c *script.Call) (any, error) {
	o, err := readingOf(c)
	if err != nil {
		return nil, err
	}
	folder := e.Script
	if c.String("from") == "run" {
		folder = e.Folder
	}
	if folder == "" {
		return nil, fault.New(fault.Script, c.Name(), fault.Quote(c.String("name"), 60), "there is no folder of the %s to read from", c.String("from"))
	}
	var t *table.Table
	err = c.Blocking(func() error {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return fault.Wrap(err, fault.Script, c.Name(), fault.Quote(folder, 60))
		}
		defer root.Close()
		t, err = table.ReadIn(root, c.String("name"), o)
		return err
	})
	return e.wrap(t, err)
}

func (e *Env) concat(c *script.Call) (any, error) {
	var list []*table.Table
	for _, v := range c.List("tables") {
		list = append(list, v.(*object).Table)
	}
	return e.wrap(table.Concat(list...))
}
