package generate

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

func scoreOne(e *Engine, prompt, text string) ([]Scored, error) {
	out, _, err := e.Score(context.Background(), []byte(prompt), [][]byte{[]byte(text)}, ScoreOptions{})
	if err != nil {
		return nil, err
	}
	return out[0].Tokens, nil
}

// bits is the plain computation: the log-softmax of each row by hand.
func bits(context []byte, text string) float64 {
	sum, row := 0.0, make([]float32, toyVocab)
	for i := range text {
		tokens := make([]int32, 0, len(context)+i)
		for _, b := range append(context[:len(context):len(context)], text[:i]...) {
			tokens = append(tokens, int32(b))
		}
		scores(tokens, row)
		total := 0.0
		for _, v := range row {
			total += math.Exp(float64(v))
		}
		sum += (math.Log(total) - float64(row[text[i]])) / math.Ln2
	}
	return sum
}

// rounding is above what 257 terms of a double sum and a token's logarithm lose,
// times the tokens of these texts.
const rounding = 1e-10

func TestSumsAreThoseOfThePlainComputation(t *testing.T) {
	e := engine(t, newToy(t))
	out, usage, err := e.Score(t.Context(), []byte("A dog"), [][]byte{[]byte(" barks at a cat")}, ScoreOptions{Top: 3})
	if err != nil {
		t.Fatal(err)
	}
	s := out[0]
	if want := bits([]byte("A dog"), " barks at a cat"); !(math.Abs(s.Bits-want) <= rounding) {
		t.Errorf("%v bits, want %v", s.Bits, want)
	}
	if s.Count != 15 || s.Total != 15 || s.Bytes != 15 || len(s.Tokens) != 15 || len(s.Prompt) != 5 {
		t.Errorf("got %d of %d tokens, %d bytes, %d listed, prompt %d", s.Count, s.Total, s.Bytes, len(s.Tokens), len(s.Prompt))
	}
	if want := math.Exp2(s.Bits / 15); !(math.Abs(s.Perplexity()-want) <= rounding) {
		t.Errorf("perplexity %v, want %v", s.Perplexity(), want)
	}
	if n := usage.DecodeTokens; n != 19 { // the last one is looked up only
		t.Errorf("%d tokens were read, want 19", n)
	}
	if got := e.Usage(); got != usage {
		t.Errorf("the engine counts %+v, the call %+v", got, usage)
	}
	for i, x := range s.Tokens {
		if len(x.Top) != 3 || x.Top[0].P < x.Top[1].P || x.Top[1].P < x.Top[2].P {
			t.Errorf("token %d: top %v", i, x.Top)
		}
		if x.Rank <= 3 && x.Top[x.Rank-1].ID != x.Token {
			t.Errorf("token %d has rank %d in %v", i, x.Rank, x.Top)
		}
	}
}

// Texts scored together share what they have in common, and give what each gives
// alone, to the bit.
func TestTextsTogetherEqualTextsAlone(t *testing.T) {
	var texts [][]byte
	for _, s := range []string{" barks", " barked", " bar", " barks", " meows loudly", " b", " barks at the moon", "x", strings.Repeat(" long", 300), " barked!"} {
		texts = append(texts, []byte(s))
	}
	for _, prompt := range []string{"A dog", strings.Repeat("A dog. ", 120)} {
		m := newToy(t)
		e := engine(t, m)
		last := 0
		together, usage, err := e.Score(t.Context(), []byte(prompt), texts, ScoreOptions{Top: 2, OnStep: func(scored, total int) {
			if scored < last || total != 1565 {
				t.Errorf("progress went from %d to %d of %d", last, scored, total)
			}
			last = scored
		}})
		if err != nil {
			t.Fatal(err)
		}
		if last != 1565 {
			t.Errorf("progress ended at %d", last)
		}
		read := int64(0)
		for i, text := range texts {
			alone, u, err := engine(t, newToy(t)).Score(t.Context(), []byte(prompt), [][]byte{text}, ScoreOptions{Top: 2})
			if err != nil {
				t.Fatal(err)
			}
			read += u.DecodeTokens
			if !reflect.DeepEqual(together[i], alone[0]) {
				t.Errorf("text %d: together %+v, alone %+v", i, together[i], alone[0])
			}
		}
		if most := read - int64(len(texts)-1)*int64(len(prompt)-1); usage.DecodeTokens > most {
			t.Errorf("%d tokens were read, want at most %d: the prompt is read once", usage.DecodeTokens, most)
		}
		if n := m.left(); n != 0 {
			t.Errorf("%d sequences were left behind", n)
		}
		if m.peak > 2*scoreStems {
			t.Errorf("%d sequences at once", m.peak)
		}
	}
}

