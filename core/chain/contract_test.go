package chain

import (
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/seed"
)

// probe records what a stage was given.
type probe struct {
	needs sampler.Needs
	saw   *[]sampler.Row
}

func (p probe) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "probe", Kind: sampler.Select, Summary: "s", Source: "s", Needs: p.needs,
		Params: param.Specs{{Name: "x", Type: param.Float, Default: 1.0, Min: 0, Max: 2, Meaning: "m"}},
		Systems: []sampler.System{{Name: "webui", Term: "px", Differs: "it is wider there", Params: param.Specs{
			{Name: "x", Type: param.Float, Default: 5.0, Min: -9, Max: 9, Meaning: "m"},
			{Name: "extra", Type: param.Bool, Default: true, Meaning: "m"}}}},
	}
}

func (p probe) Apply(r *sampler.Row, _ param.Values) error {
	c := *r
	c.Uniforms = slices.Clone(r.Uniforms)
	*p.saw = append(*p.saw, c)
	r.Chosen = 0
	return nil
}

type one struct {
	sampler.Declaration
	*sampler.Set
}

func (o one) Sampler(name string) (Offer, error) {
	if _, err := o.Lookup(name); err != nil {
		return Offer{}, err
	}
	return Offer{Plugin: "test", Declaration: o.Declaration, Runner: o.Set}, nil
}

func probed(t *testing.T, needs sampler.Needs, text string) (*Chain, *[]sampler.Row, error) {
	t.Helper()
	p := probe{needs: needs, saw: new([]sampler.Row)}
	set, err := sampler.NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := Parse(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Build(requests, one{p.Declare(), set})
	return c, p.saw, err
}

func TestAStageFollowsASystem(t *testing.T) {
	const text = "probe:-7,compat=webui"
	c, saw, err := probed(t, sampler.Needs{}, text)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.String(); got != text {
		t.Errorf("the chain reads %q, want %q", got, text)
	}
	if e := c.Effective()[0]; e.Compat != "webui" || len(e.Settings) != 2 || e.Settings[0].Value != -7.0 {
		t.Errorf("effective stage %+v", e)
	}
	row := &Row{Scores: dist.NewDense([]float32{0, 0}), Stream: seed.New(1, nil), Sample: 3}
	if err := c.Apply(t.Context(), []*Row{row}, Options{EndOfText: []int32{1}, Vocabulary: "v"}); err != nil {
		t.Fatal(err)
	}
	if r := (*saw)[0]; r.System != "webui" || r.Sample != 3 || r.Vocabulary != "v" || !slices.Equal(r.EndOfText, []int32{1}) {
		t.Errorf("the stage saw %+v", r)
	}
	for _, r := range []struct{ text, want string }{
		{"probe:-7", "outside [0, 2]"},
		{"probe:compat=vllm", `"vllm" has no such method`},
		{"probe:compat=webui,compat=vllm", "one system"},
		{"probe:extra=true", "unknown setting"},
	} {
		if _, _, err := probed(t, sampler.Needs{}, r.text); err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got %v, want %q", r.text, err, r.want)
		}
	}
}

func TestCompatLeavesAStagesOwnChoice(t *testing.T) {
	requests, err := Parse("a:1 | b:compat=vllm", "test")
	if err != nil {
		t.Fatal(err)
	}
	if got := written(Compat(requests, "webui", "flag")); !strings.Contains(got, "webui") || !strings.Contains(got, "vllm") ||
		len(requests[0].Settings) != 1 {
		t.Errorf("%s; the requests given are %s", got, written(requests))
	}
}

func TestPassesAreHandedOverOrMissed(t *testing.T) {
	c, saw, err := probed(t, sampler.Needs{Passes: 1}, "probe")
	if err != nil {
		t.Fatal(err)
	}
	if c.Passes() != 1 {
		t.Errorf("the chain wants %d passes", c.Passes())
	}
	row := &Row{Scores: dist.NewDense([]float32{0, 0}), Stream: seed.New(1, nil)}
	err = c.Apply(t.Context(), []*Row{row}, Options{})
	if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "stage 1 (probe): it needs 1 further model pass") {
		t.Errorf("got %v", err)
	}
	row.Passes = []dist.Scores{dist.NewDense([]float32{4, 5})}
	if err := c.Apply(t.Context(), []*Row{row}, Options{}); err != nil || (*saw)[0].Passes[0].Values[1] != 5 {
		t.Errorf("%v, saw %+v", err, *saw)
	}
}

