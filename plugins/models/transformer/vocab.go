package transformer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/plugins/models/internal/bpe"
	"lab/plugins/models/internal/chat"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/spm"
	"lab/plugins/models/internal/token"
	"lab/plugins/models/internal/unigram"
)

// vocabulary is a model's tokenizer and the tokens that end a text. It does not
// change after it was read and is safe for concurrent use.
type vocabulary struct {
	tok  *token.Tokenizer
	end  []int32
	chat *chat.Template // nil without one that can be read
	fail error          // why the file's template cannot be read
}

// tokenizers returns the kinds known here, by tokenizer.ggml.model.
func tokenizers() map[string]func(*vocabReader, pieces) (*token.Tokenizer, error) {
	return map[string]func(*vocabReader, pieces) (*token.Tokenizer, error){
		"llama": (*vocabReader).sentencePiece,
		"gpt2":  (*vocabReader).byteLevel,
		"t5":    (*vocabReader).unigram,
	}
}

// newVocabulary reads the tokenizer of a file.
func newVocabulary(file *gguf.File, quoted string) (*vocabulary, error) {
	r := &vocabReader{file: file, quoted: quoted}
	kind, found, err := r.file.Text(prefix + "model")
	if must(r, prefix+"model", kind, found, err); r.err != nil {
		return nil, r.err
	}
	read, known := tokenizers()[kind]
	if !known {
		return nil, fault.New(fault.Model, "open model", quoted, "tokenizer %s is not supported", fault.Quote(kind, 40)).
			Fix("known: %s", strings.Join(slices.Sorted(maps.Keys(tokenizers())), ", "))
	}
	p := r.pieces()
	if r.err != nil {
		return nil, r.err
	}
	out := &vocabulary{end: r.endTokens(&p)}
	if r.err != nil {
		return nil, r.err
	}
	out.tok, err = read(r, p)
	if r.err != nil {
		return nil, r.err
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.KindOf(err), "open model", quoted)
	}
	template, found, err := r.file.Text("tokenizer.chat_template")
	if err != nil {
		return nil, err
	}
	if found {
		// A template that cannot be read is no reason to refuse the model.
		out.chat, out.fail = chat.Compile(template, p.spelling(p.bos), p.spelling(p.eos))
	}
	return out, nil
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

// prefix begins the metadata keys of a tokenizer.
const prefix = "tokenizer.ggml."

// pieces is what every kind of tokenizer reads.
type pieces struct {
	spelled []string
	types   []token.Type
	bos     int32
	eos     int32
}

// spelling returns how a token is written, nothing for none.
func (p pieces) spelling(id int32) string {
	if id < 0 || int(id) >= len(p.spelled) {
		return ""
	}
	return p.spelled[id]
}

func (r *vocabReader) pieces() pieces {
	p := pieces{bos: r.id(prefix + "bos_token_id"), eos: r.id(prefix + "eos_token_id")}
	var found bool
	var err error
	p.spelled, found, err = r.file.Texts(prefix+"tokens", -1)
	must(r, prefix+"tokens", p.spelled, found, err)
	types, found, err := r.file.Ints(prefix+"token_type", len(p.spelled))
	must(r, prefix+"token_type", types, found, err)
	p.types = make([]token.Type, len(types))
	for i, t := range types {
		if t < 1 || t > 6 {
			r.fail(fault.New(fault.Data, "open model", r.quoted, "token %d has the type %d; types are 1 to 6", i, t))
			break
		}
		p.types[i] = token.Type(t)
	}
	r.refuse(prefix+"add_eos_token", "an end token after every text is not supported")
	return p
}

// sentencePiece reads a tokenizer of SentencePiece's kind.
func (r *vocabReader) sentencePiece(p pieces) (*token.Tokenizer, error) {
	scores, found, err := r.file.Floats(prefix+"scores", len(p.spelled))
	must(r, prefix+"scores", scores, found, err)
	v := spm.Vocab{
		Pieces: p.spelled, Scores: scores, Types: p.types, BOS: p.bos, EOS: p.eos, Unknown: r.id(prefix + "unknown_token_id"),
		AddSpacePrefix: r.flag(prefix+"add_space_prefix", true),
		// SentencePiece models start a text with BOS unless the file says otherwise.
		AddBOS: r.flag(prefix+"add_bos_token", p.bos >= 0),
	}
	// SentencePiece's own merges are made of normalised texts just as well, but no
	// converter writes the map for them, so none was met.
	r.refuse(prefix+squeezeKey, "text is not normalised here")
	if _, found := r.file.Value(prefix + charmapKey); found {
		r.fail(fault.New(fault.Model, "open model", r.quoted,
			"the tokenizer of merges normalises text with a character map, which is supported for unigram models (t5) only"))
	}
	if r.err != nil {
		return nil, r.err
	}
	tok, err := spm.New(v)
	if err != nil {
		return nil, err
	}
	return tok.Tokenizer, nil
}

