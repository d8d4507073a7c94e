package check

import "lab/core/cost"

// trainingOperations are FLOP of training, utilisation and scaling laws.
var trainingOperations = map[string]operation{
	"train_6nd": op(func(in struct {
		Params float64 `json:"params"`
		Tokens float64 `json:"tokens"`
	}) (map[string]value, error) {
		r := collect()
		r.set("flop")(cost.Train6ND(in.Params, in.Tokens))
		return r.done()
	}),
	"appendix_f_flops": op(appendixFLOP),
	"appendix_f_ratio": op(func(in appendix) (map[string]value, error) {
		r := collect()
		r.set("ratio")(in.count().Ratio())
		r.set("params")(in.count().Params())
		return r.done()
	}),
	"mfu_from_gpu_hours": op(func(in struct {
		Params float64 `json:"params"`
		Tokens float64 `json:"tokens"`
		Hours  float64 `json:"gpu_hours"`
		Peak   float64 `json:"peak_flops"`
	}) (map[string]value, error) {
		flop, err := cost.Train6ND(in.Params, in.Tokens)
		if err != nil {
			return nil, err
		}
		r := collect()
		r.set("mfu")(cost.MFU(flop, in.Hours*3600, cost.Device{Peak: in.Peak, Chips: 1}))
		return r.done()
	}),
	"mfu_from_step": op(func(in struct {
		FLOP      float64 `json:"flops_per_sequence"`
		Sequences float64 `json:"sequences"`
		Seconds   float64 `json:"seconds"`
		Peak      float64 `json:"peak_flops"`
	}) (map[string]value, error) {
		r := collect()
		r.set("mfu")(cost.MFU(in.FLOP*in.Sequences, in.Seconds, cost.Device{Peak: in.Peak, Chips: 1}))
		return r.done()
	}),
	"train_days": op(func(in struct {
		Params float64 `json:"params"`
		Tokens float64 `json:"tokens"`
		Chips  float64 `json:"chips"`
		Peak   float64 `json:"peak_flops"`
		MFU    float64 `json:"mfu"`
	}) (map[string]value, error) {
		flop, err := cost.Train6ND(in.Params, in.Tokens)
		if err != nil {
			return nil, err
		}
		seconds, err := cost.TimeFromMFU(flop, in.MFU, cost.Device{Peak: in.Peak, Chips: in.Chips})
		r := collect()
		r.put("days", seconds/86400)
		r.err = err
		return r.done()
	}),
	"parametric_loss": op(func(in struct {
		Coef   coefficients `json:"coef"`
		Params float64      `json:"params"`
		Tokens float64      `json:"tokens"`
	}) (map[string]value, error) {
		r := collect()
		r.set("loss")(in.Coef.loss().At(in.Params, in.Tokens))
		return r.done()
	}),
	"chinchilla_optimum": op(func(in struct {
		Coef    coefficients `json:"coef"`
		Compute float64      `json:"compute"`
	}) (map[string]value, error) {
		p, err := in.Coef.loss().Optimum(in.Compute)
		r := collect()
		r.put("params", p.Params)
		r.put("tokens", p.Tokens)
		r.put("tokens_per_param", p.Tokens/p.Params)
		r.err = err
		return r.done()
	}),
	"inference_aware": op(inferenceAware),
}

// appendix is the inputs of Hoffmann's count.
type appendix struct {
	Layers    float64 `json:"layers"`
	Model     float64 `json:"d_model"`
	FF        float64 `json:"d_ff"`
	Heads     float64 `json:"heads"`
	HeadWidth float64 `json:"kv_size"`
	Seq       float64 `json:"seq"`
	Vocab     float64 `json:"vocab" input:"optional"`
	Embedding bool    `json:"count_embedding"`
	Logits    bool    `json:"count_logits"`
	RelPos    bool    `json:"relative_position" input:"optional"`
	// Of the whole run, where it is asked for.
	Tokens float64 `json:"tokens" input:"optional"`
	Params float64 `json:"params" input:"optional"`
}

func (in appendix) count() cost.AppendixF {
	return cost.AppendixF{Layers: in.Layers, Model: in.Model, FF: in.FF, Heads: in.Heads, HeadWidth: in.HeadWidth, Seq: in.Seq, Vocab: in.Vocab,
		Embedding: in.Embedding, Logits: in.Logits, RelPos: in.RelPos}
}

func appendixFLOP(in appendix) (map[string]value, error) {
	r := collect()
	r.set("plain")(in.count().Train(in.Tokens, false))
	r.set("with_recompute")(in.count().Train(in.Tokens, true))
	r.out["six_nd"] = lacks("params, the N of 6 N D: widths without a vocabulary do not tell it")
	if in.Params > 0 {
		r.set("six_nd")(cost.Train6ND(in.Params, in.Tokens))
	}
	return r.done()
}

// coefficients are those of a scaling law.
type coefficients struct {
	E, A, B, Alpha, Beta float64
}

func (c *coefficients) UnmarshalJSON(text []byte) error {
	var in struct {
		E     float64 `json:"E"`
		A     float64 `json:"A"`
		B     float64 `json:"B"`
		Alpha float64 `json:"alpha"`
		Beta  float64 `json:"beta"`
	}
	if err := take(text, &in); err != nil {
		return err
	}
	*c = coefficients{in.E, in.A, in.B, in.Alpha, in.Beta}
	return nil
}

func (c coefficients) loss() cost.Loss {
	return cost.Loss{Name: "of the file", E: c.E, A: c.A, B: c.B, Alpha: c.Alpha, Beta: c.Beta}
}

type awareInputs struct {
	Coef        coefficients `json:"coef"`
	Quality     float64      `json:"quality_params"`
	Inference   float64      `json:"inference_tokens"`
	Alternative *float64     `json:"alternative_params"`
}

// inferenceAware compares the training optimum of a size with the size that
// reaches the same loss at the least lifetime cost.
func inferenceAware(in awareInputs) (map[string]value, error) {
	l := in.Coef.loss()
	d, err := l.TokensFor(in.Quality)
	if err != nil {
		return nil, err
	}
	loss, err := l.At(in.Quality, d)
	if err != nil {
		return nil, err
	}
	base := cost.Lifetime(cost.Point{Params: in.Quality, Tokens: d}, in.Inference)
	best, err := l.WithInference(loss, in.Inference)
	if err != nil {
		return nil, err
	}
	opt := cost.Lifetime(best, in.Inference)
	r := collect()
	r.put("base_tokens", d)
	r.put("loss", loss)
	r.put("base_flop", base)
	r.put("opt_params", best.Params)
	r.put("opt_tokens", best.Tokens)
	r.put("opt_flop", opt)
	r.put("opt_saved_fraction", 1-opt/base)
	r.put("opt_token_ratio", best.Tokens/d)
	if in.Alternative != nil {
		tokens, err := l.TokensAt(loss, *in.Alternative)
		if err != nil {
			return nil, err
		}
		flop := cost.Lifetime(cost.Point{Params: *in.Alternative, Tokens: tokens}, in.Inference)
		r.put("alt_tokens", tokens)
		r.put("alt_flop", flop)
		r.put("saved_flop", base-flop)
		r.put("saved_fraction", 1-flop/base)
	}
	return r.done()
}
