package transformer

import (
	"context"
	"math/rand/v2"
	"testing"

	"lab/core/dist"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

func TestUsageCountsWhatTheFormulasSay(t *testing.T) {
	s := small()
	s.kind = mixedKinds
	s.untied = true
	e := s.open(t, 7, 1, kernel.Best())
	body := int64(s.layers) * int64(s.width*s.heads*s.headSize*2+s.width*s.kvHeads*s.headSize*2+3*s.width*s.ffn)
	head := int64(s.width * s.vocab)
	attention := func(positions int64) int64 { return 4 * int64(s.heads*s.headSize*s.layers) * positions }
	kv := int64(2 * s.layers * s.kvHeads * s.headSize * 4)
	r := rand.New(rand.NewPCG(5, 6))

	in := model.Input{Seq: 1, Tokens: s.tokens(r, 10), Want: model.Last, Scores: rowsFor(e, 1)}
	u, err := e.Forward(context.Background(), []model.Input{in})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*body*10 + 2*head + attention(55); u.FLOPs != want {
		t.Errorf("prefill of 10: %d FLOPs, want %d", u.FLOPs, want)
	}
	if u.PrefillTokens != 10 || u.DecodeTokens != 0 || !(u.PrefillSeconds > 0) || u.DecodeSeconds != 0 {
		t.Errorf("prefill is counted as %+v", u)
	}
	if want := kv * pageTokens; u.CacheBytes != want {
		t.Errorf("%d bytes of cache, want one page of %d", u.CacheBytes, want)
	}
	row := int64(s.width * 2) // of the table, in F16
	if want := e.weight.bodyBytes + e.weight.headBytes + 10*row + kv*(55+10); u.BytesMoved != want {
		t.Errorf("prefill moves %d bytes, want %d", u.BytesMoved, want)
	}

	batch := []model.Input{
		{Seq: 1, Start: 10, Tokens: []int32{3}, Want: model.All, Scores: rowsFor(e, 1)},
		{Seq: 2, Tokens: []int32{3, 4, 5}, Want: model.None},
	}
	if u, err = e.Forward(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
	if want := 2*body*4 + 2*head + attention(11+1+2+3); u.FLOPs != want {
		t.Errorf("mixed batch: %d FLOPs, want %d", u.FLOPs, want)
	}
	if u.PrefillTokens != 3 || u.DecodeTokens != 1 || !(u.PrefillSeconds > 0 && u.DecodeSeconds > 0) {
		t.Errorf("mixed batch is counted as %+v", u)
	}
	total := e.weight.embed[0].bytes() + e.weight.bodyBytes + e.weight.headBytes
	if info := e.Info(); info.WeightBytes != total {
		t.Errorf("%d bytes of weights, the tensors hold %d", info.WeightBytes, total)
	}
	if _, err := e.Forward(context.Background(), nil); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
}

// A row is multiplied with the experts it picks, and a pass reads those that any
// of its rows has picked.
func TestUsageCountsTheExpertsInUse(t *testing.T) {
	e := openWith(t, peerPath("mixtral"), 1, kernel.Best())
	h := e.hyper
	expert := int64(3 * h.width * h.experts.ffn)
	layer := int64(h.width*(2*h.heads+2*h.kvHeads)*h.headSize+h.width*h.experts.count) + int64(h.experts.used)*expert
	one := model.Input{Seq: 1, Tokens: []int32{5}, Want: model.None}
	u, err := e.Forward(context.Background(), []model.Input{one})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(h.layers) * (2*layer + 4*int64(h.heads*h.headSize)); u.FLOPs != want {
		t.Errorf("%d FLOPs, want %d", u.FLOPs, want)
	}
	unused := int64(0)
	for layer := range h.layers { // F16 but for layer 1
		size := int64(2)
		if layer == 1 {
			size = 4
		}
		unused += int64(h.experts.count-h.experts.used) * expert * size
	}
	if want := e.weight.bodyBytes - unused + e.weight.embedRowBytes + h.kvBytes()*2; u.BytesMoved != want {
		t.Errorf("%d bytes moved, want %d", u.BytesMoved, want)
	}
}

func TestAttendedPositionsAreThoseWithinTheWindows(t *testing.T) {
	rows := []struct {
		name string
		h    hyper
	}{
		{"no window", hyper{layers: 3}},
		{"a window in every layer", hyper{layers: 3, window: 5}},
		{"every other layer", hyper{layers: 3, window: 5, pattern: 2}},
		{"five of six", hyper{layers: 14, window: 4, pattern: 6}},
		{"a pattern of one is none", hyper{layers: 2, window: 4, pattern: 1}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for start := range 12 {
				for n := range 12 {
					want := 0
					for layer := range r.h.layers {
						for p := start; p < start+n; p++ {
							want += p + 1 - r.h.first(layer, p)
						}
					}
					if got := r.h.attended(int64(start), int64(n)); got != int64(want) {
						t.Errorf("%d tokens from %d on: %d positions, counted %d", n, start, got, want)
					}
				}
			}
		})
	}
	h := hyper{layers: 7, window: 4, pattern: 6}
	for layer, want := range []int{7, 7, 7, 7, 7, 0, 7} {
		if got := h.first(layer, 10); got != want {
			t.Errorf("layer %d: position 10 attends from %d on, want %d", layer, got, want)
		}
	}
}

func TestScoresThatAreNotFiniteAreAnErrorThatNamesTheToken(t *testing.T) {
	for _, r := range []struct {
		name     string
		kind     gguf.Type
		infinity []byte
	}{
		{"F32", gguf.F32, []byte{0, 0, 0x80, 0x7f}}, {"F16", gguf.F16, []byte{0, 0x7c}}, {"BF16", gguf.BF16, []byte{0x80, 0x7f}},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := small()
			s.untied = true
			s.kind = func(string) gguf.Type { return r.kind }
			s.edit = retensor("output.weight", func(b *gguf.Blob) { copy(b.Data[len(r.infinity)*17*s.width:], r.infinity) })
			e := s.open(t, 7, 1, kernel.Best())
			_, err := e.Forward(context.Background(), []model.Input{{Tokens: []int32{1}, Want: model.Last, Scores: rowsFor(e, 1)}})
			if err == nil {
				t.Fatal("an infinite score was handed out")
			}
			wantError(t, err, 0, "token 17", "position 0")
			if len(e.cache.seqs) != 0 {
				t.Error("the failed call left a sequence")
			}
		})
	}
}

func TestSparseOrShortRowsAreRefused(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	rows := []struct {
		name string
		row  dist.Scores
	}{
		{"short", dist.NewDense(make([]float32, s.vocab-1))},
		{"sparse", dist.Scores{Vocab: s.vocab, IDs: []int32{0}, Values: []float32{0}}},
		{"nothing", dist.Scores{}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := e.Forward(context.Background(), []model.Input{{Tokens: []int32{1}, Want: model.Last, Scores: []dist.Scores{r.row}}})
			wantError(t, err, 0, "row 0")
		})
	}
}
