package conform

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// hardTexts are what tokenizers stumble over. An empty one is among them.
func hardTexts() [][]byte {
	out := [][]byte{nil}
	for b := range 256 {
		out = append(out, []byte{byte(b)})
	}
	for _, s := range []string{
		" ", "  ", "\n", "\r\n", "\t", " a", "a ", "  two  blanks  ", "The weather today is sunny.", "naïve café, Ünïcödé",
		"Ελληνικά и русский", "مرحبا بالعالم", "שלום עולם", "हिन्दी में", "今日は天気がいい。", "오늘 날씨", "ภาษาไทย",
		"👍", "👩‍👩‍👧‍👦 🏳️‍🌈 🇫🇷", "e\u0301 and \u00e9", "\u200b\u200d\ufeff", "a\x00b", "\xff\xfe", "caf\xc3", "\xe2\x82 half", "\xf0\x9f\x91",
		"0123456789", "3.14159e-26", "a\u00a0b\u3000c", "<s></s><|endoftext|><pad>[INST]", "▁▁", "ĠĊ", "\\n\\t%s{}", "a . b , c ! d ? don 't 've", "\u0301a", "\u1112\u1161\u11ab", "ﬁ ½ Å \u212b ™", "İ ß ǅ", "\ufeffa\u2028b", "a\n", "x=1;\n\tif (y) {\n\t\treturn;\n\t}\n",
	} {
		out = append(out, []byte(s))
	}
	return append(out, bytes.Repeat([]byte("ab "), 2000), bytes.Repeat([]byte{'a'}, 3000))
}

func tokenizer(s *speaker) finding {
	refused, all := 0, hardTexts()
	var last error
	pieces, err := s.m.Pieces(s.ctx)
	if err != nil {
		return fail("the pieces", err.Error())
	}
	for _, text := range all {
		input := "the text " + fault.Quote(string(text), 60)
		tokens, err := s.m.Encode(s.ctx, text, model.EncodeOptions{})
		s.asked++
		if err != nil {
			if !refusedContext(err) {
				return fail(input, fmt.Sprintf("an error of kind %v: %v", fault.KindOf(err), err))
			}
			if len(text) == 0 {
				return fail(input, "the empty text is refused: "+err.Error())
			}
			refused, last = refused+1, err
			continue
		}
		for _, t := range tokens {
			if t < 0 || int(t) >= s.info.VocabSize {
				return fail(input, fmt.Sprintf("token %d is outside the vocabulary of %d", t, s.info.VocabSize))
			}
		}
		back, err := s.m.Decode(s.ctx, tokens)
		if err != nil {
			return fail(input, fmt.Sprintf("its tokens %v are not decoded: %v", brief(tokens), err))
		}
		if !bytes.Equal(back, text) {
			return fail(input, fmt.Sprintf("tokens %v, which decode to %s", brief(tokens), fault.Quote(string(back), 60)))
		}
		joined := join(pieces, tokens)
		// Some tokenizers put a blank in front of every text.
		if !bytes.Equal(joined, text) && !bytes.Equal(joined, append([]byte(" "), text...)) {
			return fail(input, fmt.Sprintf("tokens %v, whose pieces make %s", brief(tokens), fault.Quote(string(joined), 60)))
		}
	}
	if refused == len(all)-1 {
		return skip("it refuses every text: %v", last)
	}
	return holds()
}

// join returns the pieces of tokens, one after the other.
func join(pieces [][]byte, tokens []int32) []byte {
	var out []byte
	for _, t := range tokens {
		if int(t) < len(pieces) {
			out = append(out, pieces[t]...)
		}
	}
	return out
}

func special(s *speaker) finding {
	texts := []string{"<s>", "</s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>", "<pad>", "[INST]", "<bos>", "<eos>", "<|end|>",
		"<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>",
		"<think>", "</think>", "<mask>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<|fim_prefix|>", "<fim_middle>", "<0x00>"}
	for _, text := range texts {
		tokens, err := s.m.Encode(s.ctx, []byte(text), model.EncodeOptions{})
		s.asked++
		if err != nil {
			continue // it is refused, and becomes no control token
		}
		for _, t := range tokens {
			if slices.Contains(s.info.Control, t) {
				return fail("the text "+fault.Quote(text, 40), fmt.Sprintf("token %d, which is a control token, although none were to be read", t))
			}
		}
	}
	c, err := s.text(0, 12)
	if err != nil {
		return silent(err)
	}
	plain := slices.DeleteFunc(slices.Clone(c.tokens), func(t int32) bool { return slices.Contains(s.info.Control, t) })
	text, err := s.m.Decode(s.ctx, plain)
	if err != nil {
		return fail(tokensText(plain), err.Error())
	}
	for _, t := range s.info.Control {
		for _, with := range [][]int32{append([]int32{t}, plain...), append(slices.Clone(plain), t)} {
			got, err := s.m.Decode(s.ctx, with)
			s.asked++
			if err != nil {
				return fail(tokensText(with), err.Error())
			}
			if !bytes.Equal(got, text) {
				return fail(tokensText(with), fmt.Sprintf("the text %s, without control token %d %s",
					fault.Quote(string(got), 60), t, fault.Quote(string(text), 60)))
			}
		}
	}
	return s.begins(text)
}

