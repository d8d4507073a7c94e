//go:build unix

package host_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// A plugin built from any form the contract ever had works under this host, in
// everything it offers.
func TestOldPluginsKeepWorking(t *testing.T) {
	paths, err := filepath.Glob("../internal/wire/testdata/frozen/*.txtpb")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d frozen forms, %v", len(paths), err)
	}
	for _, path := range paths {
		form := strings.TrimSuffix(filepath.Base(path), ".txtpb")
		t.Run(form, func(t *testing.T) {
			f := newHost(t, nil, "fossil-"+form, "good")
			plugin := "fossil-" + form
			info, err := f.Plugin(context.Background(), plugin)
			if err != nil || info.Language != "stone" || info.Version != "0.0.1" {
				t.Fatalf("%+v, %v", info, err)
			}
			if want := form != firstForm; slices.Equal(info.Environment, []string{"LAB_TEST_DECLARED"}) != want {
				t.Errorf("it declares %q", info.Environment)
			}
			oldSampler(t, f, plugin)
			oldModel(t, f, plugin)
		})
	}
}

func oldSampler(t *testing.T, f *fixture, plugin string) {
	ctx := context.Background()
	s, err := f.Sampler(ctx, plugin+"/move")
	if err != nil || s.Name != "shift" || len(s.Params) != 1 || s.Params[0].Default != 1.5 {
		t.Fatalf("declaration %+v, %v", s, err)
	}
	m, err := f.OpenModel(ctx, "good/chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(2) // in shared memory, which it refuses
	call := &sampler.Call{Ledger: true, Stages: []sampler.Stage{
		{Sampler: "shift", Values: param.Values{{Name: "by", Value: -2.0}}}, {Sampler: "shift"}, {Sampler: "first"}}}
	var want []dist.Scores
	for i := range rows {
		fill(&rows[i])
		if i == 1 {
			rows[i].Keep(func(k int) bool { return k >= 3 && k < 40 }, nil)
		}
		w := rows[i].Clone()
		for k := 0; k < len(w.Values); k += 2 {
			w.Values[k] = w.Values[k] - 2 + 1.5
		}
		want = append(want, w)
		call.Items = append(call.Items, &sampler.Item{Scores: rows[i]})
	}
	if err := f.Runner(plugin).Run(ctx, call); err != nil {
		t.Fatal(err)
	}
	for i, it := range call.Items {
		mustEqual(t, fmt.Sprintf("row %d", i), &want[i], &it.Scores)
		if it.Chosen != int32(3*i) || len(it.Changes) != 3 || it.Changes[0].SupportAfter != want[i].Len() || binary.LittleEndian.Uint64(it.States[2]) != 1 {
			t.Errorf("row %d: chosen %d, changes %+v, states %v", i, it.Chosen, it.Changes, it.States)
		}
	}
	if err := f.Runner(plugin).Run(ctx, call); err != nil || binary.LittleEndian.Uint64(call.Items[1].States[0]) != 2 {
		t.Errorf("the state is not handed back: %v", err)
	}
	if w := f.Warnings(); !slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "cannot use shared memory") }) {
		t.Errorf("warnings: %q", w)
	}
	err = f.Runner(plugin).Run(ctx, &sampler.Call{Stages: stages("refuse"), Items: []*sampler.Item{{Scores: dist.NewDense([]float32{1, 2})}}})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "it refuses on principle; be kind to it") {
		t.Errorf("its own error: %v", err)
	}
}

func oldModel(t *testing.T, f *fixture, plugin string) {
	ctx := context.Background()
	m, err := f.OpenModel(ctx, plugin+"/old", nil)
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err := m.Encode(ctx, []byte("four"), model.EncodeOptions{}); err != nil || !slices.Equal(tokens, []int32{4}) {
		t.Errorf("encode: %v %v", tokens, err)
	}
	if _, err := m.Chat(ctx, []model.Turn{{Role: "user", Content: "x"}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("chat, which it does not offer: %v", err)
	}
	if text, err := m.Decode(ctx, []int32{1, 2}); err != nil || string(text) != "2 tokens" {
		t.Errorf("decode: %s %v", text, err)
	}
	if pieces, err := m.Pieces(ctx); err != nil || len(pieces) != fossilVocab || string(pieces[3]) != "p" {
		t.Errorf("pieces: %q %v", pieces, err)
	}
	check := func(rows []dist.Scores, contexts ...[]int32) {
		t.Helper()
		for i, c := range contexts {
			want := dist.NewDense(fossilRow(c))
			mustEqual(t, fmt.Sprintf("after %v", c), &want, &rows[i])
		}
	}
	rows := m.Rows(3)
	if _, err := m.Forward(ctx, []model.Input{{Seq: 1, Tokens: []int32{5, 6}, Want: model.All, Scores: rows[:2]}}); err != nil {
		t.Fatal(err)
	}
	check(rows, []int32{5}, []int32{5, 6})
	if err := m.Edit(ctx, []model.Edit{{Op: model.Fork, Seq: 1, To: 2, Length: 1}, {Op: model.Truncate, Seq: 1, Length: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Forward(ctx, []model.Input{{Seq: 1, Start: 1, Tokens: []int32{2}, Want: model.Last, Scores: rows[:1]},
		{Seq: 2, Start: 1, Tokens: []int32{3, 8}, Want: model.Last, Scores: rows[1:2]}}); err != nil {
		t.Fatal(err)
	}
	check(rows, []int32{5, 2}, []int32{5, 3, 8})
	if d, err := m.Verify(ctx); err != nil || d != "old:1" {
		t.Errorf("verify: %s %v", d, err)
	}
}
