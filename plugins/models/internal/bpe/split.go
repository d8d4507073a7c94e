package bpe

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"lab/core/fault"
)

// method is a way to split text into words before merging.
type method struct {
	names []string // of tokenizer.ggml.pre
	// patterns are applied one after another, each to every piece that the one
	// before left: what matches is a piece, and so is what lies between matches.
	patterns []string
	// spelled are further patterns, applied to the pieces as the alphabet spells
	// their bytes: a digit is then also the character "²" of a byte 0xB2.
	spelled []string
	// wholeWords says that a word that is a token is taken as this token whatever
	// the merges say.
	wholeWords bool
}

// Parts that many patterns share.
const (
	// English endings in lower case, and in any: the letter ſ (U+017F) is an s
	// where case does not count.
	endings    = `'s|'t|'re|'ve|'m|'ll|'d`
	anyEndings = `(?:'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	// Letters, with whatever single character stands before them.
	letters = `[^\r\n\p{L}\p{N}]?\p{L}+`
	// Runs of signs with the line ends behind them.
	signs = ` ?[^\s\p{L}\p{N}]+[\r\n]*`
	// Spaces: to the last line end, then all but the one before a word.
	spaces = `\s*[\r\n]+|\s+(?!\S)|\s+`
	// Words of which capitals may only be the first letters.
	upper = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lower = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`

	gpt2     = endings + `| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	deepseek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" + spaces
)

// words of mixed case, followed by ending.
func mixed(ending string) string {
	const before = `[^\r\n\p{L}\p{N}]?`
	return before + upper + `*` + lower + `+` + ending + `|` + before + upper + `+` + lower + `*` + ending
}

// methods returns all that are known. The patterns are those that the models'
// own tokenizer.json files declare; peer.py compares them with it.
func methods() []method {
	return []method{
		{names: []string{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "gigachat",
			"jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum", "modern-bert"}, patterns: []string{gpt2}},
		{names: []string{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}, wholeWords: true,
			patterns: []string{anyEndings + `|` + letters + `|\p{N}{1,3}|` + signs + `|` + spaces}},
		{names: []string{"dbrx", "smaug-bpe"}, patterns: []string{anyEndings + `|` + letters + `|\p{N}{1,3}|` + signs + `|` + spaces}},
		{names: []string{"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan", "grok-2"},
			patterns: []string{anyEndings + `|` + letters + `|\p{N}|` + signs + `|` + spaces}},
		{names: []string{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
			patterns: []string{`\p{N}`, gpt2}},
		{names: []string{"seed-coder"},
			patterns: []string{anyEndings + `|` + letters + `|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|` + spaces}},
		{names: []string{"tekken"}, wholeWords: true,
			patterns: []string{mixed("") + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces}},
		{names: []string{"gpt-4o", "llama4", "minimax-m2"},
			patterns: []string{mixed(anyEndings+`?`) + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces}},
		{names: []string{"deepseek-v3", "hunyuan-dense"}, patterns: []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, deepseek}},
		{names: []string{"deepseek-coder"},
			patterns: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, `[一-龥ࠀ-一가-퟿]+`, `\p{N}`}},
		{names: []string{"falcon"}, patterns: []string{"[\\p{P}$+<=>^~|`]+", gpt2}, spelled: []string{`\p{N}+`, `[0-9][0-9][0-9]`}},
		{names: []string{"bloom", "poro-chat", "gpt3-finnish"}, patterns: []string{` ?[^(\s|.,!?…。，、।۔،)]+`}},
		{names: []string{"viking"}, patterns: []string{` ?[^(\s|.,!?…。，、।۔،)]+`, `\p{N}`}},
		{names: []string{"default"}, patterns: []string{`[\p{P}$+<=>^~|]+`, gpt2, `\p{N}+`, `[0-9][0-9][0-9]`}},
	}
}

// Names returns the pre-tokenizers that are known, in alphabetical order.
func Names() []string {
	var out []string
	for _, m := range methods() {
		out = append(out, m.names...)
	}
	slices.Sort(out)
	return out
}

func findMethod(name string) (method, error) {
	for _, m := range methods() {
		if slices.Contains(m.names, name) {
			return m, nil
		}
	}
	return method{}, fault.New(fault.Model, "tokenizer", "", "the pre-tokenizer %s is not supported", fault.Quote(name, 40)).
		Fix("known: %s", strings.Join(Names(), ", "))
}

// BeginsTexts reports whether vocabularies with a pre-tokenizer start every text
// with BOS where their file does not say; those of Llama 3 do.
func BeginsTexts(name string) bool {
	m, err := findMethod(name)
	return err == nil && m.names[0] == "llama-bpe"
}

// splitter is a method ready for use.
type splitter struct {
	text, spelled patterns
	letters       [256]rune // how the alphabet spells a byte
}

// patterns are applied one after another.
type patterns []*regexp2.Regexp

func (m method) compile() (splitter, error) {
	s := splitter{}
	for r, b := range newAlphabet().bytes {
		s.letters[b] = r
	}
	for _, p := range []struct {
		from []string
		to   *patterns
	}{{m.patterns, &s.text}, {m.spelled, &s.spelled}} {
		for _, text := range p.from {
			re, err := regexp2.Compile(text)
			if err != nil {
				return splitter{}, fault.Wrap(err, fault.Internal, "tokenizer", "pre-tokenizer "+m.names[0])
			}
			*p.to = append(*p.to, re)
		}
	}
	return s, nil
}

// words calls use for the words of a text in order. Together they are the text.
// A byte that is not UTF-8 counts as the character U+FFFD.
func (s *splitter) words(text []byte, use func(word []byte) error) error {
	runes := make([]rune, 0, len(text))
	for _, r := range string(text) {
		runes = append(runes, r)
	}
	return s.text.pieces(runes, func(piece []rune) error {
		width := 0
		for _, r := range piece {
			n := utf8.RuneLen(r)
			if r == utf8.RuneError {
				_, n = utf8.DecodeRune(text[width:])
			}
			width += n
		}
		word := text[:width]
		text = text[width:]
		if len(s.spelled) == 0 {
			return use(word)
		}
		return s.spell(word, use)
	})
}

// spell splits a word further, by the characters that spell its bytes.
func (s *splitter) spell(word []byte, use func(word []byte) error) error {
	runes := make([]rune, len(word))
	for i, b := range word {
		runes[i] = s.letters[b]
	}
	return s.spelled.pieces(runes, func(piece []rune) error {
		part := word[:len(piece)]
		word = word[len(piece):]
		return use(part)
	})
}

// pieces applies the first pattern and hands every piece to the others.
func (p patterns) pieces(text []rune, use func([]rune) error) error {
	if len(text) == 0 {
		return nil
	}
	if len(p) == 0 {
		return use(text)
	}
	done := 0
	match, err := p[0].FindRunesMatch(text)
	for ; match != nil && err == nil; match, err = p[0].FindNextMatch(match) {
		if err := p[1:].pieces(text[done:match.RuneIndex], use); err != nil {
			return err
		}
		done = match.RuneIndex + match.RuneLength
		if err := p[1:].pieces(text[match.RuneIndex:done], use); err != nil {
			return err
		}
	}
	if err != nil {
		return fault.Wrap(err, fault.Limit, "encode", "splitting the text into words")
	}
	return p[1:].pieces(text[done:], use)
}
