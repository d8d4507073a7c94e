package chain

import (
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
			s += " <" + set.Name + ">=" + set.Value.(string)
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
	for _, s := range []string{"temperature:0.8 | top_p:0.95 | sample", `a:b="c|d"`, ":", "|", `x:"`, "\x00", "a:é=ü"} {
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
				s += quote(set.Value.(string))
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
