package regex

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

func reads(t testing.TB, source string, opt Options) (func(text string) bool, error) {
	t.Helper()
	x, err := Parse(source, opt)
	if err != nil {
		return nil, err
	}
	var g bytegram.Grammar
	p, err := g.Compile(g.Add("", x), bytegram.Characters())
	if err != nil {
		return nil, err
	}
	trie, err := bytegram.NewTrie(257, func(id int32) []byte {
		if id == 256 {
			return nil
		}
		return []byte{byte(id)}
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := bytegram.NewMatcher(p, trie, []int32{256})
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) bool {
		var tokens []int32
		for _, b := range []byte(text) {
			tokens = append(tokens, int32(b))
		}
		next, err := m.Next(tokens, nil)
		return err == nil && next.Ends
	}, nil
}

// randomRegex returns an expression over a, b, é and newlines.
func randomRegex(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"a", "b", "é", ".", "[ab]", "[^a]", "(?i:A)", "(?s:.)", `\n`, `\w`, "ab", `\pL`}[r.IntN(12)]
	}
	sub := func() string { return "(" + randomRegex(r, depth-1) + ")" }
	switch r.IntN(7) {
	case 0:
		return sub() + []string{"*", "+", "?", "*?", "{2}", "{1,}", "{0,2}", "{1,3}?"}[r.IntN(8)]
	case 1:
		return randomRegex(r, depth-1) + "|" + randomRegex(r, depth-1)
	case 2:
		return "(?:" + randomRegex(r, depth-1) + "|)" + sub()
	case 3:
		return randomRegex(r, 0)
	}
	return sub() + sub()
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString([]string{"a", "b", "é", "A", "\n", "1"}[r.IntN(6)])
	}
	return b.String()
}

// A text is read exactly when the standard library matches it: as a whole, or
// somewhere when the expression is searched for.
func TestAgainstTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	yes, no := 0, 0
	for range 400 {
		source := randomRegex(r, r.IntN(4))
		search := r.IntN(3) == 0
		anchored := `\A(?:` + source + `)\z`
		if search {
			left, right := []string{"", "^"}[r.IntN(2)], []string{"", "$"}[r.IntN(2)]
			source = left + "(?:" + source + ")" + right
			anchored = source
		}
		std := regexp.MustCompile(anchored)
		ok, err := reads(t, source, Options{Search: search})
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		for range 40 {
			text := randomText(r)
			want := std.MatchString(text)
			if ok(text) != want {
				t.Fatalf("%q, searched for: %v: %q is read: %v", source, search, text, !want)
			}
			if want {
				yes++
			} else {
				no++
			}
		}
	}
	if yes < 1500 || no < 1500 {
		t.Errorf("%d texts match and %d do not: too few to tell", yes, no)
	}
}

func TestRefused(t *testing.T) {
	for _, source := range []string{`a(?=b)`, `(a)\1`, `a^b`, `(a$)+`, `\bx`, `a\Bb`, `a{1001}`, `[b-a]`, `(`, `a**`, strings.Repeat("a", mostBytes+1)} {
		if _, err := reads(t, source, Options{}); err == nil || fault.KindOf(err) != fault.Usage && fault.KindOf(err) != fault.Limit {
			t.Errorf("%.20s: got %v, want a usage error", source, err)
		}
	}
	if _, err := reads(t, `[^\x{0}-\x{10FFFF}]`, Options{}); err == nil || !strings.Contains(err.Error(), "matches no text") {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`^(a|ab)*c{2,3}[^x]$`, `(?i)größe|\pL+`, `((a{9}){9}){9}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		ok, err := reads(t, source, Options{})
		if err != nil {
			if k := fault.KindOf(err); k != fault.Usage && k != fault.Limit {
				t.Errorf("%q: %v", source, err)
			}
			return
		}
		std, err := regexp.Compile(`\A(?:` + source + `)\z`)
		if err != nil {
			return // \Q without its \E swallows what is put behind
		}
		for _, text := range []string{"", "a", "abc", "é", "\n", source} {
			if strings.ToValidUTF8(text, "") == text && ok(text) && !std.MatchString(text) {
				t.Errorf("%q reads %q", source, text)
			}
		}
	})
}
