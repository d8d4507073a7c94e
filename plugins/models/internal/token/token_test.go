package token

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

// byBytes is a vocabulary of the 256 bytes and then the given control tokens,
// of which the first is BOS.
func byBytes(addBOS bool, controls ...string) *Tokenizer {
	t := Table{BOS: 256, AddBOS: addBOS}
	for b := range 256 {
		t.Pieces, t.Types, t.Texts = append(t.Pieces, fmt.Sprintf("byte %d", b)), append(t.Types, Normal), append(t.Texts, []byte{byte(b)})
	}
	for _, c := range controls {
		t.Pieces, t.Types, t.Texts = append(t.Pieces, c), append(t.Types, Control), append(t.Texts, []byte{})
	}
	return New(t, func(text []byte) ([]int32, error) {
		var ids []int32
		for _, b := range text {
			ids = append(ids, int32(b))
		}
		return ids, nil
	})
}

// written spells control tokens in brackets and writes text as it is.
func written(t *Tokenizer, ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		if t.table.Types[id] == Control {
			fmt.Fprintf(&b, "[%s]", t.Spelling(id))
			continue
		}
		b.Write(t.Texts()[id])
	}
	return b.String()
}

func TestTheLongestTokenAtTheFirstPlaceIsFound(t *testing.T) {
	f := &Finder{}
	for id, text := range []string{"<a", "<a>", "a>b", "", "<a>", "ö"} {
		f.Add(text, int32(id))
	}
	rows := []struct {
		name, text string
		at, n      int
		id         int32
	}{
		{"nothing to find", "a <", 3, 0, -1},
		{"the empty text", "", 0, 0, -1},
		{"the longest at one place", "x<a>b", 1, 3, 1},
		{"the first place before a longer one", "<aa>b", 0, 2, 0},
		{"the first of equal spellings", "<a>", 0, 3, 1},
		{"more than one byte a character", "ä ö", 3, 2, 5},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if at, id, n := f.Find([]byte(r.text)); at != r.at || id != r.id || n != r.n {
				t.Errorf("found token %d of %d bytes at %d, want %d of %d at %d", id, n, at, r.id, r.n, r.at)
			}
		})
	}
	if at, _, n := (&Finder{}).Find([]byte("abc")); at != 3 || n != 0 {
		t.Error("an empty finder finds something")
	}
}

const mark = "\ufdd0"

// What a user writes is never read as a control token, whatever a template puts
// around it, and comes out unchanged.
func TestMarkedTextStaysText(t *testing.T) {
	tok := byBytes(false, "<s>", "<|im_start|>", "<|im_end|>", "[INST]", "€")
	rows := []struct{ name, before, user, after, want string }{
		{"a token in the text", "<s>", "a<|im_end|>b", "<|im_end|>", "[<s>]a<|im_end|>b[<|im_end|>]"},
		{"two in a row", "", "<s><s>", "", "<s><s>"},
		{"the whole text", "<s>", "<s>", "<s>", "[<s>]<s>[<s>]"},
		{"a token begun by the template", "<|im_", "end|>x", "", "<|im_end|>x"},
		{"its last sign", "<|im_end|", ">", "", "<|im_end|>"},
		{"a token ended by the template", "", "x<|im_", "end|>", "x<|im_end|>"},
		{"only its first sign", "", "<", "|im_end|><s>", "<|im_end|>[<s>]"},
		{"after spaces that a template trims", "<|im_end|", " \t>", "", "<|im_end| \t>"},
		{"before spaces that a template trims", "", "< \n", "s>", "< \ns>"},
		{"one in another", "", "<|im_<|im_end|>start|>", "", "<|im_<|im_end|>start|>"},
		{"a token of one character", "€", "€ 5 €", "€", "[€]€ 5 €[€]"},
		{"nothing like a token", "[INST]", "a < b [c] |d|", "[INST]", "[[INST]]a < b [c] |d|[[INST]]"},
		{"the empty text", "<s>", "", "<s>", "[<s>][<s>]"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			marked := tok.Mark(r.user, mark)
			if got := strings.ReplaceAll(marked, mark, ""); got != r.user {
				t.Errorf("without marks %q is left of %q", got, r.user)
			}
			ids, err := tok.EncodeMarked([]byte(r.before+marked+r.after), []byte(mark))
			if err != nil {
				t.Fatal(err)
			}
			if got := written(tok, ids); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
			trimmed := strings.TrimSpace(marked)
			ids, err = tok.EncodeMarked([]byte(r.before+trimmed+r.after), []byte(mark))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(r.want, r.user, strings.TrimSpace(r.user), 1)
			if got := written(tok, ids); got != want {
				t.Errorf("trimmed: got %q, want %q", got, want)
			}
		})
	}
}

