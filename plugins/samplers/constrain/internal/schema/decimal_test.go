package schema

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"lab/plugins/samplers/constrain/internal/bytegram"
)

// follow returns whether a text is one of a schema's.
func follow(t *testing.T, source string) func(text string) bool {
	t.Helper()
	g, root, err := Parse(source, Compact)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Compile(root, bytegram.Characters())
	if err != nil {
		return func(string) bool { return false } // no text at all
	}
	pieces := make([][]byte, 257)
	for i := range 256 {
		pieces[i+1] = []byte{byte(i)}
	}
	trie, err := bytegram.NewTrie(257, func(id int32) []byte { return pieces[id] })
	if err != nil {
		t.Fatal(err)
	}
	m, err := bytegram.NewMatcher(p, trie, []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) bool {
		var tokens []int32
		for _, b := range []byte(text) {
			tokens = append(tokens, int32(b)+1)
		}
		next, err := m.Next(tokens, nil)
		return err == nil && next.Ends
	}
}

func ratOf(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatal(s)
	}
	return r
}

// A decimal is allowed exactly when it lies within the bounds, by exact
// arithmetic, for all decimals of few digits around them.
func TestDecimalsWithinBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(digits int) string {
		s := []string{"", "-"}[r.IntN(2)] + fmt.Sprint(r.IntN(8))
		if digits > 0 && r.IntN(4) > 0 {
			s += fmt.Sprintf(".%0*d", digits, r.IntN([]int{1, 10, 100, 1000}[digits]))
		}
		return s
	}
	words := [2][2]string{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}}
	inside, outside := 0, 0
	for range 400 {
		var keys []string
		var bounds [2]*big.Rat
		var open [2]bool
		for i := range 2 {
			if r.IntN(4) == 0 {
				continue
			}
			n := number(r.IntN(4))
			k := r.IntN(2)
			bounds[i], open[i] = ratOf(t, n), k == 1
			keys = append(keys, fmt.Sprintf("%q:%s", words[i][k], n))
		}
		source := `{"type":"number"` + strings.Join(append([]string{""}, keys...), ",") + `}`
		ok := follow(t, source)
		for range 60 {
			text := number(r.IntN(4))
			v := ratOf(t, text)
			if bounds == [2]*big.Rat{} || v.Sign() == 0 && text[0] == '-' {
				continue // -0 is written 0 under a bound
			}
			want := true
			for i, b := range bounds {
				if b == nil {
					continue
				}
				c := v.Cmp(b) * (1 - 2*i)
				want = want && (c > 0 || c == 0 && !open[i])
			}
			if want {
				inside++
			} else {
				outside++
			}
			if ok(text) != want {
				t.Fatalf("%s: %s is allowed: %v", source, text, !want)
			}
		}
	}
	if inside < 2000 || outside < 2000 {
		t.Errorf("%d numbers inside and %d outside: too few to tell", inside, outside)
	}
}

// The same for whole numbers, of every length.
func TestIntegersWithinBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		lo := r.IntN(2400) - 1200
		hi := lo + r.IntN([]int{3, 40, 2000}[r.IntN(3)])
		ok := follow(t, fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, lo, hi))
		for n := lo - 30; n <= hi+30; n++ {
			if ok(fmt.Sprint(n)) != (lo <= n && n <= hi) {
				t.Fatalf("[%d, %d]: %d is allowed: %v", lo, hi, n, ok(fmt.Sprint(n)))
			}
		}
	}
}
