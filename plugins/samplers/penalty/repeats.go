package penalty

// overlaps returns the Z-function of the tokens read backwards (Gusfield 1997,
// section 1.4): out[k] is how many of the newest tokens equal, one for one,
// those that end k places earlier. out[0] is 0, as a list always equals itself.
// The token that followed the earlier ones is tokens[len(tokens)-k]. Linear
// time.
func overlaps(tokens []int32) []int32 {
	n := len(tokens)
	out := make([]int32, n)
	last := n - 1
	// The newest tokens [0, right-left) equal those at [left, right) places
	// back; right is the farthest that is known.
	left, right := 0, 0
	for k := 1; k < n; k++ {
		z := 0
		if k < right {
			z = min(right-k, int(out[k-left]))
		}
		for k+z < n && tokens[last-z] == tokens[last-k-z] {
			z++
		}
		if k+z > right {
			left, right = k, k+z
		}
		out[k] = int32(z)
	}
	return out
}
