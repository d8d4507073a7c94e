package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lab/core/fault"
	"lab/plots/canvas"
)

// The question: where does the time of a request go, and when does its first
// token come?

const timelineName = "timeline"

// TimelineData is what happened to requests over time. The slices are not kept.
type TimelineData struct {
	Requests []TimelineRequest // from the top
}

// TimelineRequest is one request: spans in milliseconds from a common start.
type TimelineRequest struct {
	Name   string
	Spans  []TimeSpan
	TTFTMS float64 // when its first token came, on the same clock; NaN: not known
}

// TimeSpan is one thing that took time. Kinds named prefill, decode, sampling and
// plugin have colours of their own in every figure.
type TimeSpan struct {
	Kind         string
	FromMS, ToMS float64
}

const (
	timelineWidth = 7
	timelineRows  = 40
	timelinePitch = vg.Length(13)
	timelineKinds = 8
	spanStep      = vg.Length(0.5) // of rows with too many spans to draw each
	spansDrawn    = 300            // of a row
)

// timeline is the content of the figure.
type timeline struct {
	requests  []TimelineRequest
	kinds     []string
	total     map[string]float64 // ms of a kind over all requests
	lo, hi    float64
	spans     int
	undefined int
	merged    int // rows whose spans were merged
	emptyWhy  string
}

// Timeline draws a row for each request with its spans, coloured by what they
// are, over time, and a tick where its first token came. Rows with more than 300
// spans are drawn in steps of half a point by what took most of each. More than
// 40 requests are drawn in part; all are in the table.
//
// Errors: fault.Usage for more than eight kinds and options; fault.Data for a
// span that ends before it begins. Spans with NaN or infinite ends are left out
// and counted; without a span the picture says so.
func Timeline(d TimelineData, o Options) (fig *Figure, err error) {
	defer guard(timelineName, &err)
	t, err := newTimeline(d)
	if err != nil {
		return nil, err
	}
	s := sheet{name: timelineName, width: timelineWidth, title: t.finding(), subtitle: t.subtitle(), x: "time, ms", y: "request", emptyWhy: t.emptyWhy,
		body: t.draw, notes: t.notes, describe: t.describe, table: t.table,
		text: []string{"request", "kind"}, vega: t.vega, sketch: t.sketch}
	return s.draw(o)
}

func newTimeline(d TimelineData) (*timeline, error) {
	t := &timeline{total: map[string]float64{}, lo: math.Inf(1), hi: math.Inf(-1)}
	given := 0
	for i, r := range d.Requests {
		one := TimelineRequest{Name: r.Name, TTFTMS: r.TTFTMS}
		for k, s := range r.Spans {
			given++
			if !defined(s.FromMS) || !defined(s.ToMS) {
				t.undefined++
				continue
			}
			if s.ToMS < s.FromMS || tooLarge(s.FromMS) || tooLarge(s.ToMS) {
				return nil, badNumber(timelineName, fmt.Sprintf("request %d (%s), span %d", i+1, fault.Quote(r.Name, 40), k), "it runs from %v to %v ms", s.FromMS, s.ToMS)
			}
			if !slices.Contains(t.kinds, s.Kind) {
				t.kinds = append(t.kinds, s.Kind)
			}
			t.total[s.Kind] += s.ToMS - s.FromMS
			t.lo, t.hi = min(t.lo, s.FromMS), max(t.hi, s.ToMS)
			one.Spans = append(one.Spans, s)
			t.spans++
		}
		if defined(r.TTFTMS) && len(one.Spans) > 0 {
			t.lo, t.hi = min(t.lo, r.TTFTMS), max(t.hi, r.TTFTMS)
		}
		slices.SortStableFunc(one.Spans, func(a, b TimeSpan) int { return compareFloats(a.FromMS, b.FromMS) })
		t.requests = append(t.requests, one)
	}
	if len(t.kinds) > timelineKinds {
		return nil, fault.New(fault.Usage, "figure "+timelineName, "kinds", "%d are more than %d", len(t.kinds), timelineKinds).Fix("put the rarer ones together as other")
	}
	usual := []string{"prefill", "decode", "sampling", "plugin"}
	slices.SortStableFunc(t.kinds, func(a, b string) int { return rankIn(usual, a) - rankIn(usual, b) })
	switch {
	case len(d.Requests) == 0:
		t.emptyWhy = "no requests"
	case given == 0:
		t.emptyWhy = "no spans"
	case t.spans == 0:
		t.emptyWhy = "all " + plural(given, "span") + " undefined"
	}
	return t, nil
}

// rankIn returns the place of a word in a list, or the end.
func rankIn(list []string, word string) int {
	if i := slices.Index(list, word); i >= 0 {
		return i
	}
	return len(list)
}

