// Command corpus writes text sampled from the English grammar, as tokens and,
// if asked, with the exact distribution of every next token, so that a model
// can be trained towards the truth itself and not only towards a sample of it.
//
//	go run ./plugins/models/grammar/corpus --seed 1 --tokens 1000000 --targets -o train.bin
//	go run ./plugins/models/grammar/corpus --seed 1 --tokens 2000 --text -o -
//
// Document i of seed s is drawn with the generator PCG(s, i), so a corpus is
// the beginning of any longer one of the same seed. Documents are written whole;
// the count of tokens, BOS and EOS included, is the first to reach --tokens.
// With -o - the corpus goes to standard output as it is made; progress goes to
// standard error.
//
// # Format
//
// All numbers are little-endian and nothing is padded.
//
//	header, 64 bytes
//	  magic      8 bytes  "LABCORP1"
//	  vocabulary uint32   number of tokens
//	  flags      uint32   bit 0: targets are present
//	  bos, eos   uint32 each
//	  seed       uint64
//	  digest     32 bytes SHA-256 of the grammar and its vocabulary
//	blocks, each of up to 256 documents
//	  D          uint32   documents; 0 marks the end
//	  T          uint32   tokens in the block
//	  M          uint32   entries of all targets in the block
//	  lengths    D x uint32   tokens of each document
//	  tokens     T x uint16   the documents one after another, each from BOS to EOS
//	  only with targets:
//	  counts     T x uint16   entries of the distribution that follows each token; 0 after EOS
//	  ids        M x uint16   the tokens that can follow, ascending, position after position
//	  probs      M x float32  their probabilities; those of one position sum to 1
//	trailer, after a block with D = T = M = 0
//	  documents, tokens, entries   uint64 each, the totals
//
// So the target of predicting tokens[t+1] is the counts[t] entries that start
// at sum(counts[:t]).
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"lab/core/fault"
	"lab/plugins/models/grammar"
)

const (
	magic     = "LABCORP1"
	perBlock  = 256
	flagTruth = 1
)

type settings struct {
	seed    uint64
	tokens  int64
	targets bool
	text    bool
	force   bool
	out     string
}

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(fault.KindOf(err).ExitCode())
}

func run(args []string, stdout, stderr io.Writer) error {
	var s settings
	f := flag.NewFlagSet("corpus", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Uint64Var(&s.seed, "seed", 1, "seed of the sample")
	f.Int64Var(&s.tokens, "tokens", 0, "least number of tokens, BOS and EOS included")
	f.BoolVar(&s.targets, "targets", false, "add the exact distribution of every next token")
	f.BoolVar(&s.text, "text", false, "write readable documents, an empty line between them")
	f.BoolVar(&s.force, "force", false, "replace an existing file")
	f.StringVar(&s.out, "o", "", "`file` to write, - for standard output")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fault.Wrap(err, fault.Usage, "corpus", "")
	}
	switch {
	case f.NArg() > 0:
		return fault.New(fault.Usage, "corpus", "", "unexpected argument %q", f.Arg(0))
	case s.tokens <= 0:
		return fault.New(fault.Usage, "corpus", "--tokens", "%d is not above 0", s.tokens).Fix("say how many tokens to write")
	case s.out == "":
		return fault.New(fault.Usage, "corpus", "-o", "no output is named").Fix("give a file, or - for standard output")
	case s.text && s.targets:
		return fault.New(fault.Usage, "corpus", "--text", "readable text has no targets").Fix("drop one of --text and --targets")
	}
	if s.out == "-" {
		return write(s, stdout, stderr)
	}
	return writeFile(s, stderr)
}

// writeFile writes beside the file and renames at the end, so that nothing
// half-written carries its name.
func writeFile(s settings, stderr io.Writer) (err error) {
	if _, err := os.Stat(s.out); err == nil && !s.force {
		return fault.New(fault.Usage, "corpus", s.out, "the file exists").Fix("give --force to replace it")
	}
	part := s.out + ".part"
	file, err := os.Create(part)
	if err != nil {
		return fault.Wrap(err, fault.Data, "corpus", s.out)
	}
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	if err = write(s, file, stderr); err != nil {
		file.Close()
		return err
	}
	if err = file.Close(); err != nil {
		return fault.Wrap(err, fault.Data, "corpus", s.out)
	}
	if err = os.Rename(part, s.out); err != nil {
		return fault.Wrap(err, fault.Data, "corpus", s.out)
	}
	return nil
}

