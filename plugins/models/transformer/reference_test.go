package transformer

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
	"testing"

	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// family is what sets an architecture apart where tensors and metadata do not.
type family struct {
	pairs       bool // neighbours are rotated together, not halves
	layerNorm   bool // norms are about the mean
	postNorms   bool // what joins the stream is normalised
	asIs        bool // and what leaves it is not
	wholeNorm   bool // queries and keys are normalised over all heads
	parallel    bool // attention and feed-forward layer have the same input
	gelu        bool
	embedScale  bool
	renormalise bool // weights of the picked experts sum to one
	window      int  // where the file names none
	local       func(layer int) bool
	caps        [2]float64 // of attention and scores, where the file names none
	wide        int        // layers of the model whose queries are scaled by width/heads
}

func families() map[string]family {
	everywhere := func(int) bool { return true }
	return map[string]family{
		"llama":    {pairs: true, renormalise: true},
		"gemma":    {gelu: true, embedScale: true},
		"gemma2":   {gelu: true, embedScale: true, postNorms: true, window: 4096, local: func(l int) bool { return l%2 == 0 }, caps: [2]float64{50, 30}, wide: 46},
		"gemma3":   {gelu: true, embedScale: true, postNorms: true, local: func(l int) bool { return (l+1)%6 != 0 }, wide: 62},
		"gpt2":     {gelu: true, layerNorm: true},
		"olmo2":    {postNorms: true, asIs: true, wholeNorm: true},
		"phi2":     {gelu: true, layerNorm: true, parallel: true},
		"phi3":     {local: everywhere},
		"qwen2":    {},
		"qwen2moe": {},
		"qwen3":    {},
		"qwen3moe": {renormalise: true},
		"stablelm": {layerNorm: true},
	}
}

// reference is the model as the papers write it down, in float64, without
// cache, batches or pages: an independent second opinion on every detail.
type reference struct {
	f    *gguf.File
	arch string
	family
	t map[string][][]float64 // name -> rows

	layers, width, heads, kvHeads, size, context int
	epsilon                                      float64
}

func newReference(t *testing.T, data []byte) *reference {
	t.Helper()
	f, err := gguf.Read("reference", data)
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{f: f, t: map[string][][]float64{}}
	if r.arch, _, err = f.Text("general.architecture"); err != nil {
		t.Fatal(err)
	}
	var known bool
	if r.family, known = families()[r.arch]; !known {
		t.Fatalf("the reference does not know %q", r.arch)
	}
	if says, _, _ := f.Bool(r.arch + ".use_parallel_residual"); says {
		r.parallel = true
	}
	r.layers, r.width, r.heads = r.whole("block_count", 0), r.whole("embedding_length", 0), r.whole("attention.head_count", 0)
	r.kvHeads, r.context = r.whole("attention.head_count_kv", r.heads), r.whole("context_length", 0)
	r.size = r.whole("attention.key_length", r.width/r.heads)
	r.epsilon = r.real("attention.layer_norm_rms_epsilon", r.real("attention.layer_norm_epsilon", 0))
	for _, info := range f.Tensors {
		r.t[info.Name] = widened(info, f.Data(info))
	}
	return r
}

func (r *reference) whole(key string, fallback int) int {
	if n, found, _ := r.f.Int(r.arch + "." + key); found {
		return int(n)
	}
	return fallback
}

func (r *reference) real(key string, fallback float64) float64 {
	if x, found, _ := r.f.Float(r.arch + "." + key); found {
		return x
	}
	return fallback
}

// widened returns the rows of a tensor.
func widened(info gguf.Tensor, b []byte) [][]float64 {
	le := binary.LittleEndian
	cols := info.Dims[0]
	var wide []float32 // formats that package kernel's reference blocks vouch for
	switch info.Type {
	case gguf.F32, gguf.F16, gguf.Q8_0:
	default:
		wide = make([]float32, info.Elements())
		all := kernel.All()
		all[len(all)-1].Widen(wide, b, formats[info.Type])
	}
	rows := make([][]float64, info.Elements()/int64(cols))
	for i := range rows {
		rows[i] = make([]float64, cols)
		for j := range cols {
			n := i*cols + j
			switch info.Type {
			case gguf.F32:
				rows[i][j] = float64(math.Float32frombits(le.Uint32(b[4*n:])))
			case gguf.F16:
				rows[i][j] = fromHalf(le.Uint16(b[2*n:]))
			case gguf.Q8_0:
				block := b[n/32*34:]
				rows[i][j] = fromHalf(le.Uint16(block)) * float64(int8(block[2+n%32]))
			default:
				rows[i][j] = float64(wide[n])
			}
		}
	}
	return rows
}

func matVec(w [][]float64, x []float64) []float64 {
	y := make([]float64, len(w))
	for i, row := range w {
		for j, v := range row {
			y[i] += v * x[j]
		}
	}
	return y
}

// affine is a matrix times x plus its bias, where there is one.
func (r *reference) affine(name string, x []float64) []float64 {
	y := matVec(r.t[name+".weight"], x)
	if bias := r.t[name+".bias"]; bias != nil {
		add(y, bias[0])
	}
	return y
}

