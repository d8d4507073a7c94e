package samplers

import (
	"context"
	"path/filepath"
	"testing"

	"lab/core/dist"
	"lab/core/golden"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// spoiled is one of our samplers with something wrong in it.
type spoiled struct {
	sampler.Sampler
	spoil func(inner sampler.Sampler, row *sampler.Row, set param.Values) error
}

func (s spoiled) Apply(row *sampler.Row, set param.Values) error {
	return s.spoil(s.Sampler, row, set)
}

// idle forgets to do anything; a selector takes the last token of the row.
func idle(inner sampler.Sampler, row *sampler.Row, _ param.Values) error {
	if inner.Declare().Kind == sampler.Select {
		for i, v := range row.Scores.Values {
			if dist.Finite(v) {
				row.Chosen = row.Scores.ID(i)
			}
		}
	}
	return nil
}

// greedier removes one token more than the sampler does, if any can be spared.
func greedier(inner sampler.Sampler, row *sampler.Row, set param.Values) error {
	if err := inner.Apply(row, set); err != nil {
		return err
	}
	least, left := -1, 0
	for i, v := range row.Scores.Values {
		if !dist.Finite(v) {
			continue
		}
		left++
		if least < 0 || v < row.Scores.Values[least] {
			least = i
		}
	}
	if left > 1 {
		row.Scores.Keep(func(i int) bool { return i != least }, nil)
	}
	return nil
}

// off moves the scores that the sampler leaves by a thousandth of themselves.
func off(inner sampler.Sampler, row *sampler.Row, set param.Values) error {
	if err := inner.Apply(row, set); err != nil {
		return err
	}
	for i := range row.Scores.Values {
		row.Scores.Values[i] *= 1.001
	}
	return nil
}

// refusing takes nothing.
func refusing(sampler.Sampler, *sampler.Row, param.Values) error {
	return context.DeadlineExceeded
}

// Whatever is compared, a sampler with something wrong in it is caught: in every
// group that our own samplers pass, under every way of being wrong that changes
// its answers.
func TestGoldenCatchesWrongSamplers(t *testing.T) {
	rows := []struct {
		name   string
		spoil  func(sampler.Sampler, *sampler.Row, param.Values) error
		passes map[string]bool // groups where it changes no answer, with the reason beside
	}{
		{"idle", idle, nil},
		{"removes one more", greedier, map[string]bool{"selection": true}}, // it has chosen before
		{"scores off by a thousandth", off, map[string]bool{
			"selection": true, // the order of scores is the same
			"grammar":   true, // whose scores are not compared
		}},
		{"refuses everything", refusing, nil},
	}
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, r := range rows {
		var list []sampler.Sampler
		for _, s := range All() {
			list = append(list, spoiled{s, r.spoil})
		}
		subject, err := golden.InProcess(list...)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			group := filepath.Base(path[:len(path)-len(".json")])
			if ours := goldenCases[group]; ours[0]+ours[1] == 0 || group == "large" && testing.Short() {
				continue // nothing of it is compared
			}
			t.Run(r.name+"/"+group, func(t *testing.T) {
				got := tallyOf(t, subject, path, nil)
				if caught := got[3] > 0; caught == r.passes[group] {
					t.Errorf("hold, ties, refused, differ, not covered: %v", got)
				}
			})
		}
	}
}
