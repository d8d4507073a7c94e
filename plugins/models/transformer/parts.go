package transformer

// part is one step of the forward pass: the tensors it needs and what it does
// to the buffers of a pass with them. An architecture is a table of parts; a
// new one adds parts and a table, not another pass.
type part struct {
	name  string // what it does, as an infinitive
	needs func(h *hyper) []need
	run   func(p *pass, w []*tensor)
}

// architecture is how a family of models reads its metadata and computes.
type architecture struct {
	name string // general.architecture
	read func(m *meta, vocab int) hyper
	// ropeFactors names a vector that, when present, divides the rotary
	// frequencies one by one.
	ropeFactors string
	embed       part
	block       []part // in every layer
	head        []part // for the rows whose scores are wanted
}

// architectures returns the known families.
func architectures() []architecture {
	return []architecture{{
		// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models".
		name:        "llama",
		read:        readLlama,
		ropeFactors: "rope_freqs.weight",
		embed:       lookUp("token_embd.weight"),
		block: []part{
			rmsNorm("attn_norm.weight"),
			projectQKV("attn_q.weight", "attn_k.weight", "attn_v.weight"),
			rotatePairs(),
			attend(),
			projectBack("attn_output.weight"),
			rmsNorm("ffn_norm.weight"),
			gatedFFN("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"),
		},
		head: []part{
			rmsNorm("output_norm.weight"),
			logits("output.weight", "token_embd.weight"),
		},
	}}
}

func none(*hyper) []need { return nil }

// lookUp starts the residual stream with the tokens' rows of a table.
func lookUp(table string) part {
	return part{
		name:  "look up",
		needs: func(h *hyper) []need { return []need{{name: table, dims: []int{h.width, h.vocab}}} },
		run: func(p *pass, w []*tensor) {
			for i, r := range p.rows {
				dst := p.stream[i*p.h.width:][:p.h.width]
				copy(dst, w[0].widen(p.k, int(r.token), 1, dst))
			}
		},
	}
}

// rmsNorm writes the normalised stream to normed.
func rmsNorm(gain string) part {
	return part{
		name:  "normalise",
		needs: func(h *hyper) []need { return []need{{name: gain, dims: []int{h.width}}} },
		run: func(p *pass, w []*tensor) {
			n := p.h.width
			g := w[0].widen(p.k, 0, 1, p.gain)
			copy(p.normed, p.stream[:len(p.rows)*n])
			p.each(len(p.rows), n, func(_, i int) { p.k.RMSNorm(p.normed[i*n:][:n], g, p.h.epsilon) })
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
		run: func(p *pass, w []*tensor) {
			p.multiply(p.normed, product{w: w[0], dst: p.q}, product{w: w[1], dst: p.key}, product{w: w[2], dst: p.value})
		},
	}
}

// rotatePairs turns elements 2i and 2i+1 of every query and key head by the
// position times a frequency that falls with i (Su et al. 2021, "RoFormer"; the
// neighbouring pairs are GGUF's convention for llama).
func rotatePairs() part {
	return part{
		name:  "rotate",
		needs: none,
		run: func(p *pass, _ []*tensor) {
			size, q, kv := p.h.headSize, p.h.heads*p.h.headSize, p.h.kvHeads*p.h.headSize
			p.each(len(p.rows), q+kv, func(_, i int) {
				cos, sin := p.rope.at(p.rows[i].position)
				for _, x := range [][]float32{p.q[i*q:][:q], p.key[i*kv:][:kv]} {
					for head := 0; head < len(x); head += size {
						p.k.Rotate(x[head:][:len(cos)], cos, sin)
					}
				}
			})
		},
	}
}

// attend keeps the rows' keys and values in the cache and mixes, for every row
// and query head, the values of all positions up to the row's own, weighted by
// softmax(query·key/sqrt(head size)) (Vaswani et al. 2017; shared key heads:
// Ainslie et al. 2023).
func attend() part {
	return part{name: "attend", needs: none, run: func(p *pass, _ []*tensor) { p.attend() }}
}

// projectBack multiplies the attention's output and adds it to the stream.
func projectBack(w string) part {
	return part{
		name:  "project back",
		needs: func(h *hyper) []need { return []need{{name: w, dims: []int{h.heads * h.headSize, h.width}}} },
		run: func(p *pass, w []*tensor) {
			p.multiply(p.mixed, product{w: w[0], store: p.addToStream})
		},
	}
}

// gatedFFN adds down·(silu(gate·x)*up·x) to the stream (Shazeer 2020).
func gatedFFN(gate, up, down string) part {
	return part{
		name: "feed forward",
		needs: func(h *hyper) []need {
			return []need{
				{name: gate, dims: []int{h.width, h.ffn}},
				{name: up, dims: []int{h.width, h.ffn}},
				{name: down, dims: []int{h.ffn, h.width}},
			}
		},
		run: func(p *pass, w []*tensor) {
			p.multiply(p.normed, product{w: w[0], dst: p.inner, up: w[1], store: func(row, first int, up []float32) {
				p.k.SiLUMul(p.inner[row*p.h.ffn+first:][:len(up)], up)
			}})
			p.multiply(p.inner, product{w: w[2], store: p.addToStream})
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
		run: func(p *pass, w []*tensor) {
			for i, r := range p.rows {
				copy(r.hidden, p.normed[i*p.h.width:][:p.h.width])
			}
			p.multiply(p.normed, product{w: w[0], store: func(row, first int, y []float32) {
				copy(p.rows[row].scores[first:], y)
			}})
		},
	}
}
