package transformer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/spm"
)

// vocabulary is a model's tokenizer and the tokens that end a text. It does not
// change after it was read and is safe for concurrent use.
type vocabulary struct {
	tok *spm.Tokenizer
	end []int32
}

// newVocabulary reads the tokenizer of a file.
func newVocabulary(file *gguf.File, quoted string) (*vocabulary, error) {
	r := &vocabReader{file: file, quoted: quoted}
	v := r.read()
	if r.err != nil {
		return nil, r.err
	}
	out := &vocabulary{}
	var err error
	if out.tok, err = spm.New(v); err != nil {
		return nil, fault.Wrap(err, fault.Data, "open model", quoted)
	}
	for _, id := range []int32{v.EOS, r.id("tokenizer.ggml.eot_token_id"), r.id("tokenizer.ggml.eom_token_id")} {
		if id >= 0 && !slices.Contains(out.end, id) {
			out.end = append(out.end, id)
		}
	}
	for _, id := range out.end {
		if int(id) >= out.tok.Size() {
			r.fail(fault.New(fault.Data, "open model", quoted, "the end token %d is outside the vocabulary of %d", id, out.tok.Size()))
		}
	}
	return out, r.err
}

// vocabReader reads tokenizer metadata and remembers the first error.
type vocabReader struct {
	file   *gguf.File
	quoted string
	err    error
}

func (r *vocabReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// must remembers the error of a value that is wrong or missing.
func must[T any](r *vocabReader, key string, v T, found bool, err error) T {
	if err == nil && !found {
		err = fault.New(fault.Data, "open model", r.quoted, "metadata %q is missing", key)
	}
	if err != nil {
		r.fail(err)
	}
	return v
}

// id returns a token id, -1 when the key is absent.
func (r *vocabReader) id(key string) int32 {
	n, found, err := r.file.Int(key)
	switch {
	case err != nil:
		r.fail(err)
	case found && (n < 0 || n > 1<<31-1):
		r.fail(fault.New(fault.Data, "open model", r.quoted, "metadata %q is %d, no token id", key, n))
	case found:
		return int32(n)
	}
	return -1
}

// flag returns a truth value, fallback when the key is absent.
func (r *vocabReader) flag(key string, fallback bool) bool {
	b, found, err := r.file.Bool(key)
	if err != nil {
		r.fail(err)
	}
	if !found {
		return fallback
	}
	return b
}

// refuse fails when a flag that is not served here is set.
func (r *vocabReader) refuse(key, why string) {
	if r.flag(key, false) {
		r.fail(fault.New(fault.Model, "open model", r.quoted, "metadata %q is true: %s", key, why))
	}
}

func (r *vocabReader) read() spm.Vocab {
	const prefix = "tokenizer.ggml."
	kind, found, err := r.file.Text(prefix + "model")
	if must(r, prefix+"model", kind, found, err); r.err != nil {
		return spm.Vocab{}
	}
	if kind != "llama" {
		r.fail(fault.New(fault.Model, "open model", r.quoted, "tokenizer %s is not supported", fault.Quote(kind, 40)).Fix("known: llama"))
		return spm.Vocab{}
	}
	pieces, found, err := r.file.Texts(prefix+"tokens", -1)
	must(r, prefix+"tokens", pieces, found, err)
	scores, found, err := r.file.Floats(prefix+"scores", len(pieces))
	must(r, prefix+"scores", scores, found, err)
	types, found, err := r.file.Ints(prefix+"token_type", len(pieces))
	must(r, prefix+"token_type", types, found, err)
	v := spm.Vocab{
		Pieces: pieces, Scores: scores, Types: make([]spm.Type, len(types)),
		BOS: r.id(prefix + "bos_token_id"), EOS: r.id(prefix + "eos_token_id"), Unknown: r.id(prefix + "unknown_token_id"),
		AddSpacePrefix: r.flag(prefix+"add_space_prefix", true),
	}
	// SentencePiece models start a text with BOS unless the file says otherwise.
	v.AddBOS = r.flag(prefix+"add_bos_token", v.BOS >= 0)
	for i, t := range types {
		if t < 1 || t > 6 {
			r.fail(fault.New(fault.Data, "open model", r.quoted, "token %d has the type %d; types are 1 to 6", i, t))
			break
		}
		v.Types[i] = spm.Type(t)
	}
	r.refuse(prefix+"add_eos_token", "an end token after every text is not supported")
	r.refuse(prefix+"remove_extra_whitespaces", "text is not normalised here")
	if _, found := r.file.Value(prefix + "precompiled_charsmap"); found {
		r.fail(fault.New(fault.Model, "open model", r.quoted, "the tokenizer normalises text with a character map, which is not supported"))
	}
	return v
}

// printable returns s with everything that could confuse a terminal escaped.
func printable(s string) string {
	clean := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if strings.ContainsFunc(s, clean) {
		s = strconv.Quote(s)
		s = s[1 : len(s)-1]
	}
	return s
}

// Encode returns the tokens of a text, as [spm.Tokenizer.EncodePrompt] says.
func (e *engine) Encode(_ context.Context, text []byte, opt model.EncodeOptions) ([]int32, error) {
	return e.vocab.tok.EncodePrompt(text, opt.Begin, opt.Special)
}

// Decode returns the text of a whole sequence; control tokens add nothing. An
// id outside the vocabulary is a usage error.
func (e *engine) Decode(_ context.Context, tokens []int32) ([]byte, error) {
	text, err := e.vocab.tok.Decode(tokens)
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "decode", fmt.Sprintf("%d tokens", len(tokens)))
	}
	return text, nil
}

// Pieces returns the bytes of every token, which the caller must not change.
func (e *engine) Pieces(context.Context) ([][]byte, error) { return e.vocab.tok.Texts(), nil }
