package transformer

import (
	"lab/core/dist"
	"lab/plugins/models/internal/kernel"
)

// part is one step of the forward pass: the tensors it needs and what it does
// to the buffers of a pass with them. An architecture is a table of parts; a
// new one adds parts and a table, not another pass.
type part struct {
	name  string // what it does, as an infinitive
	needs func(h *hyper) []need
	run   func(p *pass, w []*tensor)
	// pick, where there is one, returns the part that a layer has in place of this
	// one, which has nothing else; stored reports which of the layer's tensors
	// there are.
	pick func(h *hyper, stored func(tensor string) bool) part
}

func none(*hyper) []need { return nil }

// nothing does nothing: what some layers have in place of a part.
func nothing() part { return part{name: "do nothing", needs: none, run: func(*pass, []*tensor) {}} }

// ifStored is one part in layers that have a tensor and another in those that
// have not.
func ifStored(tensor string, with, without part) part {
	return part{pick: func(_ *hyper, stored func(string) bool) part {
		if stored(tensor) {
			return with
		}
		return without
	}}
}

// embedding is the table of one row per token.
const embedding = "token_embd.weight"

// lookUp starts the residual stream with the tokens' rows of the embedding.
func lookUp() part {
	return part{
		name:  "look up",
		needs: func(h *hyper) []need { return []need{{name: embedding, dims: []int{h.width, h.vocab}}} },
		run: func(p *pass, w []*tensor) {
			for i, r := range p.rows {
				dst := p.stream[i*p.h.width:][:p.h.width]
				copy(dst, w[0].widen(p.k, int(r.token), 1, dst))
				if p.h.embedScale > 0 {
					kernel.Scale(dst, p.h.embedScale)
				}
			}
		},
	}
}

// lookUpPlaces is lookUp plus a row per position of a second table (Radford et
// al. 2019, GPT-2).
func lookUpPlaces(places string) part {
	return part{
		name: "look up",
		needs: func(h *hyper) []need {
			return []need{{name: embedding, dims: []int{h.width, h.vocab}}, {name: places, dims: []int{h.width, h.trained}}}
		},
		run: func(p *pass, w []*tensor) {
			n := p.h.width
			p.vectors[0] = grow(p.vectors[0], n)
			for i, r := range p.rows {
				dst := p.stream[i*n:][:n]
				copy(dst, w[0].widen(p.k, int(r.token), 1, dst))
				p.k.Add(dst, w[1].widen(p.k, r.position, 1, p.vectors[0]))
			}
		},
	}
}

// asIs gives the stream itself to what follows: for layers that are normalised
// only where they end.
func asIs() part {
	return part{name: "pass on", needs: none, run: func(p *pass, _ []*tensor) {
		copy(p.normed, p.stream[:len(p.rows)*p.h.width])
	}}
}

// rmsNorm writes the normalised stream to normed.
func rmsNorm(gain string) part {
	return part{
		name:  "normalise",
		needs: func(h *hyper) []need { return []need{{name: gain, dims: []int{h.width}}} },
		run: func(p *pass, w []*tensor) {
			n, g := p.h.width, p.vector(0, w[0])
			p.each(len(p.rows), n, func(_, i int) {
				copy(p.normed[i*n:][:n], p.stream[i*n:])
				p.k.RMSNorm(p.normed[i*n:][:n], g, p.h.epsilon)
			})
		},
	}
}

// layerNorm writes the stream, normalised about its mean, to normed. name is
// that of the tensors without ".weight" and ".bias".
func layerNorm(name string) part {
	return part{
		name: "normalise",
		needs: func(h *hyper) []need {
			return []need{{name: name + ".weight", dims: []int{h.width}}, {name: name + ".bias", dims: []int{h.width}}}
		},
		run: func(p *pass, w []*tensor) {
			n, gain, bias := p.h.width, p.vector(0, w[0]), p.vector(1, w[1])
			p.each(len(p.rows), n, func(_, i int) {
				copy(p.normed[i*n:][:n], p.stream[i*n:])
				kernel.LayerNorm(p.normed[i*n:][:n], gain, bias, p.h.epsilon)
			})
		},
	}
}

// projectQKV computes queries, keys and values from normed.
func projectQKV(q, k, v string) part {
	return part{
		name: "project to queries, keys and values",
		needs: func(h *hyper) []need {
			return []need{
				{name: q, dims: []int{h.width, h.heads * h.headSize}},
				{name: k, dims: []int{h.width, h.kvHeads * h.headSize}},
				{name: v, dims: []int{h.width, h.kvHeads * h.headSize}},
			}
		},
		run: runQKV,
	}
}

