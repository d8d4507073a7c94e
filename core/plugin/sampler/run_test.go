package sampler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
)

func row(values ...float32) dist.Scores { return dist.NewDense(values) }

var negInf = float32(math.Inf(-1))

func once(t *testing.T, s *Set, it *Item, names ...string) error {
	t.Helper()
	call := &Call{Items: []*Item{it}, Ledger: true, Rows: true}
	for _, n := range names {
		call.Stages = append(call.Stages, Stage{Sampler: n})
	}
	return s.Run(t.Context(), call)
}

// Each stage breaks the contract in one way.
func TestStagesThatBreakTheContract(t *testing.T) {
	set := func(values ...float32) func(*Row, param.Values) error {
		return func(r *Row, _ param.Values) error { copy(r.Scores.Values, values); return nil }
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rows := []struct {
		name string
		s    Sampler
		kind fault.Kind
		want []string
	}{
		{"NaN", reshape("bad", set(0, nan)), fault.Plugin, []string{"stage 2 (bad)", "token 1 has score NaN"}},
		{"+Inf", reshape("bad", set(0, 0, inf)), fault.Plugin, []string{"token 2 has score +Inf"}},
		{"empties the row", reshape("bad", set(negInf, negInf, negInf, negInf)), fault.Plugin, []string{"no token is left"}},
		{"revives a removed token", reshape("bad", set(0, 0, 0, 5)), fault.Plugin, []string{"token 3, which an earlier stage removed"}},
		{"panics", reshape("bad", func(*Row, param.Values) error { panic("oh no") }), fault.Plugin, []string{"stage 2 (bad)", "panicked: oh no"}},
		{"indexes out of range", reshape("bad", func(r *Row, _ param.Values) error { r.Scores.Values[9] = 1; return nil }), fault.Plugin, []string{"panicked", "out of range"}},
		{"reads a setting it did not declare", reshape("bad", func(_ *Row, v param.Values) error { v.Float("x"); return nil }), fault.Plugin, []string{"was not declared"}},
		{"loses the row", reshape("bad", func(r *Row, _ param.Values) error { *r.Scores = dist.Scores{}; return nil }), fault.Plugin, []string{"no token is left"}},
		{"points elsewhere", reshape("fine", func(r *Row, _ param.Values) error { r.Scores = nil; return nil }), fault.Internal, nil},
		{"changes the vocabulary", reshape("bad", func(r *Row, _ param.Values) error { *r.Scores = row(1, 2); return nil }), fault.Plugin, []string{"vocabulary from 4 to 2"}},
		{"invents an unlisted tail", reshape("bad", func(r *Row, _ param.Values) error {
			r.Scores.Keep(func(i int) bool { return i < 2 }, nil)
			r.Scores.Unlisted = 0.5
			return nil
		}), fault.Plugin, []string{"unlisted mass from 0 to 0.5"}},
		{"ids out of order", reshape("bad", func(r *Row, _ param.Values) error { r.Scores.IDs = []int32{3, 2, 1, 0}; return nil }), fault.Plugin, []string{"out of order"}},
		{"state too long", reshape("bad", func(r *Row, _ param.Values) error { r.State = make([]byte, MaxState+1); return nil }), fault.Plugin, []string{"state of 65537 bytes"}},
		{"a reshaper chooses", reshape("bad", func(r *Row, _ param.Values) error { r.Chosen = 1; return nil }), fault.Plugin, []string{"chose token 1"}},
		{"a selector chooses nothing", selecting("bad", nil), fault.Plugin, []string{"chose no token"}},
		{"a selector chooses a removed token", selecting("bad", func(r *Row, _ param.Values) error { r.Chosen = 3; return nil }), fault.Plugin, []string{"token 3, which is not in the support"}},
		{"a selector chooses outside the vocabulary", selecting("bad", func(r *Row, _ param.Values) error { r.Chosen = 4; return nil }), fault.Plugin, []string{"not in the support"}},
		{"a selector chooses a negative token", selecting("bad", func(r *Row, _ param.Values) error { r.Chosen = -7; return nil }), fault.Plugin, []string{"not in the support"}},
		{"a plain error", reshape("bad", func(*Row, param.Values) error { return errors.New("no luck") }), fault.Plugin, []string{"stage 2 (bad): no luck"}},
		{"an error with a kind keeps it", reshape("bad", func(*Row, param.Values) error { return fault.New(fault.Data, "x", "", "odd") }), fault.Data, []string{"stage 2 (bad): x: odd"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			mask := reshape("mask", func(r *Row, _ param.Values) error { r.Scores.Values[3] = negInf; return nil })
			it := &Item{Scores: row(1, 2, 3, 4)}
			err := once(t, mustSet(t, mask, r.s), it, "mask", r.s.Declare().Name)
			if r.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantFault(t, err, r.kind, r.want...)
		})
	}
}

func TestCallsThatAreRefused(t *testing.T) {
	needy := decl("needy", Reshape)
	needy.Needs = Needs{Uniforms: 2, Passes: 1}
	texts := decl("texts", Reshape)
	texts.Needs.TokenTexts = true
	set := mustSet(t, fake{decl: needy}, fake{decl: texts}, reshape("plain", nil), selecting("pick", func(r *Row, _ param.Values) error { r.Chosen = 0; return nil }))
	good := func(change func(*Item)) *Item {
		it := &Item{Scores: row(1, 2), Uniforms: [][]float64{{0, 0.5}}, Passes: []dist.Scores{row(1, 2)}}
		change(it)
		return it
	}
	rows := []struct {
		name   string
		stages []string
		item   *Item
		kind   fault.Kind
		want   string
	}{
		{"unknown sampler", []string{"plan"}, good(func(*Item) {}), fault.Usage, `did you mean "plain"?`},
		{"selector before the end", []string{"pick", "plain"}, good(func(*Item) {}), fault.Usage, "put it last"},
		{"nil item", []string{"plain"}, nil, fault.Internal, "sequence 0"},
		{"no uniform numbers", []string{"needy"}, good(func(it *Item) { it.Uniforms = nil }), fault.Plugin, "0 uniform numbers were given, it declares 2"},
		{"one uniform number too many", []string{"needy"}, good(func(it *Item) { it.Uniforms[0] = []float64{0, 0, 0} }), fault.Plugin, "3 uniform"},
		{"uniform numbers nobody wants", []string{"plain"}, good(func(*Item) {}), fault.Plugin, "it declares 0"},
		{"a uniform number of 1", []string{"needy"}, good(func(it *Item) { it.Uniforms[0][1] = 1 }), fault.Plugin, "uniform number 1 is 1"},
		{"a uniform number below 0", []string{"needy"}, good(func(it *Item) { it.Uniforms[0][0] = -1e-9 }), fault.Plugin, "outside [0, 1)"},
		{"a uniform number is NaN", []string{"needy"}, good(func(it *Item) { it.Uniforms[0][0] = math.NaN() }), fault.Plugin, "NaN"},
		{"lists for another number of stages", []string{"needy"}, good(func(it *Item) { it.Uniforms = append(it.Uniforms, nil) }), fault.Plugin, "for 1 stages"},
		{"states for another number of stages", []string{"needy"}, good(func(it *Item) { it.States = make([][]byte, 2) }), fault.Plugin, "2 states"},
		{"a state too long", []string{"needy"}, good(func(it *Item) { it.States = [][]byte{make([]byte, MaxState+1)} }), fault.Plugin, "65537 bytes"},
		{"no further row", []string{"needy"}, good(func(it *Item) { it.Passes = nil }), fault.Plugin, "0 further rows"},
		{"prompt longer than the context", []string{"needy"}, good(func(it *Item) { it.Prompt = 1 }), fault.Plugin, "prompt 1 of 0"},
		{"negative step", []string{"needy"}, good(func(it *Item) { it.Step = -1 }), fault.Plugin, "step -1"},
		{"texts without a vocabulary", []string{"texts"}, good(func(it *Item) { it.Uniforms = nil }), fault.Plugin, "texts of vocabulary"},
		{"a malformed row", []string{"needy"}, good(func(it *Item) { it.Scores.Values[1] = float32(math.NaN()) }), fault.Data, "token 1 has score NaN"},
		{"an empty row", []string{"needy"}, good(func(it *Item) { it.Scores = dist.Scores{} }), fault.Data, "no token is left"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			wantFault(t, once(t, set, r.item, r.stages...), r.kind, r.want)
		})
	}
	if err := once(t, set, good(func(*Item) {}), "needy"); err != nil {
		t.Errorf("the good call fails: %v", err)
	}
}

