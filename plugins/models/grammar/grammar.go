package grammar

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"

	"lab/plugins/models/internal/spm"
)

//go:embed english.pcfg
var englishText []byte

//go:embed vocab.json
var englishVocab []byte

const (
	englishName = "english.pcfg"
	vocabName   = "vocab.json"
)

// English returns the language of the embedded grammar with the embedded
// vocabulary. It compiles both, which takes some tens of milliseconds.
func English() (*Language, error) {
	tok, err := englishTokenizer()
	if err != nil {
		return nil, err
	}
	return Parse(englishName, englishText, tok)
}

func englishTokenizer() (*spm.Tokenizer, error) {
	v, err := ReadVocabulary(vocabName, englishVocab)
	if err != nil {
		return nil, err
	}
	return spm.New(v)
}

// EnglishDigest returns the SHA-256 over the embedded grammar followed by its
// vocabulary, in hex: the digest of the English language's "weights". It is
// computed from the bytes at every call.
func EnglishDigest() string { return digest(englishText) }

// digest is the SHA-256 over a grammar's text and the vocabulary.
func digest(text []byte) string {
	h := sha256.New()
	h.Write(text)
	h.Write(englishVocab)
	return hex.EncodeToString(h.Sum(nil))
}
