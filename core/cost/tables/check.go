package tables

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lab/core/fault"
)

// The largest numbers that a record may hold; they are far above anything built,
// and keep every product of a few of them finite.
const (
	mostRate   = 1e21 // per second
	mostBytes  = 1e18
	mostCount  = 1e21 // tokens, parameters
	mostFLOP   = 1e33
	mostUSD    = 1e9
	mostText   = 2000 // characters
	mostNames  = 200
	longestKey = 100
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/+-]*$`)

// check is what all records are asked.
func (f *Fact) check(at string) error {
	for i, name := range append([]string{f.Name}, f.Aliases...) {
		field := at + ".name"
		if i > 0 {
			field = fmt.Sprintf("%s.aliases[%d]", at, i-1)
		}
		if len(name) > longestKey || !nameForm.MatchString(name) {
			return &wrong{field, fmt.Sprintf("is %s", fault.Quote(name, 60)), "names have letters, digits and . _ : / + -, and begin with a letter or a digit"}
		}
	}
	at = fmt.Sprintf("%s (%s)", at, f.Name)
	switch {
	case len(f.Aliases) > mostNames:
		return &wrong{at, fmt.Sprintf("has more than %d aliases", mostNames), ""}
	case f.AsOf == "":
		return &wrong{at, "has no date", `say for which day it holds: "as_of": "2026-01-31", in the record or for the whole file`}
	case !f.AsOf.Valid():
		return &wrong{at + ".as_of", fmt.Sprintf("is %s", fault.Quote(string(f.AsOf), 40)), `dates are written "2026-01-31"`}
	case f.Source == "":
		return &wrong{at, "has no source", `say who stated it: "source": "price page of the vendor"`}
	}
	return first(plain(at+".source", f.Source), plain(at+".note", f.Note), plain(at+".provenance", f.Provenance))
}

// plain refuses text that could steer a terminal.
func plain(at, text string) error {
	if utf8.RuneCountInString(text) > mostText {
		return &wrong{at, fmt.Sprintf("has more than %d characters", mostText), ""}
	}
	for _, r := range text {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return &wrong{at, fmt.Sprintf("holds the character %q", r), "leave control characters out"}
		}
	}
	return nil
}

// number refuses what is not in (0, most], or in [0, most] where zero is allowed.
func number(at string, v, most float64, zero bool) error {
	if v > 0 && v <= most || zero && v == 0 {
		return nil
	}
	from := "("
	if zero {
		from = "["
	}
	return &wrong{at, fmt.Sprintf("is %v, outside %s0, %v]", v, from, most), ""}
}

// known is number for what may be absent.
func known(at string, v *float64, most float64, zero bool) error {
	if v == nil {
		return nil
	}
	return number(at, *v, most, zero)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *Hardware) check(at string) error {
	if err := h.Fact.check(at); err != nil {
		return err
	}
	at = fmt.Sprintf("%s (%s)", at, h.Name)
	if len(h.Peak) == 0 {
		return &wrong{at, "has no peak", `give the dense rate of an arithmetic type: "peak": {"bf16": 3.12e14}`}
	}
	for _, dtype := range sortedKeys(h.Peak) {
		if !slices.Contains(Dtypes(), dtype) {
			w := &wrong{at + ".peak", fmt.Sprintf("has the unknown arithmetic type %s", fault.Quote(dtype, 40)), "known: " + strings.Join(Dtypes(), ", ")}
			if near := fault.Suggest(dtype, Dtypes()); near != "" {
				w.cure = fmt.Sprintf("did you mean %q?", near)
			}
			return w
		}
		if err := number(at+".peak."+dtype, h.Peak[dtype], mostRate, false); err != nil {
			return err
		}
	}
	return first(number(at+".bytes_per_s", h.BytesPerS, mostRate, false), number(at+".memory_bytes", h.MemoryBytes, mostBytes, false),
		known(at+".watts", h.Watts, 1e9, false), known(at+".usd_per_hour", h.USDPerHour, mostUSD, false))
}

func (m *Model) check(at string) error {
	if err := m.Fact.check(at); err != nil {
		return err
	}
	at = fmt.Sprintf("%s (%s)", at, m.Name)
	if m.ContextLength < 0 {
		return &wrong{at + ".context_length", fmt.Sprintf("is %d", m.ContextLength), ""}
	}
	return first(number(at+".parameters", m.Parameters, mostCount, true), checkArch(m.Arch, at+".arch"))
}

func (p *Price) check(at string) error {
	if err := p.Fact.check(at); err != nil {
		return err
	}
	at = fmt.Sprintf("%s (%s)", at, p.Name)
	for _, d := range []struct {
		field string
		day   Date
	}{{".from", p.From}, {".until", p.Until}} {
		if d.day != "" && !d.day.Valid() {
			return &wrong{at + d.field, fmt.Sprintf("is %s", fault.Quote(string(d.day), 40)), `dates are written "2026-01-31"`}
		}
	}
	if p.From != "" && p.Until != "" && p.From >= p.Until {
		return &wrong{at + ".from", fmt.Sprintf("is %s, not before its until, %s", p.From, p.Until), ""}
	}
	if p.USDPerMillion == (Rates{}) {
		return &wrong{at + ".usd_per_million", "has no rate", "give at least one of " + strings.Join(RateKinds(), ", ")}
	}
	if err := first(plain(at+".vendor", p.Vendor), p.USDPerMillion.check(at+".usd_per_million")); err != nil {
		return err
	}
	for i, tier := range p.Above {
		field := fmt.Sprintf("%s.above[%d]", at, i)
		if tier.PromptTokens < 1 || i > 0 && tier.PromptTokens <= p.Above[i-1].PromptTokens {
			return &wrong{field + ".prompt_tokens", fmt.Sprintf("is %d", tier.PromptTokens), "thresholds are positive and ascend"}
		}
		if err := tier.USDPerMillion.check(field + ".usd_per_million"); err != nil {
			return err
		}
	}
	return nil
}

func (r Rates) check(at string) error {
	for _, kind := range RateKinds() {
		if err := known(at+"."+kind, *r.of(kind), mostUSD, true); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) check(at string) error {
	if err := r.Fact.check(at); err != nil {
		return err
	}
	at = fmt.Sprintf("%s (%s)", at, r.Name)
	for i, v := range r.FLOPReported {
		if err := number(fmt.Sprintf("%s.flop_reported[%d]", at, i), v, mostFLOP, false); err != nil {
			return err
		}
	}
	if r.TotalParameters > 0 && r.TotalParameters < r.Parameters {
		return &wrong{at + ".total_parameters", fmt.Sprintf("is %v, fewer than the %v of one token", r.TotalParameters, r.Parameters), ""}
	}
	return first(number(at+".tokens", r.Tokens, mostCount, false), number(at+".parameters", r.Parameters, mostCount, true),
		number(at+".total_parameters", r.TotalParameters, mostCount, true), number(at+".flop", r.FLOP, mostFLOP, true),
		number(at+".device_hours", r.DeviceHours, mostCount, true), number(at+".watts", r.Watts, 1e9, true),
		number(at+".tco2e", r.TCO2e, mostCount, true), plain(at+".device", r.Device))
}

// utilisation returns the share of a device's peak that a run reached by its own
// numbers: FLOP, or 6 N D where none are stated (Kaplan et al. 2020), over device
// hours. ok is false where the record does not say enough.
func (r *Run) utilisation(h *Hardware) (share float64, ok bool) {
	peak := math.Max(h.Peak["bf16"], h.Peak["fp16"])
	flop := r.FLOP
	if flop == 0 {
		flop = 6 * r.Parameters * r.Tokens
	}
	if peak == 0 || flop == 0 || r.DeviceHours == 0 {
		return 0, false
	}
	return flop / (r.DeviceHours * 3600 * peak), true
}
