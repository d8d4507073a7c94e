package constrain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"lab/core/plugin/sampler"
	"lab/plugins/samplers/constrain/internal/bytegram"
)

// How many compiled languages and vocabularies a sampler remembers; the oldest
// is forgotten first.
const (
	mostMatchers = 16
	mostTries    = 4
)

// store remembers what was compiled: a pure function of its key, so it changes
// the time only. Safe for concurrent use.
type store struct {
	mu       sync.Mutex
	matchers cache[*bytegram.Matcher]
	tries    cache[*bytegram.Trie]
}

func newStore() *store {
	return &store{matchers: cache[*bytegram.Matcher]{most: mostMatchers}, tries: cache[*bytegram.Trie]{most: mostTries}}
}

// cache holds the values made last, by key.
type cache[T any] struct {
	most  int
	keys  []string
	items map[string]T
}

func (c *cache[T]) get(key string, make_ func() (T, error)) (T, error) {
	if x, ok := c.items[key]; ok {
		return x, nil
	}
	x, err := make_()
	if err != nil {
		return x, err
	}
	if c.items == nil {
		c.items = map[string]T{}
	}
	if len(c.keys) == c.most {
		delete(c.items, c.keys[0])
		c.keys = c.keys[1:]
	}
	c.keys = append(c.keys, key)
	c.items[key] = x
	return x, nil
}

// matcher returns the matcher of a language for the vocabulary of a row. One is
// compiled at a time: a second caller would compile the same.
func (s *store) matcher(row *sampler.Row, source string, compile func() (*bytegram.Program, error)) (*bytegram.Matcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	vocabulary := vocabularyKey(row)
	key := fmt.Sprintf("%d %s %v %x", row.Scores.Vocab, vocabulary, row.EndOfText, sha256.Sum256([]byte(source)))
	return s.matchers.get(key, func() (*bytegram.Matcher, error) {
		p, err := compile()
		if err != nil {
			return nil, err
		}
		t, err := s.tries.get(fmt.Sprintf("%d %s", row.Scores.Vocab, vocabulary), func() (*bytegram.Trie, error) {
			return bytegram.NewTrie(row.Scores.Vocab, row.Texts)
		})
		if err != nil {
			return nil, err
		}
		return bytegram.NewMatcher(p, t, row.EndOfText)
	})
}

// vocabularyKey names the texts of a row's tokens: by the key that came with
// them, or by a hash of them all.
func vocabularyKey(row *sampler.Row) string {
	if row.Vocabulary != "" {
		return "key " + row.Vocabulary
	}
	h := sha256.New()
	var n [8]byte
	for id := range int32(row.Scores.Vocab) {
		text := row.Texts(id)
		binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write(text)
	}
	return fmt.Sprintf("hash %x", h.Sum(nil))
}
