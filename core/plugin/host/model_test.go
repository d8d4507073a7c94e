//go:build unix

package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
)

// context used by the model tests: three sequences that share beginnings.
func drive(t *testing.T, m *host.Model, steps func(step int)) []dist.Scores {
	t.Helper()
	ctx := context.Background()
	var out []dist.Scores
	keepRows := func(batch []model.Input) {
		for _, in := range batch {
			for i := range in.Scores {
				out = append(out, in.Scores[i].Clone())
			}
		}
	}
	forward := func(batch ...model.Input) {
		t.Helper()
		for i := range batch {
			batch[i].Scores = m.Rows(batch[i].Want.Rows(len(batch[i].Tokens)))
		}
		u, err := m.Forward(ctx, batch)
		if err != nil {
			t.Fatal(err)
		}
		if u.DecodeTokens == 0 {
			t.Error("no usage came back")
		}
		keepRows(batch)
		for i := range batch {
			m.Release(batch[i].Scores)
		}
	}
	edit := func(edits ...model.Edit) {
		t.Helper()
		if err := m.Edit(ctx, edits); err != nil {
			t.Fatal(err)
		}
	}
	steps(0)
	forward(model.Input{Seq: 1, Tokens: []int32{5, 6, 7}, Want: model.All})
	steps(1)
	edit(model.Edit{Op: model.Fork, Seq: 1, To: 2, Length: 3}, model.Edit{Op: model.Fork, Seq: 1, To: 3, Length: 2})
	steps(2)
	forward(model.Input{Seq: 1, Start: 3, Tokens: []int32{8}, Want: model.Last}, model.Input{Seq: 2, Start: 3, Tokens: []int32{9}, Want: model.Last},
		model.Input{Seq: 3, Start: 2, Tokens: []int32{4, 4}, Want: model.None})
	steps(3)
	edit(model.Edit{Op: model.Truncate, Seq: 2, Length: 1}, model.Edit{Op: model.Free, Seq: 1}, model.Edit{Op: model.Free, Seq: 99})
	steps(4)
	forward(model.Input{Seq: 2, Start: 1, Tokens: []int32{3, 2}, Want: model.All}, model.Input{Seq: 3, Start: 4, Tokens: []int32{1}, Want: model.Last})
	return out
}

