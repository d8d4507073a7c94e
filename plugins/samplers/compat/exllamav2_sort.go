package compat

import (
	"cmp"
	"slices"
)

// entry is a token with its probability.
type entry struct {
	p  float32
	id int32
}

func (a entry) before(b entry) bool { return a.p < b.p || a.p == b.p && a.id < b.id }

// leastFirst is a heap with the least likely entry on top, of tied ones the
// lowest id. Entries are distinct, so what it hands out does not depend on how
// it is built.
type leastFirst []entry

func (h *leastFirst) push(e entry) {
	a := append(*h, e)
	i := len(a) - 1
	for i > 0 && e.before(a[(i-1)/2]) {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = e
	*h = a
}

func (h *leastFirst) pop() entry {
	a := *h
	top, v := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	for i := 0; len(a) > 0; {
		child := 2*i + 1
		if child+1 < len(a) && a[child+1].before(a[child]) {
			child++
		}
		if child >= len(a) || v.before(a[child]) {
			a[i] = v
			break
		}
		a[i] = a[child]
		i = child
	}
	*h = a
	return top
}

// positive brings the entries of at least 1e-8 to the front by exchanges from
// both ends, and returns their number.
func (x *pool) positive() int {
	const least = float32(1e-8)
	i, j := 0, len(x.p)-1
	for i <= j {
		switch {
		case x.p[j] < least:
			j--
		case x.p[i] >= least:
			i++
		default:
			x.swap(i, j)
			i++
			j--
		}
	}
	return i
}

// sort sorts the entries of at least 1e-8 by descending probability, as far as
// the first want of them, and returns their number.
func (x *pool) sort(want int) int {
	n := x.positive()
	(&quick{key: x.p, tag: x.id, last: want, descending: true}).sort(0, n-1, 0)
	return n
}

// quick is ExLlamaV2's quicksort: the last element is the pivot, equal ones go
// to the lower side, and segments of up to five are sorted by exchanges of
// neighbours. What lies behind the place last need not be sorted.
type quick struct {
	key        []float32
	tag        []int32
	last       int
	descending bool
}

// after reports whether a belongs behind b.
func (q *quick) after(a, b float32) bool {
	if q.descending {
		return a < b
	}
	return a > b
}

func (q *quick) swap(i, j int) {
	q.key[i], q.key[j] = q.key[j], q.key[i]
	q.tag[i], q.tag[j] = q.tag[j], q.tag[i]
}

// deepest is how deep the quicksort is followed. Sorted input makes it
// quadratic; beyond this depth a stable sort takes over, which can differ in the
// order of ties only.
const deepest = 500

func (q *quick) sort(low, high, depth int) {
	for low < high {
		if high-low < 5 {
			q.bubble(low, high)
			return
		}
		if q.equal(low, high) { // every exchange would be one with itself
			return
		}
		if depth++; depth > deepest {
			q.stable(low, high)
			return
		}
		at := q.split(low, high)
		if low <= q.last {
			q.sort(low, at-1, depth)
		}
		if at > q.last {
			return
		}
		low = at + 1
	}
}

// split moves what is not behind the pivot to the lower side and returns the
// pivot's place.
func (q *quick) split(low, high int) int {
	pivot, i := q.key[high], low
	for j := low; j < high; j++ {
		if !q.after(q.key[j], pivot) {
			q.swap(i, j)
			i++
		}
	}
	q.swap(i, high)
	return i
}

func (q *quick) bubble(low, high int) {
	for end := high; end > low; end-- {
		for i := low; i < end; i++ {
			if q.after(q.key[i], q.key[i+1]) {
				q.swap(i, i+1)
			}
		}
	}
}

func (q *quick) equal(low, high int) bool {
	for _, v := range q.key[low+1 : high+1] {
		if v != q.key[low] {
			return false
		}
	}
	return true
}

func (q *quick) stable(low, high int) {
	list := make([]entry, 0, high-low+1)
	for i := low; i <= high; i++ {
		list = append(list, entry{q.key[i], q.tag[i]})
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		if q.descending {
			a, b = b, a
		}
		return cmp.Compare(a.p, b.p)
	})
	for i, e := range list {
		q.key[low+i], q.tag[low+i] = e.p, e.id
	}
}
