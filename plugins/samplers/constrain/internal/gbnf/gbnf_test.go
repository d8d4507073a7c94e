package gbnf

import (
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

// reads returns whether a text is one of a grammar's, of tokens that are single
// bytes.
func reads(t *testing.T, source string) func(text string) bool {
	t.Helper()
	g, root, err := Parse(source, "root")
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	p, err := g.Compile(root, bytegram.Unchecked())
	if err != nil {
		t.Fatalf("%s: %v", source, err)
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
		t.Fatalf("%s: %v", source, err)
	}
	return func(text string) bool {
		var tokens []int32
		for _, b := range []byte(text) {
			tokens = append(tokens, int32(b))
		}
		next, err := m.Next(tokens, nil)
		return err == nil && next.Ends
	}
}

func TestNotation(t *testing.T) {
	rows := []struct {
		name, source string
		yes, no      string // texts, separated by |
	}{
		{"a literal", `root ::= "ab"`, "ab", "|a|b|abab"},
		{"an empty literal", `root ::= ""`, "", "a"},
		{"an empty alternative", `root ::= "a" |`, "a|", "b"},
		{"a repeated literal is repeated whole", `root ::= "ab"+`, "ab|abab", "abb|a"},
		{"repetitions", `root ::= "a"? "b"* "c"+ "d"{2} "e"{1,} "f"{0,2}`, "cdde|abbcddeeff", "cde|cddefff|cdd|adde"},
		{"a repetition of a repetition", `root ::= "a"{2}{2}`, "aaaa", "aa|aaa|aaaaa"},
		{"none at all", `root ::= "a"{0} "b"{0,0} "c"`, "c", "ac|bc"},
		{"blanks inside a repetition", `root ::= "a"{ 1 , 2 }`, "a|aa", "aaa"},
		{"alternatives bind last", `root ::= "a" "b" | "c"`, "ab|c", "ac|a"},
		{"a group", `root ::= "a" ("b" | "c") "d"`, "abd|acd", "ad|abc"},
		{"lines inside a group", "root ::= (\n  \"a\" # first\n\n | \"b\"\n)\n", "a|b", "ab"},
		{"a line after a bar", "root ::= \"a\" |\n  \"b\"", "a|b", "ab"},
		{"a line after the sign", "root ::=\n  \"a\"", "a", "b"},
		{"carriage returns", "root ::= x\r\nx ::= \"a\"\r\n", "a", "b"},
		{"comments and empty lines", "# one\n\nroot ::= \"a\" # two\n# three\n", "a", "b"},
		{"names", "root ::= a-B_1 2x\na-B_1 ::= \"a\"\n2x ::= \"b\"", "ab", "a|b"},
		{"rules in any order", "b ::= \"b\"\nroot ::= b b", "bb", "b"},
		{"a class", `root ::= [a-cx]`, "a|b|c|x", "d|ab|-"},
		{"a bar at the end of a class", `root ::= [a-]`, "a|-", "b"},
		{"a bar at the beginning of a class", `root ::= [-a]`, "a|-", "b"},
		{"escapes in a class", `root ::= [\]\\\-"]`, `]|\|-|"`, "a"},
		{"what is not in a class", `root ::= [^a-c\n]+`, "d|é🙂", "a|\n|\x00|xa"},
		{"a circumflex that is not first", `root ::= [a^]`, "a|^", "b"},
		{"any character", `root ::= .`, "a|\n|é|🙂", "|ab|\x00"},
		{"escapes", `root ::= "\t\r\n\\\"\x41\u00e9\U0001F642"`, "\t\r\n\\\"Aé🙂", "a"},
		{"hexadecimal digits of both cases", `root ::= "\x4a\x4B"`, "JK", "jk"},
		{"characters of several bytes", `root ::= "né" [α-ω]`, "néβ", "né|nβ"},
		{"a token by its number", `root ::= <[97]> !<[98]>`, "aa|ac", "ab|ba|a"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ok := reads(t, r.source)
			for _, text := range strings.Split(r.yes, "|") {
				if !ok(text) {
					t.Errorf("%q is not read", text)
				}
			}
			for _, text := range strings.Split(r.no, "|") {
				if ok(text) {
					t.Errorf("%q is read", text)
				}
			}
		})
	}
}

func TestPlacesOfErrors(t *testing.T) {
	rows := []struct{ name, source, want string }{
		{"no sign", "root = \"a\"", "line 1, column 6"},
		{"no name", "\n  ::= \"a\"", "line 2, column 3"},
		{"rubbish behind a rule", "root ::= \"a\" \"b\"\nx ::= \"c\" )", "line 2, column 11"},
		{"an undefined rule", "root ::= \"a\"\nx ::= y", "line 2, column 7"},
		{"a rule defined twice", "root ::= \"a\"\n\nroot ::= \"b\"", "line 3, column 1"},
		{"an open class", "root ::= \"a\" [bc", "line 1, column 14"},
		{"an empty class", "root ::= []", "line 1, column 10"},
		{"all but nothing", "root ::= [^\\x00-\\U0010ffff]", ""},
		{"a backward range", "root ::= [z-a]", "line 1, column 11"},
		{"a bad number", "root ::= \"\\x4\"", "line 1, column 11"},
		{"a surrogate", `root ::= "\ud800"`, "line 1, column 11"},
		{"an open repetition", "root ::= \"a\"{2", "line 1, column 13"},
		{"a repetition of nothing", "root ::= *", "line 1, column 10"},
		{"an open group", "root ::= (\"a\"", "line 1, column 10"},
		{"a token without an end", "root ::= <[5]", "line 1, column 10"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, _, err := Parse(r.source, "root")
			if r.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a usage error at %s", err, r.want)
			}
		})
	}
}

// What was read can be compiled, or is refused in words; neither takes long.
func FuzzParse(f *testing.F) {
	f.Add("root ::= [a-z]+ (\",\" root)? # c\n")
	f.Add("root ::= <[5]> !<x> \"\\u00e9\"{2,3} |\n x*\nx ::= .")
	f.Add("root ::= ((((((\"a\"{9}){9}){9}){9}){9}){9})")
	f.Fuzz(func(t *testing.T, source string) {
		g, root, err := Parse(source, "root")
		if err == nil {
			_, err = g.Compile(root, bytegram.Unchecked())
		}
		if err != nil && fault.KindOf(err) != fault.Usage && fault.KindOf(err) != fault.Limit {
			t.Errorf("%q: %v", source, err)
		}
	})
}
