package grammar

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

var _ model.Backend = New()

func openEnglish(t testing.TB) *engine {
	t.Helper()
	m, err := New().Open(context.Background(), "grammar", nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*engine)
}

func encode(t testing.TB, e *engine, text string) []int32 {
	t.Helper()
	ids, err := e.Encode(context.Background(), []byte(text), model.EncodeOptions{Begin: true})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func rows(e *engine, n int) []dist.Scores {
	out := make([]dist.Scores, n)
	for i := range out {
		out[i] = dist.NewDense(make([]float32, e.info.VocabSize))
	}
	return out
}

func input(e *engine, seq uint64, start int, tokens []int32, want model.Want) model.Input {
	return model.Input{Seq: seq, Start: start, Tokens: tokens, Want: want, Scores: rows(e, want.Rows(len(tokens)))}
}

func forward(t testing.TB, e *engine, batch ...model.Input) model.Usage {
	t.Helper()
	u, err := e.Forward(context.Background(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestDeclarationAndInfo(t *testing.T) {
	if err := New().Declare().Validate(); err != nil {
		t.Error(err)
	}
	e := openEnglish(t)
	i := e.Info()
	if i.Name != "grammar" || i.Architecture != "pcfg" || i.ContextLength != 4096 || !i.Deterministic || i.TopN != 0 {
		t.Errorf("%+v", i)
	}
	if i.VocabSize != mustEnglish(t).tok.Size() || i.Parameters != int64(mustEnglish(t).Productions()) || i.Parameters < 400 {
		t.Errorf("%d tokens, %d parameters", i.VocabSize, i.Parameters)
	}
	if i.Begin != 1 || !slices.Equal(i.EndOfText, []int32{2}) || !slices.Equal(i.Control, []int32{0, 1, 2}) {
		t.Errorf("begin %d, end %v, control %v", i.Begin, i.EndOfText, i.Control)
	}
	again, err := e.Verify(context.Background())
	if err != nil || again != i.Digest || len(again) != 64 {
		t.Errorf("digest %q at open, %q now, %v", i.Digest, again, err)
	}
	e.text = append(slices.Clone(e.text), '#')
	if changed, _ := e.Verify(context.Background()); changed == i.Digest {
		t.Error("Verify does not look at the bytes")
	}
}

func TestScoresAreLogProbabilities(t *testing.T) {
	e := openEnglish(t)
	tokens := encode(t, e, "The weather today is nice and warm.")
	in := input(e, 7, 0, tokens, model.All)
	forward(t, e, in)
	s := e.lang.Start()
	want := make([]float64, e.info.VocabSize)
	for at := range tokens {
		if at > 0 {
			var err error
			if s, err = s.Advance(tokens[at]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Distribution(want); err != nil {
			t.Fatal(err)
		}
		got, err := dist.NewModel(&in.Scores[at])
		if err != nil {
			t.Fatal(err)
		}
		for id, p := range want {
			score := in.Scores[at].Values[id]
			if p == 0 && !math.IsInf(float64(score), -1) {
				t.Fatalf("position %d: token %d is impossible and has the score %v", at, id, score)
			}
			// float32 keeps 24 bits of the logarithm
			if !near(got.P(int32(id)), p, 1e-6) {
				t.Fatalf("position %d: token %d has probability %v in the row, %v in the language", at, id, got.P(int32(id)), p)
			}
		}
	}
}

func TestRowsDoNotDependOnTheBatch(t *testing.T) {
	e := openEnglish(t)
	var docs [][]int32
	var alone [][]dist.Scores
	for i := range uint64(6) {
		d, err := e.lang.Sample(rand.New(rand.NewPCG(41, i)))
		if err != nil {
			t.Fatal(err)
		}
		d = append([]int32{1}, d[:len(d)-1]...)
		in := input(e, i, 0, d, model.All)
		forward(t, e, in)
		docs, alone = append(docs, d), append(alone, in.Scores)
	}
	// all together, in uneven pieces
	const piece = 5
	for start := 0; ; start += piece {
		var batch []model.Input
		for i, d := range docs {
			if start < len(d) {
				batch = append(batch, input(e, 100+uint64(i), start, d[start:min(start+piece, len(d))], model.All))
			}
		}
		if len(batch) == 0 {
			break
		}
		forward(t, e, batch...)
		for _, in := range batch {
			for j := range in.Scores {
				if !sameBits(in.Scores[j].Values, alone[in.Seq-100][start+j].Values) {
					t.Fatalf("document %d, position %d: the row depends on the batch", in.Seq-100, start+j)
				}
			}
		}
	}
}

func TestForkTruncateFree(t *testing.T) {
	e := openEnglish(t)
	ctx := context.Background()
	tokens := encode(t, e, "The weather today is nice.")
	first := input(e, 1, 0, tokens, model.All)
	forward(t, e, first)
	edit := func(edits ...model.Edit) {
		t.Helper()
		if err := e.Edit(ctx, edits); err != nil {
			t.Fatal(err)
		}
	}
	cut := 5
	edit(model.Edit{Op: model.Fork, Seq: 1, To: 2, Length: cut}, model.Edit{Op: model.Fork, Seq: 1, To: 3, Length: cut})
	// the original, both forks and a truncation go their own ways
	others := encode(t, e, "The weather today is cold and grey.")
	a := input(e, 2, cut, others[cut:], model.All)
	b := input(e, 3, cut, tokens[cut:], model.All)
	c := input(e, 1, len(tokens), e.lang.tok.Encode([]byte("We are going to the park.")), model.Last)
	forward(t, e, a, b, c)
	for j := range b.Scores {
		if !sameBits(b.Scores[j].Values, first.Scores[cut+j].Values) {
			t.Fatalf("row %d of the fork is not the original's", cut+j)
		}
	}
	edit(model.Edit{Op: model.Truncate, Seq: 2, Length: cut})
	d := input(e, 2, cut, tokens[cut:], model.All)
	forward(t, e, d)
	for j := range d.Scores {
		if !sameBits(d.Scores[j].Values, first.Scores[cut+j].Values) {
			t.Fatalf("row %d after a truncation is not the original's", cut+j)
		}
	}
	fresh := input(e, 9, 0, others, model.All)
	forward(t, e, fresh)
	if !sameBits(fresh.Scores[len(others)-1].Values, a.Scores[len(a.Scores)-1].Values) {
		t.Error("a fork that went its own way differs from a fresh sequence")
	}
	edit(model.Edit{Op: model.Free, Seq: 1}, model.Edit{Op: model.Free, Seq: 1}, model.Edit{Op: model.Free, Seq: 77})
	forward(t, e, input(e, 1, 0, tokens, model.None))
	edit(model.Edit{Op: model.Fork, Seq: 1, To: 50, Length: 0})
	forward(t, e, input(e, 50, 0, tokens, model.Last))
}

func TestAFailedForwardChangesNothing(t *testing.T) {
	e := openEnglish(t)
	tokens := encode(t, e, "The weather today is")
	forward(t, e, input(e, 1, 0, tokens, model.Last))
	good := encode(t, e, "My neighbour has a dog.")
	bad := e.lang.tok.Encode([]byte("nice nice"))
	_, err := e.Forward(context.Background(), []model.Input{input(e, 2, 0, good, model.Last), input(e, 1, len(tokens), bad, model.Last)})
	checkError(t, err, `model "grammar"`, "token 6", `after "The weather today is nice"`, "cannot follow", "most likely here")
	if fault.KindOf(err) != fault.Model {
		t.Errorf("%v is a %v error", err, fault.KindOf(err))
	}
	// both sequences are as they were: one unknown, one of the old length
	forward(t, e, input(e, 2, 0, good, model.Last), input(e, 1, len(tokens), bad[:1], model.Last))
}

func TestRefusedInputs(t *testing.T) {
	e := openEnglish(t)
	tokens := encode(t, e, "The weather today is")
	forward(t, e, input(e, 1, 0, tokens, model.Last))
	whole := append(encode(t, e, "Today I am sad. I want to cry. It is hard."), 2)
	long := append([]int32{}, tokens...)
	sentence := e.lang.tok.Encode([]byte("nice. We are going to the park. The weather today is"))
	for len(long)+len(sentence) <= contextLength {
		long = append(long, sentence...)
	}
	short := rows(e, 1)
	short[0].Values = short[0].Values[1:]
	sparse := rows(e, 1)
	sparse[0].IDs = []int32{1}
	rowsOf := []struct {
		name string
		in   []model.Input
		kind fault.Kind
		want []string
	}{
		{"a prompt outside the language", []model.Input{input(e, 2, 0, encode(t, e, "Quantum physics"), model.Last)}, fault.Model, []string{"after the start of the text", "cannot follow"}},
		{"a space at the end", []model.Input{input(e, 2, 0, encode(t, e, "The weather "), model.Last)}, fault.Model, []string{"remove the space"}},
		{"no begin token", []model.Input{input(e, 2, 0, tokens[1:], model.Last)}, fault.Model, []string{"starts with <s>", `" The"`}},
		{"a second begin token", []model.Input{input(e, 2, 0, append([]int32{1}, tokens...), model.Last)}, fault.Model, []string{"<s> cannot follow"}},
		{"scores after the end", []model.Input{input(e, 2, 0, whole, model.Last)}, fault.Model, []string{"the document has ended"}},
		{"a token after the end", []model.Input{input(e, 2, 0, append(whole[:len(whole):len(whole)], 300), model.None)}, fault.Model, []string{"after the end of the document"}},
		{"wrong start", []model.Input{input(e, 1, 3, tokens[3:], model.Last)}, fault.Usage, []string{"starts at 3", "holds 5"}},
		{"start of an unknown sequence", []model.Input{input(e, 2, 1, tokens, model.Last)}, fault.Usage, []string{"holds 0"}},
		{"no tokens", []model.Input{input(e, 2, 0, nil, model.None)}, fault.Usage, []string{"no tokens"}},
		{"token out of range", []model.Input{input(e, 2, 0, []int32{1, 99999}, model.None)}, fault.Usage, []string{"99999", "outside"}},
		{"negative token", []model.Input{input(e, 2, 0, []int32{-1}, model.None)}, fault.Usage, []string{"outside"}},
		{"one sequence twice", []model.Input{input(e, 2, 0, tokens, model.None), input(e, 2, 0, tokens, model.None)}, fault.Usage, []string{"twice"}},
		{"unknown want", []model.Input{{Seq: 2, Tokens: tokens, Want: 9}}, fault.Usage, []string{"want 9"}},
		{"rows missing", []model.Input{{Seq: 2, Tokens: tokens, Want: model.Last}}, fault.Usage, []string{"0 rows of scores for 1"}},
		{"a short row", []model.Input{{Seq: 2, Tokens: tokens, Want: model.Last, Scores: short}}, fault.Usage, []string{"not a dense row"}},
		{"a sparse row", []model.Input{{Seq: 2, Tokens: tokens, Want: model.Last, Scores: sparse}}, fault.Usage, []string{"not a dense row"}},
		{"context full", []model.Input{input(e, 2, 0, append(long, sentence...), model.None)}, fault.Limit, []string{"exceed the context of 4096"}},
	}
	for _, r := range rowsOf {
		t.Run(r.name, func(t *testing.T) {
			_, err := e.Forward(context.Background(), r.in)
			checkError(t, err, r.want...)
			if fault.KindOf(err) != r.kind {
				t.Errorf("%v is a %v error, want %v", err, fault.KindOf(err), r.kind)
			}
		})
	}
	forward(t, e, input(e, 3, 0, long, model.Last)) // just fits
	forward(t, e, input(e, 4, 0, whole, model.None))
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	_, err := e.Forward(cancelled, []model.Input{input(e, 5, 0, tokens, model.Last)})
	if fault.KindOf(err) != fault.Interrupted {
		t.Errorf("a cancelled call ends with %v", err)
	}
}

func TestRefusedEdits(t *testing.T) {
	e := openEnglish(t)
	forward(t, e, input(e, 1, 0, encode(t, e, "The weather today is"), model.None), input(e, 2, 0, encode(t, e, "The"), model.None))
	table := []struct {
		name string
		edit model.Edit
		want string
	}{
		{"fork of nothing", model.Edit{Op: model.Fork, Seq: 9, To: 10}, "no such sequence"},
		{"fork onto another", model.Edit{Op: model.Fork, Seq: 1, To: 2, Length: 2}, "exists"},
		{"fork onto itself", model.Edit{Op: model.Fork, Seq: 1, To: 1, Length: 2}, "exists"},
		{"fork too long", model.Edit{Op: model.Fork, Seq: 1, To: 3, Length: 6}, "outside [0, 5]"},
		{"truncation to more", model.Edit{Op: model.Truncate, Seq: 1, Length: 6}, "outside [0, 5]"},
		{"truncation below zero", model.Edit{Op: model.Truncate, Seq: 1, Length: -1}, "outside [0, 5]"},
		{"unknown operation", model.Edit{Op: 9, Seq: 1}, "unknown operation 9"},
	}
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) {
			err := e.Edit(context.Background(), []model.Edit{r.edit})
			checkError(t, err, r.want, "1 of 1")
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("%v is a %v error", err, fault.KindOf(err))
			}
		})
	}
}

func TestAClosedModelSaysSo(t *testing.T) {
	e := openEnglish(t)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := e.Forward(context.Background(), nil)
	checkError(t, err, "it is closed")
	checkError(t, e.Edit(context.Background(), nil), "it is closed")
	_, err = e.Verify(context.Background())
	checkError(t, err, "it is closed")
}

func TestUsageCountsWhatWasDone(t *testing.T) {
	e := openEnglish(t)
	tokens := encode(t, e, "The weather today is")
	u := forward(t, e, input(e, 1, 0, tokens, model.Last))
	v := forward(t, e, input(e, 1, len(tokens), e.lang.tok.Encode([]byte("nice")), model.Last))
	if u.PrefillTokens != 5 || u.DecodeTokens != 0 || v.PrefillTokens != 0 || v.DecodeTokens != 1 {
		t.Errorf("%+v, %+v", u, v)
	}
	if !(u.FLOPs > 0 && u.BytesMoved > 4*int64(e.info.VocabSize) && v.CacheBytes > u.CacheBytes && u.CacheBytes > 0) {
		t.Errorf("%+v, %+v", u, v)
	}
	if err := e.Edit(context.Background(), []model.Edit{{Op: model.Free, Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	if w := forward(t, e, input(e, 2, 0, tokens[:1], model.None)); !(w.CacheBytes < u.CacheBytes) {
		t.Errorf("%d bytes are held after freeing, %d before", w.CacheBytes, u.CacheBytes)
	}
}

func TestText(t *testing.T) {
	e := openEnglish(t)
	ctx := context.Background()
	plain := "The <s> weather</s>"
	table := []struct {
		name string
		opt  model.EncodeOptions
		want string
	}{
		{"control tokens stay text", model.EncodeOptions{}, "▁The ▁ <0x3C> s <0x3E> ▁weather <0x3C> <0x2F> s <0x3E>"},
		{"with the begin token", model.EncodeOptions{Begin: true}, "<s> ▁The ▁ <0x3C> s <0x3E> ▁weather <0x3C> <0x2F> s <0x3E>"},
		{"control tokens are read", model.EncodeOptions{Special: true}, "▁The ▁ <s> ▁ ▁weather </s>"},
	}
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) {
			ids, err := e.Encode(ctx, []byte(plain), r.opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := spell(e.lang.tok, ids); got != r.want {
				t.Errorf("got %s, want %s", got, r.want)
			}
			if !r.opt.Special {
				if back, err := e.Decode(ctx, ids); err != nil || string(back) != plain {
					t.Errorf("decoded %q, %v", back, err)
				}
			}
		})
	}
	_, err := e.Encode(ctx, []byte("<s>The"), model.EncodeOptions{Begin: true, Special: true})
	checkError(t, err, "starts with")
	if ids, err := e.Encode(ctx, nil, model.EncodeOptions{Begin: true}); err != nil || !slices.Equal(ids, []int32{1}) {
		t.Errorf("the empty text is %v, %v", ids, err)
	}
	pieces, err := e.Pieces(ctx)
	if err != nil || len(pieces) != e.info.VocabSize || len(pieces[1]) != 0 || string(pieces[3+0x41]) != "A" {
		t.Errorf("%d pieces, %v", len(pieces), err)
	}
	if _, err := e.Decode(ctx, []int32{1 << 30}); err == nil {
		t.Error("an impossible id is decoded")
	}
}

func TestAnotherGrammarFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.pcfg")
	if err := os.WriteFile(path, []byte("start s\nrule s\n  3 It is nice .\n  1 It is cold .\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := New().Open(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := m.(*engine)
	in := input(e, 1, 0, encode(t, e, "It is"), model.Last)
	forward(t, e, in)
	nice := e.lang.tok.Encode([]byte("nice"))[0]
	if got := math.Exp(float64(in.Scores[0].Values[nice])); !near(got, 0.75, 1e-6) {
		t.Errorf("nice has probability %v", got)
	}
	if e.Info().Name != "mine.pcfg" || e.Info().Digest == EnglishDigest() || e.Info().Parameters != 2 {
		t.Errorf("%+v", e.Info())
	}
	_, err = New().Open(context.Background(), filepath.Join(t.TempDir(), "none.pcfg"), nil)
	checkError(t, err, "open model", "none.pcfg")
	if fault.KindOf(err) != fault.Model {
		t.Errorf("%v is a %v error", err, fault.KindOf(err))
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#", maxSource+10)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = New().Open(context.Background(), path, nil)
	checkError(t, err, "at most")
}

func BenchmarkForward(b *testing.B) {
	e := openEnglish(b)
	tokens := encode(b, e, "The weather today is nice. We are going to the")
	in := input(e, 1, 0, tokens, model.Last)
	edits := []model.Edit{{Op: model.Free, Seq: 1}}
	for b.Loop() {
		forward(b, e, in)
		if err := e.Edit(context.Background(), edits); err != nil {
			b.Fatal(err)
		}
	}
}
