package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"lab/plugins/models/internal/spm"
)

// bare returns the vocabulary that every other one starts with: the unknown
// token, BOS, EOS and the 256 bytes.
func bare() spm.Vocab {
	v := spm.Vocab{Unknown: 0, BOS: 1, EOS: 2, AddBOS: true, AddSpacePrefix: true}
	add(&v, "<unk>", 0, spm.Unknown)
	add(&v, "<s>", 0, spm.Control)
	add(&v, "</s>", 0, spm.Control)
	for b := range 256 {
		add(&v, fmt.Sprintf("<0x%02X>", b), 0, spm.Byte)
	}
	return v
}

func add(v *spm.Vocab, piece string, score float32, t spm.Type) {
	v.Pieces = append(v.Pieces, piece)
	v.Scores = append(v.Scores, score)
	v.Types = append(v.Types, t)
}

// words splits a text into the stretches within which merges may happen: a run
// of letters, with apostrophes between them, and the space before it; or one
// other character and the space before it.
func words(text string) []string {
	r := []rune(strings.ReplaceAll(text, " ", spm.Space))
	space := []rune(spm.Space)[0]
	letter := func(i int) bool { return i < len(r) && i >= 0 && unicode.IsLetter(r[i]) }
	var out []string
	for i := 0; i < len(r); {
		j := i
		if r[j] == space && j+1 < len(r) && r[j+1] != space {
			j++
		}
		if letter(j) {
			for letter(j) || j < len(r) && r[j] == '\'' && letter(j-1) && letter(j+1) {
				j++
			}
		} else {
			j++
		}
		out = append(out, string(r[i:j]))
		i = j
	}
	return out
}

// spelling is one word, how often it occurs, and its pieces so far.
type spelling struct {
	count  int
	pieces []string
}

// train extends the bare vocabulary to size tokens by byte-pair encoding: the
// pair of neighbouring pieces that occurs most often becomes a piece, again and
// again; of equal pairs the one that sorts first. Single characters come last,
// with the lowest scores.
//
// Source: Sennrich, Haddow and Birch, "Neural machine translation of rare words
// with subword units" (ACL 2016).
func train(counts map[string]int, size int) (spm.Vocab, error) {
	v := bare()
	chars := map[string]bool{}
	var list []spelling
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		s := spelling{count: counts[w]}
		for _, r := range w {
			s.pieces = append(s.pieces, string(r))
			chars[string(r)] = true
		}
		list = append(list, s)
	}
	room := size - len(v.Pieces) - len(chars)
	if room < 0 {
		return v, fmt.Errorf("a vocabulary of %d cannot hold %d single characters and %d fixed tokens", size, len(chars), len(v.Pieces))
	}
	have := maps.Clone(chars)
	rank := 0
	for rank < room {
		left, right, ok := bestPair(list)
		if !ok {
			break
		}
		joined := left + right
		if !have[joined] {
			have[joined] = true
			add(&v, joined, -float32(rank), spm.Normal)
			rank++
		}
		for i := range list {
			list[i].join(left, right)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(chars)) {
		add(&v, c, -float32(rank), spm.Normal)
		rank++
	}
	return v, nil
}

func bestPair(list []spelling) (left, right string, ok bool) {
	pairs := map[[2]string]int{}
	for _, s := range list {
		for i := 1; i < len(s.pieces); i++ {
			pairs[[2]string{s.pieces[i-1], s.pieces[i]}] += s.count
		}
	}
	if len(pairs) == 0 {
		return "", "", false
	}
	best := slices.MaxFunc(slices.Collect(maps.Keys(pairs)), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(pairs[a], pairs[b]), cmp.Compare(b[0], a[0]), cmp.Compare(b[1], a[1]))
	})
	return best[0], best[1], true
}

func (s *spelling) join(left, right string) {
	out := s.pieces[:0]
	for i := 0; i < len(s.pieces); i++ {
		if i+1 < len(s.pieces) && s.pieces[i] == left && s.pieces[i+1] == right {
			out = append(out, left+right)
			i++
			continue
		}
		out = append(out, s.pieces[i])
	}
	s.pieces = out
}

// plain is the inverse of the space sign.
func plain(word string) string { return strings.ReplaceAll(word, spm.Space, " ") }
