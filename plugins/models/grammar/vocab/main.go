// Command vocab builds the vocabulary of a grammar from text sampled from it:
// byte-pair encoding within words, 256 byte tokens, <unk>, <s> and </s>.
//
//	go run ./plugins/models/grammar/vocab --grammar plugins/models/grammar/english.pcfg -o vocab.json
//
// The result depends on the grammar and the flags only. It never replaces a
// file unless --force is given: a trained model is worth nothing without the
// vocabulary it was trained with.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"lab/core/fault"
	"lab/plugins/models/grammar"
	"lab/plugins/models/internal/spm"
)

// settings are the flags; the defaults are those of the committed vocabulary.
type settings struct {
	grammar   string
	out       string
	size      int
	documents int
	seed      uint64
	whole     string
	force     bool
}

// headline are the words that pictures of the distribution after "The weather
// today is" show; a bar that reads "qu" would puzzle everyone.
const headline = "perfect just quite rather very worse better nice sunny lovely beautiful bright clear mild fine pleasant " +
	"warm hot dry wonderful cold chilly freezing snowy icy rainy wet grey cloudy awful terrible windy stormy cool wild rough " +
	"too not getting even good bit walk picnic"

func main() {
	err := run(os.Args[1:], os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(fault.KindOf(err).ExitCode())
}

func flags(s *settings, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("vocab", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.grammar, "grammar", "", "grammar `file` to sample from")
	f.StringVar(&s.out, "o", "", "`file` to write")
	f.IntVar(&s.size, "size", 1312, "tokens in all")
	f.IntVar(&s.documents, "documents", 40000, "documents to sample")
	f.StringVar(&s.whole, "whole", headline, "`words` that must be one token, separated by spaces")
	f.Uint64Var(&s.seed, "seed", 1, "seed of the sample")
	f.BoolVar(&s.force, "force", false, "replace an existing file")
	return f
}

func run(args []string, stderr io.Writer) error {
	var s settings
	f := flags(&s, stderr)
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.grammar == "" || s.out == "" || f.NArg() > 0 {
		return fault.New(fault.Usage, "vocab", "", "--grammar and -o are needed, and nothing else")
	}
	if !s.force {
		if _, err := os.Stat(s.out); !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.Usage, "vocab", s.out, "the file exists").Fix("give --force to replace it; models trained with it will not fit the new one")
		}
	}
	text, err := os.ReadFile(s.grammar)
	if err != nil {
		return fault.Wrap(err, fault.Data, "vocab", s.grammar)
	}
	out, report, err := build(filepath.Base(s.grammar), text, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, report)
	if err := os.WriteFile(s.out, out, 0o644); err != nil {
		return fault.Wrap(err, fault.Data, "vocab", s.out)
	}
	return nil
}

// build returns the vocabulary file and a line about how well it fits.
func build(name string, text []byte, s settings) (file []byte, report string, err error) {
	counts, err := count(name, text, s)
	if err != nil {
		return nil, "", err
	}
	for _, w := range strings.Fields(s.whole) {
		w = spm.Space + w
		if counts[w] == 0 {
			return nil, "", fault.New(fault.Usage, "vocab", "--whole", "the word %q does not occur in the sample", plain(w))
		}
		counts[w] = max(counts[w], s.documents/10)
	}
	v, err := train(counts, s.size)
	if err != nil {
		return nil, "", fault.Wrap(err, fault.Usage, "vocab", "--size")
	}
	if _, report, err = fit(v, counts); err != nil {
		return nil, "", err
	}
	how := fmt.Sprintf("byte-pair encoding of %d documents sampled from %s, seed %d", s.documents, name, s.seed)
	file, err = grammar.WriteVocabulary(v, how)
	return file, report, err
}

// count samples documents and counts their words. The sample is read through a
// vocabulary of bytes only, since the real one does not exist yet.
func count(name string, text []byte, s settings) (map[string]int, error) {
	tok, err := spm.New(bare())
	if err != nil {
		return nil, err
	}
	lang, err := grammar.Parse(name, text, tok)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for i := range s.documents {
		ids, err := lang.Sample(rand.New(rand.NewPCG(s.seed, uint64(i))))
		if err != nil {
			return nil, err
		}
		doc, err := tok.Decode(ids)
		if err != nil {
			return nil, err
		}
		for _, w := range words(" " + string(doc)) {
			counts[w]++
		}
	}
	return counts, nil
}

// fit returns the share of words, marks included, that the vocabulary writes as
// one token, and a line about it.
func fit(v spm.Vocab, counts map[string]int) (share float64, report string, err error) {
	v.AddSpacePrefix = false
	tok, err := spm.New(v)
	if err != nil {
		return 0, "", err
	}
	whole, all, tokens, wholeTypes := 0, 0, 0, 0
	for w, n := range counts {
		k := len(tok.Encode([]byte(plain(w))))
		all += n
		tokens += n * k
		if k == 1 {
			whole += n
			wholeTypes++
		}
	}
	share = float64(whole) / float64(all)
	return share, fmt.Sprintf("%d tokens; %.1f %% of words are one token (%d of %d different ones), %.3f tokens a word",
		len(v.Pieces), 100*share, wholeTypes, len(counts), float64(tokens)/float64(all)), nil
}
