package scenario

import (
	"fmt"
	"time"

	"lab/core/cost"
	"lab/core/cost/tables"
	"lab/core/fault"
)

// Question is a [BreakEven] by names of the tables and plain numbers; nil and empty
// are not given.
type Question struct {
	Run         string          // a training run of the tables: parameters and tokens
	TrainModel  string          // a model of the tables: its M
	TrainParams *cost.Uncertain // N of 6 N D
	TrainTokens *cost.Uncertain // D

	ServeModel       string          // the trained one
	ServeParams      *cost.Uncertain // the trained ones
	TokensPerRequest *cost.Uncertain // prompt and output together, or the two apart:
	PromptTokens     *cost.Uncertain
	OutputTokens     *cost.Uncertain
	RequestsPerDay   *cost.Uncertain // on the first day
	Growth           *cost.Uncertain // 1 + share, see [Growth]; flat
	GrowthDays       float64         // 30
	Limit            float64         // requests a day; none

	Hardware, TrainHardware     string // names of the tables; training uses Hardware unless it has its own
	Dtype                       string // bf16
	TrainMFU, ServeMFU          *cost.Uncertain
	PrefillMFU                  *cost.Uncertain // of prompts, with PromptTokens; ServeMFU
	USDPerHour, TrainUSDPerHour *cost.Uncertain // of a chip; those of the records
	Start                       string          // the first day, 2006-01-02; no dates without
	Draws                       Draws
}

// Resolve looks the names up and returns the question with warnings about facts
// of another day.
func (q Question) Resolve(t *tables.Tables, day tables.Date) (*BreakEven, []string, error) {
	b := &BreakEven{Draws: q.Draws}
	for _, step := range []func(*tables.Tables, *BreakEven) error{q.training, q.serving, q.demand} {
		if err := step(t, b); err != nil {
			return nil, nil, err
		}
	}
	warnings, err := q.machines(t, day, b)
	return b, warnings, err
}

func (q Question) training(t *tables.Tables, b *BreakEven) error {
	n, d := q.TrainParams, q.TrainTokens
	if q.Run != "" {
		r, err := t.Run(q.Run)
		if err != nil {
			return err
		}
		if n == nil && q.TrainModel == "" && r.Parameters > 0 {
			u := cost.Known(r.Parameters)
			n = &u
		}
		if d == nil && r.Tokens > 0 {
			u := cost.Known(r.Tokens)
			d = &u
		}
	}
	if q.TrainModel != "" {
		if q.TrainParams != nil {
			return usage(breakingEven, "both a model and a number of parameters are given for training")
		}
		u, err := matmul(t, q.TrainModel)
		if err != nil {
			return err
		}
		n = u
	}
	if n == nil || d == nil {
		return usage(breakingEven, "training needs parameters and tokens, and not both are known").Fix("give train params (or a model) and tokens, or a run of lab cost models")
	}
	b.Train = Training{*n, *d}
	return nil
}

// matmul returns M of a model of the tables.
func matmul(t *tables.Tables, name string) (*cost.Uncertain, error) {
	m, err := t.Model(name)
	if err != nil {
		return nil, err
	}
	a, err := m.Architecture()
	if err != nil {
		return nil, err
	}
	s, err := a.Size()
	u := cost.Known(float64(s.Matmul))
	return &u, err
}

func (q Question) serving(t *tables.Tables, b *BreakEven) error {
	b.Serve.Params = q.ServeParams
	if q.ServeModel != "" {
		if q.ServeParams != nil {
			return usage(breakingEven, "both a model and a number of parameters are given for serving")
		}
		u, err := matmul(t, q.ServeModel)
		if err != nil {
			return err
		}
		b.Serve.Params = u
	}
	apart := q.PromptTokens != nil || q.OutputTokens != nil
	switch {
	case q.TokensPerRequest != nil && apart:
		return usage(breakingEven, "tokens of a request are given together and apart").Fix("give tokens_per_request, or prompt_tokens and output_tokens")
	case q.TokensPerRequest != nil:
		b.Serve.Prompt, b.Serve.Output = cost.Known(0), *q.TokensPerRequest
	case q.PromptTokens != nil && q.OutputTokens != nil:
		b.Serve.Prompt, b.Serve.Output = *q.PromptTokens, *q.OutputTokens
	default:
		return usage(breakingEven, "the tokens of a request are not given").Fix("give tokens_per_request, or prompt_tokens and output_tokens")
	}
	if q.RequestsPerDay == nil {
		return usage(breakingEven, "the requests of the first day are not given").Fix("give requests_per_day")
	}
	b.Serve.RequestsPerDay = *q.RequestsPerDay
	return nil
}

