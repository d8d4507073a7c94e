package golden

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"lab/core/plugin/sampler"
)

// InProcess returns a subject over samplers in this process.
func InProcess(samplers ...sampler.Sampler) (Subject, error) {
	t := &inProcess{pieces: map[string][][]byte{}}
	set, err := sampler.NewSet(samplers...)
	if err != nil {
		return nil, err
	}
	t.Set = set.WithTexts(t.lookup)
	return t, nil
}

type inProcess struct {
	*sampler.Set
	mu     sync.Mutex
	pieces map[string][][]byte
}

// Texts implements Subject.
func (t *inProcess) Texts(pieces [][]byte) (string, error) {
	key := VocabularyKey(pieces)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pieces[key] = pieces
	return key, nil
}

func (t *inProcess) lookup(key string) func(int32) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	pieces, ok := t.pieces[key]
	if !ok {
		return nil
	}
	return func(id int32) []byte {
		if id < 0 || int(id) >= len(pieces) {
			return nil
		}
		return pieces[id]
	}
}

// VocabularyKey returns a name for a vocabulary that depends on its texts alone.
func VocabularyKey(pieces [][]byte) string {
	h := sha256.New()
	for _, p := range pieces {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return fmt.Sprintf("golden %x", h.Sum(nil)[:16])
}
