//go:build unix

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// difference says how two rows differ, to the bit.
func difference(a, b *dist.Scores) string {
	switch {
	case a.Vocab != b.Vocab || a.Unlisted != b.Unlisted || a.Dense() != b.Dense() || len(a.Values) != len(b.Values):
		return fmt.Sprintf("shapes differ: %d/%d %g %t, %d/%d %g %t", len(a.Values), a.Vocab, a.Unlisted, a.Dense(),
			len(b.Values), b.Vocab, b.Unlisted, b.Dense())
	case !slices.Equal(a.IDs, b.IDs):
		return "ids differ"
	}
	for i := range a.Values {
		if math.Float32bits(a.Values[i]) != math.Float32bits(b.Values[i]) {
			return fmt.Sprintf("score %d is %v, not %v", i, b.Values[i], a.Values[i])
		}
	}
	return ""
}

// stages returns stages by name, without settings.
func stages(names ...string) []sampler.Stage {
	var out []sampler.Stage
	for _, n := range names {
		out = append(out, sampler.Stage{Sampler: n})
	}
	return out
}

func inline(o *host.Options) { o.Inline = true }

func TestListingsNameEveryPlugin(t *testing.T) {
	ctx := context.Background()
	f := newHost(t, nil, "good", "exits", "other")
	infos := f.Plugins(ctx)
	if len(infos) != 3 || infos[0].Err != nil || infos[2].Err != nil || infos[1].Err == nil {
		t.Fatalf("plugins: %+v", infos)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := infos[0]
	if got.Name != "good" || got.Version != "1.2.3" || got.Protocol != 1 || !got.Builtin || !got.Plane || got.Path != exe ||
		len(got.SHA256) != 64 || !strings.HasPrefix(got.Language, "go 1.") {
		t.Errorf("info: %+v", got)
	}
	samplers, backends := f.Samplers(ctx), f.Backends(ctx)
	if n := len(testSamplers()); len(samplers) != 2*n || samplers[0].Qualified() != "good/halve" || samplers[n].Qualified() != "other/halve" {
		t.Errorf("%d samplers, first %v", len(samplers), samplers[0])
	}
	if len(backends) != 2 || backends[1].Qualified() != "other/chatter" {
		t.Errorf("backends: %+v", backends)
	}
	for i, s := range testSamplers() {
		if want := s.Declare(); !reflect.DeepEqual(want, samplers[i].Declaration) && fmt.Sprintf("%+v", want) != fmt.Sprintf("%+v", samplers[i].Declaration) {
			t.Errorf("declaration changed on its way:\n%+v\n%+v", want, samplers[i].Declaration)
		}
	}
}

func TestLookupsResolveNames(t *testing.T) {
	ctx := context.Background()
	f := newHost(t, nil, "good", "other")
	for _, tt := range []struct{ name, want string }{
		{"halve", "good/halve"}, {"half", "good/halve"}, {"other/halve", "other/halve"}, {"other/half", "other/halve"},
	} {
		if s, err := f.Sampler(ctx, tt.name); err != nil || s.Qualified() != tt.want {
			t.Errorf("%s is %s (%v), want %s", tt.name, s.Qualified(), err, tt.want)
		}
	}
	for _, tt := range []struct{ ref, want string }{
		{"chatter", "good/chatter"}, {"other/chatter", "other/chatter"}, {"some/folder/X.CHAT", "good/chatter"},
	} {
		if b, err := f.Backend(ctx, tt.ref); err != nil || b.Qualified() != tt.want {
			t.Errorf("%s is %s (%v), want %s", tt.ref, b.Qualified(), err, tt.want)
		}
	}
	for name, says := range map[string]string{
		"halvee": `did you mean "halve"`, "good/halvee": `did you mean "halve"`, "zzzzzz": "known:",
	} {
		_, err := f.Sampler(ctx, name)
		if err == nil || !strings.Contains(err.Error(), says) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Plugin(ctx, "goof"); err == nil || !strings.Contains(err.Error(), `did you mean "good"`) {
		t.Errorf("plugin: %v", err)
	}
	if err := f.Runner("goof").Run(ctx, &sampler.Call{Stages: stages("halve")}); fault.KindOf(err) != fault.Usage {
		t.Errorf("runner: %v", err)
	}
}

// script writes an executable plugin that runs this binary in a role.
func script(t *testing.T, dir, name, role string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lab-plugin-"+name)
	text := fmt.Sprintf("#!/bin/sh\nexec %q %s %s\n", exe, serveWord, role)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiscoveryTakesTheFirstAndWarns(t *testing.T) {
	ctx := context.Background()
	a, b := t.TempDir(), t.TempDir()
	script(t, a, "mine", "other")
	script(t, b, "mine", "good")
	script(t, b, "good", "other")
	script(t, a, "Bad Name", "good")
	if err := os.WriteFile(filepath.Join(a, "readme.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newHost(t, func(o *host.Options) {
		o.Dirs = []string{a, filepath.Join(a, "absent"), b, filepath.Join(a, "readme.txt")}
	}, "good")
	infos := f.Plugins(ctx)
	if len(infos) != 2 || infos[1].Name != "mine" || infos[1].Err != nil || infos[1].Builtin || filepath.Dir(infos[1].Path) != a {
		t.Fatalf("plugins: %+v", infos)
	}
	all := strings.Join(f.Warnings(), "\n")
	for _, says := range []string{`"mine" at ` + b, `"good" at ` + b, "the built-in one comes first", "no legal name", "readme.txt", `calls itself "other"`} {
		if !strings.Contains(all, says) {
			t.Errorf("warnings lack %q:\n%s", says, all)
		}
	}
	// A built-in goes before a stranger of the same sampler name.
	if s, err := f.Sampler(ctx, "halve"); err != nil || s.Plugin != "good" {
		t.Errorf("halve is of %q (%v)", s.Plugin, err)
	}
	if s, err := f.Sampler(ctx, "mine/halve"); err != nil || s.Plugin != "mine" {
		t.Errorf("mine/halve is of %q (%v)", s.Plugin, err)
	}
}

// Strangers are started only for names that no built-in has, and one that is
// broken is named when the name is not found.
func TestStrangersAreAskedLast(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	script(t, dir, "broken", "exits")
	f := newHost(t, func(o *host.Options) { o.Dirs = []string{dir} }, "good")
	if _, err := f.Sampler(ctx, "halve"); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.logs.find("cannot find my weights"); ok {
		t.Error("the stranger was started for a built-in sampler")
	}
	_, err := f.Sampler(ctx, "mirostat")
	if err == nil || !strings.Contains(err.Error(), `plugin "broken"`) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error: %v", err)
	}
}

func TestChangedBinaryIsNotStartedAgain(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := script(t, dir, "mine", "good")
	f := newHost(t, func(o *host.Options) { o.Dirs = []string{dir} })
	row := dist.NewDense([]float32{1, 2})
	call := &sampler.Call{Stages: stages("report"), Items: []*sampler.Item{{Scores: row}}}
	if err := f.Runner("mine").Run(ctx, call); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "# changed\n"...), 0o755); err != nil {
		t.Fatal(err)
	}
	killPlugin(t, call.Items[0].States[0])
	call.Items[0].States = nil
	err = f.Runner("mine").Run(ctx, call)
	if err == nil || !strings.Contains(err.Error(), "its executable changed") || fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
}

