package plugin

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/plane"
	"lab/core/plugin/sampler"
)

type negate struct{ name string }

func (n negate) Declare() sampler.Declaration {
	return sampler.Declaration{Name: n.name, Kind: sampler.Reshape, Summary: "changes signs", Source: "none",
		Needs: sampler.Needs{Uniforms: 1}}
}

func (negate) Apply(r *sampler.Row, _ param.Values) error {
	for i := range r.Scores.Values {
		r.Scores.Values[i] = -r.Scores.Values[i]
	}
	return nil
}

// backends of the tests: what they do wrong is in their name.
type broken struct{ how string }

func (b broken) Declare() model.Declaration {
	if b.how == "panics" {
		panic("no declaration")
	}
	d := model.Declaration{Name: "fake", Summary: "s", Source: "s"}
	if b.how == "pattern" {
		d.Patterns = []string{"[*.gguf"}
	}
	return d
}

func (b broken) Open(context.Context, string, param.Values) (model.Model, error) {
	switch b.how {
	case "nil":
		return nil, nil
	case "info":
		return &fake{info: model.Info{VocabSize: 4}}, nil
	}
	return &fake{how: b.how, info: model.Info{Name: "fake", VocabSize: 4, ContextLength: 9, Digest: "d", Begin: -1}}, nil
}

type fake struct {
	how    string
	info   model.Info
	closed bool
	seen   []model.Input
}

