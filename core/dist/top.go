package dist

import (
	"cmp"
	"math"
	"slices"
)

// Entry is one token of a list and its probability.
type Entry struct {
	ID int32
	P  float64
}

// better orders places of the support by descending probability, then ascending
// id. Logarithms tell tokens apart whose probabilities underflow.
func (d Distribution) better(a, b int) int {
	if c := cmp.Compare(d.logP[b], d.logP[a]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// Rank returns the place of a token by descending probability, from 1, ties by
// ascending id; 0 when the token is not in the support. With an unlisted tail
// the rank among the listed tokens is the rank among all, for a backend that
// lists the likeliest ones.
func (d Distribution) Rank(id int32) int {
	at := d.place(id)
	if at < 0 {
		return 0
	}
	x, rank := d.logP[at], 1
	for i, l := range d.logP {
		if l > x || l == x && i < at {
			rank++
		}
	}
	return rank
}

// Top returns the n likeliest tokens in order of rank, and the mass of all
// others, unlisted ones included: the two sum to 1. A support smaller than n is
// returned whole; n <= 0 gives an empty list.
func (d Distribution) Top(n int) (list []Entry, rest float64) {
	n = max(0, min(n, len(d.p)))
	best := d.best(n)
	list = make([]Entry, n)
	in := 0.0
	for r, at := range best {
		list[r] = Entry{ID: d.id(at), P: d.p[at]}
		in += d.p[at]
	}
	if n == len(d.p) {
		return list, d.unlisted
	}
	// The sum of the others, not 1 minus the list: a tail of 1e-20 stays one.
	slices.Sort(best)
	rest = d.unlisted
	next := 0
	for i, p := range d.p {
		if next < n && best[next] == i {
			next++
			continue
		}
		rest += p
	}
	return list, rest
}

// best returns the places of the n likeliest tokens in order of rank. For few
// of many it keeps a sorted list and passes over the support once.
func (d Distribution) best(n int) []int {
	if n == 0 {
		return nil
	}
	if n > len(d.p)/16 {
		all := make([]int, len(d.p))
		for i := range all {
			all[i] = i
		}
		slices.SortFunc(all, d.better)
		return all[:n]
	}
	out := make([]int, 0, n)
	floor := math.Inf(-1)
	for i, l := range d.logP {
		if len(out) == n {
			if l <= floor {
				continue
			}
			out = out[:n-1]
		}
		at, _ := slices.BinarySearchFunc(out, i, d.better)
		out = slices.Insert(out, at, i)
		floor = d.logP[out[len(out)-1]]
	}
	return out
}
