package chain

import (
	"context"
	"math"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/seed"
)

// best keeps the k best scores; pick chooses the first that is left.
type best struct{}

func (best) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "best", Aliases: []string{"b"}, Kind: sampler.Reshape, Summary: "s", Source: "t", Params: param.Specs{
		{Name: "k", Type: param.Int, Default: int64(2), Min: 1, Max: 9, Meaning: "how many"},
		{Name: "mode", Type: param.Text, Default: "plain", Meaning: "anything"},
	}}
}

func (best) Apply(r *sampler.Row, set param.Values) error {
	values := append([]float32(nil), r.Scores.Values...)
	r.Scores.Keep(func(i int) bool {
		above := int64(0)
		for _, v := range values {
			if v > values[i] {
				above++
			}
		}
		return above < set.Int("k")
	}, nil)
	return nil
}

type pick struct{ name string }

func (p pick) Declare() sampler.Declaration {
	return sampler.Declaration{Name: p.name, Kind: sampler.Select, Summary: "s", Source: "t", Needs: sampler.Needs{Uniforms: 1}}
}

func (pick) Apply(r *sampler.Row, _ param.Values) error {
	r.Chosen = r.Scores.ID(0)
	return nil
}

// shelf is a catalog of two plugins that both offer best.
type shelf map[string]*sampler.Set

func newShelf(t *testing.T) shelf {
	t.Helper()
	s := shelf{}
	for name, list := range map[string][]sampler.Sampler{"own": {best{}, pick{"sample"}, pick{"other"}}, "mine": {best{}}} {
		set, err := sampler.NewSet(list...)
		if err != nil {
			t.Fatal(err)
		}
		s[name] = set
	}
	return s
}

func (s shelf) Sampler(name string) (Offer, error) {
	plugin, bare, found := strings.Cut(name, "/")
	if !found {
		plugin, bare = "own", name
	}
	d, err := s[plugin].Lookup(bare)
	return Offer{Plugin: plugin, Declaration: d, Runner: s[plugin]}, err
}

func built(t *testing.T, text string) (*Chain, error) {
	t.Helper()
	requests, err := Parse(text, "here")
	if err != nil {
		t.Fatal(err)
	}
	return Build(requests, newShelf(t))
}

func TestEffectiveChain(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"a selector is appended", "best:3", "best:3 | sample"},
		{"an empty chain only draws", "", "sample"},
		{"a selector that is there stays", "best | other", "best | other"},
		{"an alias becomes the standard name", "b:k=3", "best:3 | sample"},
		{"later settings keep their names", "best:mode=odd,k=4", "best:4,mode=odd | sample"},
		{"values that need quotes keep them", `best:mode="a|b"`, `best:mode="a|b" | sample`},
		{"a stage of one plugin keeps its name", "mine/best:3 | best", "mine/best:3 | best | sample"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			c, err := built(t, r.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.String(); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
			again, err := built(t, c.String())
			if err != nil || again.String() != c.String() {
				t.Errorf("it reads back as %v, %v", again, err)
			}
		})
	}
	c, err := built(t, "best:3")
	if err != nil {
		t.Fatal(err)
	}
	e := c.Effective()
	if e[0].Settings[0].Origin != "here" || e[0].Settings[1].Origin != param.DefaultOrigin || e[1].Origin != DefaultOrigin {
		t.Errorf("origins are wrong: %+v", e)
	}
}

func TestBuildRefuses(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"a selector that is not last", "sample | best", "put the selector last"},
		{"an unknown stage", "bst", "stage 1 (bst)"},
		{"an unknown setting", "best:kk=1", `unknown setting "kk"`},
		{"a value out of range", "best:99", "k = 99 is outside [1, 9]"},
		{"a value of another type", "best:many", "not a whole number"},
		{"a setting given twice", "best:3,k=4", "given twice"},
		{"a value where none is taken", "sample:1", "takes no settings"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := built(t, r.text)
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a usage error with %q", err, r.want)
			}
		})
	}
}

func TestALedgerThatDoesNotAddUpIsAPluginError(t *testing.T) {
	c, err := built(t, "best:3 | mine/best:2 | sample")
	if err != nil {
		t.Fatal(err)
	}
	row := &Row{Scores: dist.NewDense([]float32{1, 4, 2, 3}), Stream: seed.New(1, nil)}
	if err := c.Apply(context.Background(), []*Row{row}, Options{Ledger: true}); err != nil {
		t.Fatal(err)
	}
	if row.Chosen != 1 || len(row.Ledger) != 3 {
		t.Fatalf("chose %d with %d entries", row.Chosen, len(row.Ledger))
	}
	if err := row.Ledger.Check(); err != nil {
		t.Fatalf("an honest ledger: %v", err)
	}
	lies := map[string]func(*Entry){
		"another support than was left": func(e *Entry) { e.SupportBefore++ },
		"another entropy":               func(e *Entry) { e.EntropyBefore += 1e-6 },
		"another rank":                  func(e *Entry) { e.RankBefore++ },
		"a divergence that is not -log2 of the kept mass": func(e *Entry) { e.KL += 1e-6 },
		"a distance that is not the removed mass":         func(e *Entry) { e.TV += 1e-6 },
		"undefined numbers":                               func(e *Entry) { e.KL = math.NaN() },
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			l := append(Ledger(nil), row.Ledger...)
			lie(&l[1])
			if err := l.Check(); fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), `stage 2 (best) of plugin "mine"`) {
				t.Errorf("got %v", err)
			}
		})
	}
}
