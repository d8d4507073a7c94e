package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	nethtml "golang.org/x/net/html"

	"lab/plots/canvas"
)

// hostile is what models, prompts and plugins may say.
var hostile = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</script><script>alert(2)</script>", "<!--", "]]>", "</span></div><h1>owned</h1>",
	"\u202egnp.exe", "\u2066a\u2069", "\u200b", "a\x00b", "\xff\xfe", "\xe6\x97", "\x1b[31mred", "javascript:alert(1)", "[x](javascript:alert(1))", "![x](http://evil.invalid/x.png)",
	"http://evil.invalid/", "www.evil.invalid", "a@evil.invalid", "`code`", "| a | b |", "# heading", "- item", "1. item", "    indented", "{{.}}", "{{define}}", "&lt;b&gt;", "\n\n---\n\n", "e\u0301\u0301\u0301",
}

// hostileRun says each of them in turn, as a token, and in prompt, failure and
// warning.
func hostileRun(t testing.TB, plain bool) *Report {
	t.Helper()
	all := strings.Join(hostile, " ")
	run := stored(t, made{cells: 2, samples: 2, tokens: len(hostile), plain: plain, prompt: strings.ToValidUTF8(all, "?"), failure: all, warning: all,
		text: func(_, _, step int) string { return hostile[step] }})
	r, err := Run(run, Options{Name: all, Version: all, Title: all, Finding: all, Examples: 4, Measures: []string{"length_tokens"}, Figures: []string{None}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// elements calls visit with every element of a page.
func elements(t *testing.T, page string, visit func(n *nethtml.Node)) {
	t.Helper()
	root, err := nethtml.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == nethtml.ElementNode {
			visit(n)
		}
	}
}

func attribute(n *nethtml.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// seen checks that no byte of a text acts on what shows it.
func seen(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8", what)
	}
	for i, r := range text {
		if r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%s holds %U at %d: %q", what, r, i, text[max(0, i-40):i])
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	for _, plain := range []bool{false, true} {
		page := written(t, hostileRun(t, plain))
		if !plain {
			golden(t, "hostile.html", page) // a browser opens it in .ci/browser
		}
		seen(t, "the page", page)
		known := strings.Fields("html head meta title style body header div button h1 h2 h3 h4 p dl dt dd nav ul li a main section table caption thead tbody tr th td small span i br article script footer details summary pre code wbr")
		scripts, data := 0, 0
		elements(t, page, func(n *nethtml.Node) {
			if !slices.Contains(known, n.Data) {
				t.Errorf("there is an element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "action" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
				}
			}
			switch {
			case n.Data == "h1" && n.FirstChild.Data != canvas.Clean(strings.Join(hostile, " ")):
				t.Errorf("the title is %q", n.FirstChild.Data)
			case n.Data == "script" && attribute(n, "type") == "":
				scripts++
			case n.Data == "script":
				data++
				if !json.Valid([]byte(n.FirstChild.Data)) {
					t.Error("the data of the tokens are no JSON")
				}
			}
		})
		if scripts != 1 || plain != (data == 0) {
			t.Errorf("%d scripts and %d blocks of data", scripts, data)
		}
		for _, want := range []string{"‹202E›gnp.exe", "‹0000›", "‹FF FE›", "&lt;script&gt;alert(1)&lt;/script&gt;"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not show %q", want)
			}
		}
	}
}

// The policy names the very bytes of the style and the script, and nothing else may
// be loaded or run.
func TestThePolicyFits(t *testing.T) {
	page := written(t, hostileRun(t, false))
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var policy, style, script string
	elements(t, page, func(n *nethtml.Node) {
		switch {
		case n.Data == "meta" && attribute(n, "http-equiv") == "Content-Security-Policy":
			policy = attribute(n, "content")
		case n.Data == "style":
			style += n.FirstChild.Data
		case n.Data == "script" && attribute(n, "type") == "":
			script += n.FirstChild.Data
		}
	})
	want := "default-src 'none'; img-src data:; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
	if policy != want || len(style) < 1000 || len(script) < 1000 {
		t.Errorf("the policy is %q, want %q", policy, want)
	}
}

func TestHostileTextStaysTextInMarkdown(t *testing.T) {
	for _, plain := range []bool{false, true} {
		text, _ := hostileRun(t, plain).markdown("page")
		seen(t, "the text", text)
		page := rendered(t, text)
		known := strings.Fields("html head body h1 h2 h3 h4 p ul li strong blockquote table thead tbody tr th td pre code hr")
		elements(t, page, func(n *nethtml.Node) {
			if !slices.Contains(known, n.Data) {
				t.Errorf("it makes <%s> %v", n.Data, n.Attr)
			}
			for _, a := range n.Attr {
				if a.Key != "style" && !(a.Key == "align") {
					t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
				}
			}
		})
		for _, want := range []string{"‹202E›gnp.exe", "&lt;script&gt;alert(1)&lt;/script&gt;", "http://evil.invalid/"} {
			if !strings.Contains(page, want) {
				t.Errorf("it does not show %q", want)
			}
		}
	}
}

// rendered is Markdown as a permissive reader makes HTML of it.
func rendered(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Escaped text is shown as it was, as a paragraph and in a cell, whatever it holds.
func FuzzEscapedTextIsShownAsItWas(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add("=====")
	f.Add("a | b\\")
	f.Add("12) x")
	f.Add("~~~")
	f.Add("*a*_b_**c**")
	f.Add("https://x.y ftp://x.y HTTP://x.y xmpp:a@b.c mailto:a@b.c WwW.a.b")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.Join(strings.Fields(canvas.Clean(s)), " ") // readers join blanks
		for what, text := range map[string]string{"a paragraph": leading(escape(s)), "an item": "- " + leading(escape(s)), "a cell": "| a |\n|---|\n| " + escape(s) + " |"} {
			page := rendered(t, text)
			var shown strings.Builder
			root, err := nethtml.Parse(strings.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			for n := range root.Descendants() {
				switch {
				case n.Type == nethtml.TextNode:
					shown.WriteString(n.Data)
				case n.Type == nethtml.ElementNode && !slices.Contains(strings.Fields("html head body p ul li table thead tbody tr th td"), n.Data):
					t.Fatalf("%s: %q makes <%s>: %s", what, s, n.Data, page)
				}
			}
			want := s
			if what == "a cell" {
				want = "a " + s
			}
			if got := strings.Join(strings.Fields(shown.String()), " "); got != strings.TrimSpace(want) {
				t.Fatalf("%s: %q is shown as %q", what, want, got)
			}
		}
	})
}

// A folder of a script is hostile too: its files may be anything, and its run.json
// may name files that are not in it.
func TestAHostileFolderOfAScript(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	write := func(where, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(where, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(outside, "secret.svg", `<svg xmlns="http://www.w3.org/2000/svg"><title>secret</title></svg>`)
	write(outside, "secret.csv", "secret\n1\n")
	if err := os.Symlink(filepath.Join(outside, "secret.svg"), filepath.Join(dir, "link.svg")); err != nil {
		t.Fatal(err)
	}
	write(dir, "evil.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><title>&lt;b&gt;t&lt;/b&gt;</title><desc>d`+"\u202e"+`</desc><script>alert(2)</script></svg>`)
	write(dir, "page.svg", "<html><script>alert(3)</script></html>")
	write(dir, "no.png", "GIF89a")
	write(dir, "bad.csv", "a,b\n\"1\n")
	write(dir, "printed.txt", strings.Join(hostile, "\n"))
	names, err := json.Marshal([]string{"evil.svg", "page.svg", "no.png", "link.svg", "../" + filepath.Base(outside) + "/secret.svg", filepath.Join(outside, "secret.svg"), "gone.svg", ".", "x.pdf"})
	if err != nil {
		t.Fatal(err)
	}
	write(dir, "run.json", `{"schema": "lab/run/1", "script": "a'; rm -rf /", "outcome": "script", "error": "<b>no</b>\u202e", "set": {"k": "$(reboot)"}, "settings": {"k": "<i>v</i>"}, "output": "printed.txt", "figures": `+string(names)+`, "tables": ["bad.csv", "`+filepath.Join(outside, "secret.csv")+`"], "sweeps": ["`+outside+`", "runs/<i>s\u202e"]}`)
	r, err := Script(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	page := written(t, r)
	seen(t, "the page", page)
	images := 0
	elements(t, page, func(n *nethtml.Node) {
		switch n.Data {
		case "img":
			images++
			if !strings.HasPrefix(attribute(n, "src"), "data:image/svg+xml;base64,") || attribute(n, "alt") != "d‹202E›" {
				t.Errorf("an image is %.60q, %q", attribute(n, "src"), attribute(n, "alt"))
			}
		case "svg", "b", "i", "iframe", "object":
			t.Errorf("there is an element <%s>", n.Data)
		}
	})
	if images != 1 {
		t.Errorf("%d images, want the one that is an SVG of the folder", images)
	}
	if strings.Contains(page, ">secret<") {
		t.Error("a file outside the folder is shown")
	}
	for _, want := range []string{"page.svg is no SVG", "no.png is no PNG", "link.svg cannot be read", "gone.svg cannot be read", "bad.csv cannot be read", "x was saved as x.pdf", ">Sweep &lt;i&gt;s‹202E›</h2>",
		"lab run &#39;a&#39;\\&#39;&#39;; rm -rf /&#39; --seed 0 --set &#39;k=$(reboot)&#39;", "&lt;i&gt;v&lt;/i&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