// Among texts of which some hold a token that the model refuses, all are scored
// as alone.
func TestRefusedTokensEndTheirOwnTextsOnly(t *testing.T) {
	refusing := func() *toy { m := newToy(t); m.refuses, m.never = 'X', 'X'; return m }
	texts := [][]byte{[]byte(" barks"), []byte(" baXks"), []byte(" baX"), []byte("X"), []byte(" barks too"), []byte(" baXed")}
	m := refusing()
	together, _, err := engine(t, m).Score(t.Context(), []byte("A dog"), texts, ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		alone, _, err := engine(t, refusing()).Score(t.Context(), []byte("A dog"), [][]byte{text}, ScoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(together[i], alone[0]) {
			t.Errorf("text %d: together %+v, alone %+v", i, together[i], alone[0])
		}
		at := strings.IndexByte(string(text), 'X')
		want := len(text)
		if at >= 0 {
			want = at + 1
		}
		if together[i].Count != want || math.IsInf(together[i].Bits, 1) != (at >= 0) {
			t.Errorf("text %d: %d tokens with %v bits", i, together[i].Count, together[i].Bits)
		}
	}
	if len(m.seqs) != 0 {
		t.Errorf("%d sequences were left behind", len(m.seqs))
	}
}

// The end of a text is one more token, without bytes.
func TestTheEndIsScored(t *testing.T) {
	m := newToy(t)
	if _, err := scoreEnd(engine(t, m)); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no end-of-text token") {
		t.Errorf("a model without an end: %v", err)
	}
	m = newToy(t)
	m.end = []int32{'.', '!'}
	got, err := scoreEnd(engine(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if want := bits([]byte("A dog"), " barks."); !(math.Abs(got.Bits-want) <= rounding) || got.Count != 7 || got.Tokens[6].Token != '.' {
		t.Errorf("%d tokens of %v bits, want 7 of %v", got.Count, got.Bits, want)
	}
}

func scoreEnd(e *Engine) (*Scoring, error) {
	out, _, err := e.Score(context.Background(), []byte("A dog"), [][]byte{[]byte(" barks")}, ScoreOptions{End: true})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func TestScoreRefuses(t *testing.T) {
	small := newToy(t)
	small.context = 8
	for _, r := range []struct {
		name, prompt, text string
		kind               fault.Kind
		want               string
	}{
		{"an empty text", "a", "", fault.Usage, "empty"},
		{"a first token without context", "", "ab", fault.Usage, "give a prompt"},
		{"what exceeds the context", "abcd", "efghij", fault.Limit, "lab perplexity"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := scoreOne(engine(t, small), r.prompt, r.text)
			if fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a %v error with %q", err, r.kind, r.want)
			}
		})
	}
	if _, err := scoreOne(engine(t, small), "abcd", "efghi"); err != nil {
		t.Errorf("a text whose last token is the first behind the context: %v", err)
	}
}

// Each token counts once, with at least window - stride tokens before it, or all
// there are.
func TestWindowsSlide(t *testing.T) {
	text := strings.Repeat("the cat sat on the mat; ", 7)
	for _, r := range []struct{ window, stride int }{{2, 1}, {10, 3}, {10, 9}, {64, 32}, {7, 1}, {len(text), 5}, {len(text) + 9, 11}} {
		t.Run(fmt.Sprint(r.window, r.stride), func(t *testing.T) {
			want, seen := 0.0, 1
			for from := 0; seen < len(text); from += r.stride {
				end := min(from+r.window, len(text))
				want += bits([]byte(text[from:seen]), text[seen:end])
				if from > 0 && seen-from < r.window-r.stride {
					t.Fatalf("the test gives token %d only %d of context", seen, seen-from)
				}
				seen = end
			}
			m := newToy(t)
			e := engine(t, m)
			s, _, err := e.Perplexity(t.Context(), []byte(text), WindowOptions{Window: r.window, Stride: r.stride})
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(s.Bits-want) <= rounding) {
				t.Errorf("%v bits, want %v", s.Bits, want)
			}
			if s.Count != len(text)-1 || s.Bytes != len(text)-1 || s.Window != r.window || s.Stride != r.stride {
				t.Errorf("%d tokens, %d bytes, windows of %d by %d", s.Count, s.Bytes, s.Window, s.Stride)
			}
			if len(m.seqs) != 0 {
				t.Errorf("%d sequences were left behind", len(m.seqs))
			}
		})
	}
}