func TestRowShowsWhatWasDeclared(t *testing.T) {
	history := []int32{1, 2, 3, 4, 5}
	rows := []struct {
		name           string
		want, prompt   int
		history        []int32
		promptInWindow int
	}{
		{"none", 0, 3, []int32{}, 0},
		{"the newest two, none of them prompt", 2, 3, []int32{4, 5}, 0},
		{"the newest three, one of them prompt", 3, 3, []int32{3, 4, 5}, 1},
		{"more than there is", 9, 3, history, 3},
		{"the whole context", -1, 5, history, 5},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			d := decl("look", Reshape)
			d.Needs = Needs{History: r.want, TokenTexts: true}
			seen := false
			set := mustSet(t, fake{decl: d, apply: func(row *Row, _ param.Values) error {
				seen = slices.Equal(row.History, r.history) && cap(row.History) == len(r.history) &&
					row.Prompt == r.promptInWindow && row.Step == 7 && row.Chosen == -1 && string(row.Texts(3)) == "v3"
				return nil
			}}).WithTexts(func(vocabulary string) func(int32) []byte {
				if vocabulary != "key" {
					return nil
				}
				return func(id int32) []byte { return fmt.Append(nil, "v", id) }
			})
			call := &Call{Stages: []Stage{{Sampler: "look"}}, Vocabulary: "key",
				Items: []*Item{{Scores: row(1), History: history, Prompt: r.prompt, Step: 7}}}
			if err := set.Run(t.Context(), call); err != nil || !seen {
				t.Errorf("seen %v, %v", seen, err)
			}
			call.Vocabulary = "other"
			wantFault(t, set.Run(t.Context(), call), fault.Plugin, `vocabulary "other"`)
		})
	}
}

