package yield

import (
	"math"
	"slices"

	"lab/core/fault"
	"lab/core/measure"
)

// Options say what is computed. The zero value takes single attempts, says nothing
// of useful answers and shares the prompt's cost among attempts.
type Options struct {
	// N are the numbers of attempts that rows are made for, ascending; nil is {1}. A
	// setting has no row for more attempts than it has at each prompt.
	N []int
	// AtLeast makes an answer useful: a value of at least that much, or at most where
	// Smaller is set. nil: nothing is said of useful answers.
	AtLeast *float64
	// Smaller says that smaller values are better. There is no quality per unit then.
	Smaller bool
	// PromptEach charges the prompt for each attempt. Otherwise n attempts pay it once,
	// as when they are forked from one prefill, or are the n choices of one request.
	PromptEach bool
	// Count says that the value of a set is a count of what is in it.
	Count bool
	// Share says that values are 0 or 1, so that an interval of their mean is in [0, 1].
	Share bool
	// FixedPrompts makes intervals over the attempts at these very prompts. Otherwise
	// those over several prompts say what to expect at other prompts of their kind, which
	// takes more than a few prompts.
	FixedPrompts bool
	// By is the unit of the front; nil is the first of usd, joules, seconds, flop,
	// tokens that every setting has.
	By *Unit
	// Level is the confidence of intervals, in (0, 1); 0 is 0.95.
	Level float64
}

const mostN = 10_000

func (o *Options) settle() error {
	if o.N == nil {
		o.N = []int{1}
	}
	if o.Level == 0 {
		o.Level = defaultLevel
	}
	if !(o.Level > 0 && o.Level < 1) {
		return fault.New(fault.Usage, op, "level", "%v is outside (0, 1)", o.Level).Fix("0.95 is usual")
	}
	if o.AtLeast != nil && (math.IsNaN(*o.AtLeast) || math.IsInf(*o.AtLeast, 0)) {
		return fault.New(fault.Usage, op, "at_least", "%v is not a finite number", *o.AtLeast)
	}
	if len(o.N) == 0 || len(o.N) > 100 {
		return fault.New(fault.Usage, op, "n", "%d numbers of attempts were given", len(o.N)).Fix("give 1 to 100 of them")
	}
	for i, n := range o.N {
		if n < 1 || n > mostN || i > 0 && n <= o.N[i-1] {
			return fault.New(fault.Usage, op, "n", "%d in place %d", n, i).Fix("give numbers from 1 to %d, ascending", mostN)
		}
	}
	return nil
}

// Amount is what answers take of one unit.
type Amount struct {
	Source
	Answer measure.Estimate  `json:"answer"`          // of n attempts, all of them made; of sets too
	Until  *measure.Estimate `json:"until,omitempty"` // of trying until an answer is useful, at most n times
	// PerUseful is Answer, and UntilPerUseful is Until, over the chance that one of n is useful;
	// infinite where none ever was, with the least that it can be as Lo.
	PerUseful      *measure.Estimate `json:"per_useful,omitempty"`
	UntilPerUseful *measure.Estimate `json:"until_per_useful,omitempty"`
	// QualityPer is the quality over Answer; that of a set which is no count over what one
	// answer takes.
	QualityPer *measure.Estimate `json:"quality_per,omitempty"`
}

// Row is a setting with a number of attempts.
type Row struct {
	Setting int               // place in the report
	N       int               // attempts that are made, or made at most; for sets their number
	Quality measure.Estimate  // expected best value of N, or the value of the set
	Useful  *measure.Estimate // chance that one of N is useful
	Tries   *measure.Estimate // expected attempts until one is, at most N
	Amounts map[Unit]*Amount  // of the units that are known
	Front   bool              // no other row has better quality for as much, or as good for less
}

// Report is the rows of settings.
type Report struct {
	Options
	Settings []Setting
	Rows     []Row
	By       Unit // of the front
	HasFront bool // false where no unit is known of every setting
	Warnings []string
}

// Compute returns a row for every setting and number of attempts: settings in their
// order, numbers ascending. Each prompt weighs the same, whatever its attempts. No settings, and settings
// without attempts, are data errors; so are values and amounts that are not finite.
func Compute(settings []Setting, o Options) (*Report, error) {
	if err := o.settle(); err != nil {
		return nil, err
	}
	if len(settings) == 0 {
		return nil, fault.New(fault.Data, op, "", "there are no settings")
	}
	r := &Report{Options: o, Settings: settings}
	for i := range settings {
		s := &settings[i]
		if err := s.check(); err != nil {
			return nil, err
		}
		if s.Prompts[0].Set != nil {
			row := o.set(s)
			row.Setting = i
			r.Rows = append(r.Rows, row)
			continue
		}
		for _, n := range o.N {
			if n > s.fewest() {
				break
			}
			row, err := o.row(s, n)
			if err != nil {
				return nil, err
			}
			row.Setting = i
			r.Rows = append(r.Rows, row)
		}
	}
	if len(r.Rows) == 0 {
		return nil, fault.New(fault.Usage, op, "n", "%d attempts are more than any setting has", o.N[0]).Fix("take fewer, or generate more samples")
	}
	return r, r.front()
}

