package penalty

import (
	"bytes"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// breakers are what no repetition extends across.
type breakers struct {
	single    []int32   // sorted
	sequences [][]int32 // of two tokens or more, sorted by their last
	bytes     [256]bool // texts of one byte, which most are
	texts     [][]byte  // longer ones
	longest   int       // bytes of the longest text, 0 without any
	text      func(id int32) []byte
}

func newBreakers(row *sampler.Row, set param.Values) (b breakers, err error) {
	items := set.Tokens("breakers")
	for _, it := range items {
		for _, id := range it.IDs {
			if int(id) >= row.Scores.Vocab {
				return b, fault.New(fault.Usage, "dry", "breakers", "token %d is outside the vocabulary of %d", id, row.Scores.Vocab)
			}
		}
		switch {
		case it.IDs == nil && len(it.Text) > mostLength || len(it.IDs) > mostLength:
			return b, tooMany("one is longer than %d", mostLength)
		case it.IDs == nil:
			b.longest = max(b.longest, len(it.Text))
			if len(it.Text) == 1 {
				b.bytes[it.Text[0]] = true
			} else {
				b.texts = append(b.texts, []byte(it.Text))
			}
		case len(it.IDs) == 1:
			b.single = append(b.single, it.IDs[0])
		default:
			b.sequences = append(b.sequences, it.IDs)
		}
	}
	if len(b.texts) > mostTexts || len(b.sequences) > mostTexts {
		return b, tooMany("more than %d texts or sequences", mostTexts)
	}
	if b.text = row.Texts; b.text == nil && b.longest > 0 {
		return b, fault.New(fault.Usage, "dry", "breakers", "it holds texts, and the texts of the vocabulary are not known here").
			Fix("give token ids, or name the model whose tokens they are")
	}
	slices.Sort(b.single)
	slices.SortStableFunc(b.sequences, func(x, y []int32) int { return int(x[len(x)-1]) - int(y[len(y)-1]) })
	return b, nil
}

// is reports whether a token alone is a breaker.
func (b *breakers) is(id int32) bool {
	if _, ok := slices.BinarySearch(b.single, id); ok {
		return true
	}
	if b.longest == 0 {
		return false
	}
	text := b.text(id)
	for _, c := range text {
		if b.bytes[c] {
			return true
		}
	}
	for _, t := range b.texts {
		if bytes.Contains(text, t) {
			return true
		}
	}
	return false
}

// limit returns how many tokens follow the newest breaker: no repetition is
// longer. Without a breaker it is all of them.
func (b *breakers) limit(tokens []int32) int {
	n := 0
	for n < len(tokens) && !b.is(tokens[len(tokens)-1-n]) && !b.ends(tokens[:len(tokens)-n]) {
		n++
	}
	if b.longest > 1 {
		n = min(n, b.spread(tokens, n))
	}
	return n
}

// ends reports whether tokens end with one of the sequences.
func (b *breakers) ends(tokens []int32) bool {
	if len(b.sequences) == 0 {
		return false
	}
	last := tokens[len(tokens)-1]
	i, _ := slices.BinarySearchFunc(b.sequences, last, func(s []int32, id int32) int { return int(s[len(s)-1]) - int(id) })
	for ; i < len(b.sequences) && b.sequences[i][len(b.sequences[i])-1] == last; i++ {
		if s := b.sequences[i]; len(s) <= len(tokens) && slices.Equal(tokens[len(tokens)-len(s):], s) {
			return true
		}
	}
	return false
}

// spread returns how many of the newest n tokens follow the end of a text that
// several tokens make up.
func (b *breakers) spread(tokens []int32, n int) int {
	// A text that ends in one of the n tokens may begin before them.
	first, before := len(tokens)-n, 0
	for first > 0 && before < b.longest-1 {
		first--
		before += len(b.text(tokens[first]))
	}
	var all []byte
	ends := make([]int, 0, len(tokens)-first) // where each token ends in all
	for _, id := range tokens[first:] {
		all = append(all, b.text(id)...)
		ends = append(ends, len(all))
	}
	end := 0
	for _, t := range b.texts {
		if i := bytes.LastIndex(all, t); i >= 0 {
			end = max(end, i+len(t))
		}
	}
	if end == 0 {
		return n
	}
	// The first token that reaches so far holds the last byte.
	holds, _ := slices.BinarySearch(ends, end)
	return len(ends) - 1 - holds
}
