package cost

// AppendixF is the count of Hoffmann et al. 2022, appendix F: one sequence of a
// plain transformer, full-square attention with its softmax. What the paper
// counts and what its table A4 shows differ, so both switches are asked for.
type AppendixF struct {
	Layers, Model, FF, Heads, HeadWidth, Seq, Vocab float64
	Embedding, Logits                               bool // whether the lookup and the head are counted
	RelPos                                          bool // in Params only: d² + 2 d more in each layer
}

// Forward returns the FLOP of the forward pass of one sequence (F6): in each layer
// projections 2·3 S d (e h), scores 2 S² (e h), softmax 3 h S², values
// 2 S² (e h), output 2 S (e h) d, feed-forward 2·2 S d f; and 2 S V d for each of
// embedding and logits when counted.
func (f AppendixF) Forward() (float64, error) {
	g := guarded("appendix F FLOP")
	f.check(g)
	s, wide := f.Seq, f.Heads*f.HeadWidth
	layer := 6*s*f.Model*wide + 4*s*s*wide + 3*f.Heads*s*s + 2*s*wide*f.Model + 4*s*f.Model*f.FF
	sum := f.Layers * layer
	table := 2 * s * f.Vocab * f.Model
	if f.Embedding {
		sum += table
	}
	if f.Logits {
		sum += table
	}
	return g.of(sum)
}

// Train returns the FLOP of training on that many tokens: three forward passes
// of each sequence, four with recomputation of the activations.
func (f AppendixF) Train(tokens float64, recompute bool) (float64, error) {
	g := guarded("appendix F FLOP")
	g.positive("tokens", tokens)
	if err := g.result(); err != nil {
		return 0, err
	}
	one, err := f.Forward()
	passes := 3.0
	if recompute {
		passes = 4
	}
	return passes * one * tokens / f.Seq, err
}

// Params returns the parameters of the paper's models: a tied embedding, biases
// everywhere, layer norms (two in a layer and a last one) and, with RelPos, the
// projection of relative positions.
func (f AppendixF) Params() (float64, error) {
	g := guarded("appendix F parameters")
	f.check(g)
	g.positive("vocabulary", f.Vocab)
	wide := f.Heads * f.HeadWidth
	layer := 4*f.Model*wide + 2*f.Model*f.FF + // weights
		3*wide + f.Model + f.FF + f.Model + // biases
		4*f.Model // norms
	if f.RelPos {
		layer += f.Model*f.Model + 2*f.Model
	}
	return g.of(f.Layers*layer + f.Vocab*f.Model + 2*f.Model)
}

// Ratio returns the FLOP of training over 6 N D with N from [AppendixF.Params],
// the last column of table A4.
func (f AppendixF) Ratio() (float64, error) {
	n, err := f.Params()
	if err != nil {
		return 0, err
	}
	one, err := f.Forward()
	return 3 * one / (6 * n * f.Seq), err
}

func (f AppendixF) check(g *guard) {
	g.positive("layers", f.Layers)
	g.positive("d_model", f.Model)
	g.positive("d_ff", f.FF)
	g.positive("heads", f.Heads)
	g.positive("head width", f.HeadWidth)
	g.positive("sequence", f.Seq)
	if f.Embedding || f.Logits {
		g.positive("vocabulary", f.Vocab)
	}
}