// busy is the time of all spans, ms.
func (t *timeline) busy() float64 {
	sum := 0.0
	for _, k := range t.kinds {
		sum += t.total[k]
	}
	return sum
}

func (t *timeline) finding() string {
	if t.emptyWhy != "" || t.busy() == 0 {
		return "Where the time of requests goes"
	}
	most := t.kinds[0]
	for _, k := range t.kinds {
		if t.total[k] > t.total[most] {
			most = k
		}
	}
	text := fmt.Sprintf("%s takes %s of the time", titleCase(most, "One kind"), canvas.Percent(t.total[most]/t.busy()))
	if first := t.firstTokens(); len(first) > 0 {
		text += fmt.Sprintf("; the first token comes after %s ms", canvas.Digits(quantile(first, 0.5), 3))
		if len(first) > 1 {
			text += " in the median"
		}
	}
	return text
}

// firstTokens returns the known TTFTs from the start of each request, sorted.
func (t *timeline) firstTokens() []float64 {
	var out []float64
	for _, r := range t.requests {
		if defined(r.TTFTMS) && len(r.Spans) > 0 {
			out = append(out, r.TTFTMS-r.Spans[0].FromMS)
		}
	}
	slices.Sort(out)
	return out
}

func (t *timeline) subtitle() string {
	if t.emptyWhy != "" {
		return ""
	}
	text := plural(len(t.requests), "request")
	if len(t.requests) > timelineRows {
		text = fmt.Sprintf("The first %d of %s", timelineRows, plural(len(t.requests), "request"))
	}
	text += " from top to bottom"
	if len(t.firstTokens()) > 0 {
		text += "; triangle: the first token (TTFT)"
	}
	return text + "."
}

func (t *timeline) notes() []string {
	var notes []string
	if t.undefined > 0 {
		notes = append(notes, fmt.Sprintf("%s undefined and left out.", plural(t.undefined, "span")+" "+verb(t.undefined, "is", "are")))
	}
	if t.merged > 0 {
		notes = append(notes, fmt.Sprintf("%s too many spans to draw each: every step shows what took most of it.", plural(t.merged, "request")+" "+verb(t.merged, "has", "have")))
	}
	return notes
}

func (t *timeline) describe() string {
	var b strings.Builder
	b.WriteString("Time line of requests")
	if t.emptyWhy != "" {
		return b.String() + ": no data (" + t.emptyWhy + ")."
	}
	fmt.Fprintf(&b, " from %s to %s ms: %s. ", canvas.Significant(t.lo, 4), canvas.Significant(t.hi, 4), plural(len(t.requests), "request"))
	for _, k := range t.kinds {
		fmt.Fprintf(&b, "%s %s ms in all. ", shortened(k, nameLimit), canvas.Significant(t.total[k], 4))
	}
	for i, r := range t.requests {
		if i == 20 { // spelt out
			fmt.Fprintf(&b, "And %s more, in the table. ", plural(len(t.requests)-i, "request"))
			break
		}
		if len(r.Spans) > 0 && defined(r.TTFTMS) {
			fmt.Fprintf(&b, "%s: first token at %s ms. ", shortened(r.Name, nameLimit), canvas.Significant(r.TTFTMS, 4))
		}
	}
	b.WriteString(strings.Join(t.notes(), " "))
	return strings.TrimSpace(b.String())
}

func (t *timeline) table() Table {
	out := Table{Header: []string{"request", "kind", "from_ms", "to_ms", "ttft_ms"}}
	for _, r := range t.requests {
		for _, s := range r.Spans {
			out.Rows = append(out.Rows, []string{canvas.Clean(r.Name), canvas.Clean(s.Kind), number(s.FromMS), number(s.ToMS), number(r.TTFTMS)})
		}
	}
	return out
}

// colour returns the colour of a kind: fixed for the usual ones, and for others
// in the order of their first span.
func (t *timeline) colour(p *canvas.Page, kind string) color.RGBA { return t.colourIn(p.Theme(), kind) }

func (t *timeline) colourIn(th Theme, kind string) color.RGBA {
	switch kind {
	case "prefill":
		return th.Series[1]
	case "decode":
		return th.Series[0]
	case "sampling":
		return th.Series[2]
	case "plugin":
		return th.Series[3]
	}
	others := []color.RGBA{th.Amber, th.Muted, canvas.Blend(th.Series[0], th.Background, 0.45), canvas.Blend(th.Series[2], th.Background, 0.45),
		canvas.Blend(th.Series[1], th.Background, 0.45), canvas.Blend(th.Ink, th.Background, 0.8), canvas.Blend(th.Muted, th.Background, 0.5), th.Sky}
	n := 0
	for _, k := range t.kinds {
		if k == kind {
			break
		}
		if rankIn([]string{"prefill", "decode", "sampling", "plugin"}, k) == 4 {
			n++
		}
	}
	return others[n%len(others)]
}