// projectQKVBiased is projectQKV with a bias each, which optional lets be
// absent; names are without ".weight" and ".bias".
func projectQKVBiased(q, k, v string, optional bool) part {
	out := projectQKV(q+".weight", k+".weight", v+".weight")
	weights := out.needs
	out.needs = func(h *hyper) []need {
		return append(weights(h),
			need{name: q + ".bias", dims: []int{h.heads * h.headSize}, optional: optional},
			need{name: k + ".bias", dims: []int{h.kvHeads * h.headSize}, optional: optional},
			need{name: v + ".bias", dims: []int{h.kvHeads * h.headSize}, optional: optional})
	}
	return out
}

// projectStacked is projectQKV with the three matrices one below the other in
// one tensor; biased adds a bias of the same order.
func projectStacked(qkv string, biased bool) part {
	return part{
		name: "project to queries, keys and values",
		needs: func(h *hyper) []need {
			q, kv := h.heads*h.headSize, h.kvHeads*h.headSize
			out := stacked(need{name: qkv + ".weight", dims: []int{h.width, q + 2*kv}}, q, kv, kv)
			if biased {
				out = append(out, stacked(need{name: qkv + ".bias", dims: []int{q + 2*kv}}, q, kv, kv)...)
			}
			return out
		},
		run: runQKV,
	}
}

// projectEither is projectStacked with biases or projectQKVBiased, as the file
// has it.
func projectEither(qkv, q, k, v string) part {
	return ifStored(qkv+".weight", projectStacked(qkv, true), projectQKVBiased(q, k, v, false))
}

// stacked returns the needs for parts of so many rows each, one below the other.
func stacked(whole need, rows ...int) []need {
	out := make([]need, len(rows))
	for i, n := range rows {
		out[i] = whole
		out[i].take = n
		whole.first += n
	}
	return out
}

// runQKV takes the three matrices and, where there are any, the three biases.
func runQKV(p *pass, w []*tensor) {
	products := []product{{w: w[0], dst: p.q}, {w: w[1], dst: p.key}, {w: w[2], dst: p.value}}
	for i, bias := range w[3:] {
		products[i].bias = p.vector(i, bias)
	}
	p.multiply(p.normed, products...)
}

// rotatePairs turns elements 2i and 2i+1 of every query and key head by the
// position times a frequency that falls with i (Su et al. 2021, "RoFormer"; the
// neighbouring pairs are GGUF's convention for llama).
func rotatePairs() part {
	return part{name: "rotate", needs: none, run: func(p *pass, _ []*tensor) { p.rotate(p.k.Rotate) }}
}

// rotateHalves is rotatePairs for elements i and i plus half of what is rotated.
func rotateHalves() part {
	return part{name: "rotate", needs: none, run: func(p *pass, _ []*tensor) { p.rotate(kernel.RotateHalves) }}
}

func (p *pass) rotate(turn func(x, cos, sin []float32)) {
	size, q, kv := p.h.headSize, p.h.heads*p.h.headSize, p.h.kvHeads*p.h.headSize
	table := p.rope()
	p.each(len(p.rows), q+kv, func(_, i int) {
		cos, sin := table.at(p.rows[i].position)
		for _, x := range [][]float32{p.q[i*q:][:q], p.key[i*kv:][:kv]} {
			for head := 0; head < len(x); head += size {
				turn(x[head:][:len(cos)], cos, sin)
			}
		}
	})
}

// attend keeps the rows' keys and values in the cache and mixes, for every row
// and query head, the values of all positions up to the row's own, weighted by
// softmax(query·key/sqrt(head size)) (Vaswani et al. 2017; shared key heads:
// Ainslie et al. 2023).
func attend() part {
	return part{name: "attend", needs: none, run: func(p *pass, _ []*tensor) { p.attend() }}
}

// projectBack multiplies the attention's output and adds it to the stream.
func projectBack() part {
	return part{name: "project back", needs: needBack(), run: runBack}
}

// projectBackBiased is projectBack with a bias.
func projectBackBiased() part {
	return part{name: "project back", needs: needBack("attn_output.bias"), run: runBack}
}

func needBack(bias ...string) func(h *hyper) []need {
	return func(h *hyper) []need {
		out := []need{{name: "attn_output.weight", dims: []int{h.heads * h.headSize, h.width}}}
		for _, b := range bias {
			out = append(out, need{name: b, dims: []int{h.width}})
		}
		return out
	}
}

func runBack(p *pass, w []*tensor) {
	p.multiply(p.mixed, product{w: w[0], bias: p.optional(0, w, 1), store: p.addToStream})
}

// optional returns the vector of a tensor that not every table has.
func (p *pass) optional(slot int, w []*tensor, i int) []float32 {
	if i >= len(w) {
		return nil
	}
	return p.vector(slot, w[i])
}

