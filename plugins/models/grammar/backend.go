package grammar

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
)

// contextLength is the most tokens in one sequence. The grammar itself has no
// limit; a stated one keeps what a sequence holds small, and 4,096 tokens are
// longer than any document it is likely to write.
const contextLength = 4096

const backendName = "grammar"

// Backend opens the English grammar under its own name, and other grammars by
// path.
type Backend struct{}

// New returns the backend "grammar".
func New() *Backend { return &Backend{} }

// Declare returns what the host may know before a model is open.
func (*Backend) Declare() model.Declaration {
	return model.Declaration{
		Name:     backendName,
		Summary:  "a probabilistic grammar of everyday English whose exact next-token distribution is computed",
		Source:   "Stolcke 1995, \"An efficient probabilistic context-free parsing algorithm that computes prefix probabilities\"; Booth and Thompson 1973",
		Patterns: []string{"*.pcfg"},
		Params:   param.Specs{},
	}
}

// Open opens the embedded grammar, for ref "grammar", or the grammar file at
// ref, which shares the embedded vocabulary. Errors: model for a file that
// cannot be read, data for one that is no grammar of this backend's kind.
func (*Backend) Open(ctx context.Context, ref string, _ param.Values) (model.Model, error) {
	name, text := englishName, englishText
	if ref != backendName {
		var err error
		if name, text, err = readGrammar(ref); err != nil {
			return nil, err
		}
	}
	tok, err := englishTokenizer()
	if err != nil {
		return nil, err
	}
	lang, err := Parse(name, text, tok)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(err, fault.Interrupted, "open model", name)
	}
	return newEngine(lang, ref, text), nil
}

// readGrammar reads a file of bounded size.
func readGrammar(path string) (name string, text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, fault.Wrap(err, fault.Model, "open model", fmt.Sprintf("%q", path))
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, maxSource+1)) // Parse refuses what is longer
	if err != nil {
		return "", nil, fault.Wrap(err, fault.Model, "open model", fmt.Sprintf("%q", path))
	}
	return filepath.Base(path), text, nil
}

// engine is an open grammar.
type engine struct {
	lang *Language
	text []byte // the grammar as read
	info model.Info

	mu   sync.Mutex // Forward, Edit and Close exclude one another
	seqs map[uint64]*sequence
	row  []float64
	shut bool
}

func newEngine(lang *Language, ref string, text []byte) *engine {
	tok := lang.Tokenizer()
	v := tok.Vocab()
	e := &engine{lang: lang, text: text, seqs: map[uint64]*sequence{}, row: make([]float64, tok.Size())}
	name := backendName
	if ref != backendName {
		name = lang.name
	}
	e.info = model.Info{
		Name: name, Architecture: "pcfg",
		Description: "probabilistic context-free grammar; its next-token distribution is exact",
		VocabSize:   tok.Size(), ContextLength: contextLength,
		Parameters: int64(lang.Productions()), WeightBytes: int64(len(text) + len(englishVocab)),
		Digest: digest(text), Deterministic: true,
		Begin: v.BOS, EndOfText: []int32{v.EOS}, Control: tok.Silent(),
	}
	if ref == backendName {
		e.info.Description = "everyday English: weather, food, journeys, work, animals, feelings, dialogues and short stories; " + e.info.Description
	}
	return e
}

// Info returns what is known of the grammar; it does not change.
func (e *engine) Info() model.Info { return e.info }

// Encode returns the tokens of a text, as [spm.Tokenizer.EncodePrompt] says.
func (e *engine) Encode(_ context.Context, text []byte, opt model.EncodeOptions) ([]int32, error) {
	return e.lang.tok.EncodePrompt(text, opt.Begin, opt.Special)
}

// Decode returns the text of a whole sequence; control tokens add nothing. An
// id outside the vocabulary is a usage error.
func (e *engine) Decode(_ context.Context, tokens []int32) ([]byte, error) {
	return e.lang.tok.Decode(tokens)
}

// Pieces returns the bytes of every token, which the caller must not change.
func (e *engine) Pieces(context.Context) ([][]byte, error) { return e.lang.tok.Texts(), nil }

// Verify returns the SHA-256 of the grammar's text and the vocabulary, computed
// from the bytes now. The rules in use were compiled from these bytes at open.
func (e *engine) Verify(context.Context) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		return "", e.closed("verify")
	}
	return digest(e.text), nil
}

// Close forgets all sequences. Closing twice is no error.
func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shut, e.seqs = true, nil
	return nil
}

func (e *engine) closed(op string) error {
	return fault.New(fault.Usage, op, fmt.Sprintf("model %q", e.info.Name), "it is closed")
}