func add(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}

// norm returns x normalised by the named norm.
func (r *reference) norm(x []float64, name string) []float64 { return r.normBy(x, name, 0) }

// normBy is norm with one of several rows of gains.
func (r *reference) normBy(x []float64, name string, row int) []float64 {
	mean := 0.0
	if r.layerNorm {
		for _, v := range x {
			mean += v / float64(len(x))
		}
	}
	square := 0.0
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = (v - mean) / math.Sqrt(square/float64(len(x))+r.epsilon) * r.t[name+".weight"][row][i]
	}
	if bias := r.t[name+".bias"]; bias != nil {
		add(y, bias[0])
	}
	return y
}

// angle is by how much a pair of a head turns at a position.
func (r *reference) angle(position, pair, size int, local bool) float64 {
	base, scale := r.real("rope.freq_base", 10000), r.real("rope.scaling.factor", 1)
	if local && r.arch == "gemma3" {
		base, scale = 10000, 1
	}
	f := math.Pow(base, -2*float64(pair)/float64(size))
	if kind, _, _ := r.f.Text(r.arch + ".rope.scaling.type"); kind == "yarn" {
		origin := float64(r.whole("rope.scaling.original_context_length", r.context))
		// The pair, as a real number, that turns so often within the original context.
		turning := func(turns float64) float64 {
			return float64(size) / 2 * math.Log(origin/(2*math.Pi*turns)) / math.Log(base)
		}
		low, high := math.Max(math.Floor(turning(32)), 0), math.Min(math.Ceil(turning(1)), float64(size-1))
		slow := math.Min(math.Max((float64(pair)-low)/math.Max(high-low, 0.001), 0), 1)
		f = f/scale*slow + f*(1-slow)
	} else {
		f /= scale
	}
	factors := r.t["rope_freqs.weight"]
	if factors == nil {
		factors = r.t["rope_factors_short.weight"]
		if r.context > r.whole("rope.scaling.original_context_length", r.context) {
			factors = r.t["rope_factors_long.weight"]
		}
	}
	if factors != nil {
		f /= factors[0][pair]
	}
	return float64(position) * f
}

func (r *reference) rotate(x []float64, position int, local bool) {
	if r.t["position_embd.weight"] != nil {
		return
	}
	size := r.whole("rope.dimension_count", r.size)
	gain := r.real("rope.scaling.attn_factor", 1)
	if kind, _, _ := r.f.Text(r.arch + ".rope.scaling.type"); kind == "yarn" {
		gain *= 1 + 0.1*math.Log(r.real("rope.scaling.factor", 1))
	}
	for head := 0; head < len(x); head += r.size {
		for i := range size / 2 {
			a, b := head+i, head+i+size/2
			if r.pairs {
				a, b = head+2*i, head+2*i+1
			}
			angle := r.angle(position, i, size, local)
			// Multiplication of complex numbers, one per pair.
			z := complex(x[a], x[b]) * complex(gain*math.Cos(angle), gain*math.Sin(angle))
			x[a], x[b] = real(z), imag(z)
		}
	}
}

func capped(x, limit float64) float64 {
	if limit == 0 {
		return x
	}
	return limit * math.Tanh(x/limit)
}

// attention returns the mix of one position's heads over keys and values of the
// positions up to it, the last window of them where there is one.
func (r *reference) attention(q []float64, keys, values [][]float64, window int) []float64 {
	scale := 1 / math.Sqrt(float64(r.size))
	if r.wide > 0 && r.layers == r.wide {
		scale = 1 / math.Sqrt(float64(r.width)/float64(r.heads))
	}
	first := 0
	if window > 0 {
		first = max(0, len(keys)-window)
	}
	out := make([]float64, len(q))
	for head := range r.heads {
		kv := head / (r.heads / r.kvHeads) * r.size
		weights, sum := make([]float64, len(keys)), 0.0
		for p := first; p < len(keys); p++ {
			dot := 0.0
			for i := range r.size {
				dot += q[head*r.size+i] * keys[p][kv+i]
			}
			weights[p] = math.Exp(capped(dot*scale, r.real("attn_logit_softcapping", r.caps[0])))
			sum += weights[p]
		}
		for p := first; p < len(keys); p++ {
			for i := range r.size {
				out[head*r.size+i] += weights[p] / sum * values[p][kv+i]
			}
		}
	}
	return out
}

