package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/plots"
)

// svgIn draws a figure in a theme.
func svgIn(t *testing.T, theme plots.Theme, value float64) []byte {
	t.Helper()
	f, err := plots.Bar(plots.BarData{Value: plots.Quantity{Name: "m"}, Bars: []plots.CategoryBar{{Name: "a", Value: value}, {Name: "b", Value: 2}}}, plots.Options{Theme: theme})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A script's picture is shown in both themes where the other one was kept and
// shows the same numbers; else as it is.
func TestAScriptsPictureIsInBothThemes(t *testing.T) {
	light, dark, changed := svgIn(t, plots.Light(), 1), svgIn(t, plots.Dark(), 1), svgIn(t, plots.Dark(), 3)
	if bytes.Equal(light, dark) {
		t.Fatal("the themes draw the same")
	}
	for _, c := range []struct {
		name, file, theme, beside string
		saved, other              []byte
		want                      map[string][]byte // by theme
	}{
		{"light, dark kept", "figures/a.svg", "light", ".themes/dark/figures/a.svg", light, dark, map[string][]byte{"light": light, "dark": dark}},
		{"dark, light kept", "a.svg", "dark", ".themes/light/a.svg", dark, light, map[string][]byte{"light": light, "dark": dark}},
		{"none kept", "a.svg", "light", "", light, nil, map[string][]byte{"": light}},
		{"the kept one has other numbers", "a.svg", "light", ".themes/dark/a.svg", light, changed, map[string][]byte{"": light}},
		{"the kept one is no picture", "a.svg", "light", ".themes/dark/a.svg", light, []byte("<p>"), map[string][]byte{"": light}},
		{"the theme of paper", "a.svg", "print", ".themes/dark/a.svg", light, dark, map[string][]byte{"": light}},
		{"a run that did not say its theme", "a.svg", "", ".themes/dark/a.svg", light, dark, map[string][]byte{"": light}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name string, data []byte) {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(c.file, c.saved)
			if c.beside != "" {
				write(c.beside, c.other)
			}
			record, err := json.Marshal(map[string]any{"schema": ScriptFormat, "script": "a.tengo", "outcome": "ok", "figures": []string{c.file},
				"captions": map[string]Caption{c.file: {Title: "t", Description: "d", Theme: c.theme}}})
			if err != nil {
				t.Fatal(err)
			}
			write("run.json", record)
			r, err := Script(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var pictures []picture
			for _, s := range r.sections {
				for _, b := range s.blocks {
					if b.figure != nil {
						pictures = append(pictures, b.figure.pictures...)
					}
				}
			}
			if len(pictures) != len(c.want) {
				t.Fatalf("%d pictures, want %d", len(pictures), len(c.want))
			}
			for _, p := range pictures {
				if want, ok := c.want[p.theme]; !ok || !bytes.Equal(p.data, want) {
					t.Errorf("the picture for theme %q is not that one", p.theme)
				}
			}
			page := written(t, r)
			for theme := range c.want {
				if theme != "" && strings.Count(page, `<img class="`+theme+`"`) != 1 {
					t.Errorf("the page has no picture of class %s", theme)
				}
			}
		})
	}
}
