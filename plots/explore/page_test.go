package explore

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

func example() *Page {
	return &Page{Prompt: []byte("</script><b>"), Model: "<i>", Line: "lab next " + Quote("it's"), Seed: math.MaxUint64, List: 2,
		Pieces: [][]byte{[]byte("</script><script>alert(1)</script>"), {0xe6, 0x97}, []byte("\u202e<!--")},
		Nodes:  []Node{{Scores: []float32{1, 0, float32(math.Inf(-1))}}}}
}

// No token, prompt or name becomes markup, and the page is the same each time.
func TestHostileTextStaysText(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := Write(w, example()); err != nil {
			t.Fatal(err)
		}
	}
	page := a.String()
	if page != b.String() {
		t.Error("two pages of one content differ")
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d ends of scripts, want those of the data and the script", n)
	}
	for _, bad := range []string{"<b>", "<i>", "alert(1)</", "\u202e", "<!--", "src=", "href=", "http-equiv=\"refresh"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	_, rest, _ := strings.Cut(page, `id="data">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var d pageData
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	if string(d.Prompt) != "</script><b>" || d.Seed != "18446744073709551615" || d.Command != `lab next 'it'\''s'` || len(d.Nodes[0].Row) != 12 {
		t.Errorf("the data are %+v", d)
	}
}

func TestImpossiblePagesAreRefused(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := []struct {
		name   string
		change func(*Page)
	}{
		{"no list", func(p *Page) { p.List = 0 }},
		{"no context", func(p *Page) { p.Nodes = nil }},
		{"no root", func(p *Page) { p.Nodes[0].Path = []int32{1} }},
		{"short row", func(p *Page) { p.Nodes[0].Scores = []float32{1} }},
		{"NaN", func(p *Page) { p.Nodes[0].Scores[1] = nan }},
		{"infinite", func(p *Page) { p.Nodes[0].Scores[1] = inf }},
		{"nothing finite", func(p *Page) { p.Nodes[0].Scores = []float32{-inf, -inf, -inf} }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := example()
			r.change(p)
			var out bytes.Buffer
			err := Write(&out, p)
			if k := fault.KindOf(err); err == nil || k != fault.Data && k != fault.Usage || out.Len() > 0 {
				t.Errorf("got %v and %d bytes", err, out.Len())
			}
		})
	}
}