// State comes back changed, and a fork that shares its bytes does not see it.
func TestStateTravelsAndIsNotShared(t *testing.T) {
	set := mustSet(t, reshape("count", func(r *Row, _ param.Values) error {
		if len(r.State) > 0 {
			r.State[0]++
		} else {
			r.State = []byte{1}
		}
		return nil
	}))
	it := &Item{Scores: row(1, 2)}
	for range 3 {
		if err := once(t, set, it, "count"); err != nil {
			t.Fatal(err)
		}
	}
	fork := &Item{Scores: row(1, 2), States: [][]byte{it.States[0]}}
	if err := once(t, set, fork, "count"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(it.States[0], []byte{3}) || !bytes.Equal(fork.States[0], []byte{4}) {
		t.Errorf("states %v and %v, want 3 and 4", it.States[0], fork.States[0])
	}
}

func TestScoresStayInTheCallersMemory(t *testing.T) {
	set := mustSet(t, reshape("own", func(r *Row, _ param.Values) error {
		*r.Scores = dist.Scores{Vocab: 3, IDs: []int32{1, 2}, Values: []float32{7, 8}}
		return nil
	}))
	memory := []float32{1, 2, 3}
	it := &Item{Scores: dist.NewDense(memory)}
	if err := once(t, set, it, "own"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(memory, []float32{7, 8, 3}) || &it.Scores.Values[0] != &memory[0] || len(it.Scores.Values) != 2 {
		t.Errorf("memory %v, row %+v", memory, it.Scores)
	}
}

func TestLedgerAndRows(t *testing.T) {
	half := reshape("half", func(r *Row, _ param.Values) error {
		for i := range r.Scores.Values {
			r.Scores.Values[i] /= 2
		}
		return nil
	})
	two := reshape("two", func(r *Row, _ param.Values) error {
		r.Scores.Keep(func(i int) bool { return r.Scores.Values[i] >= 1 }, nil)
		return nil
	})
	last := selecting("last", func(r *Row, _ param.Values) error {
		r.Chosen = r.Scores.ID(r.Scores.Len() - 1)
		return nil
	})
	set := mustSet(t, half, two, last)
	it := &Item{Scores: row(0, 4, 2, 4)}
	before := it.Scores.Clone()
	if err := once(t, set, it, "half", "two", "last"); err != nil {
		t.Fatal(err)
	}
	if it.Chosen != 3 || len(it.Changes) != 3 || len(it.Rows) != 3 {
		t.Fatalf("chose %d, %d changes, %d rows", it.Chosen, len(it.Changes), len(it.Rows))
	}
	want := [][2]int{{2, 2}, {2, 2}, {2, 2}}
	for i, c := range it.Changes {
		if c.RankBefore != want[i][0] || c.RankAfter != want[i][1] || c.ProbAfter == 0 {
			t.Errorf("stage %d: %+v", i+1, c)
		}
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
	if c := it.Changes; c[0].Truncation || !c[1].Truncation || c[1].SupportAfter != 3 || c[2].KL != 0 || c[2].KeptMass != 1 {
		t.Errorf("%+v", c)
	}
	if !slices.Equal(it.Rows[0].Values, []float32{0, 2, 1, 2}) || !slices.Equal(it.Rows[1].IDs, []int32{1, 2, 3}) {
		t.Errorf("rows %+v", it.Rows)
	}
	// A host that got the rows of earlier calls fills the same numbers in later.
	late := slices.Clone(it.Changes)
	for i := range late {
		late[i].RankBefore, late[i].RankAfter, late[i].ProbBefore, late[i].ProbAfter = 0, 0, 0, 0
	}
	FillChosen(&before, it.Rows, late, it.Chosen)
	if !slices.Equal(late, it.Changes) {
		t.Errorf("filled in later %+v, at once %+v", late, it.Changes)
	}
}

// Whatever runs at once, the results are those of one item at a time.
func TestBatchEqualsOneByOne(t *testing.T) {
	set := mustSet(t,
		reshape("cut", func(r *Row, _ param.Values) error { r.Scores.KeepBest(r.Scores.Values[0], 1, 1); return nil }),
		selecting("first", func(r *Row, _ param.Values) error { r.Chosen = r.Scores.ID(0); return nil }))
	make1 := func(n int) *Item {
		v := make([]float32, 3000)
		for i := range v {
			v[i] = float32((i*7919+n*104729)%1000) / 100
		}
		return &Item{Scores: row(v...)}
	}
	call := func(items ...*Item) *Call {
		return &Call{Stages: []Stage{{Sampler: "cut"}, {Sampler: "first"}}, Items: items, Ledger: true, Rows: true}
	}
	var batch, alone []*Item
	for n := range 64 {
		batch, alone = append(batch, make1(n)), append(alone, make1(n))
		if err := set.Run(t.Context(), call(alone[n])); err != nil {
			t.Fatal(err)
		}
	}
	for _, procs := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(procs)
		again := make([]*Item, len(batch))
		for n := range batch {
			again[n] = make1(n)
		}
		err := set.Run(t.Context(), call(again...))
		runtime.GOMAXPROCS(old)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, alone) {
			t.Errorf("GOMAXPROCS %d changes a result", procs)
		}
	}
}

func TestTheLowestFailingSequenceIsNamed(t *testing.T) {
	set := mustSet(t, reshape("fail", func(r *Row, _ param.Values) error {
		if r.Step >= 5 {
			time.Sleep(time.Duration(20-r.Step) * 100 * time.Microsecond) // later ones fail sooner
			return fmt.Errorf("step %d", r.Step)
		}
		return nil
	}))
	for range 20 {
		call := &Call{Stages: []Stage{{Sampler: "fail"}}}
		for n := range 16 {
			call.Items = append(call.Items, &Item{Scores: row(make([]float32, 2000)...), Step: n})
		}
		wantFault(t, set.Run(t.Context(), call), fault.Plugin, "stage 1 (fail): sequence 5: step 5")
	}
}

func TestCancellationStopsBetweenSequences(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var ran atomic.Int32
	set := mustSet(t, reshape("slow", func(*Row, param.Values) error {
		if ran.Add(1) == 3 {
			cancel()
		}
		return nil
	}))
	call := &Call{Stages: []Stage{{Sampler: "slow"}}}
	for range 1000 {
		call.Items = append(call.Items, &Item{Scores: row(1, 2)})
	}
	wantFault(t, set.Run(ctx, call), fault.Interrupted, "cancelled")
	if n := ran.Load(); n > 16 {
		t.Errorf("%d sequences ran after the cancellation", n-3)
	}
	late, stop := context.WithTimeout(t.Context(), -1)
	defer stop()
	wantFault(t, set.Run(late, call), fault.Limit, "deadline")
}

func TestEmptyCalls(t *testing.T) {
	set := mustSet(t, reshape("plain", nil))
	if err := set.Run(t.Context(), &Call{}); err != nil {
		t.Error(err)
	}
	if err := set.Run(t.Context(), &Call{Stages: []Stage{{Sampler: "plain"}}}); err != nil {
		t.Error(err)
	}
	it := &Item{Scores: row(1)}
	if err := set.Run(t.Context(), &Call{Items: []*Item{it}}); err != nil || it.Chosen != -1 {
		t.Errorf("chosen %d, %v", it.Chosen, err)
	}
}

func TestFaultsOfABatchNameTheSequence(t *testing.T) {
	set := mustSet(t, reshape("plain", nil))
	bad := row(1, float32(math.Inf(1)))
	err := set.Run(t.Context(), &Call{Stages: []Stage{{Sampler: "plain"}}, Items: []*Item{{Scores: row(1, 2)}, {Scores: bad}}})
	wantFault(t, err, fault.Data, "sequence 1", "token 1 has score +Inf")
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("not one line: %q", err)
	}
}

