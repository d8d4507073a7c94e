package chat

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"lab/core/fault"
)

type peerFile struct {
	Templates map[string]string `json:"templates"`
	Cases     []struct {
		Name     string `json:"name"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Text    string `json:"text"`
		Refused string `json:"refused"`
	} `json:"cases"`
}

func readPeer(t testing.TB) peerFile {
	t.Helper()
	data, err := os.ReadFile("testdata/peer.json")
	if err != nil {
		t.Fatal(err)
	}
	var p peerFile
	if err := json.Unmarshal(data, &p); err != nil || len(p.Cases) < 60 {
		t.Fatalf("%d cases, %v", len(p.Cases), err)
	}
	return p
}

// Templates of the known forms render as jinja2 renders them for the
// transformers library; testdata/peer/peer.py stored its texts.
func TestTemplatesRenderAsInTransformers(t *testing.T) {
	p := readPeer(t)
	for i, c := range p.Cases {
		t.Run(fmt.Sprintf("%s %d", c.Name, i), func(t *testing.T) {
			tmpl, err := Compile(p.Templates[c.Name], "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			var messages []Message
			for _, m := range c.Messages {
				messages = append(messages, Message(m))
			}
			got, err := tmpl.Render(messages)
			if c.Refused != "" {
				if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.Refused) {
					t.Errorf("got %q, %v; want it refused: %s", got, err, c.Refused)
				}
				return
			}
			if err != nil || got != c.Text {
				t.Errorf("got %q, %v; want %q", got, err, c.Text)
			}
		})
	}
}

func TestHostileTemplatesEnd(t *testing.T) {
	rows := []struct {
		name, source string
		kind         fault.Kind
		want         string
	}{
		{"loops in loops", `{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}x{% endfor %}{% endfor %}{% endfor %}`, fault.Limit, "goes round"},
		{"a range without end", `{% for a in range(1000000000000) %}{% endfor %}`, fault.Limit, "range"},
		{"a macro that calls itself", `{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}`, fault.Limit, "goes round"},
		{"a text that doubles", "{% set x = 'xxxxxxxx' %}" + strings.Repeat("{% set x = x ~ x %}", 60), fault.Limit, "a variable holds"},
		{"a text that doubles in a namespace", "{% set n = namespace(x='xxxxxxxx') %}{% for i in range(100) %}{% set n.x = n.x ~ n.x %}{% endfor %}", fault.Limit, "a variable holds"},
		{"a list that doubles", "{% set x = [1] %}" + strings.Repeat("{%- set x = x + x -%}", 60), fault.Limit, "elements"},
		{"a text repeated", `{{ 'x' * 9000000000000000000 }}`, fault.Model, "beyond the template engine"},
		{"a file", `{% include "/etc/passwd" %}`, fault.Model, ""},
		{"a tag left open", `{{ messages`, fault.Model, "not closed"},
		{"a loop left open", `{% for a in messages %}`, fault.Model, ""},
		{"an unknown filter", `{{ messages | sandbox }}`, fault.Model, "sandbox"},
		{"a huge source", strings.Repeat("x", MaxSource+1), fault.Model, "the most is"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			tmpl, err := Compile(r.source, "", "")
			text := ""
			if err == nil {
				text, err = tmpl.Render([]Message{{"user", "x"}})
			}
			if fault.KindOf(err) != r.kind || err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %.40q, %v; want a %v error with %q", text, err, r.kind, r.want)
			}
		})
	}
}

func FuzzRender(f *testing.F) {
	for _, source := range readPeer(f).Templates {
		f.Add(source, "hello")
	}
	f.Add("{% raw %}{{ x }}{% endraw %}{% set x %}a{% endset %}{{ x }}", "")
	f.Add("{{ {'a': {'b': 1}} }}{% for %}{%-%}", "{{")
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 4000 || strings.ContainsAny(source, "*") || strings.Contains(source, "replace") {
			return // one expression may still take much memory
		}
		tmpl, err := Compile(source, "<s>", "</s>")
		if err != nil {
			return
		}
		if _, err := tmpl.Render([]Message{{"system", text}, {"user", text}}); err != nil && fault.KindOf(err) == fault.Internal {
			t.Fatal(err)
		}
	})
}
