package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"lab/core/chain"
	"lab/core/fault"
	"lab/core/seed"
)

// A group without a penalty finds what a search of its width finds alone, and
// ends no sooner because another group has found it too.
func TestGroupsEndByThemselves(t *testing.T) {
	for salt := range 40 {
		m := random(4, fmt.Sprint("alone", salt))
		m.end = []int32{0}
		for _, rule := range []string{"mean", "sum"} {
			alone := run(t, task(t, m, "sample", 6), "beam:width=2,length="+rule).Sequences
			both := run(t, task(t, m, "sample", 6), "beam:width=4,groups=2,length="+rule).Sequences
			if len(both) != 2*len(alone) {
				t.Fatalf("salt %d, %s: %d sequences of two groups, %d of one", salt, rule, len(both), len(alone))
			}
			for i, s := range both {
				if want := alone[i/2]; !slices.Equal(s.Tokens, want.Tokens) || s.Score != want.Score {
					t.Errorf("salt %d, %s: place %d is %v (%v), alone %v (%v)", salt, rule, i, s.Tokens, s.Score, want.Tokens, want.Score)
				}
			}
		}
	}
}

// An enumeration that runs out of room says so, and what it has listed and what it
// has not still sum to 1.
func TestAFullFrontierKeepsTheMass(t *testing.T) {
	m := random(5, "full")
	for most := range 30 {
		job := task(t, m, "sample", 3)
		w := &searcher{Task: job, stream: seed.New(1, job.Prompt), mostOpen: most,
			opt: chain.Options{EndOfText: m.end, Vocabulary: job.Engine.VocabularyKey()}}
		s, set, err := Parse("enumerate:n=125", "test")
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.run(t.Context(), w, set)
		if fault.KindOf(err) != fault.Limit || !strings.Contains(err.Error(), fmt.Sprintf("more than %d continuations", most)) {
			t.Fatalf("room for %d: %v", most, err)
		}
		if sum := *r.Listed + *r.Unlisted; !(math.Abs(sum-1) <= 1e-9) {
			t.Errorf("room for %d: listed %v and the rest %v sum to %v", most, *r.Listed, *r.Unlisted, sum)
		}
	}
}
