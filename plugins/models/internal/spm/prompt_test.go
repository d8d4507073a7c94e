package spm

import (
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/internal/token/tokentest"
)

func TestEncodePrompt(t *testing.T) {
	v := withBytes("a", "b", "▁", "</s>x")
	v.Types[slices.Index(v.Pieces, "</s>x")] = Control
	tok := tokentest.New(t, New, v)
	v.AddBOS = false
	free := tokentest.New(t, New, v)
	rows := []struct {
		name           string
		tok            *Tokenizer
		text           string
		begin, special bool
		want           string
	}{
		{"the policy puts BOS in front", tok, "ab", true, false, "<s> ▁ a b"},
		{"not when it is not asked for", tok, "ab", false, false, "▁ a b"},
		{"nor when the policy is not to", free, "ab", true, false, "▁ a b"},
		{"control tokens in user text stay text", tok, "</s>", true, false, "<s> ▁ <0x3C> <0x2F> <0x73> <0x3E>"},
		{"they are read when asked for", tok, "a</s>b", true, true, "<s> ▁ a </s> ▁ b"},
		{"the longest at one place is read", tok, "</s>x</s>", false, true, "</s>x </s>"},
		{"a BOS further on is read", tok, "a<s>", true, true, "<s> ▁ a <s>"},
		{"an unknown token's spelling is text", tok, "<unk>", false, true, "▁ <0x3C> <0x75> <0x6E> <0x6B> <0x3E>"},
		{"a first BOS is read where the policy adds none", free, "<s>a", true, true, "<s> ▁ a"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ids, err := r.tok.EncodePrompt([]byte(r.text), r.begin, r.special)
			if err != nil {
				t.Fatal(err)
			}
			if got := tokentest.Spell(r.tok, ids); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
		})
	}
	_, err := tok.EncodePrompt([]byte("<s>a"), true, true)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "another in front") {
		t.Errorf("a doubled BOS: %v", err)
	}
}

func TestSilentTokensHaveNoText(t *testing.T) {
	tok := tokentest.New(t, New, withBytes("a"))
	if got := tok.Silent(); !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("got %v", got)
	}
	for _, id := range tok.Silent() {
		if len(tok.Texts()[id]) != 0 {
			t.Errorf("token %d has the text %q", id, tok.Texts()[id])
		}
	}
}