// normed makes a part that adds to the stream add its output, normalised by the
// RMS norm gain, instead.
func normed(inner part, gain string) part {
	needs := inner.needs
	return part{
		name:  inner.name,
		needs: func(h *hyper) []need { return append(needs(h), need{name: gain, dims: []int{h.width}}) },
		run: func(p *pass, w []*tensor) {
			n := p.h.width
			p.branch = grow(p.branch, len(p.rows)*n)
			clear(p.branch)
			p.stream, p.branch = p.branch, p.stream
			inner.run(p, w[:len(w)-1])
			p.stream, p.branch = p.branch, p.stream
			g := p.vector(0, w[len(w)-1])
			p.each(len(p.rows), n, func(_, i int) {
				y := p.branch[i*n:][:n]
				p.k.RMSNorm(y, g, p.h.epsilon)
				p.k.Add(p.stream[i*n:][:n], y)
			})
		},
	}
}

// activation is what a feed-forward layer does to the product with its gate.
type activation func(k *kernel.Kernels, gate, up []float32)

// silu and gelu are the known ones, gated by up.
func silu(k *kernel.Kernels, gate, up []float32) { k.SiLUMul(gate, up) }
func gelu(k *kernel.Kernels, gate, up []float32) { k.GELUMul(gate, up) }

// gatedFFN adds down·(act(gate·x)*up·x) to the stream (Shazeer 2020).
func gatedFFN(act activation) part {
	return part{
		name: "feed forward",
		needs: func(h *hyper) []need {
			return []need{
				{name: "ffn_gate.weight", dims: []int{h.width, h.ffn}},
				{name: "ffn_up.weight", dims: []int{h.width, h.ffn}},
				{name: "ffn_down.weight", dims: []int{h.ffn, h.width}},
			}
		},
		run: runGated(act),
	}
}

// stackedFFN is gatedFFN with the gate above up in one tensor.
func stackedFFN(act activation) part {
	return part{
		name: "feed forward",
		needs: func(h *hyper) []need {
			return append(stacked(need{name: "ffn_up.weight", dims: []int{h.width, 2 * h.ffn}}, h.ffn, h.ffn),
				need{name: "ffn_down.weight", dims: []int{h.ffn, h.width}})
		},
		run: runGated(act),
	}
}

func runGated(act activation) func(p *pass, w []*tensor) {
	return func(p *pass, w []*tensor) { p.gated(act, p.normed, w, p.addToStream) }
}

// gated computes down·(act(gate·x)*up·x) with the three matrices of a gated layer
// and hands it to store.
func (p *pass) gated(act activation, x []float32, w []*tensor, store func(row, first int, y []float32)) {
	inner := w[0].rows
	p.inner = grow(p.inner, len(p.rows)*inner)
	p.multiply(x, product{w: w[0], dst: p.inner, up: w[1], store: func(row, first int, up []float32) {
		act(p.k, p.inner[row*inner+first:][:len(up)], up)
	}})
	p.multiply(p.inner, product{w: w[2], inner: true, store: store})
}

// plainFFN adds down·gelu(up·x) to the stream, with a bias in both products
// (Radford et al. 2019, GPT-2); names are without ".weight" and ".bias".
func plainFFN(up, down string) part {
	return part{
		name: "feed forward",
		needs: func(h *hyper) []need {
			return []need{
				{name: up + ".weight", dims: []int{h.width, h.ffn}}, {name: up + ".bias", dims: []int{h.ffn}},
				{name: down + ".weight", dims: []int{h.ffn, h.width}}, {name: down + ".bias", dims: []int{h.width}},
			}
		},
		run: func(p *pass, w []*tensor) {
			p.multiply(p.normed, product{w: w[0], bias: p.vector(0, w[1]), store: func(row, first int, y []float32) {
				p.k.GELU(y)
				copy(p.inner[row*p.h.ffn+first:], y)
			}})
			p.multiply(p.inner, product{w: w[2], inner: true, bias: p.vector(0, w[3]), store: p.addToStream})
		},
	}
}

// logits writes a score per token into the rows' own memory; tied names the
// embedding table, which serves when there is no matrix for the output.
func logits(output, tied string) part {
	return part{
		name: "score the tokens",
		needs: func(h *hyper) []need {
			return []need{{name: output, tied: tied, dims: []int{h.width, h.vocab}}}
		},
		run: runLogits,
	}
}

// biasedLogits is logits with a bias; output is without ".weight" and ".bias".
func biasedLogits(output string) part {
	return part{
		name: "score the tokens",
		needs: func(h *hyper) []need {
			return []need{{name: output + ".weight", dims: []int{h.width, h.vocab}}, {name: output + ".bias", dims: []int{h.vocab}}}
		},
		run: runLogits,
	}
}

func runLogits(p *pass, w []*tensor) {
	for i, r := range p.rows {
		copy(r.hidden, p.normed[i*p.h.width:][:p.h.width])
	}
	p.multiply(p.normed, product{w: w[0], bias: p.optional(0, w, 1), store: func(row, first int, y []float32) {
		if p.h.logitCap > 0 {
			kernel.Cap(y, 1, p.h.logitCap)
		}
		if !dist.AllFinite(y) {
			p.broken.Store(true)
		}
		copy(p.rows[row].scores[first:], y)
	}})
}
