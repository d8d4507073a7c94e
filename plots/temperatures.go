package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/plots/canvas"
	"lab/plots/mark"
)

// TemperaturesData is one next-token distribution at several temperatures. The
// slices are not kept.
type TemperaturesData struct {
	Prompt string
	Rows   []TemperatureRow // any order; drawn by rising temperature
	TopP   float64          // nucleus marked on each curve, (0, 1]; 0: 0.9
}

// TemperatureRow is the distribution at one temperature.
type TemperatureRow struct {
	Temperature float64   // at least 0, finite
	Probs       []float64 // in any order; sums to 1
}

const (
	temperaturesName  = "temperatures"
	temperaturesWidth = 5.4
	temperaturesMost  = 64
	curvePoints       = 240 // of a line, on the log-rank grid
	directLines       = 6   // more lines than this are grey, one highlighted
)

// spread is one temperature's curve and what is stated of it.
type spread struct {
	temperature float64
	cumulative  []float64 // cumulative[i]: mass of the i+1 likeliest tokens
	entropy     float64   // bits
	nucleus     int       // tokens whose mass first reaches top_p; 0: never
	reached     float64   // their mass
	undefined   int
	tokens      int // entries given
}

// temperatures is the figure's content, ready to be drawn.
type temperatures struct {
	prompt   string
	topP     float64
	rows     []spread
	ranks    int // longest curve
	emptyWhy string
}

// Temperatures draws how temperature moves mass down the ranks: for every
// temperature the cumulative mass of the likeliest tokens against their number
// (logarithmic), a dot where it reaches top_p, and beside it entropy in bits and
// the size of that nucleus. More than six temperatures are drawn in grey with
// the one nearest to 1 highlighted.
//
// Errors: fault.Usage for TopP, more than 64 rows and options; fault.Data for a
// temperature that is negative, not finite or given twice, and for impossible
// probabilities. NaN and infinite probabilities are left out and counted;
// without a row the picture says so.
func Temperatures(d TemperaturesData, o Options) (fig *Figure, err error) {
	defer guard(temperaturesName, &err)
	if o, err = o.resolve(temperaturesName, temperaturesWidth); err != nil {
		return nil, err
	}
	t, err := newTemperatures(d)
	if err != nil {
		return nil, err
	}
	return t.draw(o)
}

