package weights

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
	"lab/plugins/models/transformer"
)

// widened writes the trained model tiny, which is stored in Q8_0, in F32.
func widened(t *testing.T) (path string, tiny *gguf.File) {
	t.Helper()
	tiny, err := gguf.Open("../transformer/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tiny.Close() })
	tensors := make([]gguf.Tensor, len(tiny.Tensors))
	for i, old := range tiny.Tensors {
		old.Type, old.Size = gguf.F32, 4*old.Elements()
		tensors[i] = old
	}
	head, placed, total, err := tiny.Rewritten(nil, func(string) bool { return false }, tensors)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, total)
	copy(out, head)
	for i, p := range placed {
		from, _ := format(tiny.Tensors[i].Type)
		x := make([]float32, p.Elements())
		kernel.Best().Widen(x, tiny.Data(tiny.Tensors[i]), from)
		kernel.Narrow(out[p.Offset:][:p.Size], x, kernel.F32)
	}
	path = filepath.Join(t.TempDir(), "tiny-f32.gguf")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, tiny
}

// scores are the scores of a model after every token of a text.
func scores(t *testing.T, path string) [][]float32 {
	t.Helper()
	backend := transformer.GGUF()
	// What the stored weights lose is asked, not what rounded activations do.
	set, err := backend.Declare().Params.Resolve("open model", "gguf", []param.Setting{{Name: "activations", Value: "float32"}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := backend.Open(t.Context(), path, set)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tokens, err := m.Encode(t.Context(), []byte("The weather today is nice. Anna has a small dog and a red ball."), model.EncodeOptions{Begin: true})
	if err != nil {
		t.Fatal(err)
	}
	in := model.Input{Seq: 1, Tokens: tokens, Want: model.All}
	out := make([][]float32, len(tokens))
	for i := range out {
		out[i] = make([]float32, m.Info().VocabSize)
		in.Scores = append(in.Scores, dist.NewDense(out[i]))
	}
	if _, err := m.Forward(t.Context(), []model.Input{in}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Numbers that came out of Q8_0 go into it again without loss: the file that
// results has the bytes of the one that was widened.
func TestQ8ComesBackAsItWas(t *testing.T) {
	in, tiny := widened(t)
	target, err := FindTarget("q8_0")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.gguf")
	if _, err := Quantize(t.Context(), in, out, target, QuantizeOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, was := range tiny.Tensors {
		is, ok := f.Tensor(was.Name)
		if !ok || is.Type != was.Type || !bytes.Equal(f.Data(is), tiny.Data(was)) {
			t.Errorf("tensor %s: %v, was %v; the bytes are the same: %v", was.Name, is.Type, was.Type, bytes.Equal(f.Data(is), tiny.Data(was)))
		}
	}
}

// A model that was quantised scores as the original does, within what its format
// loses. The bounds are the relative L2 distance over all positions, measured on
// this trained model and rounded up by half: they watch for regressions.
func TestScoresStayWithinTheFormatsError(t *testing.T) {
	in, _ := widened(t)
	want := scores(t, in)
	for name, bound := range map[string]float64{"f32": 0, "f16": 6e-4, "bf16": 4e-3, "q8_0": 0, "q6_k": 0.025, "q5_0": 0.1, "q5_1": 0.1, "q5_k_m": 0.1,
		"q5_k_s": 0.1, "q4_0": 0.17, "q4_1": 0.17, "iq4_nl": 0.17, "q4_k_m": 0.17, "q4_k_s": 0.17, "q3_k_s": 0.21, "q3_k_m": 0.21, "q3_k_l": 0.21, "q2_k": 0.21} {
		t.Run(name, func(t *testing.T) {
			target, err := FindTarget(name)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out.gguf")
			if _, err := Quantize(t.Context(), in, out, target, QuantizeOptions{}); err != nil {
				t.Fatal(err)
			}
			var miss, size float64
			for i, row := range scores(t, out) {
				for j, v := range row {
					d := float64(v) - float64(want[i][j])
					miss, size = miss+d*d, size+float64(want[i][j])*float64(want[i][j])
				}
			}
			if e := math.Sqrt(miss / size); !(e <= bound) {
				t.Errorf("relative distance %.3g, bound %g", e, bound)
			}
		})
	}
}