func (t *timeline) draw(p *canvas.Page) {
	var keys []canvas.Key
	for _, k := range t.kinds {
		name := k
		if name == "" {
			name = "(no name)"
		}
		keys = append(keys, canvas.Key{Words: name, Draw: func(p *canvas.Page, r vg.Rectangle) {
			p.Fill(r, t.colour(p, k))
			p.Box(r, p.Theme().Ink, canvas.GridLine, nil)
		}})
	}
	p.Legend(keys)
	rows := t.requests[:min(len(t.requests), timelineRows)]
	st := p.Ink(canvas.Sans, canvas.TickSize)
	labels := vg.Length(0)
	for _, r := range rows {
		labels = max(labels, p.Words(r.Name, st).Width())
	}
	labels = min(labels, 0.22*(p.Right()-p.Left()))
	x := canvas.Axis{Name: "time, ms", Grid: true}
	x.Fit(min(t.lo, 0), t.hi)
	height := vg.Length(len(rows))*timelinePitch + 4
	rect := vg.Rectangle{Min: vg.Point{X: p.Left() + labels + 6, Y: p.Y() - height}, Max: vg.Point{X: p.Right() - 6, Y: p.Y()}}
	panel := p.Panel(rect, x, canvas.Axis{Min: 0, Max: 1, Bare: true})
	for i, r := range rows {
		middle := p.Y() - 2 - (vg.Length(i)+0.5)*timelinePitch
		p.Put(p.Words(r.Name, st).Elide(labels), vg.Point{X: rect.Min.X - 5, Y: middle}, canvas.End, canvas.Centre)
		t.drawSpans(p, panel, r, middle)
		if defined(r.TTFTMS) && len(r.Spans) > 0 {
			at := panel.X(r.TTFTMS)
			p.Line(p.Theme().Ink, canvas.RefLine, nil, vg.Point{X: at, Y: middle - 5.5}, vg.Point{X: at, Y: middle + 5.5})
			p.Shape(p.Theme().Ink, vg.Point{X: at, Y: middle + 3}, vg.Point{X: at - 2.4, Y: middle + 6.4}, vg.Point{X: at + 2.4, Y: middle + 6.4})
		}
	}
	p.Down(height + p.XAxisHeight(x) + 4)
}

// drawSpans draws the spans of one request; a span has at least the width of a
// hair, so that none vanishes.
func (t *timeline) drawSpans(p *canvas.Page, panel *canvas.Panel, r TimelineRequest, middle vg.Length) {
	const half, hair = vg.Length(4), vg.Length(0.3)
	bar := func(from, to vg.Length, kind string) {
		p.Fill(vg.Rectangle{Min: vg.Point{X: from, Y: middle - half}, Max: vg.Point{X: max(to, from+hair), Y: middle + half}}, t.colour(p, kind))
	}
	if len(r.Spans) <= spansDrawn {
		for _, s := range r.Spans {
			bar(panel.X(s.FromMS), panel.X(s.ToMS), s.Kind)
		}
		return
	}
	t.merged++
	width := panel.Rect.Size().X
	steps := int(width/spanStep) + 1
	time := make([]map[string]vg.Length, steps)
	for _, s := range r.Spans {
		from, to := panel.X(s.FromMS)-panel.Rect.Min.X, panel.X(s.ToMS)-panel.Rect.Min.X
		for k := int(from / spanStep); k < steps && vg.Length(k)*spanStep <= to; k++ {
			if k < 0 {
				continue
			}
			if time[k] == nil {
				time[k] = map[string]vg.Length{}
			}
			time[k][s.Kind] += min(to, vg.Length(k+1)*spanStep) - max(from, vg.Length(k)*spanStep)
		}
	}
	for k := 0; k < steps; {
		kind, ok := longest(time[k], t.kinds)
		end := k + 1
		for ; end < steps; end++ {
			if next, also := longest(time[end], t.kinds); next != kind || also != ok {
				break
			}
		}
		if ok {
			bar(panel.Rect.Min.X+vg.Length(k)*spanStep, min(panel.Rect.Min.X+vg.Length(end)*spanStep, panel.Rect.Max.X), kind)
		}
		k = end
	}
}

// longest returns the kind with the most time, the first of equal ones.
func longest(time map[string]vg.Length, kinds []string) (string, bool) {
	best, found := "", false
	for _, k := range kinds {
		if v, ok := time[k]; ok && (!found || v > time[best]) {
			best, found = k, true
		}
	}
	return best, found
}