func TestModelsAgreeOverEveryTransport(t *testing.T) {
	var want []dist.Scores
	for name, change := range map[string]func(*host.Options){"plane": nil, "inline": inline, "tls": func(o *host.Options) { o.TLS = true }} {
		f := newHost(t, change, "good")
		m, err := f.OpenModel(context.Background(), "chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := drive(t, m, func(int) {})
		if want == nil {
			want = got
		}
		if len(got) != len(want) || len(got) != 8 {
			t.Fatalf("%s: %d rows", name, len(got))
		}
		for i := range want {
			mustEqual(t, fmt.Sprintf("%s, row %d", name, i), &want[i], &got[i])
		}
	}
}

func TestModelCallsSayWhatIsWrong(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	for ref, says := range map[string]string{"chater": `did you mean "chatter"`, "missing.chat": "no such file"} {
		if _, err := f.OpenModel(ctx, ref, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	_, err := f.OpenModel(ctx, "chatter", []param.Setting{{Name: "vocabb", Value: 3}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "vocab"`) || fault.KindOf(err) != fault.Usage {
		t.Errorf("setting: %v", err)
	}
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	in := func(seq uint64, start int, want model.Want, rows int, tokens ...int32) []model.Input {
		return []model.Input{{Seq: seq, Start: start, Tokens: tokens, Want: want, Scores: m.Rows(rows)}}
	}
	for name, batch := range map[string][]model.Input{
		"no tokens": in(1, 0, model.Last, 0), "wrong start": in(1, 4, model.None, 0, 1), "rows missing": in(1, 0, model.All, 1, 1, 2),
		"token beyond": in(1, 0, model.None, 0, 50), "negative token": in(1, 0, model.None, 0, -1),
		"twice": append(in(1, 0, model.None, 0, 1), in(1, 0, model.None, 0, 1)...),
	} {
		if _, err := m.Forward(ctx, batch); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := m.Forward(ctx, in(1, 0, model.None, 0, 1, 2)); err != nil {
		t.Fatalf("a refused call has changed a sequence: %v", err)
	}
	for name, e := range map[string]model.Edit{
		"fork of nothing": {Op: model.Fork, Seq: 9, To: 2}, "fork too long": {Op: model.Fork, Seq: 1, To: 2, Length: 3},
		"fork onto": {Op: model.Fork, Seq: 1, To: 1, Length: 1}, "truncate of nothing": {Op: model.Truncate, Seq: 9}, "unknown": {Op: 77},
		"the backend's no": {Op: model.Fork, Seq: 1, To: 666, Length: 1},
	} {
		if err := m.Edit(ctx, []model.Edit{{Op: model.Fork, Seq: 1, To: 5, Length: 2}, e, {Op: model.Free, Seq: 1}}); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if err := m.Edit(ctx, []model.Edit{{Op: model.Free, Seq: 5}}); err != nil { // those before it stand
			t.Fatal(err)
		}
	}
	if _, err := m.Forward(ctx, in(1, 2, model.None, 0, 3)); err != nil {
		t.Errorf("an edit after a failed one was applied: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Verify(ctx); err == nil {
		t.Error("a closed model answers")
	}
}

func TestTopNRowsComeBackSparse(t *testing.T) {
	for name, change := range map[string]func(*host.Options){"plane": nil, "inline": inline} {
		f := newHost(t, change, "good")
		m, err := f.OpenModel(context.Background(), "chatter", []param.Setting{{Name: "top", Value: 5}})
		if err != nil {
			t.Fatal(err)
		}
		rows := m.Rows(1)
		if _, err := m.Forward(context.Background(), []model.Input{{Seq: 1, Tokens: []int32{1}, Want: model.Last, Scores: rows}}); err != nil {
			t.Fatal(err)
		}
		if r := rows[0]; r.Unlisted != 0.25 || r.Len() != 5 || !slices.Equal(r.IDs, []int32{0, 2, 4, 6, 8}) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestVocabularyCalls(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 { // safe for concurrent use
		wg.Go(func() {
			tokens, err := m.Encode(ctx, []byte("\x02\x03"), model.EncodeOptions{Begin: true})
			if err != nil || !slices.Equal(tokens, []int32{0, 2, 3}) {
				t.Errorf("encode: %v %v", tokens, err)
			}
			text, err := m.Decode(ctx, []int32{4, 49})
			if err != nil || string(text) != "<4><49>" {
				t.Errorf("decode: %q %v", text, err)
			}
			pieces, err := m.Pieces(ctx)
			if err != nil || len(pieces) != 50 || string(pieces[3]) != "xxx" || len(pieces[0]) != 0 {
				t.Errorf("pieces: %q %v", pieces, err)
			}
		})
	}
	wg.Wait()
	if _, err := m.Decode(ctx, []int32{50}); err == nil {
		t.Error("a token outside the vocabulary was decoded")
	}
	if d, err := m.Verify(ctx); err != nil || d != m.Info().Digest {
		t.Errorf("digest %q, %v", d, err)
	}
}

func TestRowsAreReusedAndDistinct(t *testing.T) {
	f := newHost(t, nil, "good")
	m, err := f.OpenModel(context.Background(), "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(40)
	seen := map[*float32]bool{}
	for i := range rows {
		if !rows[i].Dense() || rows[i].Len() != 50 || seen[&rows[i].Values[0]] {
			t.Fatalf("row %d is not dense or not its own", i)
		}
		seen[&rows[i].Values[0]] = true
	}
	m.Release(rows[:20])
	m.Release(rows[:20])
	again := m.Rows(20)
	mine := map[*float32]bool{}
	for i := range again {
		if !seen[&again[i].Values[0]] || mine[&again[i].Values[0]] {
			t.Fatal("released rows are not used again, or twice")
		}
		mine[&again[i].Values[0]] = true
	}
}

func TestNoRoomForPlanesMeansBytes(t *testing.T) {
	f := newHost(t, func(o *host.Options) { o.PlaneDir = "/proc/nowhere" }, "good")
	m, err := f.OpenModel(context.Background(), "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := drive(t, m, func(int) {}); len(got) != 8 {
		t.Errorf("%d rows", len(got))
	}
	if w := f.Warnings(); len(w) != 1 || !strings.Contains(w[0], "rows travel as bytes") {
		t.Errorf("warnings: %q", w)
	}
}
