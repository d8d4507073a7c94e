package steptime

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// nonNegative returns the x of at least 0 that minimises |Ax-y|² (Lawson and
// Hanson 1974, chapter 23). The least squares on the right set of columns are the
// answer, and of at most 5 columns all sets are tried. Sets whose columns
// cannot be told apart are left out; of equally good ones the first counts, in
// the order of the numbers whose bits they are.
func nonNegative(a [][]float64, y []float64) []float64 {
	p := len(a)
	norm := make([]float64, p)
	gram, h := mat.NewSymDense(p, nil), make([]float64, p)
	for i := range a {
		norm[i] = math.Sqrt(dot(a[i], a[i]))
		for j := range i + 1 {
			gram.SetSym(i, j, dot(a[i], a[j])/(norm[i]*norm[j]))
		}
		h[i] = dot(a[i], y) / norm[i]
	}
	best, x := 0.0, make([]float64, p)
	for set := 1; set < 1<<p; set++ {
		var columns []int
		for i := range p {
			if set>>i&1 == 1 {
				columns = append(columns, i)
			}
		}
		n := len(columns)
		sub, b := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		for i, ci := range columns {
			b.SetVec(i, h[ci])
			for j, cj := range columns[:i+1] {
				sub.SetSym(i, j, gram.At(ci, cj))
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(sub) || chol.Cond() > 1e13 {
			continue
		}
		z := mat.NewVecDense(n, nil)
		if chol.SolveVecTo(z, b) != nil || mat.Min(z) < 0 {
			continue
		}
		if gain := mat.Dot(z, b); gain > best { // |y|² less what is left of it
			best = gain
			clear(x)
			for i, ci := range columns {
				x[ci] = z.AtVec(i) / norm[ci]
			}
		}
	}
	return x
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// separable returns the columns, in order, that those before them cannot
// make up to a share of leastApart.
func separable(a [][]float64) []int {
	var kept []int
	for i, q := range orthonormal(a) {
		if q != nil {
			kept = append(kept, i)
		}
	}
	return kept
}

// orthonormal returns what is a column's own beside those before it, of length 1,
// by Gram and Schmidt's process done twice; nil for columns that have nothing.
func orthonormal(a [][]float64) [][]float64 {
	basis := make([][]float64, len(a))
	for i, column := range a {
		norm := math.Sqrt(dot(column, column))
		if norm == 0 {
			continue
		}
		rest := make([]float64, len(column))
		for j, v := range column {
			rest[j] = v / norm
		}
		for range 2 {
			for _, q := range basis[:i] {
				if q == nil {
					continue
				}
				along := dot(q, rest)
				for j := range rest {
					rest[j] -= along * q[j]
				}
			}
		}
		left := math.Sqrt(dot(rest, rest))
		if left < leastApart {
			continue
		}
		for j := range rest {
			rest[j] /= left
		}
		basis[i] = rest
	}
	return basis
}

// leastApart is the share of a column that must be its own for a constant of its
// own: less would take times measured to a part in a thousand.
const leastApart = 1e-3