// begins asks for the token that starts a text: it may stand in front and
// changes nothing else.
func (s *speaker) begins(text []byte) finding {
	without, err1 := s.m.Encode(s.ctx, text, model.EncodeOptions{})
	with, err2 := s.m.Encode(s.ctx, text, model.EncodeOptions{Begin: true})
	s.asked += 2
	input := "the text " + fault.Quote(string(text), 60)
	if (err1 == nil) != (err2 == nil) {
		return fail(input, fmt.Sprintf("encoded without a begin token: %v; with one: %v", err1, err2))
	}
	if err1 != nil {
		return holds()
	}
	if !slices.Equal(with, without) && !(s.info.Begin >= 0 && slices.Equal(with, append([]int32{s.info.Begin}, without...))) {
		return fail(input, fmt.Sprintf("tokens %v without a begin token, %v with one; it is token %d", brief(without), brief(with), s.info.Begin))
	}
	return holds()
}

func pieces(s *speaker) finding {
	all, err := s.m.Pieces(s.ctx)
	s.asked++
	if err != nil {
		return fail("the pieces", err.Error())
	}
	if len(all) != s.info.VocabSize {
		return fail("the pieces", fmt.Sprintf("%d of them for a vocabulary of %d", len(all), s.info.VocabSize))
	}
	for _, t := range s.info.Control {
		if t >= 0 && int(t) < len(all) && len(all[t]) > 0 {
			return fail(fmt.Sprintf("control token %d", t), "its piece is "+fault.Quote(string(all[t]), 40))
		}
	}
	return holds()
}

// modelLargeBatch asks for 64 MB of rows in one call.
func modelLargeBatch(s *speaker) finding {
	c, err := s.text(0, textLength)
	if err != nil {
		return silent(err)
	}
	const few = 8
	if f := s.manyRows(c.tokens, 1); f.outcome == Fail { // its rows are what the others are compared with
		return f
	}
	start := time.Now()
	if f := s.manyRows(c.tokens, few); f.outcome == Fail {
		return f
	}
	took := time.Since(start)
	count := max(1, batchBytes/(4*s.info.VocabSize*len(c.tokens)))
	if expected := took / few * time.Duration(count); expected > batchPatience {
		return skip("%d rows take it %v, and 64 MB of them %v: too long for one call", few*len(c.tokens), took.Round(time.Millisecond), expected.Round(time.Second))
	}
	if f := s.manyRows(c.tokens, count); f.outcome == Fail {
		return f
	}
	select { // a clock that counts seconds has moved
	case <-time.After(time.Until(start.Add(laterBy))):
	case <-s.ctx.Done():
	}
	return s.manyRows(c.tokens, 1)
}

// manyRows feeds a context to several sequences in one call, in shared memory
// where there is such a thing, and wants every row.
func (s *speaker) manyRows(tokens []int32, count int) finding {
	n := len(tokens)
	memory, ok := s.source()
	var all []dist.Scores
	if ok {
		all = memory.Rows(n * count)
		defer memory.Release(all)
	} else {
		all = s.rows(n * count)
	}
	given := slices.Clone(all) // the headers that come back may be others
	batch := make([]model.Input, count)
	seqs := make([]uint64, count)
	for i := range batch {
		seqs[i] = s.fresh()
		batch[i] = model.Input{Seq: seqs[i], Tokens: tokens, Want: model.All, Scores: given[i*n : (i+1)*n : (i+1)*n]}
	}
	s.asked++
	if _, err := s.forward(batch); err != nil {
		return fail(fmt.Sprintf("%d inputs of %d tokens", count, n), err.Error())
	}
	for i := range batch {
		for k := range n {
			f := s.expect(&batch[i].Scores[k], tokens[:k+1], fmt.Sprintf("as row %d of %d", i*n+k+1, count*n))
			if f.outcome == Fail {
				return f
			}
		}
	}
	if err := s.free(seqs...); err != nil {
		return fail("forgetting sequences", err.Error())
	}
	return holds()
}
