package cost

// Size holds the four parameter counts in use. They are different numbers of the same
// model, and none of them is called N here.
type Size struct {
	Total        int64 // every stored parameter; a tied embedding once
	Active       int64 // those that one token touches: total without the experts it does not pass
	NonEmbedding int64 // without embedding, output head and learned positions; all experts (Kaplan et al. 2020)
	Matmul       int64 // M, weights multiplied for one token: no lookup, no norm, no bias; the head once even if tied
}

// Size returns the parameter counts (F1): attention d h e + 2 d g e + h e d,
// feed-forward m d f, router d E, head and embedding V d each, and biases, norms
// and positions as the record says. Latent attention: d r_q + r_q h(e_n+e_r) +
// d(r_kv+e_r) + r_kv h(e_n+e_v) + h e_v d and a norm on each low-rank vector.
// Counts are exact. Holds for dense, grouped-query, gated, mixture and latent
// decoders; not for encoders, state-space layers or adapters.
// Sources: Kaplan et al. 2020; Shazeer 2019 and 2020; DeepSeek-V3 2024.
func (a *Arch) Size() (Size, error) {
	if err := a.Validate(); err != nil {
		return Size{}, err
	}
	s := a.counts()
	return Size{Total: int64(s.total), Active: int64(s.active), NonEmbedding: int64(s.body), Matmul: int64(s.matmul)}, nil
}

// counted is Size before rounding; whole numbers below 2^53 are exact in it.
type counted struct{ total, active, body, matmul float64 }

func (a *Arch) counts() counted {
	d, table := float64(a.Model), float64(a.Model)*float64(a.Vocab)
	norm := d * float64(a.NormSize)
	body, matmul, idle := norm, 0.0, 0.0
	for i := range a.Layers {
		l := &a.Layers[i]
		w := l.Attention.weights(d)
		body += w + l.Attention.extras(d) + norm*float64(l.Norms)
		matmul += w
		m := l.Mixture
		if m == nil {
			w = l.FFN.weights(d)
			body += w
			matmul += w
			if l.FFN.Bias {
				body += float64(l.FFN.Matrices-1)*float64(l.FFN.Width) + d
			}
			continue
		}
		one, router := m.Expert.weights(d), d*float64(m.Experts)
		body += one*float64(m.Experts+m.Shared) + router
		matmul += one*float64(m.TopK+m.Shared) + router
		idle += one * float64(m.Experts-m.TopK)
		if m.RouterBias {
			body += float64(m.Experts)
		}
	}
	c := counted{body: body, matmul: matmul + table, total: body + table + d*float64(a.Positions)}
	if !a.Tied {
		c.total += table
	}
	c.active = c.total - idle
	return c
}

// total is the parameter count as a float64, also where it is too large.
func (a *Arch) total() float64 { return a.counts().total }

// weights returns the weights of the projections.
func (t *Attention) weights(d float64) float64 {
	h := float64(t.Heads)
	w := 0.0
	if t.RelPos {
		w = d * d
	}
	if m := t.Latent; m != nil {
		q, kv, key := float64(m.Query), float64(m.KV), float64(m.Plain+m.Rope)
		if m.Query == 0 {
			w += d * h * key
		} else {
			w += d*q + q*h*key
		}
		return w + d*(kv+float64(m.Rope)) + kv*h*float64(m.Plain+m.Value) + h*float64(m.Value)*d
	}
	e, g := float64(t.Width), float64(t.KV)
	return w + d*h*e + 2*d*g*e + h*e*d
}

// extras returns the parameters that multiply no vector by a matrix.
func (t *Attention) extras(d float64) float64 {
	x := 0.0
	if t.QKVBias {
		x += float64(t.Heads+2*t.KV) * float64(t.Width)
	}
	if t.OutBias {
		x += d
	}
	if t.QKNorm {
		x += 2 * float64(t.Width)
	}
	if t.RelPos {
		x += 2 * d
	}
	if m := t.Latent; m != nil {
		x += float64(m.Query + m.KV)
	}
	return x
}

func (f *FFN) weights(d float64) float64 { return float64(f.Matrices) * d * float64(f.Width) }

// WeightBytes returns the bytes of params weights of bits each. Formats with
// scales have more bits than their name says: 4-bit weights with a 16-bit scale
// for each 32 have 4.5.
func WeightBytes(params, bits float64) (float64, error) {
	g := guarded("weight bytes")
	g.positive("parameters", params)
	g.positive("bits", bits)
	return g.of(params * bits / 8)
}
