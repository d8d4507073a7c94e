package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"

	"lab/core/fault"
	"lab/plugins/models/internal/spm"
)

// vocabFile is the form of vocab.json. A token is [piece, score, type], its
// place in the list is its id.
type vocabFile struct {
	Built          string  `json:"built"`
	BOS            int32   `json:"bos"`
	EOS            int32   `json:"eos"`
	Unknown        int32   `json:"unknown"`
	AddBOS         bool    `json:"add_bos"`
	AddSpacePrefix bool    `json:"add_space_prefix"`
	Tokens         []token `json:"tokens"`
}

type token struct {
	piece string
	score float32
	kind  spm.Type
}

func (t token) MarshalJSON() ([]byte, error) {
	return encodeJSON([]any{t.piece, t.score, int32(t.kind)})
}

func (t *token) UnmarshalJSON(b []byte) error {
	fields := []any{&t.piece, &t.score, (*int32)(&t.kind)}
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	if len(fields) != 3 {
		return fmt.Errorf("a token is [piece, score, type], got %d values", len(fields))
	}
	return nil
}

// encodeJSON leaves <, > and & as they are, so that the file stays readable.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// ReadVocabulary reads the form that [WriteVocabulary] writes. Anything else is
// a data error.
func ReadVocabulary(name string, text []byte) (spm.Vocab, error) {
	var f vocabFile
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return spm.Vocab{}, fault.Wrap(err, fault.Data, "vocabulary", name)
	}
	v := spm.Vocab{BOS: f.BOS, EOS: f.EOS, Unknown: f.Unknown, AddBOS: f.AddBOS, AddSpacePrefix: f.AddSpacePrefix}
	for _, t := range f.Tokens {
		v.Pieces = append(v.Pieces, t.piece)
		v.Scores = append(v.Scores, t.score)
		v.Types = append(v.Types, t.kind)
	}
	return v, nil
}

// WriteVocabulary returns v as JSON, one token a line: [piece, score, type],
// where types are the numbers of [spm.Type] and the place is the token's id.
// built says how the vocabulary was made.
func WriteVocabulary(v spm.Vocab, built string) ([]byte, error) {
	head, err := encodeJSON(vocabFile{Built: built, BOS: v.BOS, EOS: v.EOS, Unknown: v.Unknown, AddBOS: v.AddBOS, AddSpacePrefix: v.AddSpacePrefix, Tokens: []token{}})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(head, []byte("]}")))
	for i, p := range v.Pieces {
		line, err := encodeJSON(token{p, v.Scores[i], v.Types[i]})
		if err != nil {
			return nil, err
		}
		b.WriteByte('\n')
		b.Write(line)
		if i+1 < len(v.Pieces) {
			b.WriteByte(',')
		}
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}