// Windows begin as texts do, and then the first token counts as well.
func TestWindowsStartWithTheBeginToken(t *testing.T) {
	m := newToy(t)
	m.begin = '^'
	text := "the cat sat on the mat"
	s, _, err := engine(t, m).Perplexity(t.Context(), []byte(text), WindowOptions{Window: 9, Stride: 8})
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for from := 0; from < len(text); from += 8 {
		want += bits([]byte("^"), text[from:min(from+8, len(text))])
	}
	if !(math.Abs(s.Bits-want) <= rounding) || s.Count != len(text) || s.Bytes != len(text) || s.Windows != 3 {
		t.Errorf("got %v bits of %d tokens (%d bytes) in %d windows, want %v of %d", s.Bits, s.Count, s.Bytes, s.Windows, want, len(text))
	}
}

func TestPerplexityRefuses(t *testing.T) {
	for _, r := range []struct {
		name, text string
		opt        WindowOptions
		want       string
	}{
		{"an empty text", "", WindowOptions{}, "empty"},
		{"one token without context", "a", WindowOptions{}, "one token"},
		{"a window beyond the context", "abc", WindowOptions{Window: 5000}, "outside 2 to 4096"},
		{"a window of one", "abc", WindowOptions{Window: 1}, "outside 2 to"},
		{"a stride of a whole window", "abc", WindowOptions{Window: 8, Stride: 8}, "outside 1 to 7"},
		{"a negative stride", "abc", WindowOptions{Window: 8, Stride: -1}, "outside 1 to 7"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, _, err := engine(t, newToy(t)).Perplexity(t.Context(), []byte(r.text), r.opt)
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a usage error with %q", err, r.want)
			}
		})
	}
}

// What was scored before an interrupt is returned with it.
func TestInterruptedScoringsKeepWhatTheyHave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newToy(t)
	s, _, err := engine(t, m).Perplexity(ctx, []byte(strings.Repeat("abc ", 50)), WindowOptions{Window: 20, Stride: 10, OnStep: func(scored, _ int) {
		if scored >= 60 {
			cancel()
		}
	}})
	if fault.KindOf(err) != fault.Interrupted || s == nil || s.Count < 60 || s.Count >= s.Total || s.Bytes != s.Count || !strings.Contains(err.Error(), "of 199 tokens") {
		t.Errorf("got %+v, %v", s, err)
	}
	if len(m.seqs) != 0 {
		t.Errorf("%d sequences were left behind", len(m.seqs))
	}
}

// A backend that lists only its best tokens says nothing of the others.
type bestOnly struct{ *toy }

func (m bestOnly) Info() model.Info { i := m.toy.Info(); i.TopN = 2; return i }

func (m bestOnly) Forward(ctx context.Context, batch []model.Input) (model.Usage, error) {
	u, err := m.toy.Forward(ctx, batch)
	for _, in := range batch {
		for i := range in.Scores {
			ln := float32(math.Log(0.25))
			in.Scores[i] = dist.Scores{Vocab: toyVocab, IDs: []int32{'a', 'b'}, Values: []float32{ln, ln}, Unlisted: 0.5}
		}
	}
	return u, err
}

func TestTokensOutsideTheListHaveNoScore(t *testing.T) {
	e, err := New(t.Context(), bestOnly{newToy(t)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := scoreOne(e, "x", "ab")
	if err != nil || len(got) != 2 || got[0].SurprisalBits != 2 || got[0].Entropy.Exact() {
		t.Errorf("listed tokens: %+v, %v", got, err)
	}
	if _, err := scoreOne(e, "x", "ac"); fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "not among the tokens") {
		t.Errorf("an unlisted token: %v", err)
	}
}

// What a run reports, and what the engine counts, is what its forward calls read.
func TestUsageOfARun(t *testing.T) {
	m := newToy(t)
	e := engine(t, m)
	jobs, c := make([]Job, 5), build(t, "flat", nil)
	for i := range jobs {
		jobs[i] = Job{Prompt: []byte("A dog"), Chain: c, Seed: 3, Sample: uint64(i), MaxTokens: 4 + i}
	}
	r, err := e.Run(t.Context(), jobs, Options{Batch: 3})
	if err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	for _, sizes := range m.calls {
		for _, n := range sizes {
			read += int64(n)
		}
	}
	// The prompt once, and of each sample all tokens but the last.
	if want := int64(5 + 3 + 4 + 5 + 6 + 7); r.Usage.DecodeTokens != want || read != want {
		t.Errorf("%d tokens are reported and %d were read, want %d", r.Usage.DecodeTokens, read, want)
	}
	if got := e.Usage(); got != r.Usage {
		t.Errorf("the engine counts %+v, the run %+v", got, r.Usage)
	}
}