// apply runs stages over copies of the rows and returns the items.
func apply(t *testing.T, f *fixture, m *host.Model, st []sampler.Stage, rows []dist.Scores, full bool) []*sampler.Item {
	t.Helper()
	call := &sampler.Call{Stages: st, Ledger: full, Rows: full}
	var mine []dist.Scores
	if m != nil {
		mine = m.Rows(len(rows))
		call.Vocabulary = m.VocabularyKey()
	}
	for i := range rows {
		it := &sampler.Item{History: []int32{1, 2, 3, 4}, Prompt: 3, Step: 1, Scores: rows[i].Clone()}
		if m != nil {
			it.Scores = mine[i]
			it.Scores.CopyFrom(&rows[i])
		}
		for range st {
			it.Uniforms = append(it.Uniforms, nil)
			if st[len(it.Uniforms)-1].Sampler == "tally" {
				it.Uniforms[len(it.Uniforms)-1] = []float64{0.25, 0.5, 0.125}
			}
		}
		call.Items = append(call.Items, it)
	}
	for range 2 { // the second time with the states and rows of the first
		if err := f.Runner("good").Run(context.Background(), call); err != nil {
			t.Fatal(err)
		}
	}
	return call.Items
}

// Every way a row can travel gives the same bits: in this process, as bytes, in
// shared memory, and with TLS.
func TestTransportsAgreeToTheBit(t *testing.T) {
	set, err := sampler.NewSet(testSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	const vocab = 1000
	rows := make([]dist.Scores, 5)
	for i := range rows {
		rows[i] = dist.NewDense(make([]float32, vocab))
		fill(&rows[i])
		rows[i].Values[i] = 9
		rows[i].Values[100+i] = float32(math.Inf(-1))
	}
	rows[3].Keep(func(i int) bool { return i%7 == 3 }, nil)
	rows[4].Keep(func(i int) bool { return i == 5 }, nil)
	chains := map[string][]sampler.Stage{
		"one stage":          stages("halve"),
		"dense to sparse":    stages("touch", "keep", "halve"),
		"with a choice":      stages("tally", "keep", "best"),
		"sparse to one":      {{Sampler: "keep", Values: param.Values{{Name: "every", Value: int64(100000)}}}, {Sampler: "best"}},
		"by alias, settings": {{Sampler: "half"}, {Sampler: "touch", Values: param.Values{{Name: "amount", Value: -2.5}}}},
	}
	settings := []param.Setting{{Name: "vocab", Value: vocab}}
	variants := map[string]func(*host.Options){"plane": nil, "inline": inline, "tls": func(o *host.Options) { o.TLS = true }, "heap": nil}
	for variant, change := range variants {
		f := newHost(t, change, "good")
		m, err := f.OpenModel(context.Background(), "chatter", settings)
		if err != nil {
			t.Fatal(err)
		}
		if variant == "heap" {
			m = nil
		}
		for name, st := range chains {
			for _, full := range []bool{false, true} {
				var reference []*sampler.Item
				for i := range rows { // alone, in process
					call := &sampler.Call{Stages: st, Ledger: full, Rows: full}
					it := &sampler.Item{Scores: rows[i].Clone(), History: []int32{1, 2, 3, 4}, Prompt: 3, Step: 1}
					for k := range st {
						it.Uniforms = append(it.Uniforms, nil)
						if st[k].Sampler == "tally" {
							it.Uniforms[k] = []float64{0.25, 0.5, 0.125}
						}
					}
					call.Items = []*sampler.Item{it}
					for range 2 {
						if err := set.Run(context.Background(), call); err != nil {
							t.Fatal(err)
						}
					}
					reference = append(reference, it)
				}
				got := apply(t, f, m, st, rows, full)
				for i := range rows {
					where := fmt.Sprintf("%s, %s, row %d", variant, name, i)
					mustEqual(t, where, &reference[i].Scores, &got[i].Scores)
					if got[i].Chosen != reference[i].Chosen || !reflect.DeepEqual(got[i].Changes, reference[i].Changes) && full {
						t.Errorf("%s: chosen %d and %d, ledgers\n%+v\n%+v", where, got[i].Chosen, reference[i].Chosen, got[i].Changes, reference[i].Changes)
					}
					for k := range st {
						if !bytes.Equal(got[i].States[k], reference[i].States[k]) {
							t.Errorf("%s: state %d differs", where, k)
						}
						if full {
							mustEqual(t, fmt.Sprintf("%s, after stage %d", where, k), &reference[i].Rows[k], &got[i].Rows[k])
						}
					}
				}
			}
		}
	}
}

// Rows after each stage go where the caller wants them.
func TestRowsAfterStagesLandInTheirSlots(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(3)
	fill(&rows[0])
	want := rows[0].Clone()
	it := &sampler.Item{Scores: rows[0], Rows: slices.Clone(rows[1:])}
	if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve", "keep"), Items: []*sampler.Item{it}, Rows: true}); err != nil {
		t.Fatal(err)
	}
	for i := range want.Values {
		want.Values[i] /= 2
	}
	mustEqual(t, "after halve", &want, &it.Rows[0])
	mustEqual(t, "after keep", &it.Scores, &it.Rows[1])
	for k := range 2 {
		if &it.Rows[k].Values[0] != &rows[k+1].Values[0] {
			t.Errorf("row %d is not in its slot", k)
		}
	}
}