func (f *fake) Info() model.Info { return f.info }
func (f *fake) Encode(context.Context, []byte, model.EncodeOptions) ([]int32, error) {
	return []int32{1}, nil
}
func (f *fake) Decode(context.Context, []int32) ([]byte, error) { return []byte("x"), nil }
func (f *fake) Pieces(context.Context) ([][]byte, error) {
	if f.how == "pieces" {
		return [][]byte{{}}, nil
	}
	return make([][]byte, 4), nil
}
func (f *fake) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	f.seen = batch
	for _, in := range batch {
		for k := range in.Scores {
			for i := range in.Scores[k].Values {
				in.Scores[k].Values[i] = float32(i)
			}
			switch f.how {
			case "short":
				in.Scores[k].Values = in.Scores[k].Values[:2]
			case "elsewhere":
				in.Scores[k] = dist.NewDense([]float32{9, 9, 9, 9})
			case "sparse":
				in.Scores[k] = dist.Scores{Vocab: 4, IDs: []int32{2}, Values: []float32{7}}
			}
		}
	}
	return model.Usage{}, nil
}
func (f *fake) Edit(_ context.Context, edits []model.Edit) error {
	if edits[0].Seq == 13 {
		return fault.New(fault.Limit, "edit", "", "not thirteen")
	}
	return nil
}
func (f *fake) Verify(context.Context) (string, error) { return "d", nil }
func (f *fake) Close() error                           { f.closed = true; return nil }

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"samplers": true, "my-plugin_2": true, "": false, "-x": false, "Big": false, "a b": false, "a/b": false, "a--b": true, strings.Repeat("a", 65): false} {
		if IsName(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

func TestDeclarationsAreChecked(t *testing.T) {
	good := []sampler.Sampler{negate{"negate"}}
	for name, p := range map[string]Plugin{
		"no name":         {Version: "1", Samplers: good},
		"bad name":        {Name: "My Plugin", Version: "1", Samplers: good},
		"no version":      {Name: "p", Samplers: good},
		"nothing":         {Name: "p", Version: "1"},
		"bad sampler":     {Name: "p", Version: "1", Samplers: []sampler.Sampler{negate{"Bad"}}},
		"same sampler":    {Name: "p", Version: "1", Samplers: []sampler.Sampler{negate{"a"}, negate{"a"}}},
		"nil sampler":     {Name: "p", Version: "1", Samplers: []sampler.Sampler{nil}},
		"nil backend":     {Name: "p", Version: "1", Models: []model.Backend{nil}},
		"same backend":    {Name: "p", Version: "1", Models: []model.Backend{broken{}, broken{}}},
		"backend pattern": {Name: "p", Version: "1", Models: []model.Backend{broken{"pattern"}}},
		"backend panics":  {Name: "p", Version: "1", Models: []model.Backend{broken{"panics"}}},
	} {
		if _, err := p.check(); fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o, err := (Plugin{Name: "p", Version: "1", Samplers: good, Models: []model.Backend{broken{}}}).check(); err != nil || len(o.backends) != 1 {
		t.Errorf("a good one: %v", err)
	}
}

func TestByHandMessage(t *testing.T) {
	var out bytes.Buffer
	byHand(&out, Plugin{Name: "mine", Version: "1.0", Samplers: []sampler.Sampler{negate{"negate"}}})
	for _, s := range []string{"mine 1.0 is a plugin of lab", "1 sampler(s)", "lab-plugin-mine", ".lab/plugins", "LAB_PLUGIN_PATH"} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("the message lacks %q:\n%s", s, out.String())
		}
	}
}

// serving is the server side of a plugin with one plane of four tokens and six
// slots.
func serving(t *testing.T) (*samplerServer, *plane.Plane) {
	t.Helper()
	set, err := sampler.NewSet(negate{"negate"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plane.Create(t.TempDir(), 1, 4, 6)
	if err != nil {
		t.Fatal(err)
	}
	planes := &plane.Table{}
	planes.Add(p)
	t.Cleanup(func() { _ = planes.Close() })
	return &samplerServer{set: set, planes: planes}, p
}

func goodItem(slot uint32) *wire.Item {
	return &wire.Item{
		Scores:   &wire.Row{Vocab: 4, Count: 4, Place: &wire.Row_Slot{Slot: &wire.Slot{Plane: 1, Index: slot}}},
		Uniforms: [][]byte{wire.PutUniforms([]float64{0.5})},
	}
}

// A host that sends nonsense gets a fault, and never more than that.
func TestHostileRequestsAreRefused(t *testing.T) {
	s, p := serving(t)
	for i := range p.Slots() {
		copy(p.Values(i), []float32{1, 2, 3, 4})
	}
	good := func() *wire.ApplyRequest {
		return &wire.ApplyRequest{Stages: []*wire.Stage{{Sampler: "negate"}}, Items: []*wire.Item{goodItem(0)}}
	}
	if _, err := s.Apply(context.Background(), good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*wire.ApplyRequest){
		"no stages":       func(r *wire.ApplyRequest) { r.Stages = nil },
		"nil stage":       func(r *wire.ApplyRequest) { r.Stages[0] = nil },
		"unknown sampler": func(r *wire.ApplyRequest) { r.Stages[0].Sampler = "negat" },
		"unknown setting": func(r *wire.ApplyRequest) { r.Stages[0].Values = []*wire.NamedValue{{Name: "x"}} },
		"nil item":        func(r *wire.ApplyRequest) { r.Items[0] = nil },
		"no row":          func(r *wire.ApplyRequest) { r.Items[0].Scores = nil },
		"slot beyond":     func(r *wire.ApplyRequest) { r.Items[0].Scores.GetSlot().Index = 6 },
		"nil slot":        func(r *wire.ApplyRequest) { r.Items[0].Scores.Place = &wire.Row_Slot{} },
		"no such plane":   func(r *wire.ApplyRequest) { r.Items[0].Scores.GetSlot().Plane = 9 },
		"count beyond":    func(r *wire.ApplyRequest) { r.Items[0].Scores.Count = math.MaxUint32 },
		"slot twice":      func(r *wire.ApplyRequest) { r.Items = append(r.Items, goodItem(0)) },
		"row slot twice":  func(r *wire.ApplyRequest) { r.Items[0].Rows = []*wire.Slot{{Plane: 1, Index: 0}} },
		"history":         func(r *wire.ApplyRequest) { r.Items[0].History = wire.PutTokens([]int32{4}) },
		"history odd":     func(r *wire.ApplyRequest) { r.Items[0].History = []byte{1} },
		"prompt beyond":   func(r *wire.ApplyRequest) { r.Items[0].Prompt = 1 },
		"step beyond":     func(r *wire.ApplyRequest) { r.Items[0].Step = math.MaxUint64 },
		"uniforms":        func(r *wire.ApplyRequest) { r.Items[0].Uniforms = nil },
		"uniform of one":  func(r *wire.ApplyRequest) { r.Items[0].Uniforms[0] = wire.PutUniforms([]float64{1}) },
		"states":          func(r *wire.ApplyRequest) { r.Items[0].States = make([][]byte, 3) },
		"long state":      func(r *wire.ApplyRequest) { r.Items[0].States = [][]byte{make([]byte, sampler.MaxState+1)} },
		"rows":            func(r *wire.ApplyRequest) { r.Items[0].Rows = []*wire.Slot{{Plane: 1, Index: 1}, {Plane: 1, Index: 2}} },
		"row beyond": func(r *wire.ApplyRequest) {
			r.Rows, r.Items[0].Rows = true, []*wire.Slot{{Plane: 1, Index: 77}}
		},
		"nan": func(*wire.ApplyRequest) { p.Values(0)[2] = float32(math.NaN()) },
	} {
		copy(p.Values(0), []float32{1, 2, 3, 4})
		r := good()
		spoil(r)
		if _, err := s.Apply(context.Background(), r); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestRowsAreAnsweredWhereTheyCame(t *testing.T) {
	s, p := serving(t)
	copy(p.Values(2), []float32{1, 2, 3, 4})
	inline := dist.Scores{Vocab: 9, IDs: []int32{3, 5}, Values: []float32{1, 2}}
	shared := goodItem(2)
	shared.Rows = []*wire.Slot{{Plane: 1, Index: 5}}
	other := &wire.Item{Scores: wire.PutRow(&inline, nil), Uniforms: shared.Uniforms}
	out, err := s.Apply(context.Background(), &wire.ApplyRequest{Rows: true, Stages: []*wire.Stage{{Sampler: "negate"}}, Items: []*wire.Item{shared, other}})
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := wire.SlotOf(out.Items[0].Scores); !ok || at != (plane.Slot{Plane: 1, Index: 2}) || p.Values(2)[3] != -4 {
		t.Errorf("answered in %v, %v", at, p.Values(2))
	}
	if at, ok := wire.SlotOf(out.Items[0].Rows[0]); !ok || at != (plane.Slot{Plane: 1, Index: 5}) || p.Values(5)[3] != -4 {
		t.Errorf("the row after the stage is in %v, %v", at, p.Values(5))
	}
	row, err := wire.GetRow(out.Items[1].Scores, nil)
	if err != nil || row.Values[1] != -2 || row.IDs[1] != 5 {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestAttach(t *testing.T) {
	dir := t.TempDir()
	p, err := plane.Create(dir, 7, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d := &describer{offer: &offer{name: "p"}, planes: &plane.Table{}, texts: &vocabularies{}}
	defer d.planes.Close()
	at := func(m *wire.Plane) error {
		_, err := d.Attach(context.Background(), &wire.AttachRequest{Thing: &wire.AttachRequest_Plane{Plane: m}})
		return err
	}
	good := &wire.Plane{Id: 7, Path: p.Path(), Vocab: 4, Slots: 2}
	for range 2 {
		if err := at(good); err != nil {
			t.Error(err)
		}
	}
	for name, m := range map[string]*wire.Plane{
		"same number": {Id: 7, Path: p.Path(), Vocab: 2, Slots: 4}, "size": {Id: 8, Path: p.Path(), Vocab: 4, Slots: 3},
		"absent": {Id: 8, Path: filepath.Join(dir, "no"), Vocab: 4, Slots: 2}, "huge": {Id: 8, Path: p.Path(), Vocab: math.MaxUint32, Slots: math.MaxUint32}, "nil": nil,
	} {
		if err := at(m); err == nil {
			t.Errorf("%s was attached", name)
		}
	}
	text, ends, err := wire.PutPieces([][]byte{[]byte("a"), []byte("bc")})
	if err != nil {
		t.Fatal(err)
	}
	vocab := func(key string, text, ends []byte) error {
		_, err := d.Attach(context.Background(), &wire.AttachRequest{Thing: &wire.AttachRequest_Vocabulary{Vocabulary: &wire.Vocabulary{Key: key, Text: text, Ends: ends}}})
		return err
	}
	for range 2 {
		if err := vocab("k", text, ends); err != nil {
			t.Error(err)
		}
	}
	if vocab("", text, ends) == nil || vocab("k", []byte("xyz"), ends) == nil || vocab("z", text, ends[:3]) == nil {
		t.Error("a malformed or contradicting vocabulary was taken")
	}
	if _, err := d.Attach(context.Background(), &wire.AttachRequest{}); err == nil {
		t.Error("nothing was attached, successfully")
	}
	lookup := d.texts.lookup("k")
	if string(lookup(1)) != "bc" || lookup(2) != nil || lookup(-1) != nil || d.texts.lookup("other") != nil {
		t.Error("texts are not those of the vocabulary")
	}
	if _, err := d.Describe(context.Background(), &wire.DescribeRequest{Protocol: 2}); fault.KindOf(err) != fault.Plugin {
		t.Errorf("another protocol: %v", err)
	}
}

func openFake(t *testing.T, how string) (*modelServer, error) {
	t.Helper()
	s := newModelServer([]backend{{decl: broken{how}.decl(), open: broken{how}}}, &plane.Table{})
	_, err := s.Open(context.Background(), &wire.OpenRequest{Backend: "fake", Ref: "fake"})
	return s, err
}

func (b broken) decl() model.Declaration { return broken{}.Declare() }

func TestModelServerChecksBothSides(t *testing.T) {
	ctx := context.Background()
	for how, kind := range map[string]fault.Kind{"nil": fault.Plugin, "info": fault.Plugin} {
		if _, err := openFake(t, how); fault.KindOf(err) != kind {
			t.Errorf("%s: %v", how, err)
		}
	}
	s, err := openFake(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(ctx, &wire.OpenRequest{Backend: "fakee"}); err == nil || !strings.Contains(err.Error(), `did you mean "fake"`) {
		t.Errorf("unknown backend: %v", err)
	}
	tok := wire.PutTokens
	for name, in := range map[string]*wire.Input{
		"no tokens": {}, "token beyond": {Tokens: tok([]int32{4})}, "negative": {Tokens: tok([]int32{-1})}, "odd bytes": {Tokens: []byte{1}},
		"want": {Tokens: tok([]int32{1}), Want: 9}, "start": {Tokens: tok([]int32{1}), Start: math.MaxUint64},
		"rows": {Tokens: tok([]int32{1}), Want: wire.Want_WANT_LAST, Rows: []*wire.Slot{{}, {}}}, "slot": {Tokens: tok([]int32{1}), Want: wire.Want_WANT_LAST, Rows: []*wire.Slot{{Plane: 3}}}, "nil": nil,
	} {
		if _, err := s.Forward(ctx, &wire.ForwardRequest{Model: 1, Inputs: []*wire.Input{in}}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	one := &wire.Input{Tokens: tok([]int32{1}), Want: wire.Want_WANT_LAST}
	if _, err := s.Forward(ctx, &wire.ForwardRequest{Model: 1, Inputs: []*wire.Input{one, one}}); err == nil {
		t.Error("one sequence was extended twice")
	}
	if _, err := s.Forward(ctx, &wire.ForwardRequest{Model: 2, Inputs: []*wire.Input{one}}); err == nil {
		t.Error("a model that is not open answered")
	}
	out, err := s.Forward(ctx, &wire.ForwardRequest{Model: 1, Inputs: []*wire.Input{one}})
	if err != nil {
		t.Fatal(err)
	}
	if row, err := wire.GetRow(out.Outputs[0].Rows[0], nil); err != nil || row.Values[3] != 3 {
		t.Errorf("%+v, %v", row, err)
	}
	edits, err := s.Edit(ctx, &wire.EditRequest{Model: 1, Edits: []*wire.Edit{{Op: wire.EditOp_EDIT_OP_FREE}, {Op: wire.EditOp_EDIT_OP_FREE, Seq: 13}, {Op: wire.EditOp_EDIT_OP_FREE}}})
	if err != nil || edits.Applied != 1 || edits.Fault.GetKind() != wire.FaultKind_FAULT_KIND_LIMIT {
		t.Errorf("%v, %v", edits, err)
	}
	if e, err := s.Edit(ctx, &wire.EditRequest{Model: 1, Edits: []*wire.Edit{{}}}); err != nil || e.Fault == nil {
		t.Errorf("an edit that does nothing: %v, %v", e, err)
	}
	m := s.open[1].model.(*fake)
	if _, err := s.Close(ctx, &wire.CloseRequest{Model: 1}); err != nil || !m.closed {
		t.Errorf("close: %v", err)
	}
	if _, err := s.Close(ctx, &wire.CloseRequest{Model: 1}); err == nil {
		t.Error("a model was closed twice")
	}
}

// A backend may fill its rows, replace them, or get them wrong.
func TestBackendRows(t *testing.T) {
	for how, want := range map[string][]float32{"": {0, 1, 2, 3}, "elsewhere": {9, 9, 9, 9}, "sparse": {7}, "short": nil} {
		s, err := openFake(t, how)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plane.Create(t.TempDir(), 1, 4, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.planes.Add(p)
		for _, slots := range [][]*wire.Slot{nil, {{Plane: 1}}} {
			out, err := s.Forward(context.Background(), &wire.ForwardRequest{Model: 1, Inputs: []*wire.Input{
				{Tokens: wire.PutTokens([]int32{1}), Want: wire.Want_WANT_LAST, Rows: slots}}})
			if want == nil {
				if fault.KindOf(err) != fault.Plugin {
					t.Errorf("%q: %v", how, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%q: %v", how, err)
				continue
			}
			row, err := wire.GetRow(out.Outputs[0].Rows[0], s.planes)
			if err != nil || len(row.Values) != len(want) || row.Values[0] != want[0] {
				t.Errorf("%q: %+v, %v", how, row, err)
			}
			if at, shared := wire.SlotOf(out.Outputs[0].Rows[0]); shared != (slots != nil) {
				t.Errorf("%q: answered in %v", how, at)
			}
		}
		_ = s.planes.Close()
	}
}
