// Package token is what masks and penalties share: which tokens the items of a
// setting mean, and taking tokens out of a row.
//
// It holds no sampler. Start with [Finder.Items], which turns a list setting
// into ids, and [Ban].
package token

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// removed is the score of a token that was taken out.
var removed = float32(math.Inf(-1))

// Finder finds the tokens of a vocabulary that have a given text. It keeps what
// it found, bounded, for vocabularies that have a key; a nil one keeps nothing.
// Safe for concurrent use.
type Finder struct {
	mu    sync.Mutex
	found map[place][]param.Token
	held  int // items in found
}

// place is what an answer depends on: equal keys of vocabularies mean equal
// texts.
type place struct {
	vocabulary string
	size       int
	list       string
}

// mostFound bounds the items that texts may turn into, in one list and in all
// that are kept.
const mostFound = 1 << 20

// Items returns the items of a list setting with every text replaced by the
// tokens whose bytes equal it, one item each with the text's weight, ascending.
// The result must not be changed. An id outside the vocabulary and a text that
// no token has are usage errors; op names the sampler.
func (f *Finder) Items(row *sampler.Row, op string, set param.Values, setting string) ([]param.Token, error) {
	items := set.Tokens(setting)
	texts := false
	for _, it := range items {
		texts = texts || it.IDs == nil
		for _, id := range it.IDs {
			if int(id) >= row.Scores.Vocab {
				return nil, fault.New(fault.Usage, op, setting, "token %d is outside the vocabulary of %d", id, row.Scores.Vocab)
			}
		}
	}
	if !texts {
		return items, nil
	}
	if row.Texts == nil {
		return nil, fault.New(fault.Usage, op, setting, "it holds texts, and the texts of the vocabulary are not known here").
			Fix("give token ids, or name the model whose tokens they are")
	}
	at := place{vocabulary: row.Vocabulary, size: row.Scores.Vocab, list: textOf(set, setting)}
	if known := f.get(at); known != nil {
		return known, nil
	}
	found, err := replaceTexts(row, op, setting, items)
	if err != nil {
		return nil, err
	}
	f.put(at, found)
	return found, nil
}

func textOf(set param.Values, setting string) string {
	for _, v := range set {
		if v.Name == setting {
			return param.Format(v.Value)
		}
	}
	return ""
}

func (f *Finder) get(at place) []param.Token {
	if f == nil || at.vocabulary == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found[at]
}

func (f *Finder) put(at place, items []param.Token) {
	if f == nil || at.vocabulary == "" {
		return
	}
	// A long key counts as well.
	size := len(items) + len(at.list)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held+size > mostFound || f.found == nil {
		f.found, f.held = map[place][]param.Token{}, 0
	}
	if f.found[at] == nil && size <= mostFound {
		f.found[at] = items
		f.held += size
	}
}

// replaceTexts looks through the vocabulary once for all texts of a list.
func replaceTexts(row *sampler.Row, op, setting string, items []param.Token) ([]param.Token, error) {
	ids := map[string][]int32{}
	for _, it := range items {
		if it.IDs == nil {
			ids[it.Text] = nil
		}
	}
	for id := range int32(row.Scores.Vocab) {
		if text := row.Texts(id); len(text) > 0 {
			if list, wanted := ids[string(text)]; wanted {
				ids[string(text)] = append(list, id)
			}
		}
	}
	out := make([]param.Token, 0, len(items))
	for _, it := range items {
		if it.IDs != nil {
			out = append(out, it)
			continue
		}
		list := ids[it.Text]
		switch {
		case len(list) == 0:
			return nil, fault.New(fault.Usage, op, setting, "no token of the vocabulary has the text %s", fault.Quote(it.Text, 40)).
				Fix("look up how the text is split, and give the ids as a sequence: 4+7")
		case len(out)+len(list) > mostFound:
			return nil, fault.New(fault.Limit, op, setting, "its texts stand for more than %d tokens", mostFound)
		}
		for i := range list {
			out = append(out, param.Token{IDs: list[i : i+1 : i+1], Weight: it.Weight})
		}
	}
	return out, nil
}