func TestPrintsBecomeRecords(t *testing.T) {
	f := newHost(t, nil, "good")
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := f.Runner("good").Run(context.Background(), &sampler.Call{Stages: stages("printer"), Items: []*sampler.Item{it}}); err != nil {
		t.Fatal(err)
	}
	for text, level := range map[string]slog.Level{"printed with fmt": slog.LevelInfo, "written to descriptor 1": slog.LevelInfo,
		"printed to standard error": slog.LevelInfo, "logged with slog": slog.LevelWarn} {
		var r slog.Record
		eventually(t, text+" is logged", func() (ok bool) { r, ok = f.logs.find(text); return ok })
		if r.Level != level || attr(r, "plugin") != "good" {
			t.Errorf("%s: level %v, plugin %q", text, r.Level, attr(r, "plugin"))
		}
		if text == "logged with slog" && attr(r, "answer") != "42" {
			t.Errorf("the attribute is lost: %v", r)
		}
	}
}

func TestTextsTravelOnlyWhenNeeded(t *testing.T) {
	f := newHost(t, nil, "good", "other")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "other/chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	row := dist.NewDense(make([]float32, m.Info().VocabSize))
	run := func(key string) (*sampler.Item, error) {
		it := &sampler.Item{Scores: row.Clone()}
		return it, f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("texts"), Items: []*sampler.Item{it}, Vocabulary: key})
	}
	for _, key := range []string{"", "unknown"} {
		if _, err := run(key); fault.KindOf(err) != fault.Usage {
			t.Errorf("key %q: %v", key, err)
		}
	}
	for range 2 {
		it, err := run(m.VocabularyKey())
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range it.Scores.Values {
			if v != float32(i%5) {
				t.Fatalf("token %d: %v", i, v)
			}
		}
	}
}

