package compat

import "math/bits"

// The C++ systems sort with the standard library of g++, and which of several
// tied tokens survives a cut is an accident of its order of exchanges. This file
// sorts by the same exchanges: introsort (Musser 1997) that leaves runs of up to
// 16 for a last insertion sort, and a partial sort over a heap (Williams 1964)
// of the wanted length. less must be a strict weak order.

// runLength is the length up to which introsort leaves a run unsorted.
const runLength = 16

// introsort sorts a.
func introsort[T any](a []T, less func(x, y T) bool) {
	if len(a) < 2 {
		return
	}
	introLoop(a, 2*(bits.Len(uint(len(a)))-1), less)
	head := min(len(a), runLength)
	insertGuarded(a[:head], less)
	for i := head; i < len(a); i++ {
		sink(a, i, less)
	}
}

func introLoop[T any](a []T, depth int, less func(x, y T) bool) {
	for len(a) > runLength {
		if depth == 0 {
			partialSort(a, len(a), less)
			return
		}
		depth--
		cut := splitAtMedian(a, less)
		introLoop(a[cut:], depth, less)
		a = a[:cut]
	}
}

// splitAtMedian moves the median of the second, the middle and the last element
// to the front and splits the others around it. It returns where the upper part
// begins.
func splitAtMedian[T any](a []T, less func(x, y T) bool) int {
	x, y, z := 1, len(a)/2, len(a)-1
	m := y
	switch {
	case less(a[x], a[y]):
		if less(a[y], a[z]) {
			m = y
		} else if less(a[x], a[z]) {
			m = z
		} else {
			m = x
		}
	case less(a[x], a[z]):
		m = x
	case less(a[y], a[z]):
		m = z
	}
	a[0], a[m] = a[m], a[0]
	lo, hi := 1, len(a)
	for {
		for less(a[lo], a[0]) {
			lo++
		}
		hi--
		for less(a[0], a[hi]) {
			hi--
		}
		if lo >= hi {
			return lo
		}
		a[lo], a[hi] = a[hi], a[lo]
		lo++
	}
}

// insertGuarded is insertion sort; an element below the first one goes to the
// front at once.
func insertGuarded[T any](a []T, less func(x, y T) bool) {
	for i := 1; i < len(a); i++ {
		if less(a[i], a[0]) {
			v := a[i]
			copy(a[1:i+1], a[:i])
			a[0] = v
			continue
		}
		sink(a, i, less)
	}
}

// sink moves a[i] down to its place among the sorted ones before it, the first
// of which is not above it.
func sink[T any](a []T, i int, less func(x, y T) bool) {
	v := a[i]
	for i > 0 && less(v, a[i-1]) {
		a[i] = a[i-1]
		i--
	}
	a[i] = v
}

// partialSort sorts the n first elements of the order to the front of a, for
// 0 <= n <= len(a), and leaves the others behind them in an order of its own.
func partialSort[T any](a []T, n int, less func(x, y T) bool) {
	if n == 0 {
		return
	}
	heap := a[:n]
	for top := (n - 2) / 2; n >= 2 && top >= 0; top-- {
		siftDown(heap, top, heap[top], less)
	}
	for i := n; i < len(a); i++ {
		if less(a[i], heap[0]) {
			v := a[i]
			a[i] = heap[0]
			siftDown(heap, 0, v, less)
		}
	}
	for end := n - 1; end > 0; end-- {
		v := a[end]
		a[end] = a[0]
		siftDown(a[:end], 0, v, less)
	}
}

// siftDown fills the hole of a heap, the last of the order on top, with v: the
// hole sinks to a leaf along the greater children, then v rises from there.
func siftDown[T any](heap []T, hole int, v T, less func(x, y T) bool) {
	top, n := hole, len(heap)
	child := hole
	for child < (n-1)/2 {
		child = 2*child + 2
		if less(heap[child], heap[child-1]) {
			child--
		}
		heap[hole] = heap[child]
		hole = child
	}
	if n%2 == 0 && child == (n-2)/2 {
		child = 2*child + 1
		heap[hole] = heap[child]
		hole = child
	}
	for hole > top {
		parent := (hole - 1) / 2
		if !less(heap[parent], v) {
			break
		}
		heap[hole] = heap[parent]
		hole = parent
	}
	heap[hole] = v
}
