package chain

import (
	"errors"
	"strings"
	"testing"

	"lab/core/fault"
)

// written shows requests in one line each, for comparison.
func written(rs []Request) string {
	var parts []string
	for _, r := range rs {
		s := r.Name
		for _, set := range r.Settings {
			switch v := set.Value.(type) {
			case File:
				s += " <" + set.Name + ">=@@" + string(v)
			case string:
				s += " <" + set.Name + ">=" + v
			}
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " / ")
}

func TestParse(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"empty is no stage", "", ""},
		{"blanks are no stage", " \t ", ""},
		{"a name alone", "greedy", "greedy"},
		{"a bare value is the first setting", "temperature:0.8", "temperature <>=0.8"},
		{"named settings", "top_p:p=0.9,min_keep=2", "top_p <p>=0.9 <min_keep>=2"},
		{"a bare value, then named ones", "top_p:0.9,min_keep=2", "top_p <>=0.9 <min_keep>=2"},
		{"blanks around everything", "  top_k : k = 40 , ties = keep_all |  sample ", "top_k <k>=40 <ties>=keep_all / sample"},
		{"quotes protect separators", `dry:breakers="a|b,c=\"d\""`, `dry <breakers>=a|b,c="d"`},
		{"an empty quoted value", `x:k=""`, "x <k>="},
		{"single quotes take everything", `x:k='{"a": 1}',j=2`, `x <k>={"a": 1} <j>=2`},
		{"back quotes take everything", "x:k=`it's \\d`", `x <k>=it's \d`},
		{"a quote inside a word is a letter", "x:don't", "x <>=don't"},
		{"a file", "x:k=@a b.gbnf,j=@c", "x <k>=@@a b.gbnf <j>=@@c"},
		{"a quoted at sign is no file", `x:"@a"`, "x <>=@a"},
		{"a file as the first setting", "x:@a.json | y", "x <>=@@a.json / y"},
		{"a plugin's own stage", "mine/top_k:3", "mine/top_k <>=3"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, err := Parse(r.text, "test")
			if err != nil {
				t.Fatal(err)
			}
			if w := written(got); w != r.want {
				t.Errorf("got %q, want %q", w, r.want)
			}
		})
	}
}

func TestParseErrorsNameTheColumn(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"no name between bars", "greedy | | sample", "column 10"},
		{"a bar at the end", "top_k:4 |", "column 10"},
		{"no bar between stages", "top_k:4 sample:3", "column 15"},
		{"blank in a name", "top k", "put | between stages"},
		{"equals instead of colon", "top_k=4", "top_k:key=value"},
		{"value missing", "top_k:", "column 7"},
		{"value missing after equals", "top_k:k=", "column 9"},
		{"second bare value", "top_p:0.9,2", "key=2"},
		{"quote left open", `x:k="abc`, "does not end"},
		{"text after a quote", `x:k="a"b`, "column 8"},
		{"single quote left open", "x:k='abc", "close it with '"},
		{"no path after @", "x:k=@", "column 5"},
		{"a file as a name", "x:@a=3", "column 5"},
		{"bytes that are no text", "x:\xff", "not UTF-8"},
		{"escapes of bytes that are no text", `x:"\xff"`, "column 3"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Parse(r.text, "test")
			if err == nil {
				t.Fatal("no error")
			}
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v, want usage", fault.KindOf(err))
			}
			if !strings.Contains(err.Error(), r.want) {
				t.Errorf("%q does not contain %q", err, r.want)
			}
		})
	}
}

func FuzzParseNeverPanicsAndQuotesReadBack(f *testing.F) {
	for _, s := range []string{"temperature:0.8 | top_p:0.95 | sample", `a:b="c|d"`, ":", "|", `x:"`, "\x00", "a:é=ü", "a:'b|c'", "a:`b`,d=@e f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rs, err := Parse(text, "fuzz")
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("kind %v", fault.KindOf(err))
			}
			return
		}
		var parts []string
		for _, r := range rs {
			s := r.Name
			sep := ":"
			for _, set := range r.Settings {
				s += sep
				if set.Name != "" {
					s += quote(set.Name) + "="
				}
				switch v := set.Value.(type) {
				case File:
					s += "@" + string(v)
				case string:
					s += quote(v)
				}
				sep = ","
			}
			parts = append(parts, s)
		}
		again, err := Parse(strings.Join(parts, " | "), "fuzz")
		if err != nil {
			t.Fatalf("%q was written back as %q: %v", text, strings.Join(parts, " | "), err)
		}
		if written(again) != written(rs) {
			t.Fatalf("%q read back as %q", written(rs), written(again))
		}
	})
}

func TestFilesAreReadByWhoMayOnly(t *testing.T) {
	requests, err := Parse(`grammar:start=root,grammar=@g.gbnf | sample`, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := noFiles("stage 1 (grammar)", requests[0].Settings); err == nil || !strings.Contains(err.Error(), "@g.gbnf") {
		t.Errorf("an unread file: error %v, want one that names it", err)
	}
	read, err := ReadFiles(requests, func(path string) (string, error) { return "text of " + path, nil })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := written(read), "grammar <start>=root <grammar>=text of g.gbnf / sample"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := read[0].Settings[1].Origin; got != "test @g.gbnf" {
		t.Errorf("origin %q, want the file in it", got)
	}
	if _, ok := requests[0].Settings[1].Value.(File); !ok {
		t.Error("the requests given were changed")
	}
	if _, err = ReadFiles(requests, func(string) (string, error) { return "\xff", nil }); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("a file of bytes: %v", err)
	}
	_, err = ReadFiles(requests, func(string) (string, error) { return "", errors.New("gone") })
	if err == nil || !strings.Contains(err.Error(), "stage 1 (grammar)") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a file that cannot be read: error %v", err)
	}
}
