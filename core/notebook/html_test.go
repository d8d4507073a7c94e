package notebook_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"lab/core/notebook"
)

func page(t *testing.T, n *notebook.Notebook) string {
	t.Helper()
	var b bytes.Buffer
	if err := n.HTML(&b, "file"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Nothing that a notebook holds may run, load or change the page around it.
func TestThePageIsHarmless(t *testing.T) {
	n := codeCells(`x := "</pre><script>alert(1)</script>"`, "x", `pics := import("pics"); show(pics.figure(), pics.hostile()); print("<img src=http://x>", "\x1b[31mred\x00\u202e")`, "nope<script>")
	tag(&n.Cells[3], "raises-exception")
	if err := n.Run(t.Context(), session(t), notebook.Options{}); err != nil {
		t.Fatal(err)
	}
	n.Cells = append(n.Cells,
		notebook.Cell{ID: "m", Kind: notebook.Markdown, Metadata: map[string]any{}, Source: "# A `title` </title><script>alert(1)</script>\n\n<script>alert(1)</script> <b onclick=x()>b</b>\n\n[l](javascript:alert(1)) ![remote](http://x/y.png) ![here](attachment:p.png) ![](data:text/html,x)",
			Attachments: map[string]any{"p.png": map[string]any{"image/png": "iVBORw0K\nGgo="}}},
		notebook.Cell{ID: "r", Kind: notebook.Raw, Metadata: map[string]any{}, Source: "<script>alert(1)</script>"})
	got := page(t, n)
	allowed := map[string]bool{}
	for _, tag := range strings.Fields("html head meta title style body main section div span pre code p h1 h2 h3 a img figure table thead tbody tr th td ul ol li em strong b i del input") {
		allowed[tag] = true
	}
	pictures := 0
	z := html.NewTokenizer(strings.NewReader(got))
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		if tok.Type != html.StartTagToken && tok.Type != html.SelfClosingTagToken {
			continue
		}
		if !allowed[tok.Data] {
			t.Errorf("element %s", tok)
		}
		for _, a := range tok.Attr {
			value := strings.ToLower(a.Val)
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "srcdoc", a.Key == "href" && strings.HasPrefix(value, "javascript"):
				t.Errorf("attribute in %s", tok)
			case a.Key == "src":
				pictures++
				if !regexp.MustCompile(`^data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]+$`).MatchString(a.Val) {
					t.Errorf("loads %s", a.Val)
				}
			case a.Key == "style" && strings.Contains(value, "url"):
				t.Errorf("style %s", a.Val)
			}
		}
	}
	if pictures != 2 {
		t.Errorf("%d pictures, want 2", pictures)
	}
	for _, want := range []string{`alt="a &#34;pile&#34;"`, "&lt;img src=http://x&gt;", `red\u0000\u202e`, `<a href="http://x/y.png">remote</a>`, "<title>A title &lt;/title&gt;", "default-src &#39;none&#39;", `<td style="text-align: right">1</td>`} {
		if !strings.Contains(got, want) && !strings.Contains(got, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("no %s in the page", want)
		}
	}
	for _, bad := range []string{"\x00", "\x1b", "\u202e"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
}

func TestThePageHasBothThemes(t *testing.T) {
	got := page(t, codeCells("x := 1"))
	// A colour of one theme that the other does not replace makes text invisible.
	depth := 0
	for line := range strings.Lines(got[strings.Index(got, "@media print, (prefers-color-scheme: light)"):strings.Index(got, "</style>")]) {
		if strings.Contains(line, "color:") && depth == 0 && strings.Count(line, "{") == 1 {
			t.Errorf("a colour in both themes: %s", line)
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
	}
	for _, want := range []string{"<title>file</title>", "prefers-color-scheme: dark", "@media print", `<html lang="en">`, `name="viewport"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}
