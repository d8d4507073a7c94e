package transformer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// wantError checks that err has the kind (any, when 0) and contains all words.
func wantError(t *testing.T, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	if kind != 0 && fault.KindOf(err) != kind {
		t.Errorf("kind %v, want %v: %v", fault.KindOf(err), kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
}

func defaults(t testing.TB, b *Backend, given ...param.Setting) param.Values {
	t.Helper()
	set, err := b.Declare().Params.Resolve("open model", "m", given)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestBackendsDeclareThemselves(t *testing.T) {
	for _, b := range []*Backend{Tiny(), GGUF()} {
		if err := b.Declare().Validate(); err != nil {
			t.Error(err)
		}
	}
	if d := GGUF().Declare(); d.Name != "gguf" || !slices.Contains(d.Patterns, "*.gguf") {
		t.Errorf("gguf opens %v", d.Patterns)
	}
}

func TestTinyOpensFromTheBinary(t *testing.T) {
	b := Tiny()
	m, err := b.Open(context.Background(), "tiny", defaults(t, b))
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info()
	want := fmt.Sprintf("%x", sha256.Sum256(tinyWeights))
	if info.Name != "tiny" || info.Architecture != "llama" || !info.Deterministic || info.Digest != want {
		t.Errorf("%+v, want digest %s", info, want)
	}
	if again, err := m.Verify(context.Background()); err != nil || again != want {
		t.Errorf("verified as %s, %v", again, err)
	}
	if len(tinyWeights) > 4<<20 {
		t.Errorf("the embedded model takes %d bytes; 4 MiB are allowed", len(tinyWeights))
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err = m.Forward(context.Background(), nil)
	wantError(t, err, fault.Usage, "closed")
	_, err = m.Verify(context.Background())
	wantError(t, err, fault.Usage, "closed")
	wantError(t, m.Edit(context.Background(), nil), fault.Usage, "closed")
}

func TestReferencesOfOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.gguf")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("no model "), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name, ref string
		b         *Backend
		kind      fault.Kind
		words     []string
	}{
		{"tiny under another name", "other", Tiny(), fault.Usage, []string{`"tiny"`}},
		{"gguf without a path", "gguf", GGUF(), fault.Usage, []string{"path"}},
		{"a file that is not there", filepath.Join(dir, "no.gguf"), GGUF(), fault.Model, []string{"no.gguf", "no such file"}},
		{"garbage", garbage, GGUF(), fault.Data, []string{"garbage.gguf", "at byte 0"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := r.b.Open(context.Background(), r.ref, defaults(t, r.b))
			wantError(t, err, r.kind, r.words...)
		})
	}
}

func TestInfoTellsWhatTheFileHolds(t *testing.T) {
	b := GGUF()
	m, err := b.Open(context.Background(), "testdata/random.gguf", defaults(t, b, param.Setting{Name: "threads", Value: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	data, err := os.ReadFile("testdata/random.gguf")
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info()
	got := []any{info.Name, info.Description, info.ContextLength, info.Digest, info.Begin, info.EndOfText, info.Control, info.TopN}
	want := []any{"random.gguf", "random model", 160, fmt.Sprintf("%x", sha256.Sum256(data)), int32(1), []int32{2}, []int32{0, 1, 2}, 0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	f, err := gguf.Read("random", data)
	if err != nil {
		t.Fatal(err)
	}
	var elements, size int64
	for _, x := range f.Tensors {
		elements, size = elements+x.Elements(), size+x.Size
	}
	if info.Parameters != elements || info.WeightBytes != size || info.VocabSize != 306 && info.VocabSize < 259 {
		t.Errorf("%d parameters in %d bytes over %d tokens", info.Parameters, info.WeightBytes, info.VocabSize)
	}
}

func TestVerifySeesAChangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	data := small().bytes(t, 7)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	e := openWith(t, path, 1, kernel.Best())
	if d, err := e.Verify(context.Background()); err != nil || d != e.Info().Digest {
		t.Fatalf("unchanged file: %s, %v", d, err)
	}
	data[len(data)-100] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := e.Verify(context.Background()); err != nil || d == e.Info().Digest {
		t.Errorf("a changed file verifies as %s, %v", d, err)
	}
}

func TestAFileCutShortWhileOpenIsAnErrorNotACrash(t *testing.T) {
	s := small()
	data := s.bytes(t, 7)
	for _, cut := range []struct{ threads, left int }{{1, 0}, {2, 0}, {1, len(data) / 2}, {2, len(data) / 2}} {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		e := openWith(t, path, cut.threads, kernel.Best())
		e.pool.small = 0
		if err := os.Truncate(path, int64(cut.left)); err != nil {
			t.Fatal(err)
		}
		_, err := e.Forward(context.Background(), []model.Input{{Tokens: []int32{1, 2, 3}}})
		wantError(t, err, fault.Data, "are gone")
		if len(e.cache.seqs) != 0 || e.cache.used != 0 {
			t.Error("the failed call left something in the cache")
		}
	}
}

func TestEditsThatMakeNoSenseAreRefusedAndEarlierOnesStand(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	all(t, e, 1, []int32{1, 2, 3})
	rows := []struct {
		name string
		edit model.Edit
		word string
	}{
		{"fork of nothing", model.Edit{Op: model.Fork, Seq: 8, To: 9}, "no such sequence"},
		{"fork onto a sequence", model.Edit{Op: model.Fork, Seq: 1, To: 2, Length: 1}, "exists"},
		{"fork longer than the sequence", model.Edit{Op: model.Fork, Seq: 1, To: 9, Length: 4}, "outside [0, 3]"},
		{"negative length", model.Edit{Op: model.Truncate, Seq: 1, Length: -1}, "outside [0, 3]"},
		{"truncation of nothing", model.Edit{Op: model.Truncate, Seq: 8}, "no such sequence"},
		{"unknown operation", model.Edit{Op: 77, Seq: 1}, "unknown operation 77"},
	}
	if err := e.Edit(context.Background(), []model.Edit{{Op: model.Fork, Seq: 1, To: 2, Length: 2}}); err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			to := uint64(100 + i)
			err := e.Edit(context.Background(), []model.Edit{{Op: model.Fork, Seq: 1, To: to, Length: 3}, r.edit, {Op: model.Free, Seq: to}})
			wantError(t, err, fault.Usage, r.word, "2 of 3")
			if _, ok := e.cache.seqs[to]; !ok {
				t.Error("the edit before the failed one, or the one after it, did not act as it must")
			}
		})
	}
}

func TestInputsThatMakeNoSenseAreRefused(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	all(t, e, 1, []int32{1, 2, 3})
	rows := []struct {
		name  string
		batch []model.Input
		kind  fault.Kind
		words []string
	}{
		{"a gap", []model.Input{{Seq: 1, Start: 4, Tokens: []int32{1}}}, fault.Usage, []string{"starts at 4", "holds 3"}},
		{"an overlap", []model.Input{{Seq: 1, Start: 0, Tokens: []int32{1}}}, fault.Usage, []string{"starts at 0", "holds 3"}},
		{"no tokens", []model.Input{{Seq: 2}}, fault.Usage, []string{"no tokens"}},
		{"one sequence twice", []model.Input{{Seq: 2, Tokens: []int32{1}}, {Seq: 2, Tokens: []int32{1}}}, fault.Usage, []string{"input 1", "twice"}},
		{"a negative token", []model.Input{{Seq: 2, Tokens: []int32{1, -1}}}, fault.Usage, []string{"token -1 at index 1"}},
		{"no rows for what is wanted", []model.Input{{Seq: 2, Tokens: []int32{1}, Want: model.All}}, fault.Usage, []string{"0 rows", "1 wanted"}},
		{"an unknown want", []model.Input{{Seq: 2, Tokens: []int32{1}, Want: 9}}, fault.Usage, []string{"want 9"}},
		{"beyond the context", []model.Input{{Seq: 1, Start: 3, Tokens: make([]int32, s.context-2)}}, fault.Limit,
			[]string{"3 tokens", "94 more", "context of 96"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := e.Forward(context.Background(), r.batch)
			wantError(t, err, r.kind, r.words...)
		})
	}
}

func TestAFullCacheSaysWhatWouldFit(t *testing.T) {
	s := small()
	e := s.open(t, 7, 1, kernel.Best())
	e.cache.limit = 3
	all(t, e, 1, make([]int32, pageTokens+1))
	_, err := e.Forward(context.Background(), []model.Input{{Seq: 2, Tokens: make([]int32, pageTokens+1)}})
	wantError(t, err, fault.Limit, "32 tokens", "16 are free", "limit of", "cache_mib")
	if _, err := e.Forward(context.Background(), []model.Input{{Seq: 2, Tokens: make([]int32, pageTokens)}}); err != nil {
		t.Errorf("what fits was refused: %v", err)
	}
	f, err := gguf.Read("x", s.bytes(t, 7))
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(context.Background(), f, "x", options{threads: 1, cacheBytes: 100, kernels: kernel.Best()})
	wantError(t, err, fault.Limit, "one page", "limit is 100")
}

func TestCancellationAndDeadlineEndACall(t *testing.T) {
	e := small().open(t, 7, 1, kernel.Best())
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	_, err := e.Forward(late, []model.Input{{Tokens: []int32{1}}})
	wantError(t, err, fault.Limit)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = e.Forward(gone, []model.Input{{Tokens: []int32{1}}})
	wantError(t, err, fault.Interrupted)
}

func TestEncodingLeavesTypedControlTokensAlone(t *testing.T) {
	ctx := context.Background()
	e := small().open(t, 7, 1, kernel.Best())
	encode := func(text string, opt model.EncodeOptions) []int32 {
		t.Helper()
		ids, err := e.Encode(ctx, []byte(text), opt)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if ids := encode("", model.EncodeOptions{}); len(ids) != 0 {
		t.Errorf("the empty text is %v", ids)
	}
	if ids := encode("", model.EncodeOptions{Begin: true}); !slices.Equal(ids, []int32{1}) {
		t.Errorf("the empty text begins as %v", ids)
	}
	for _, opt := range []model.EncodeOptions{{}, {Begin: true}} {
		ids := encode("a</s>b<s>", opt)
		if opt.Begin {
			if ids[0] != 1 {
				t.Errorf("%v does not begin with the begin token", ids)
			}
			ids = ids[1:]
		}
		if slices.Contains(ids, 1) || slices.Contains(ids, 2) {
			t.Errorf("control tokens were read from plain text: %v", ids)
		}
		text, err := e.Decode(ctx, ids)
		if err != nil || string(text) != "a</s>b<s>" {
			t.Errorf("decoded as %q, %v", text, err)
		}
	}
	ids := encode("a</s>b", model.EncodeOptions{Special: true, Begin: true})
	want := slices.Concat([]int32{1}, encode("a", model.EncodeOptions{}), []int32{2}, encode("b", model.EncodeOptions{}))
	if !slices.Equal(ids, want) {
		t.Errorf("with control tokens read: %v, want %v", ids, want)
	}
	_, err := e.Encode(ctx, []byte("<s>a"), model.EncodeOptions{Special: true, Begin: true})
	wantError(t, err, fault.Usage, `"<s>"`, "another in front")
	if ids := encode("<s>a", model.EncodeOptions{Special: true}); ids[0] != 1 {
		t.Errorf("a begin token written out is %v", ids)
	}
	_, err = e.Decode(ctx, []int32{int32(small().vocab)})
	wantError(t, err, fault.Usage, "300")
	pieces, err := e.Pieces(ctx)
	if err != nil || len(pieces) != 300 || len(pieces[1]) != 0 || string(pieces[3+'x']) != "x" || string(pieces[259]) != " w0" {
		t.Errorf("pieces: %d, %v", len(pieces), err)
	}
}

func TestAPolicyWithoutBeginAddsNone(t *testing.T) {
	s := small()
	s.edit = set("tokenizer.ggml.add_bos_token", false)
	e := s.open(t, 7, 1, kernel.Best())
	ids, err := e.Encode(context.Background(), []byte("a"), model.EncodeOptions{Begin: true})
	if err != nil || slices.Contains(ids, 1) {
		t.Errorf("%v, %v", ids, err)
	}
	if e.Info().Begin != 1 {
		t.Errorf("the begin token is %d", e.Info().Begin)
	}
}