// charmapKey names what becomes of characters before a text is cut.
const charmapKey = "precompiled_charsmap"

// squeezeKey says that several spaces are one.
const squeezeKey = "remove_extra_whitespaces"

// unigram reads a tokenizer of T5's kind.
func (r *vocabReader) unigram(p pieces) (*token.Tokenizer, error) {
	scores, found, err := r.file.Floats(prefix+"scores", len(p.spelled))
	must(r, prefix+"scores", scores, found, err)
	v := unigram.Vocab{
		Pieces: p.spelled, Scores: scores, Types: p.types, BOS: p.bos,
		AddSpacePrefix: r.flag(prefix+"add_space_prefix", true), AddBOS: r.flag(prefix+"add_bos_token", false),
	}
	v.SqueezeSpaces = r.flag(prefix+squeezeKey, false)
	if v.Charmap, _, err = r.file.Bytes(prefix + charmapKey); err != nil {
		r.fail(err)
	}
	if r.err != nil {
		return nil, r.err
	}
	tok, err := unigram.New(v)
	if err != nil {
		return nil, err
	}
	return tok.Tokenizer, nil
}

// byteLevel reads a tokenizer of GPT-2's kind.
func (r *vocabReader) byteLevel(p pieces) (*token.Tokenizer, error) {
	pre, found, err := r.file.Text(prefix + "pre")
	if err == nil && !found {
		err = fault.New(fault.Data, "open model", r.quoted, "metadata %q is missing, which says how text is split into words", prefix+"pre").
			Fix("convert the model again with a converter of 2024 or later")
	}
	must(r, prefix+"pre", pre, true, err)
	merges, found, err := r.file.Texts(prefix+"merges", -1)
	must(r, prefix+"merges", merges, found, err)
	r.refuse(prefix+"add_space_prefix", "byte-level merges put no space before a text here")
	if p.bos >= 0 && int(p.bos) < len(p.types) && p.types[p.bos] == token.UserDefined {
		p.types[p.bos] = token.Control
	}
	v := bpe.Vocab{
		Pieces: p.spelled, Types: p.types, Merges: merges, Pre: pre, BOS: p.bos,
		// As llama.cpp has it for files that do not say.
		AddBOS: r.flag(prefix+"add_bos_token", p.bos >= 0 && bpe.BeginsTexts(pre)),
	}
	if r.err != nil {
		return nil, r.err
	}
	tok, err := bpe.New(v)
	if err != nil {
		return nil, err
	}
	return tok.Tokenizer, nil
}

// endNames returns the tokens that end a turn or a text by their name: files name one
// end token in their metadata, and chat models have another for the end of a
// turn. llama.cpp stops at the same ones.
func endNames() []string {
	return []string{
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>", "<EOT>", "_<EOT>",
		"<|end_of_text|>", "<end_of_utterance>",
	}
}

// endTokens returns the tokens that end a text: those that the metadata name,
// and special tokens of a telling name. A user-defined token among them becomes
// a control token, so that no text of a user is read as one.
func (r *vocabReader) endTokens(p *pieces) []int32 {
	var out []int32
	for _, id := range []int32{p.eos, r.id(prefix + "eot_token_id"), r.id(prefix + "eom_token_id")} {
		if int(id) >= len(p.spelled) {
			r.fail(fault.New(fault.Data, "open model", r.quoted, "the end token %d is outside the vocabulary of %d", id, len(p.spelled)))
			return nil
		}
		if id >= 0 && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	special := map[string]int32{}
	for id, t := range p.types {
		if t == token.Control || t == token.UserDefined {
			special[p.spelled[id]] = int32(id)
		}
	}
	_, returns := special["<|return|>"]
	_, calls := special["<|call|>"]
	for _, name := range endNames() {
		id, found := special[name]
		if name == "<|end|>" && returns && calls {
			continue // there it ends a message, after which the model goes on
		}
		if found && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, id := range out {
		if p.types[id] == token.UserDefined {
			p.types[id] = token.Control
		}
	}
	return out
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

// Encode returns the tokens of a text, as [token.Tokenizer.EncodePrompt] says.
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