// IDs is [Finder.Items] for a list of single tokens, in the order given. A
// sequence is a usage error.
func (f *Finder) IDs(row *sampler.Row, op string, set param.Values, setting string) ([]int32, error) {
	items, err := f.Items(row, op, set, setting)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, len(items))
	for i, it := range items {
		if len(it.IDs) != 1 {
			return nil, fault.New(fault.Usage, op, setting, "%s is a sequence, and single tokens are wanted", shorten(it)).
				Fix("separate the ids with blanks, or ban sequences with bad_words")
		}
		ids[i] = it.IDs[0]
	}
	return ids, nil
}

func shorten(t param.Token) string {
	if len(t.IDs) <= 8 {
		return t.String()
	}
	parts := make([]string, 8)
	for i := range parts {
		parts[i] = strconv.Itoa(int(t.IDs[i]))
	}
	return strings.Join(parts, "+") + "+…"
}

// EndSetting declares the setting that [Finder.Ends] reads.
func EndSetting() param.Spec {
	return param.Spec{
		Name: "end", Aliases: []string{"eos", "eos_token_id"}, Type: param.Tokens, Default: "",
		Meaning: "the tokens that end a text; when empty, those that the model names",
	}
}

// Ends returns the tokens that end a text: those of the setting "end", or the
// model's own when it is empty. None at all is a usage error.
func (f *Finder) Ends(row *sampler.Row, op string, set param.Values) ([]int32, error) {
	ids, err := f.IDs(row, op, set, "end")
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	if len(row.EndOfText) == 0 {
		return nil, fault.New(fault.Usage, op, "end", "it is empty, and the model names no tokens that end a text").
			Fix("give them: end=ID")
	}
	return row.EndOfText, nil
}

// Follows reports whether history ends with all of a sequence but its last
// token, so that the last would complete it. A single token always follows.
func Follows(history, sequence []int32) bool {
	head := sequence[:len(sequence)-1]
	return len(head) <= len(history) && slices.Equal(history[len(history)-len(head):], head)
}

// Weighted is a token with a number.
type Weighted struct {
	ID     int32
	Weight float64
}

// Sum orders a list by token, in place, and adds up the numbers of a token that
// is in it several times, in the order of the list.
func Sum(list []Weighted) []Weighted {
	slices.SortStableFunc(list, func(a, b Weighted) int { return cmp.Compare(a.ID, b.ID) })
	out := list[:0]
	for _, w := range list {
		if n := len(out); n > 0 && out[n-1].ID == w.ID {
			out[n-1].Weight += w.Weight
			continue
		}
		out = append(out, w)
	}
	return out
}

// Ban removes tokens, given in any order and perhaps repeatedly, by a score of
// -Inf. A row that does not list them stays as it is, to the bit. What would
// leave no token is a data error that names the setting, and so is a row with an
// unlisted tail, of which the share of the removed is not known.
func Ban(row *sampler.Row, ids []int32, op, setting string) error {
	if len(ids) == 0 {
		return nil
	}
	s := row.Scores
	if err := Whole(s, op); err != nil {
		return err
	}
	for _, id := range ids {
		if i := s.Index(id); i >= 0 {
			s.Values[i] = removed
		}
	}
	return Left(s, op, setting)
}

// Left returns a data error that names the setting when no token is left.
func Left(s *dist.Scores, op, setting string) error {
	for _, v := range s.Values {
		if dist.Finite(v) {
			return nil
		}
	}
	return fault.New(fault.Data, op, setting, "it leaves no token: every one that earlier stages kept is removed").
		Fix("allow one of them, or put the stage before the ones that truncate")
}

// Whole returns a data error for a row with an unlisted tail.
func Whole(s *dist.Scores, op string) error {
	if s.Unlisted == 0 {
		return nil
	}
	return fault.New(fault.Data, op, "", "a mass of %.4g is unlisted, and what it becomes is not known", s.Unlisted).
		Fix("truncate to listed tokens first, or use a backend that lists every token")
}
