package plugin

import (
	"bytes"
	"sync"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
)

// vocabularies holds the token texts that the host handed over, by key. The
// zero value is empty and ready. Safe for concurrent use.
type vocabularies struct {
	mu     sync.RWMutex
	pieces map[string][][]byte
}

func (v *vocabularies) put(m *wire.Vocabulary) error {
	if m.GetKey() == "" {
		return fault.New(fault.Plugin, "attach vocabulary", "", "it has no key")
	}
	pieces, err := wire.GetPieces(m.GetText(), m.GetEnds(), 0)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if old, ok := v.pieces[m.GetKey()]; ok {
		if !equalPieces(old, pieces) {
			return fault.New(fault.Plugin, "attach vocabulary", fault.Quote(m.GetKey(), 80), "the key stands for other texts already")
		}
		return nil
	}
	if v.pieces == nil {
		v.pieces = map[string][][]byte{}
	}
	v.pieces[m.GetKey()] = pieces
	return nil
}

// lookup returns the texts of a vocabulary, nil for a key that was not handed
// over. A token outside the vocabulary has no text.
func (v *vocabularies) lookup(key string) func(id int32) []byte {
	v.mu.RLock()
	defer v.mu.RUnlock()
	pieces, ok := v.pieces[key]
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

func equalPieces(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