func (q Question) demand(_ *tables.Tables, b *BreakEven) error {
	b.Serve.Growth, b.Serve.GrowthDays, b.Serve.Limit = given(q.Growth, 1), q.GrowthDays, q.Limit
	if q.GrowthDays == 0 {
		b.Serve.GrowthDays = 30
	}
	if q.Limit < 0 {
		return usage(breakingEven, "limit = %g requests a day is below 0", q.Limit)
	}
	if q.Start == "" {
		return nil
	}
	start, err := time.Parse(time.DateOnly, q.Start)
	if err != nil {
		return usage(breakingEven, "the first day %s is none", fault.Quote(q.Start, 40)).Fix(`write it as "2026-01-31"`)
	}
	b.Start = start
	return nil
}

// machines gives both sides a device where one is named.
func (q Question) machines(t *tables.Tables, day tables.Date, b *BreakEven) ([]string, error) {
	if q.Hardware == "" {
		if q.TrainHardware != "" || q.TrainMFU != nil || q.ServeMFU != nil || q.PrefillMFU != nil || q.USDPerHour != nil || q.TrainUSDPerHour != nil {
			return nil, usage(breakingEven, "utilisation or prices are given, and no hardware").Fix("name the hardware that serves")
		}
		return nil, nil
	}
	if q.TrainMFU == nil || q.ServeMFU == nil {
		return nil, usage(breakingEven, "money needs the utilisation of both sides, and not both are given").Fix("give train_mfu and serve_mfu, 1 for a floor; decoding often reaches 0.02 to 0.1, training 0.3 to 0.45")
	}
	if q.PrefillMFU != nil && q.PromptTokens == nil {
		return nil, usage(breakingEven, "the utilisation of prompts is given, and no prompt tokens").Fix("give prompt_tokens and output_tokens apart")
	}
	serve, warnings, err := q.machine(t, day, q.Hardware, q.USDPerHour)
	if err != nil {
		return nil, err
	}
	serve.Decode, serve.Prefill = *q.ServeMFU, given(q.PrefillMFU, 0)
	if q.PrefillMFU == nil {
		serve.Prefill = *q.ServeMFU
	}
	name, usd := q.TrainHardware, q.TrainUSDPerHour
	if name == "" {
		name = q.Hardware
		if usd == nil {
			usd = q.USDPerHour
		}
	}
	train, more, err := q.machine(t, day, name, usd)
	if err != nil {
		return nil, err
	}
	train.Prefill, train.Decode = *q.TrainMFU, cost.Known(1)
	b.TrainOn, b.ServeOn = train, serve
	if name != q.Hardware {
		warnings = append(warnings, more...)
	}
	return warnings, nil
}

func (q Question) machine(t *tables.Tables, day tables.Date, name string, usd *cost.Uncertain) (*Machine, []string, error) {
	h, err := t.Hardware(name)
	if err != nil {
		return nil, nil, err
	}
	dtype := q.Dtype
	if dtype == "" {
		dtype = "bf16"
	}
	peak, err := h.PeakOf(dtype)
	if err != nil {
		return nil, nil, err
	}
	m := &Machine{Name: fmt.Sprintf("%s (%s, %.4g FLOP/s dense)", h.Name, dtype, peak), Peak: peak, USDPerHour: usd}
	if usd != nil || h.USDPerHour == nil {
		return m, nil, nil
	}
	v, warnings, err := h.HourUSD(day)
	u := cost.Known(v)
	m.USDPerHour = &u
	return m, warnings, err
}
