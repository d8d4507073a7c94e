package tables

import (
	"encoding/json"
	"errors"
	"math"

	"lab/core/cost"
	"lab/core/fault"
)

// checkArch refuses what core/cost cannot read as an architecture.
func checkArch(raw json.RawMessage, at string) error {
	if len(raw) == 0 {
		return &wrong{at, "is missing", `give the widths: "arch": {"layers": 32, "d_model": 4096, "heads": 32, "d_ff": 11008, "vocab": 32000}`}
	}
	_, err := cost.ParseArch(raw)
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return &wrong{at, "is wrong: " + known.Problem, known.Cure}
	case err != nil:
		return &wrong{at, "is wrong: " + err.Error(), ""}
	}
	return nil
}

// Architecture returns what formulas compute with. Where the record says how long a
// context may be and the architecture does not, that is its longest.
func (m *Model) Architecture() (*cost.Arch, error) {
	a, err := cost.ParseArch(m.Arch)
	if err != nil {
		return nil, err
	}
	if a.MaxContext == 0 && m.ContextLength <= math.MaxInt32 {
		a.MaxContext = int(m.ContextLength)
	}
	return a, nil
}

// Device returns so many of the device at an arithmetic type, for formulas.
func (h *Hardware) Device(dtype string, chips float64) (cost.Device, error) {
	peak, err := h.PeakOf(dtype)
	if err != nil {
		return cost.Device{}, err
	}
	return cost.Device{Peak: peak, PeakLimit: peak, Bandwidth: h.BytesPerS, Chips: chips}, nil
}

// For returns the price of a request with a prompt of that many tokens, for
// [cost.Price.Bill]: the rates of the tier that it falls into.
func (p *Price) For(promptTokens int64) *cost.Price {
	r := p.Rates(promptTokens)
	return &cost.Price{Name: p.Name, Date: string(p.AsOf), Source: p.Source, Input: r.Input, Output: r.Output, Cached: r.Cached,
		Write: r.CacheWrite, BatchInput: r.BatchInput, BatchOutput: r.BatchOutput}
}

// Usage returns what a vendor with this price reports of a request, for
// [cost.Usage.Ledger]. Cached or written tokens need to know whether the vendor
// counts them within the prompt; where that is not known they are a usage error.
func (p *Price) Usage(u cost.Usage) (cost.Usage, error) {
	if p.PromptIncludesCached != nil {
		u.PromptIncludes = *p.PromptIncludesCached
	} else if u.Cached > 0 || u.Written > 0 {
		return u, fault.New(fault.Usage, "cost", `price of "`+p.Name+`"`, "whether the prompt count of the vendor holds cached tokens is not known").
			Fix("give prompt_includes_cached in a table of your own")
	}
	return u, nil
}