func (r *reference) activate(x float64) float64 {
	if r.gelu {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return x / (1 + math.Exp(-x))
}

// gated is a feed-forward layer of three matrices.
func (r *reference) gated(gate, up, down [][]float64, x []float64) []float64 {
	g, u := matVec(gate, x), matVec(up, x)
	for i := range g {
		g[i] = r.activate(g[i]) * u[i]
	}
	return matVec(down, g)
}

// feed is the feed-forward layer of a block, of whatever kind its tensors are.
func (r *reference) feed(b string, x []float64) []float64 {
	t := func(name string) [][]float64 { return r.t[b+name+".weight"] }
	switch {
	case t("ffn_gate_inp") != nil:
		return r.mixed(t, x)
	case t("ffn_gate") != nil:
		return r.gated(t("ffn_gate"), t("ffn_up"), t("ffn_down"), x)
	case r.t[b+"ffn_up.bias"] != nil:
		h := r.affine(b+"ffn_up", x)
		for i, v := range h {
			h[i] = r.activate(v)
		}
		return r.affine(b+"ffn_down", h)
	}
	half := len(t("ffn_up")) / 2
	return r.gated(t("ffn_up")[:half], t("ffn_up")[half:], t("ffn_down"), x)
}

// mixed is a layer of experts.
func (r *reference) mixed(t func(string) [][]float64, x []float64) []float64 {
	p, sum := matVec(t("ffn_gate_inp"), x), 0.0
	order := make([]int, len(p))
	for i, v := range p {
		p[i], order[i] = math.Exp(v), i
		sum += p[i]
	}
	sort.SliceStable(order, func(i, j int) bool { return p[order[i]] > p[order[j]] })
	order = order[:r.whole("expert_used_count", 0)]
	if r.renormalise {
		sum = 0
		for _, e := range order {
			sum += p[e]
		}
	}
	out := make([]float64, len(x))
	for _, e := range order {
		slice := func(w [][]float64) [][]float64 { n := len(w) / len(p); return w[e*n : (e+1)*n] }
		for i, v := range r.gated(slice(t("ffn_gate_exps")), slice(t("ffn_up_exps")), slice(t("ffn_down_exps")), x) {
			out[i] += p[e] / sum * v
		}
	}
	if shared := t("ffn_gate_shexp"); shared != nil {
		weight := 1 / (1 + math.Exp(-matVec(t("ffn_gate_inp_shexp"), x)[0]))
		for i, v := range r.gated(shared, t("ffn_up_shexp"), t("ffn_down_shexp"), x) {
			out[i] += weight * v
		}
	}
	return out
}

// project returns queries, keys and values, normalised and rotated.
func (r *reference) project(b string, x []float64, position int, local bool) (q, k, v []float64) {
	if r.t[b+"attn_qkv.weight"] != nil {
		all, n, m := r.affine(b+"attn_qkv", x), r.heads*r.size, r.kvHeads*r.size
		q, k, v = all[:n], all[n:n+m], all[n+m:]
	} else {
		q, k, v = r.affine(b+"attn_q", x), r.affine(b+"attn_k", x), r.affine(b+"attn_v", x)
	}
	if r.t[b+"attn_q_norm.weight"] != nil {
		q, k = r.normHeads(q, b+"attn_q_norm"), r.normHeads(k, b+"attn_k_norm")
	}
	r.rotate(q, position, local)
	r.rotate(k, position, local)
	return q, k, v
}

func (r *reference) normHeads(x []float64, name string) []float64 {
	size := r.size
	if r.wholeNorm {
		size = len(x)
	}
	var out []float64
	for head := 0; len(x) > 0; head++ {
		out = append(out, r.normBy(x[:size], name, min(head, len(r.t[name+".weight"])-1))...)
		x = x[size:]
	}
	return out
}

// join adds the output of half a block to the stream.
func (r *reference) join(x, y []float64, norm string) {
	if r.postNorms {
		y = r.norm(y, norm)
	}
	add(x, y)
}

// block takes the streams of all positions through one layer.
func (r *reference) block(l int, x [][]float64) {
	b := fmt.Sprintf("blk.%d.", l)
	window := 0
	if r.local != nil && r.local(l) {
		window = r.whole("attention.sliding_window", r.window)
	}
	var keys, values [][]float64
	for p := range x {
		n := x[p]
		if !r.asIs {
			n = r.norm(n, b+"attn_norm")
		}
		q, k, v := r.project(b, n, p, window > 0)
		keys, values = append(keys, k), append(values, v)
		mixed := r.affine(b+"attn_output", r.attention(q, keys, values, window))
		r.join(x[p], mixed, b+"post_attention_norm")
		switch {
		case r.asIs:
			n = x[p]
		case !r.parallel:
			n = r.norm(x[p], b+"ffn_norm")
		}
		r.join(x[p], r.feed(b, n), b+"post_ffw_norm")
	}
}

// logits returns the scores at every position.
func (r *reference) logits(tokens []int32) [][]float64 {
	x := make([][]float64, len(tokens))
	for p, token := range tokens {
		x[p] = append([]float64(nil), r.t["token_embd.weight"][token]...)
		if r.embedScale {
			for i := range x[p] {
				x[p][i] *= math.Sqrt(float64(r.width))
			}
		}
		if places := r.t["position_embd.weight"]; places != nil {
			add(x[p], places[p])
		}
	}
	for l := range r.layers {
		r.block(l, x)
	}
	head := "output"
	if r.t["output.weight"] == nil {
		head = "token_embd"
	}
	out := make([][]float64, len(x))
	for p := range x {
		out[p] = r.affine(head, r.norm(x[p], "output_norm"))
		for i, v := range out[p] {
			out[p][i] = capped(v, r.real("final_logit_softcapping", r.caps[1]))
		}
	}
	return out
}
