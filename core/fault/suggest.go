package fault

import (
	"fmt"
	"sort"
	"strings"
)

// Suggest returns the name in names nearest to got by edit distance, or "" when
// none is near: the distance must be at most a third of the longer name's
// length, and at least one edit is always allowed. Ties go to the name that
// sorts first. Case and the difference between '-' and '_' are ignored.
func Suggest(got string, names []string) string {
	fold := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	g := fold(got)
	best, bestDistance := "", -1
	for _, name := range sorted {
		n := fold(name)
		limit := max(1, max(len([]rune(g)), len([]rune(n)))/3)
		d := editDistance(g, n)
		if d <= limit && (bestDistance < 0 || d < bestDistance) {
			best, bestDistance = name, d
		}
	}
	return best
}

// Unknown returns the usage error for a name that is not among names: it names
// the nearest one, or lists all of them when none is near.
func Unknown(op, what, got string, names []string) *Error {
	e := New(Usage, op, "", "unknown %s %q", what, got)
	if s := Suggest(got, names); s != "" {
		return e.Fix("did you mean %q?", s)
	}
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	if len(sorted) == 0 {
		return e.Fix("there is no %s to choose from", what)
	}
	return e.Fix("known: %s", strings.Join(sorted, ", "))
}

// editDistance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours cost one (Damerau 1964; Levenshtein
// 1966).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}

// Quote returns s in double quotes with control characters escaped, shortened
// in the middle to at most limit characters, for use in a message.
func Quote(s string, limit int) string {
	r := []rune(s)
	if limit > 3 && len(r) > limit {
		head := (limit - 1) / 2
		tail := limit - 1 - head
		s = string(r[:head]) + "…" + string(r[len(r)-tail:])
	}
	return fmt.Sprintf("%q", s)
}