// row is a setting with n attempts.
func (o *Options) row(s *Setting, n int) (Row, error) {
	best := func(p *Prompt) float64 { return o.best(p, n) }
	row := Row{N: n, Quality: o.jackknife(s.Prompts, mean(best)), Amounts: map[Unit]*Amount{}}
	row.Quality.Missing = s.undefined()
	if o.Share {
		row.Quality = within(row.Quality, 0, 1)
	}
	if o.AtLeast != nil {
		useful, err := o.rate(s.Prompts, n)
		if err != nil {
			return row, err
		}
		tries, err := o.tries(s.Prompts, n)
		if err != nil {
			return row, err
		}
		row.Useful, row.Tries = &useful, &tries
	}
	for u, source := range s.Known {
		answer := func(p *Prompt) float64 { return o.all(p, u, n) }
		a := &Amount{Source: source, Answer: o.jackknife(s.Prompts, mean(answer))}
		if o.AtLeast != nil {
			until := o.jackknife(s.Prompts, mean(func(p *Prompt) float64 { return o.until(p, u, n) }))
			each, each2 := over(a.Answer, *row.Useful), over(until, *row.Useful)
			a.Until, a.PerUseful, a.UntilPerUseful = &until, &each, &each2
		}
		if !o.Smaller && a.Answer.Value > 0 {
			per := o.jackknife(s.Prompts, statistic{best, answer})
			a.QualityPer = &per
		}
		row.Amounts[u] = a
	}
	return row, nil
}

// undefined returns how many attempts have no value.
func (s *Setting) undefined() int {
	n := 0
	for i := range s.Prompts {
		for j := range s.Prompts[i].Attempts {
			if math.IsNaN(s.Prompts[i].Attempts[j].Value) {
				n++
			}
		}
	}
	return n
}

// set is a setting whose value is that of its attempts as a whole. Over several
// prompts it is the mean of theirs.
func (o *Options) set(s *Setting) Row {
	row := Row{N: s.fewest(), Amounts: map[Unit]*Amount{}}
	value := mean(func(p *Prompt) float64 { return p.Set.Value })
	// half is the half width of the mean of independent intervals, on one side.
	half := func(end func(*measure.Estimate) float64) float64 {
		squares := mean(func(p *Prompt) float64 { return math.Pow(end(p.Set)-p.Set.Value, 2) })
		return math.Sqrt(squares.parts(s.Prompts).value() / float64(len(s.Prompts)))
	}
	switch {
	case len(s.Prompts) == 1:
		row.Quality = *s.Prompts[0].Set
	case o.FixedPrompts: // each is known as well as its own interval says
		row.Quality = o.estimate(value.parts(s.Prompts).value(), len(s.Prompts), "")
		row.Quality.Lo = row.Quality.Value - half(func(e *measure.Estimate) float64 { return e.Lo })
		row.Quality.Hi = row.Quality.Value + half(func(e *measure.Estimate) float64 { return e.Hi })
		row.Quality.Method = "mover"
	default:
		row.Quality = o.jackknife(s.Prompts, value)
	}
	for u, source := range s.Known {
		a := &Amount{Source: source, Answer: o.jackknife(s.Prompts, mean(func(p *Prompt) float64 { return o.all(p, u, row.N) }))}
		against := a.Answer.Value
		if !o.Count {
			against = mean(func(p *Prompt) float64 { return o.all(p, u, 1) }).parts(s.Prompts).value()
		}
		if !o.Smaller && against > 0 {
			per := row.Quality.Map(func(v float64) float64 { return v / against })
			a.QualityPer = &per
		}
		row.Amounts[u] = a
	}
	return row
}

// front marks the rows that no other beats: a row is beaten by one with a quality at
// least as good for at most as much, and better in one of the two. Rows without a
// finite quality are beaten.
func (r *Report) front() error {
	if r.Options.By != nil {
		r.By, r.HasFront = *r.Options.By, true
		for i := range r.Settings {
			if _, ok := r.Settings[i].Known[r.By]; !ok {
				return fault.New(fault.Usage, op, "by", "%s are not known of every setting: %s", r.By, r.Settings[i].Absent[r.By]).Fix("choose another unit for the front")
			}
		}
	} else {
		for _, u := range slices.Backward(Units()) {
			known := !slices.ContainsFunc(r.Settings, func(s Setting) bool { _, ok := s.Known[u]; return !ok })
			if known {
				r.By, r.HasFront = u, true
				break
			}
		}
	}
	if !r.HasFront {
		return nil
	}
	quality, amount := make([]float64, len(r.Rows)), make([]float64, len(r.Rows))
	for i := range r.Rows {
		quality[i], amount[i] = r.Rows[i].Quality.Value, r.Rows[i].Amounts[r.By].Answer.Value
		if r.Smaller {
			quality[i] = -quality[i]
		}
	}
	for i, on := range Front(quality, amount) {
		r.Rows[i].Front = on
	}
	return nil
}

// Front reports which points no other point beats, more quality and less cost being
// better: a point is beaten by one that is at least as good in both and better in
// one. Equal points stand together. A point that is not finite is never on the front.
func Front(quality, amount []float64) []bool {
	order := make([]int, 0, len(quality))
	for i := range quality {
		if finite(quality[i]) && finite(amount[i]) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case amount[a] != amount[b]:
			return sign(amount[a] - amount[b])
		case quality[a] != quality[b]:
			return sign(quality[b] - quality[a])
		}
		return a - b
	})
	on := make([]bool, len(quality))
	best, at := math.Inf(-1), math.NaN()
	for _, i := range order {
		if quality[i] > best || quality[i] == best && amount[i] == at {
			best, at = quality[i], amount[i]
			on[i] = true
		}
	}
	return on
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func sign(v float64) int {
	if v < 0 {
		return -1
	}
	return 1
}