// 64 MB each way (FR-34): 16 rows over a million tokens.
func TestLargeMessagesPassBothWays(t *testing.T) {
	f := newHost(t, inline, "good")
	const vocab, batch = 1 << 20, 16
	call := &sampler.Call{Stages: stages("touch")}
	shared := make([]float32, vocab)
	for range batch {
		call.Items = append(call.Items, &sampler.Item{Scores: dist.NewDense(slices.Clone(shared))})
	}
	if err := f.Runner("good").Run(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	for i, it := range call.Items {
		if it.Scores.Values[0] != 1 || it.Scores.Values[vocab-1] != 0 {
			t.Fatalf("row %d: %v … %v", i, it.Scores.Values[0], it.Scores.Values[vocab-1])
		}
	}
}

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

func TestTwoHostsAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	results := make([][]dist.Scores, 2)
	for i := range results {
		f := newHost(t, nil, "good")
		m, err := f.OpenModel(context.Background(), "chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { results[i] = drive(t, m, func(int) {}) })
	}
	wg.Wait()
	for i := range results[0] {
		mustEqual(t, "row", &results[0][i], &results[1][i])
	}
}

func TestClosedHostRefusesAndCleansUp(t *testing.T) {
	dir := t.TempDir()
	f := newHost(t, func(o *host.Options) { o.SocketDir, o.PlaneDir = dir, dir }, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	drive(t, m, func(int) {})
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Fatalf("%d folders while the host lives, want one for sockets and one for planes", len(entries))
	}
	start := time.Now()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("closing took %v", d)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve")}); err != nil && fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
	if _, err := f.Plugin(ctx, "good"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed host answers: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestByHandExplainsItself(t *testing.T) {
	argv := host.Self(serveWord, "good")
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr, stdout bytes.Buffer
	cmd.Stderr, cmd.Stdout = &stderr, &stdout
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(stderr.String(), "is a plugin of lab") || stdout.Len() != 0 {
		t.Errorf("%v, stderr %q, stdout %q", err, stderr.String(), stdout.String())
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, builtins := range map[string][]host.Command{
		"bad name": {{Name: "Bad", Argv: []string{"x"}}}, "no command": {{Name: "a"}}, "twice": {{Name: "a", Argv: []string{"x"}}, {Name: "a", Argv: []string{"x"}}},
	} {
		if _, err := host.New(host.Options{Builtins: builtins}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSearchPathOrder(t *testing.T) {
	t.Setenv("LAB_PLUGIN_PATH", "/b"+string(filepath.ListSeparator)+"/c")
	t.Setenv("XDG_DATA_HOME", "/data")
	want := []string{"/a", "/b", "/c", filepath.Join("/p", ".lab", "plugins"), filepath.Join("/data", "lab", "plugins")}
	if got := host.SearchPath([]string{"/a"}, "/p"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