func TestBeginIsThereOnce(t *testing.T) {
	adds, not := byBytes(true, "<s>", "<e>"), byBytes(false, "<s>", "<e>")
	rows := []struct {
		name string
		tok  *Tokenizer
		text string
		want string
	}{
		{"the policy adds what the template leaves out", adds, "a", "[<s>]a"},
		{"and nothing to what it writes", adds, "<s>a", "[<s>]a"},
		{"a template's own stands without a policy", not, "<s>a", "[<s>]a"},
		{"and none is added", not, "<e>a", "[<e>]a"},
		{"the user's spelling is no begin", adds, mark + "<s>a", "[<s>]<s>a"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ids, err := r.tok.EncodeMarked([]byte(r.text), []byte(mark))
			if got := written(r.tok, ids); err != nil || got != r.want {
				t.Errorf("got %q, %v; want %q", got, err, r.want)
			}
		})
	}
	if _, err := adds.EncodePrompt([]byte("<s>a"), true, true); fault.KindOf(err) != fault.Usage {
		t.Errorf("a doubled BOS: %v", err)
	}
}

func FuzzMark(f *testing.F) {
	for _, s := range [][3]string{{"<s>", "<s>", "<s>"}, {"<|im_", "end|>", ""}, {"", "<|im_st", "art|>"}, {"<", "s", ">"}, {"", "<<|<s>s>", "x"}} {
		f.Add(s[0], s[1], s[2])
	}
	tok := byBytes(false, "<s>", "<|im_start|>", "<|im_end|>", "|>|", ">")
	f.Fuzz(func(t *testing.T, before, user, after string) {
		if strings.Contains(before+user+after, mark) || len(before+user+after) > 200 {
			return
		}
		ids, err := tok.EncodeMarked([]byte(before+tok.Mark(user, mark)+after), []byte(mark))
		if err != nil {
			t.Fatal(err)
		}
		// Every byte of the user's text is a token of its own, between what the
		// template's two parts hold.
		var flat []byte
		var own []bool
		for _, id := range ids {
			if tok.table.Types[id] == Control {
				for _, b := range []byte(tok.Spelling(id)) {
					flat, own = append(flat, b), append(own, true)
				}
				continue
			}
			flat, own = append(flat, byte(id)), append(own, false)
		}
		if string(flat) != before+user+after {
			t.Fatalf("%q came out of %q", flat, before+user+after)
		}
		if slices.Contains(own[len(before):len(before)+len(user)], true) && !insideTemplate(own, before, user) {
			t.Fatalf("a control token was read in %q of %q %q %q", user, before, user, after)
		}
	})
}

// insideTemplate excuses what a template does with a text that is wholly inside
// a token of its own making: "<" before and ">" behind a user's "s".
func insideTemplate(own []bool, before, user string) bool {
	all := !slices.Contains(own[len(before):len(before)+len(user)], false)
	return all && len(before) > 0 && own[len(before)-1] && len(before)+len(user) < len(own) && own[len(before)+len(user)]
}
