package transformer

import (
	"math"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/internal/kernel"
)

// scaling is a choice of rotary scaling in place of the file's.
type scaling struct {
	kind   string // "": as the file says; "none", "linear" or "yarn"
	factor float64
}

// parseScaling reads the setting rope: "none", "linear:FACTOR" or "yarn:FACTOR".
func parseScaling(text string) (scaling, error) {
	kind, number, found := strings.Cut(text, ":")
	wrong := func(format string, args ...any) (scaling, error) {
		return scaling{}, fault.New(fault.Usage, "", "setting rope", format, args...).
			Fix("give none, linear:FACTOR or yarn:FACTOR, for instance linear:2")
	}
	switch kind {
	case "", "none":
		if found {
			return wrong("%s takes no factor", fault.Quote(text, 40))
		}
		return scaling{kind: kind, factor: 1}, nil
	case "linear", "yarn":
		factor, err := strconv.ParseFloat(number, 64)
		if err != nil || !(factor >= 1 && factor <= 1<<20) {
			return wrong("the factor in %s is no number from 1 to %d", fault.Quote(text, 40), 1<<20)
		}
		return scaling{kind: kind, factor: factor}, nil
	}
	return wrong("%s is not known", fault.Quote(text, 40))
}

// stretch sets the context that was asked for and how positions are scaled to
// reach it. A context beyond the one that the file names is refused unless a
// scaling is chosen, and beyond what the scaling covers.
func (h *hyper) stretch(m *meta, s scaling, context int) {
	if context > 0 {
		h.context = context
	}
	limit := h.trained
	if s.kind != "" {
		if h.rope.size == 0 {
			m.fail(fault.New(fault.Usage, "open model", m.name, "its positions are not rotated, so rope has nothing to scale").Fix("leave rope out"))
			return
		}
		// Where the file's own scaling hides what it was trained for, its factor tells.
		origin := m.whole("rope.scaling.original_context_length", 1, maxContext, max(1, int(math.Round(float64(h.trained)/h.rope.scale))))
		alike := h.localRope == h.rope
		h.rope = h.rope.as(s, origin, m.real("rope.scaling.attn_factor", 1<<10, 1))
		if alike {
			h.localRope = h.rope
		}
		limit = maxContext
		if s.kind != "none" {
			limit = int(min(float64(origin)*s.factor, maxContext))
		}
	}
	if h.context <= limit {
		return
	}
	if s.kind == "" {
		e := fault.New(fault.Usage, "open model", m.name, "a context of %d is longer than the %d tokens the model is made for", h.context, h.trained)
		if h.rope.size > 0 {
			e = e.Fix("say with rope how positions are scaled, for instance yarn:%g; rope none leaves them as they are", math.Ceil(float64(h.context)/float64(h.trained)))
		}
		m.fail(e)
		return
	}
	m.fail(fault.New(fault.Usage, "open model", m.name, "a context of %d is longer than the %d tokens that rope %s:%g covers", h.context, limit, s.kind, s.factor).
		Fix("use a larger factor or a smaller context"))
}

// as returns the rotation with another scaling of a model trained for so many
// positions; gain is that of the file.
func (r rotation) as(s scaling, origin int, gain float64) rotation {
	r.scale, r.yarn, r.origin, r.gain = s.factor, s.kind == "yarn", origin, gain
	if r.yarn {
		r.gain *= yarnGain(s.factor)
	}
	return r
}

// yarnGain is what YaRN multiplies rotated elements by (Peng et al. 2023,
// equation 22): it changes the temperature of the softmax.
func yarnGain(factor float64) float64 { return 1 + float64(0.1*kernel.Log(max(factor, 1))) }
