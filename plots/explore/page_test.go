package explore

import (
	"bytes"
	"encoding/json"
	"math"
	"os/exec"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

func declarations(t testing.TB) (out []sampler.Declaration) {
	t.Helper()
	c := newCatalog(t)
	for _, name := range Stages() {
		d, err := c.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func example(t testing.TB) *Page {
	return &Page{Prompt: []byte("</script><b>"), Model: "<i>", Flags: "--model tiny", Seed: math.MaxUint64, List: 2, End: []int32{1},
		Pieces:   [][]byte{[]byte("</script><script>alert(1)</script>"), {0xe6, 0x97}, []byte("\u202e<!--")},
		Nodes:    []Node{{Row: dist.NewDense([]float32{1, 0, float32(math.Inf(-1))})}},
		Samplers: declarations(t), Chain: []Setting{{"top_p", 0.9}, {"temperature", 1.5}}}
}

func dataOf(t *testing.T, page string) (d pageData) {
	t.Helper()
	_, rest, _ := strings.Cut(page, `id="data">`)
	data, _, _ := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// No token, prompt or name becomes markup, and the page is the same each time.
func TestHostileTextStaysText(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := Write(w, example(t)); err != nil {
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
	for _, bad := range []string{"<b>", "<i>", "alert(1)</", "\u202e", "<!--", "src=", "href=", "http-equiv=\"refresh", "http://", "https://"} {
		if strings.Contains(strings.ReplaceAll(page, `"http://www.w3.org/2000/svg"`, ""), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	d := dataOf(t, page)
	if string(d.Prompt) != "</script><b>" || d.Seed != "18446744073709551615" || d.Command != [2]string{" '</script><b>' --model tiny", ""} ||
		len(d.Nodes[0].Scores) != 12 || len(d.Tokens) != 3 || d.Served {
		t.Errorf("the data are %+v", d)
	}
	for _, want := range []string{"default-src 'none'", "connect-src 'none'", "script-src 'sha256-", "style-src 'sha256-"} {
		if !strings.Contains(page, want) {
			t.Errorf("the policy lacks %q", want)
		}
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
		{"short row", func(p *Page) { p.Nodes[0].Row = dist.NewDense([]float32{1}) }},
		{"NaN", func(p *Page) { p.Nodes[0].Row.Values[1] = nan }},
		{"infinite", func(p *Page) { p.Nodes[0].Row.Values[1] = inf }},
		{"nothing finite", func(p *Page) { p.Nodes[0].Row.Values = []float32{-inf, -inf, -inf} }},
		{"a token that is none", func(p *Page) { p.Nodes = append(p.Nodes, Node{Path: []int32{3}, Row: p.Nodes[0].Row}) }},
		{"ids out of order", func(p *Page) { p.Nodes[0].Row = dist.Scores{Vocab: 3, IDs: []int32{2, 1}, Values: []float32{1, 2}} }},
		{"a mass that is none", func(p *Page) {
			p.Nodes[0].Row = dist.Scores{Vocab: 3, IDs: []int32{1}, Values: []float32{1}, Unlisted: 1}
		}},
		{"an unknown stage", func(p *Page) { p.Chain = []Setting{{"mirostat", 1}} }},
		{"a stage twice", func(p *Page) { p.Chain = append(p.Chain, p.Chain[0]) }},
		{"an illegal value", func(p *Page) { p.Chain[0].Value = 1.1 }},
		{"no value", func(p *Page) { p.Chain[0].Value = math.NaN() }},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := example(t)
			r.change(p)
			var out bytes.Buffer
			err := Write(&out, p)
			if k := fault.KindOf(err); err == nil || k != fault.Data && k != fault.Usage || out.Len() > 0 {
				t.Errorf("got %v and %d bytes", err, out.Len())
			}
		})
	}
	p := example(t)
	p.Samplers = p.Samplers[1:]
	if err := Write(&bytes.Buffer{}, p); fault.KindOf(err) != fault.Internal {
		t.Errorf("a sampler that nobody declares: %v", err)
	}
}

// The controls are what the samplers declare: their bounds, and a neutral value
// that changes nothing.
func TestControlsFollowTheDeclarations(t *testing.T) {
	p := example(t)
	stages, err := stagesData(p.Samplers, p.Chain)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) != len(offered) || stages[0].Name != "top_p" || stages[0].Value != 0.9 || stages[1].Name != "temperature" || stages[2].Value != stages[2].Neutral {
		t.Errorf("the stages are %+v", stages)
	}
	run := engine(t, trial)
	scores := []float32{1, 0.5, 0, -3, -9}
	for _, s := range stages {
		for _, d := range p.Samplers {
			if d.Name != s.Name {
				continue
			}
			spec := d.Params[0]
			if s.Whole != (spec.Type == param.Int) || (s.Min == nil) != math.IsInf(spec.Min, -1) || (s.Max == nil) != math.IsInf(spec.Max, 1) || s.Meaning != spec.Meaning {
				t.Errorf("%+v is not %+v", s, spec)
			}
		}
		out := run(scores, nil, len(scores), 0, s.Name+":"+jsonNumber(s.Neutral), uniforms()[:1]).(map[string]any)
		if got := floats(t, out["scores"].([]any)[0]); len(got) != len(scores) || got[4] != -9 {
			t.Errorf("%s at its neutral value leaves %v", s.Name, got)
		}
	}
}

func jsonNumber(x float64) string {
	b, _ := json.Marshal(x)
	return string(b)
}

// A shell gives back what was quoted.
func TestQuotedArgumentsAreReadBack(t *testing.T) {
	for _, s := range []string{"", "plain", "The weather today is", "it's", "$(rm) `x` \"y\"", "größer ☂", "a\nb\tc", "\xff\xfe'\\", "\u202eabc", "-flag", "!x", "~", "a=b"} {
		out, err := exec.Command("bash", "-c", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q is quoted %s, and read as %q (%v)", s, Quote(s), out, err)
		}
	}
	p := Page{Prompt: []byte("-x"), Flags: "--model tiny"}
	if got := p.command(); got != [2]string{" --model tiny", " -- -x"} {
		t.Errorf("a prompt like a flag gives %q", got)
	}
}
