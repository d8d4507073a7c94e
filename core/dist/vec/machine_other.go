//go:build !amd64

package vec

// Other machines run the portable code.

func machineLevel() level { return portable }

func maxOf(_ level, values []float32) float32                   { return portableMax(values) }
func leastOf(_ level, values []float32) float32                 { return portableLeast(values) }
func finiteOf(_ level, values []float32) bool                   { return portableFinite(values) }
func legalOf(_ level, values []float32) bool                    { return portableLegal(values) }
func withinOf(_ level, values, before []float32) bool           { return portableWithin(values, before) }
func sameOf(_ level, values, other []float32) bool              { return portableSame(values, other) }
func ascendingOf(_ level, ids []int32) bool                     { return portableAscending(ids) }
func countOf(_ level, values []float32, floor float32) int      { return portableCount(values, floor) }
func expsInto(_ level, dst []float64, v []float32, top float64) { portableExps(dst, v, top) }
func sumGroups(_ level, a *sums, v []float32, top float64)      { portableSum(a, v, top) }
func leanGroups(_ level, a, b *sums, v []float32, top float64)  { portableLean(a, b, v, top) }

func searchIn(_ level, dst []int32, values []float32, base int, floor float32) ([]int32, int) {
	return portableSearch(dst, values, base, floor)
}

func pickIn(_ level, dst, values []float32, floor float32) ([]float32, int) {
	return portablePick(dst, values, floor)
}

func weighGroups(_ level, dst []float64, a, b *sums, values []float32, top float64) {
	portableWeigh(dst, a, b, values, top)
}

func momentGroups(_ level, a, b *sums, values []float32, shift float64) {
	portableMoments(a, b, values, shift)
}

func compareGroups(_ level, s *deltas, t *terms, before []float32, beforeWeights []float64, after []float32, afterWeights []float64) flags {
	n := len(after) &^ (lanes - 1)
	return portableCompare(s, t, before, beforeWeights, after[:n], afterWeights)
}