func newTemperatures(d TemperaturesData) (*temperatures, error) {
	t := &temperatures{prompt: d.Prompt, topP: d.TopP}
	if t.topP == 0 {
		t.topP = 0.9
	}
	if !(t.topP > 0 && t.topP <= 1) {
		return nil, fault.New(fault.Usage, "figure "+temperaturesName, "top_p", "%v is outside (0, 1]", d.TopP).
			Fix("use 0.9, or leave it out")
	}
	if len(d.Rows) > temperaturesMost {
		return nil, fault.New(fault.Usage, "figure "+temperaturesName, "rows", "%d are more than %d", len(d.Rows), temperaturesMost).
			Fix("draw fewer temperatures")
	}
	if len(d.Rows) == 0 {
		t.emptyWhy = "no temperatures"
		return t, nil
	}
	for i, row := range d.Rows {
		where := fmt.Sprintf("row %d", i+1)
		if !(row.Temperature >= 0) || math.IsInf(row.Temperature, 0) {
			return nil, badNumber(temperaturesName, where, "temperature %v is not a finite number from 0 up", row.Temperature)
		}
		s, err := newSpread(row, t.topP, where)
		if err != nil {
			return nil, err
		}
		t.rows = append(t.rows, s)
		t.ranks = max(t.ranks, len(s.cumulative))
	}
	slices.SortStableFunc(t.rows, func(a, b spread) int { return compareFloats(a.temperature, b.temperature) })
	for i := range t.rows {
		if i > 0 && t.rows[i].temperature == t.rows[i-1].temperature {
			return nil, badNumber(temperaturesName, "rows", "temperature %v is given twice", t.rows[i].temperature)
		}
	}
	if t.ranks == 0 {
		t.emptyWhy = "no token with a defined probability"
	}
	return t, nil
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// newSpread sorts and accumulates one row.
func newSpread(row TemperatureRow, topP float64, where string) (spread, error) {
	s := spread{temperature: row.Temperature, tokens: len(row.Probs)}
	if len(row.Probs) == 0 {
		return s, nil
	}
	var err error
	if s.undefined, err = checkMass(temperaturesName, where, row.Probs, 0); err != nil {
		return s, err
	}
	probs := make([]float64, 0, len(row.Probs))
	for _, p := range row.Probs {
		if defined(p) && p > 0 {
			probs = append(probs, p)
		}
	}
	slices.SortFunc(probs, func(a, b float64) int { return compareFloats(b, a) })
	s.cumulative = probs // overwritten place by place below
	// A nucleus is reached to within what rounding does to a sum of n terms.
	slack := float64(len(probs)) * 0x1p-52
	sum := 0.0
	for i, p := range probs {
		sum += p
		s.entropy -= p * math.Log2(p)
		s.cumulative[i] = min(sum, 1)
		if s.nucleus == 0 && sum >= topP-slack {
			s.nucleus, s.reached = i+1, min(sum, 1)
		}
	}
	s.entropy = max(s.entropy, 0) // -1·log2(1) is a negative zero
	return s, nil
}

// complete reports whether the curve stands for a whole distribution; entropy
// and nucleus of a part would be bounds, not values.
func (s spread) complete() bool { return s.undefined == 0 && len(s.cumulative) > 0 }

func (s spread) entropyWords() string {
	if !s.complete() {
		return "n/a"
	}
	return fmt.Sprintf("%.2f", s.entropy)
}

func (s spread) nucleusWords() string {
	if !s.complete() || s.nucleus == 0 {
		return "n/a"
	}
	return canvas.Count(s.nucleus)
}

// points returns the curve thinned on the log-rank grid, in axis coordinates.
func (s spread) points() []mark.XY {
	var out []mark.XY
	for _, i := range s.grid() {
		out = append(out, mark.XY{X: math.Log10(float64(i + 1)), Y: s.cumulative[i]})
	}
	return out
}

// grid returns the ranks drawn (from 0), which hold the nucleus.
func (s spread) grid() []int {
	out := mark.LogGrid(len(s.cumulative), curvePoints)
	if at := s.nucleus - 1; at >= 0 {
		if k, found := slices.BinarySearch(out, at); !found {
			out = slices.Insert(out, k, at)
		}
	}
	return out
}

// highlighted is the index of the row nearest to temperature 1, the lower of two.
func (t *temperatures) highlighted() int {
	best := 0
	for i, s := range t.rows {
		if math.Abs(s.temperature-1) < math.Abs(t.rows[best].temperature-1) {
			best = i
		}
	}
	return best
}

func (t *temperatures) finding() string {
	if t.emptyWhy != "" {
		return "Temperature and the nucleus"
	}
	var whole []spread
	for _, s := range t.rows {
		if s.complete() && s.nucleus > 0 {
			whole = append(whole, s)
		}
	}
	p := canvas.Number(t.topP)
	switch len(whole) {
	case 0:
		return "Cumulative mass over ranked tokens"
	case 1:
		return fmt.Sprintf("At T = %s, %s %s %s of the mass", canvas.Number(whole[0].temperature),
			plural(whole[0].nucleus, "token"), verb(whole[0].nucleus, "holds", "hold"), p)
	}
	low, high := whole[0], whole[len(whole)-1]
	if low.nucleus == high.nucleus {
		return fmt.Sprintf("From T = %s to %s the nucleus (top_p %s) stays at %s", canvas.Number(low.temperature),
			canvas.Number(high.temperature), p, plural(low.nucleus, "token"))
	}
	turn := "grows"
	if high.nucleus < low.nucleus {
		turn = "shrinks"
	}
	return fmt.Sprintf("From T = %s to %s the nucleus (top_p %s) %s from %s to %s", canvas.Number(low.temperature),
		canvas.Number(high.temperature), p, turn, canvas.Count(low.nucleus), plural(high.nucleus, "token"))
}

func (t *temperatures) subtitle() string {
	text := "Next token"
	if t.prompt != "" {
		text += " after " + quoted(t.prompt, 60)
	}
	if t.emptyWhy != "" {
		return text
	}
	tokens := 0
	for _, s := range t.rows {
		tokens = max(tokens, s.tokens)
	}
	return text + fmt.Sprintf("; %s, ranked anew at each temperature T. Dot: the smallest set of likeliest tokens whose mass reaches %s.",
		plural(tokens, "token"), canvas.Number(t.topP))
}

func (t *temperatures) notes() []string {
	var notes []string
	for _, s := range t.rows {
		if n := undefinedNote(s.undefined, s.tokens, "T = "+canvas.Number(s.temperature)); n != "" {
			notes = append(notes, n)
		}
		if s.tokens == 0 && t.emptyWhy == "" {
			notes = append(notes, "T = "+canvas.Number(s.temperature)+": no tokens, no curve")
		}
		if s.complete() && len(s.cumulative) == 1 {
			notes = append(notes, "T = "+canvas.Number(s.temperature)+": one survivor; the seed has no effect here")
		}
	}
	return notes
}

func (t *temperatures) describe() string {
	var b strings.Builder
	b.WriteString("Curves of cumulative probability over the number of likeliest tokens")
	if t.prompt != "" {
		b.WriteString(" after " + quoted(t.prompt, 200))
	}
	if t.emptyWhy != "" {
		return b.String() + ": no data (" + t.emptyWhy + ")."
	}
	b.WriteString(".")
	for _, s := range t.rows {
		fmt.Fprintf(&b, " T = %s: entropy %s bits, %s nucleus %s tokens", canvas.Number(s.temperature), s.entropyWords(), canvas.Number(t.topP), s.nucleusWords())
		if len(s.cumulative) > 0 {
			fmt.Fprintf(&b, ", likeliest token %s", canvas.Fraction(s.cumulative[0]))
		}
		b.WriteString(".")
	}
	return b.String()
}

func (t *temperatures) table() Table {
	out := Table{Header: []string{"temperature", "rank", "cumulative_mass", "entropy_bits", "top_p", "nucleus_tokens", "nucleus_mass"}}
	for _, s := range t.rows {
		entropy, nucleus, reached := math.NaN(), "", math.NaN()
		if s.complete() {
			entropy = s.entropy
		}
		if s.complete() && s.nucleus > 0 {
			nucleus, reached = fmt.Sprint(s.nucleus), s.reached
		}
		for _, i := range s.grid() {
			out.Rows = append(out.Rows, []string{number(s.temperature), fmt.Sprint(i + 1), number(s.cumulative[i]),
				number(entropy), number(t.topP), nucleus, number(reached)})
		}
	}
	return out
}
