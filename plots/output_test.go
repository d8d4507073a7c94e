package plots

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plots/vega"
)

// checkTerminal asserts that a drawing in characters keeps to its width and holds
// no control but line ends, and with colour no escape sequence but colours.
func checkTerminal(t *testing.T, f *Figure) {
	t.Helper()
	for _, width := range []int{40, 100} {
		var plain, coloured bytes.Buffer
		for buf, colour := range map[*bytes.Buffer]bool{&plain: false, &coloured: true} {
			if err := f.Terminal(buf, width, colour); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range strings.Split(strings.TrimSuffix(plain.String(), "\n"), "\n") {
			if n := cells().StringWidth(line); n > width {
				t.Errorf("a line of %d cells in a terminal of %d: %q", n, width, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0xfffd }) {
				t.Errorf("controls in %q", line)
			}
		}
		if len(plain.String()) < 20 {
			t.Errorf("only %q", plain.String())
		}
		rest := coloured.String()
		for {
			_, after, found := strings.Cut(rest, "\x1b")
			if !found {
				break
			}
			codes, next, ok := strings.Cut(after, "m")
			if !ok || strings.Trim(codes, "[0123456789;") != "" {
				t.Fatalf("escape sequence %q", after[:min(len(after), 20)])
			}
			rest = next
		}
	}
}

// checkVega asserts that a specification is whole: known keys only, fields that
// the data has, and the marks of the language.
func checkVega(t *testing.T, f *Figure) {
	t.Helper()
	var buf bytes.Buffer
	if err := f.VegaLite(&buf); err != nil {
		t.Fatal(err)
	}
	var s vega.Spec
	d := json.NewDecoder(bytes.NewReader(buf.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != vega.Schema || s.Title == nil || s.Title.Text == "" || s.Description != f.Description() || s.Data == nil {
		t.Errorf("a specification without schema, title, description or data")
	}
	table := f.drawnTable()
	if len(s.Data.Values) != len(table.Rows) {
		t.Errorf("%d rows of data, the table has %d", len(s.Data.Values), len(table.Rows))
	}
	fields := vega.Fields(table.Header)
	if len(slices.Compact(slices.Sorted(slices.Values(fields)))) != len(fields) {
		t.Errorf("fields %q are not different", fields)
	}
	var tree any
	if err := json.Unmarshal(buf.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree.(map[string]any), "data")
	marks := 0
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			if name, ok := x["field"].(string); ok && !slices.Contains(fields, name) {
				t.Errorf("field %q is not in the data: %q", name, fields)
			}
			if m, ok := x["mark"].(map[string]any); ok {
				marks++
				if kind, _ := m["type"].(string); !slices.Contains([]string{"area", "bar", "line", "point", "rect", "rule", "text", "tick"}, kind) {
					t.Errorf("mark %q", kind)
				}
				if x["encoding"] == nil {
					t.Error("a mark without encoding")
				}
			}
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(tree)
	if marks == 0 {
		t.Error("no marks")
	}
}

// The drawings in characters are kept too, without colour.
func TestGoldenText(t *testing.T) {
	for name, draw := range goldens() {
		f, err := draw(Options{Footer: goldenFooter})
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := f.Terminal(&buf, 80, false); err != nil {
			t.Fatal(err)
		}
		if want := golden(t, name+".txt", buf.Bytes()); !bytes.Equal(want, buf.Bytes()) {
			t.Errorf("%s: the drawing changed; if that is wanted, run go test -update and look at it", name)
		}
	}
}

func TestTerminalWidthIsChecked(t *testing.T) {
	f, err := goldens()[chainName](Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{39, 401} {
		if err := f.Terminal(&bytes.Buffer{}, width, false); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("width %d: %v", width, err)
		}
	}
}

// A figure is safe for use by many goroutines, also where its parts are made when
// asked for.
func TestOutputsAreTheSameFromManyGoroutines(t *testing.T) {
	for name, draw := range goldens() {
		f, err := draw(Options{})
		if err != nil {
			t.Fatal(err)
		}
		outputs := make(chan string, 4)
		for range 4 {
			go func() {
				var buf bytes.Buffer
				_ = f.Terminal(&buf, 100, true)
				_ = f.VegaLite(&buf)
				_ = f.Table().CSV(&buf)
				outputs <- buf.String()
			}()
		}
		first := <-outputs
		for range 3 {
			if got := <-outputs; got != first || len(got) < 500 {
				t.Errorf("%s: %d and %d bytes differ", name, len(got), len(first))
			}
		}
	}
}