func write(s settings, out, stderr io.Writer) error {
	lang, err := grammar.English()
	if err != nil {
		return err
	}
	w := &writer{settings: s, lang: lang, out: bufio.NewWriterSize(out, 1<<20), started: time.Now(), stderr: stderr}
	if err := w.all(); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return fault.Wrap(err, fault.Data, "corpus", s.out)
	}
	return nil
}

// writer keeps the block being filled and the totals.
type writer struct {
	settings
	lang    *grammar.Language
	out     *bufio.Writer
	stderr  io.Writer
	started time.Time
	shown   time.Time

	lengths []uint32
	tokens  []uint16
	counts  []uint16
	ids     []uint16
	probs   []float32
	row     []float64

	docs, total, entries uint64
}

func (w *writer) all() error {
	if !w.text {
		if err := w.header(); err != nil {
			return err
		}
	}
	for i := uint64(0); w.total < uint64(w.settings.tokens); i++ {
		doc, err := w.lang.Sample(rand.New(rand.NewPCG(w.seed, i)))
		if err != nil {
			return err
		}
		w.docs++
		w.total += uint64(len(doc)) + 1
		if err := w.document(doc); err != nil {
			return err
		}
		w.progress(false)
	}
	w.progress(true)
	if w.text {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.put([]uint32{0, 0, 0}, []uint64{w.docs, w.total, w.entries})
}

func (w *writer) header() error {
	v := w.lang.Tokenizer().Vocab()
	if len(v.Pieces) > 1<<16 {
		return fault.New(fault.Internal, "corpus", "", "%d tokens do not fit 16 bits", len(v.Pieces))
	}
	digest, err := hex.DecodeString(grammar.EnglishDigest())
	if err != nil {
		return err
	}
	flags := uint32(0)
	if w.targets {
		flags |= flagTruth
	}
	return w.put([]byte(magic), []uint32{uint32(len(v.Pieces)), flags, uint32(v.BOS), uint32(v.EOS)}, w.seed, digest)
}

// document writes one document as text, or adds it to the block.
func (w *writer) document(doc []int32) error {
	if w.text {
		text, err := w.lang.Tokenizer().Decode(doc)
		if err != nil {
			return err
		}
		if w.docs > 1 {
			text = append([]byte("\n"), text...)
		}
		return w.put(append(text, '\n'))
	}
	w.lengths = append(w.lengths, uint32(len(doc)+1))
	w.tokens = append(w.tokens, uint16(w.lang.Tokenizer().Vocab().BOS))
	for _, t := range doc {
		w.tokens = append(w.tokens, uint16(t))
	}
	if w.targets {
		if err := w.truth(doc); err != nil {
			return err
		}
	}
	if len(w.lengths) == perBlock {
		return w.flush()
	}
	return nil
}

// truth adds the distribution after BOS and after every token but EOS.
func (w *writer) truth(doc []int32) error {
	if w.row == nil {
		w.row = make([]float64, w.lang.Tokenizer().Size())
	}
	state := w.lang.Start()
	for _, t := range doc {
		if err := state.Distribution(w.row); err != nil {
			return err
		}
		n := 0
		for id, p := range w.row {
			if p > 0 {
				w.ids = append(w.ids, uint16(id))
				w.probs = append(w.probs, float32(p))
				n++
			}
		}
		w.counts = append(w.counts, uint16(n))
		next, err := state.Advance(t)
		if err != nil {
			return err
		}
		state = next
	}
	w.counts = append(w.counts, 0)
	return nil
}

func (w *writer) flush() error {
	if len(w.lengths) == 0 {
		return nil
	}
	w.entries += uint64(len(w.ids))
	head := []uint32{uint32(len(w.lengths)), uint32(len(w.tokens)), uint32(len(w.ids))}
	if err := w.put(head, w.lengths, w.tokens, w.counts, w.ids, w.probs); err != nil {
		return err
	}
	w.lengths, w.tokens, w.counts, w.ids, w.probs = w.lengths[:0], w.tokens[:0], w.counts[:0], w.ids[:0], w.probs[:0]
	return nil
}

func (w *writer) put(values ...any) error {
	for _, v := range values {
		if err := binary.Write(w.out, binary.LittleEndian, v); err != nil {
			return fault.Wrap(err, fault.Data, "corpus", w.settings.out)
		}
	}
	return nil
}

func (w *writer) progress(last bool) {
	now := time.Now()
	if !last && now.Sub(w.shown) < time.Second {
		return
	}
	w.shown = now
	rate := float64(w.total) / now.Sub(w.started).Seconds()
	fmt.Fprintf(w.stderr, "%d documents, %d of %d tokens, %.0f tokens/s\n", w.docs, w.total, w.settings.tokens, rate)
}
