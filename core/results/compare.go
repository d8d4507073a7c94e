package results

import (
	"fmt"
	"slices"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/store"
	"lab/core/trace"
)

// Pairing is a comparison of two runs by one measure, sample by sample: the pairs
// are the samples of one cell and index, which have the same prompt and, where the
// seeds are the same, the same random numbers.
type Pairing struct {
	Measure   string
	SameSeeds bool
	Cells     []CellPairing // of at least two pairs, in the order of the cells
	Overall   CellPairing   // all pairs together, clustered by prompt where there are several
}

// CellPairing is the comparison of one cell.
type CellPairing struct {
	Cell                int // -1: all
	Pairs, OnlyA, OnlyB int
	measure.Comparison
	Test measure.Test // paired t
}

// Compare compares two runs by a measure that single samples have. Runs with
// different numbers of cells, or with another prompt in a cell, are a usage error;
// values that are not finite are a data error. A cell with fewer than two pairs is
// left out of Cells.
func Compare(a, b *store.Stored, name string, iv measure.Interval) (*Pairing, error) {
	if a.Manifest.Cells != b.Manifest.Cells {
		return nil, fault.New(fault.Usage, "compare", a.Dir, "it has %d cells, %s has %d", a.Manifest.Cells, b.Dir, b.Manifest.Cells).
			Fix("compare runs of the same grid, of which something else than its shape differs")
	}
	m, err := measure.Named(name)
	if err != nil {
		return nil, err
	}
	if m.Set {
		return nil, fault.New(fault.Usage, "compare", m.Name, "it is a measure of a set of samples, and pairs need one of each").Fix("take another measure")
	}
	left, err := valuesOf(a, m)
	if err != nil {
		return nil, err
	}
	right, err := valuesOf(b, m)
	if err != nil {
		return nil, err
	}
	prompts, seeds, err := drawsOf(a)
	if err != nil {
		return nil, err
	}
	others, otherSeeds, err := drawsOf(b)
	if err != nil {
		return nil, err
	}
	for cell := range prompts {
		if prompts[cell] != others[cell] {
			return nil, fault.New(fault.Usage, "compare", b.Dir, "cell %d has the prompt %s, in %s it has %s", cell, fault.Quote(others[cell], 40), a.Dir, fault.Quote(prompts[cell], 40)).
				Fix("samples of different prompts are no pairs; compare runs of the same grid")
		}
	}
	p := &Pairing{Measure: m.Name, SameSeeds: slices.Equal(seeds, otherSeeds)}
	var all measure.Pairs
	var clusters []string
	for cell := range a.Manifest.Cells {
		pairs, err := measure.MatchKeys(left[cell], right[cell])
		if err != nil { // no sample in common
			pairs = measure.Pairs{OnlyA: len(left[cell]), OnlyB: len(right[cell])}
		}
		all.A, all.B = append(all.A, pairs.A...), append(all.B, pairs.B...)
		all.OnlyA, all.OnlyB = all.OnlyA+pairs.OnlyA, all.OnlyB+pairs.OnlyB
		for range pairs.A {
			clusters = append(clusters, prompts[cell])
		}
		if len(pairs.A) < 2 {
			continue
		}
		c, err := paired(cell, pairs, iv)
		if err != nil {
			return nil, fault.Wrap(err, fault.KindOf(err), "compare", fmt.Sprintf("cell %d", cell))
		}
		p.Cells = append(p.Cells, c)
	}
	if len(all.A) < 2 {
		return nil, fault.New(fault.Data, "compare", a.Dir, "it has %d samples in common with %s", len(all.A), b.Dir)
	}
	if several(clusters) {
		iv.Clusters = clusters
	}
	p.Overall, err = paired(-1, all, iv)
	return p, err
}

func paired(cell int, pairs measure.Pairs, iv measure.Interval) (CellPairing, error) {
	c, err := measure.ComparePairs(pairs, iv)
	if err != nil {
		return CellPairing{}, err
	}
	t, err := measure.PairedT(pairs)
	return CellPairing{Cell: cell, Pairs: len(pairs.A), OnlyA: pairs.OnlyA, OnlyB: pairs.OnlyB, Comparison: c, Test: t}, err
}

func several(clusters []string) bool {
	for _, c := range clusters {
		if c != clusters[0] {
			return true
		}
	}
	return false
}

// valuesOf returns the values of the samples of each cell by their index, those
// that have none left out.
func valuesOf(run *store.Stored, m measure.Measure) (map[int]map[int]float64, error) {
	steps, err := needSteps(run, []measure.Measure{m})
	if err != nil {
		return nil, err
	}
	out := map[int]map[int]float64{}
	err = eachCell(run, steps, func(cell int, list []trace.Sample) error {
		values, err := m.Each(list)
		if err != nil {
			return err
		}
		out[cell] = map[int]float64{}
		for i, v := range values {
			if v == v { // defined for it
				out[cell][int(list[i].Sample)] = v
			}
		}
		return nil
	})
	return out, err
}

// drawsOf returns the prompt and the seed of every cell.
func drawsOf(run *store.Stored) (prompts []string, seeds []int64, err error) {
	t, err := Settings(run)
	if err != nil {
		return nil, nil, err
	}
	if t.Rows() != run.Manifest.Cells {
		return nil, nil, fault.New(fault.Data, op, run.Dir, "its cells.parquet has %d rows for %d cells", t.Rows(), run.Manifest.Cells)
	}
	for i := range t.Rows() {
		row, err := t.Row(i)
		if err != nil {
			return nil, nil, err
		}
		prompt, _ := row["prompt"].(string)
		seed, _ := row["seed"].(int64)
		prompts, seeds = append(prompts, prompt), append(seeds, seed)
	}
	return prompts, seeds, nil
}
