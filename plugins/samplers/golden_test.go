package samplers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// number reads a JSON number, or one of the words for what JSON lacks.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	if json.Unmarshal(b, &f) == nil {
		*n = number(f)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	switch s {
	case "nan":
		*n = number(math.NaN())
	case "+inf":
		*n = number(math.Inf(1))
	case "-inf":
		*n = number(math.Inf(-1))
	default:
		_, err := fmt.Sscan(s, (*float64)(n))
		return err
	}
	return nil
}

type goldenAnswer struct {
	Systems       []string
	Outcome       string
	Kept          []int32
	Probs, Logits []number
	Token         *int32

	NKept     *int    `json:"n_kept"`
	SumIDs    int64   `json:"sum_ids"`
	MinLogit  float64 `json:"min_kept_input_logit"`
	NAtMin    int     `json:"n_kept_at_min"`
	NInputMin int     `json:"n_input_at_min"`
	Entropy   float64 `json:"entropy_nats"`
	Probes    [][2]json.Number
}

type goldenCase struct {
	ID, Method string
	Params     map[string]json.RawMessage
	Input      struct {
		Logits []number
		Recipe *recipe
	}
	Answers   []goldenAnswer
	Reference *goldenAnswer
	Matches   []string `json:"reference_matches"`
	Tolerance struct {
		ProbRel float64 `json:"prob_rel"`
	}
	Tags []string
}