func TestSharedNumbersDifferByStepOnly(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c, saw, err := probed(t, sampler.Needs{Uniforms: 1, Shared: shared}, "probe")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range [][2]int{{0, 0}, {1, 0}, {0, 1}} {
			row := &Row{Scores: dist.NewDense([]float32{0, 0}), Stream: seed.New(1, nil), Sample: uint64(at[0]), Step: at[1]}
			if err := c.Apply(t.Context(), []*Row{row}, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		u := []float64{(*saw)[0].Uniforms[0], (*saw)[1].Uniforms[0], (*saw)[2].Uniforms[0]}
		if (u[0] == u[1]) != shared || u[0] == u[2] {
			t.Errorf("shared %v: the numbers are %v", shared, u)
		}
	}
}

// counter keeps how often it was applied to a sequence.
type counter struct{ probe }

func (c counter) Apply(r *sampler.Row, set param.Values) error {
	err := c.probe.Apply(r, set)
	r.State = append(r.State, 'x')
	return err
}

// Sequences that fork come with one list of states, as searches hand it on: what
// a stage keeps for one of them is not the others'.
func TestForkedSequencesShareNoState(t *testing.T) {
	p := probe{saw: new([]sampler.Row)}
	set, err := sampler.NewSet(counter{p})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Build([]Request{{Name: "probe"}}, one{p.Declare(), set})
	if err != nil {
		t.Fatal(err)
	}
	step := func(states [][]byte) [][]byte {
		row := &Row{Scores: dist.NewDense([]float32{0, 0}), Stream: seed.New(1, nil), States: states}
		if err := c.Apply(t.Context(), []*Row{row}, Options{}); err != nil {
			t.Fatal(err)
		}
		return row.States
	}
	parent := step(nil)
	for range 3 {
		if child := step(parent); string(child[0]) != "xx" {
			t.Errorf("a child's state is %q, want that of two steps", child[0])
		}
	}
	if string(parent[0]) != "x" {
		t.Errorf("the parent's state became %q", parent[0])
	}
}

// broken fails in every row.
type broken struct{}

func (broken) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "broken", Kind: sampler.Reshape, Summary: "s", Source: "t"}
}

func (broken) Apply(*sampler.Row, param.Values) error {
	return fault.New(fault.Plugin, "", "", "no such luck")
}

// A stage is named by its place in the chain, whatever call it travelled in.
func TestErrorsNameThePlaceInTheChain(t *testing.T) {
	mine, err := sampler.NewSet(broken{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := sampler.NewSet(best{}, pick{"sample"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"broken":                 "stage 1 (broken): no such luck",
		"best | broken":          "stage 2 (broken): no such luck",
		"best | best:1 | broken": "stage 3 (broken): no such luck",
	} {
		requests, err := Parse(text, "test")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Build(requests, two{own, mine})
		if err != nil {
			t.Fatal(err)
		}
		row := &Row{Scores: dist.NewDense([]float32{0, 1}), Stream: seed.New(1, nil)}
		err = c.Apply(t.Context(), []*Row{row}, Options{})
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// two is a catalog whose second set is a script's: it says where it is defined.
type two [2]*sampler.Set

func (c two) Sampler(name string) (Offer, error) {
	if d, err := c[0].Lookup(name); err == nil {
		return Offer{Plugin: "own", Declaration: d, Runner: c[0]}, nil
	}
	d, err := c[1].Lookup(name)
	return Offer{Plugin: "script", Declaration: d, Runner: c[1], Defined: "script a.tengo:1:2", SHA256: "abc"}, err
}

func TestTheRecordSaysWhereAScriptDefinesAStage(t *testing.T) {
	mine, err := sampler.NewSet(broken{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := sampler.NewSet(best{}, pick{"sample"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Build([]Request{{Name: "best"}, {Name: "broken"}}, two{own, mine})
	if err != nil {
		t.Fatal(err)
	}
	e := c.Effective()
	if e[0].Defined != "" || e[0].SHA256 != "" || e[1].Defined != "script a.tengo:1:2" || e[1].SHA256 != "abc" {
		t.Errorf("recorded %+v", e)
	}
}