// A first stage that declares Raw is given a broken row, and what it leaves is
// held to the contract; any other stage is not.
func TestRepairOfABrokenRow(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	fix := reshape("fix", func(r *Row, _ param.Values) error {
		for i, v := range r.Scores.Values {
			if v != v || v == inf {
				r.Scores.Values[i] = 0
			}
		}
		return nil
	})
	fix.decl.Needs.Raw = true
	plain := reshape("plain", nil)
	set := mustSet(t, fix, plain)
	it := &Item{Scores: row(nan, 1, inf, negInf)}
	if err := once(t, set, it, "fix", "plain"); err != nil {
		t.Fatal(err)
	}
	if c := it.Changes; len(c) != 2 || len(it.Rows) != 2 || c[0].KL != 0 || c[0].SupportAfter != 3 || !c[0].Truncation {
		t.Errorf("rows %v, ledger %+v", it.Rows, c)
	}
	wantFault(t, once(t, set, &Item{Scores: row(nan, 1)}, "plain", "fix"), fault.Data, "token 0 has score NaN")
	wantFault(t, once(t, set, &Item{Scores: dist.Scores{Vocab: 3, Values: []float32{nan}}}, "fix"), fault.Data, "dense row")
	lazy := reshape("lazy", nil)
	lazy.decl.Needs.Raw = true
	wantFault(t, once(t, mustSet(t, lazy), &Item{Scores: row(nan, 1)}, "lazy"), fault.Plugin, "malformed row")
}

// patient waits for its context to end.
type patient struct{ Sampler }

func (patient) ApplyUntil(ctx context.Context, _ *Row, _ param.Values) error {
	<-ctx.Done()
	return fault.New(fault.Limit, "", "", "stopped")
}

// A sampler that can be interrupted gets the context of the call, and its error
// keeps its kind.
func TestInterruptible(t *testing.T) {
	set, err := NewSet(patient{reshape("slow", func(*Row, param.Values) error { return errors.New("Apply was called") })})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = set.Run(ctx, &Call{Stages: []Stage{{Sampler: "slow"}}, Items: []*Item{{Scores: row(1, 2)}}})
	if fault.KindOf(err) != fault.Limit || err.Error() != "stage 1 (slow): stopped" {
		t.Errorf("kind %v, %v", fault.KindOf(err), err)
	}
}