func golden(t *testing.T, group string) []goldenCase {
	t.Helper()
	data, err := os.ReadFile("testdata/golden/" + group + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []goldenCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

func (c *goldenCase) row() dist.Scores {
	if c.Input.Recipe != nil {
		return dist.NewDense(c.Input.Recipe.build())
	}
	v := make([]float32, len(c.Input.Logits))
	for i, x := range c.Input.Logits {
		v[i] = float32(x)
	}
	return dist.NewDense(v)
}

// stages turns the canonical parameters of a case into stages, by the names
// that the golden set uses, which are aliases of ours.
func (c *goldenCase) stages(t *testing.T) []sampler.Stage {
	t.Helper()
	if c.Method != "chain" {
		return []sampler.Stage{stageOf(t, c.Method, c.Params)}
	}
	var steps []map[string]json.RawMessage
	if err := json.Unmarshal(c.Params["steps"], &steps); err != nil {
		t.Fatal(err)
	}
	var out []sampler.Stage
	for _, step := range steps {
		var method string
		if err := json.Unmarshal(step["method"], &method); err != nil {
			t.Fatal(err)
		}
		delete(step, "method")
		out = append(out, stageOf(t, method, step))
	}
	return out
}

func stageOf(t *testing.T, method string, params map[string]json.RawMessage) sampler.Stage {
	t.Helper()
	s := sampler.Stage{Sampler: method}
	for name, raw := range params {
		var v any
		var err error
		if method == "top_k" || name == "min_keep" {
			var n int64
			err = json.Unmarshal(raw, &n)
			v = n
		} else {
			var f float64
			err = json.Unmarshal(raw, &f)
			v = f
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Values = append(s.Values, param.Value{Name: name, Value: v, Origin: "golden"})
	}
	return s
}

func newSet(t testing.TB) *sampler.Set {
	t.Helper()
	set, err := sampler.NewSet(All()...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// apply runs stages over a row with the ledger on, so that every case also
// checks the ledger's identities.
func apply(set *sampler.Set, row dist.Scores, stages ...sampler.Stage) (dist.Scores, error) {
	it := &sampler.Item{Scores: row}
	err := set.Run(context.Background(), &sampler.Call{Stages: stages, Items: []*sampler.Item{it}, Ledger: true})
	return it.Scores, err
}

// tally says what became of the cases of a group, so that none is skipped
// unseen.
type tally struct{ compared, rejected, degenerate, systems int }

func TestGolden(t *testing.T) {
	set := newSet(t)
	groups := []struct {
		name string
		want tally
	}{
		{"temperature", tally{compared: 94, rejected: 4, systems: 551}},
		{"top_k", tally{compared: 107, systems: 503}},
		{"top_p", tally{compared: 108, rejected: 8, systems: 423}},
		{"degenerate", tally{compared: 12, degenerate: 20, systems: 54}},
		{"chains", tally{compared: 36}},
		{"large", tally{compared: 80, systems: 298}},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			var got tally
			for _, c := range golden(t, g.name) {
				t.Run(c.ID, func(t *testing.T) { c.test(t, set, &got) })
			}
			if got != g.want {
				t.Errorf("cases %+v, want %+v", got, g.want)
			}
		})
	}
}

func (c *goldenCase) test(t *testing.T, set *sampler.Set, n *tally) {
	in := c.row()
	out, err := apply(set, in.Clone(), c.stages(t)...)
	switch c.Reference.Outcome {
	case "reject":
		n.rejected++
		if fault.KindOf(err) != fault.Usage || err == nil || !strings.Contains(err.Error(), "outside [0, ") {
			t.Errorf("got %v, want a usage error with the range", err)
		}
		return
	case "degenerate":
		n.degenerate++
		wantDegenerate(t, in, err)
		return
	}
	n.compared++
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, "reference", in, out, c.Reference)
	for i := range c.Answers {
		for _, system := range c.Answers[i].Systems {
			if slices.Contains(c.Matches, system) {
				n.systems++
				answer := c.Answers[i]
				answer.Logits = nil // systems agree on the distribution, not on its zero
				c.compare(t, system, in, out, &answer)
			}
		}
	}
}

// wantDegenerate wants a data error that names the first bad token.
func wantDegenerate(t *testing.T, in dist.Scores, err error) {
	t.Helper()
	want := "no token is left"
	for i, v := range in.Values {
		if v != v || v > math.MaxFloat32 {
			want = fmt.Sprintf("token %d has score %v", i, v)
			break
		}
	}
	if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a data error with %q", err, want)
	}
}

func (c *goldenCase) compare(t *testing.T, who string, in, out dist.Scores, want *goldenAnswer) {
	t.Helper()
	d, err := dist.NewSampling(&out)
	if err != nil {
		t.Fatal(err)
	}
	probRel := max(2e-5, c.Tolerance.ProbRel)
	probNear := func(id int32, w float64) {
		if got := d.P(id); !(math.Abs(got-w) <= probRel*math.Abs(w)+2e-6) {
			t.Errorf("%s: token %d has probability %.9g, want %.9g", who, id, got, w)
		}
	}
	if want.NKept != nil {
		c.compareLarge(t, who, in, out, d, want, probNear)
		return
	}
	kept := []int32{}
	d.Each(func(id int32, _ float64) bool { kept = append(kept, id); return true })
	if who != "reference" && slices.Contains(c.Tags, "ties") {
		// Which of tied tokens survive differs between systems; how many, and
		// with which scores, does not.
		if a, b := scoresOf(in, kept), scoresOf(in, want.Kept); !slices.Equal(a, b) {
			t.Errorf("%s: kept scores %v, want %v", who, a, b)
		}
		return
	}
	if !slices.Equal(kept, want.Kept) {
		t.Fatalf("%s: kept %v, want %v", who, kept, want.Kept)
	}
	for i, id := range kept {
		probNear(id, float64(want.Probs[i]))
	}
	if want.Logits != nil {
		compareLogits(t, out, kept, want.Logits)
	}
}

func scoresOf(in dist.Scores, ids []int32) []float32 {
	out := make([]float32, len(ids))
	for i, id := range ids {
		out[i] = in.Values[id]
	}
	slices.Sort(out)
	return out
}

// compareLogits compares scores as they are, or relative to their maximum where
// the reference leaves the range in which ours are not shifted.
func compareLogits(t *testing.T, out dist.Scores, kept []int32, want []number) {
	t.Helper()
	top, big := number(math.Inf(-1)), false
	for _, w := range want {
		top = max(top, w)
		big = big || math.Abs(float64(w)) > 65536
	}
	for i, id := range kept {
		got, w := float64(out.Values[out.Index(id)]), float64(want[i])
		if big && float32(got) != float32(w) {
			w = max(w-float64(top), -math.MaxFloat32)
		}
		if !(math.Abs(got-w) <= 2e-6*math.Abs(w)+2e-6) {
			t.Errorf("token %d has score %.9g, want %.9g (shifted: %v)", id, got, w, big)
		}
	}
}

func (c *goldenCase) compareLarge(t *testing.T, who string, in, out dist.Scores, d dist.Sampling, want *goldenAnswer, probNear func(int32, float64)) {
	t.Helper()
	var sum int64
	low := math.Inf(1)
	atLow, inLow := 0, 0
	d.Each(func(id int32, _ float64) bool {
		sum += int64(id)
		v := float64(in.Values[id])
		if v < low {
			low, atLow = v, 0
		}
		if v == low {
			atLow++
		}
		return true
	})
	for _, v := range in.Values {
		if float64(v) == low {
			inLow++
		}
	}
	if d.Support() != *want.NKept {
		t.Errorf("%s: kept %d tokens, want %d", who, d.Support(), *want.NKept)
	}
	// The file has the limits as decimals of float32 numbers.
	if float32(low) != float32(want.MinLogit) || atLow != want.NAtMin || inLow != want.NInputMin {
		t.Errorf("%s: smallest kept score %.9g (%d of %d), want %.9g (%d of %d)", who, low, atLow, inLow,
			want.MinLogit, want.NAtMin, want.NInputMin)
	}
	tiesCut := want.NAtMin != want.NInputMin
	if (who == "reference" || !tiesCut) && sum != want.SumIDs {
		t.Errorf("%s: the kept ids sum to %d, want %d", who, sum, want.SumIDs)
	}
	h, err := d.EntropyBits()
	if err != nil {
		t.Fatal(err)
	}
	// The entropies of systems that sum in float32 are good to four digits.
	if tol := 2e-5*want.Entropy + 2e-6; !(math.Abs(h*math.Ln2-want.Entropy) <= tol) {
		t.Errorf("%s: entropy %.9g nats, want %.9g", who, h*math.Ln2, want.Entropy)
	}
	for _, p := range want.Probes {
		id, err1 := p[0].Int64()
		w, err2 := p[1].Float64()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if out.Has(int32(id)) || who == "reference" {
			probNear(int32(id), w)
		}
	}
}

func TestGoldenSelection(t *testing.T) {
	set := newSet(t)
	chosen, refused := 0, 0
	for _, c := range golden(t, "selection") {
		t.Run(c.ID, func(t *testing.T) {
			in := c.row()
			it := &sampler.Item{Scores: in.Clone()}
			err := set.Run(context.Background(), &sampler.Call{Stages: c.stages(t), Items: []*sampler.Item{it}, Ledger: true})
			if in.Check() != nil {
				refused++
				wantDegenerate(t, in, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			chosen++
			for _, a := range c.Answers {
				if it.Chosen != *a.Token {
					t.Errorf("chose token %d, %v chose %d", it.Chosen, a.Systems, *a.Token)
				}
			}
		})
	}
	if chosen != 8 || refused != 5 {
		t.Errorf("%d cases chosen and %d refused, want 8 and 5", chosen, refused)
	}
}
