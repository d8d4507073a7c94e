package token

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

var spec = param.Specs{{Name: "list", Type: param.Tokens, Default: "", Meaning: "m"}}

func list(t testing.TB, text string) param.Values {
	t.Helper()
	set, err := spec.Resolve("sampler", "s", []param.Setting{{Name: "list", Value: text}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// looked is a row of n tokens with the text "t" + id modulo 10, and how often a
// text was asked for.
func looked(vocabulary string, n int) (row *sampler.Row, asked *int) {
	s := dist.NewDense(make([]float32, n))
	asked = new(int)
	return &sampler.Row{Scores: &s, Vocabulary: vocabulary, Texts: func(id int32) []byte {
		*asked++
		return fmt.Appendf(nil, "t%d", id%10)
	}}, asked
}

func TestTextsAreLookedForOnce(t *testing.T) {
	rows := []struct {
		name, vocabulary string
		finder           *Finder
		lookups          int
	}{
		{"a vocabulary with a key", "v", &Finder{}, 30},
		{"one without", "", &Finder{}, 90},
		{"no memory", "v", nil, 90},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			row, asked := looked(r.vocabulary, 30)
			for range 3 {
				ids, err := r.finder.IDs(row, "s", list(t, "2 't7' 't1'"), "list")
				if err != nil || fmt.Sprint(ids) != "[2 7 17 27 1 11 21]" {
					t.Errorf("%v, %v", ids, err)
				}
			}
			if *asked != r.lookups {
				t.Errorf("%d texts were looked at, want %d", *asked, r.lookups)
			}
		})
	}
}

func TestWhatIsKeptDependsOnVocabularySizeAndList(t *testing.T) {
	f := &Finder{}
	for _, r := range []struct {
		vocabulary string
		size       int
		list, want string
	}{
		{"a", 30, "'t1'", "[1 11 21]"}, {"a", 20, "'t1'", "[1 11]"}, {"b", 30, "'t2'", "[2 12 22]"}, {"a", 30, "'t2'", "[2 12 22]"},
	} {
		row, asked := looked(r.vocabulary, r.size)
		ids, err := f.IDs(row, "s", list(t, r.list), "list")
		if err != nil || fmt.Sprint(ids) != r.want || *asked != r.size {
			t.Errorf("%+v: %v, %v after %d lookups", r, ids, err, *asked)
		}
	}
}

// What is kept is bounded: more lists than fit push the older ones out.
func TestMemoryIsBounded(t *testing.T) {
	f := &Finder{}
	for i := range 40 {
		row, _ := looked("v", 1<<16)
		row.Texts = func(int32) []byte { return []byte("same") }
		set := list(t, strings.Repeat("'same' ", 1)+fmt.Sprint(i))
		if _, err := f.IDs(row, "s", set, "list"); err != nil {
			t.Fatal(err)
		}
		if f.held > mostFound || len(f.found) == 0 {
			t.Fatalf("%d items are kept, in %d lists", f.held, len(f.found))
		}
	}
	row, _ := looked("v", 1<<16)
	row.Texts = func(int32) []byte { return []byte("same") }
	_, err := f.IDs(row, "s", list(t, strings.Repeat("'same' ", 17)), "list")
	if err == nil || fault.KindOf(err) != fault.Limit {
		t.Errorf("got %v, want a limit error", err)
	}
}

func TestFinderIsSafeForConcurrentUse(t *testing.T) {
	f := &Finder{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				row, _ := looked(fmt.Sprint("v", (w+i)%3), 30)
				ids, err := f.IDs(row, "s", list(t, fmt.Sprintf("'t%d'", i%10)), "list")
				if err != nil || len(ids) != 3 || ids[0] != int32(i%10) {
					t.Errorf("%v, %v", ids, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSumAddsInOrderOfTheList(t *testing.T) {
	got := Sum([]Weighted{{5, 1}, {2, 3}, {5, 1e30}, {5, -1e30}, {2, -3}})
	if len(got) != 2 || got[0] != (Weighted{2, 0}) || got[1] != (Weighted{5, 0}) {
		t.Errorf("%v, want 2: 0 and 5: (1 + 1e30) - 1e30 = 0", got)
	}
}

func TestFollows(t *testing.T) {
	h := []int32{1, 2, 3}
	for _, r := range []struct {
		sequence []int32
		want     bool
	}{
		{[]int32{9}, true}, {[]int32{3, 9}, true}, {[]int32{2, 3, 9}, true}, {[]int32{1, 2, 3, 9}, true},
		{[]int32{2, 9}, false}, {[]int32{0, 1, 2, 3, 9}, false},
	} {
		if got := Follows(h, r.sequence); got != r.want {
			t.Errorf("%v: %v", r.sequence, got)
		}
	}
	if !Follows(nil, []int32{9}) || Follows(nil, []int32{3, 9}) {
		t.Error("an empty context completes single tokens only")
	}
}
