package grammar

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A few dozen float64 roundings separate the two computations.
const rounding = 1e-12

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol }

func TestDistributionsEqualEnumeration(t *testing.T) {
	tok := testTokenizer(t)
	const limit = 7
	for _, g := range smallGrammars {
		t.Run(g.name, func(t *testing.T) {
			l := mustParse(t, g.text, tok)
			prefix, whole, sequences := prefixes(t, mustExpand(t, g.text), tok, limit)
			prefix[key(nil)] = 1
			sequences[key(nil)] = nil
			dist := make([]float64, tok.Size())
			for k, p := range prefix {
				tokens := sequences[k]
				if len(tokens) >= limit {
					continue
				}
				s := l.Start()
				for _, token := range tokens {
					var err error
					if s, err = s.Advance(token); err != nil {
						t.Fatalf("%s: %v", spell(tok, tokens), err)
					}
				}
				if got := math.Exp2(s.LogProb2()); !near(got, p, rounding) {
					t.Errorf("prefix %s has probability %v, enumeration gives %v", spell(tok, tokens), got, p)
				}
				if err := s.Distribution(dist); err != nil {
					t.Fatal(err)
				}
				for id, got := range dist {
					want := prefix[key(append(tokens[:len(tokens):len(tokens)], int32(id)))] / p
					if int32(id) == tok.Vocab().EOS {
						want = whole[k] / p
					}
					if !near(got, want, rounding) {
						t.Errorf("after %s, token %q has probability %v, enumeration gives %v",
							spell(tok, tokens), tok.Vocab().Pieces[id], got, want)
					}
				}
			}
		})
	}
}

func TestWholeTextsEqualInsideChart(t *testing.T) {
	tok := testTokenizer(t)
	for _, g := range smallGrammars {
		t.Run(g.name, func(t *testing.T) {
			l := mustParse(t, g.text, tok)
			ref := mustExpand(t, g.text)
			r := rand.New(rand.NewPCG(3, 9))
			for range 60 {
				doc, err := l.Sample(r)
				if err != nil {
					t.Fatal(err)
				}
				doc = doc[:len(doc)-1]
				if len(doc) > 14 {
					continue // the chart is cubic
				}
				text, err := tok.Decode(doc)
				if err != nil {
					t.Fatal(err)
				}
				got, err := l.LogProb2(text)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				want := inside(t, ref, tok, doc)
				if !near(math.Exp2(got), want, rounding) {
					t.Errorf("%q has probability %v, the inside chart gives %v", text, math.Exp2(got), want)
				}
			}
		})
	}
}

// Probability of a prefix = Σ over next tokens of the probability of the longer
// prefix; here on whatever sampled documents pass through.
func TestPrefixProbabilitiesAreConsistent(t *testing.T) {
	l := mustEnglish(t)
	dist := make([]float64, l.tok.Size())
	for i := range uint64(5) {
		doc, err := l.Sample(rand.New(rand.NewPCG(21, i)))
		if err != nil {
			t.Fatal(err)
		}
		s := l.Start()
		for at, token := range doc {
			if err := s.Distribution(dist); err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for id, p := range dist {
				sum += p
				if p == 0 && id%101 != at%101 {
					continue // a refusal words its message, which takes long
				}
				next, err := s.Advance(int32(id))
				if (err == nil) != (p > 0) {
					t.Fatalf("document %d, position %d: token %d has probability %v, but advancing gives %v", i, at, id, p, err)
				}
				if p > 0 && !near(next.LogProb2()-s.LogProb2(), math.Log2(p), 1e-9) { // the log of a prefix reaches hundreds of bits
					t.Fatalf("document %d, position %d: token %d: %v bits, log2 of its probability is %v",
						i, at, id, next.LogProb2()-s.LogProb2(), math.Log2(p))
				}
			}
			if !near(sum, 1, rounding) {
				t.Fatalf("document %d, position %d: the distribution sums to %.15f", i, at, sum)
			}
			if s, err = s.Advance(token); err != nil {
				t.Fatal(err)
			}
		}
		if !s.Ended() || s.Len() != len(doc) {
			t.Fatalf("document %d: ended %v after %d of %d tokens", i, s.Ended(), s.Len(), len(doc))
		}
	}
}

func TestSurprisalsAddUpToLogProbability(t *testing.T) {
	l := mustEnglish(t)
	for i := range uint64(50) {
		doc, err := l.Sample(rand.New(rand.NewPCG(22, i)))
		if err != nil {
			t.Fatal(err)
		}
		bits, err := l.Surprisals(doc)
		if err != nil {
			t.Fatal(err)
		}
		text, err := l.tok.Decode(doc)
		if err != nil {
			t.Fatal(err)
		}
		total, err := l.LogProb2(text)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, b := range bits {
			sum += b
		}
		if !near(sum, -total, 1e-9) { // hundreds of bits in float64
			t.Errorf("document %d: surprisals sum to %v, the text has %v bits", i, sum, -total)
		}
	}
}

// A text of thousands of tokens has a probability far below the smallest
// float64.
func TestLongPrefixesDoNotUnderflow(t *testing.T) {
	l := mustEnglish(t)
	s := l.Start()
	sentence := l.tok.Encode([]byte("The weather today is nice. We are going to the park."))
	for range 300 {
		for _, token := range sentence {
			var err error
			if s, err = s.Advance(token); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := s.LogProb2(); !(got < -1074 && got > -1e5) {
		t.Errorf("the prefix has a log probability of %v bits", got)
	}
	dist := make([]float64, l.tok.Size())
	if err := s.Distribution(dist); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, p := range dist {
		sum += p
	}
	if !near(sum, 1, rounding) {
		t.Errorf("the distribution sums to %.15f", sum)
	}
	if s.Stacks() > 200 {
		t.Errorf("%d stacks are live", s.Stacks())
	}
}

// Sample rewrites from the top and knows nothing of states: that its documents
// occur as often as the states' probabilities say is a test of both.
func TestSampleFollowsTheProbabilities(t *testing.T) {
	const n = 10000
	tok := testTokenizer(t)
	for _, g := range smallGrammars {
		t.Run(g.name, func(t *testing.T) {
			l := mustParse(t, g.text, tok)
			r := rand.New(rand.NewPCG(1, 2))
			count, docs := map[string]float64{}, map[string][]int32{}
			for range n {
				doc, err := l.Sample(r)
				if err != nil {
					t.Fatal(err)
				}
				count[key(doc)]++
				docs[key(doc)] = doc
			}
			stat, cells, restP, restN := 0.0, 0, 1.0, float64(n)
			for k, doc := range docs {
				if len(doc) > 12 {
					continue // goes with the rest; deep nests of "two recursions" have thousands of stacks
				}
				bits, err := l.Surprisals(doc)
				if err != nil {
					t.Fatal(err)
				}
				total := 0.0
				for _, b := range bits {
					total += b
				}
				if e := n * math.Exp2(-total); e >= 5 {
					stat += (count[k] - e) * (count[k] - e) / e
					restP -= math.Exp2(-total)
					restN -= count[k]
					cells++
				}
			}
			if e := n * restP; e >= 5 {
				stat += (restN - e) * (restN - e) / e
				cells++
			}
			// Five standard deviations above the mean of chi-squared with
			// cells-1 degrees of freedom, and one more for its skew.
			df := float64(cells - 1)
			if limit := df + 6*math.Sqrt(2*df) + 6; !(stat <= limit) {
				t.Errorf("chi-squared %.1f over %d cells, at most %.1f expected", stat, cells, limit)
			}
		})
	}
}

func TestAdvanceNamesWhatCouldFollow(t *testing.T) {
	l := mustEnglish(t)
	ids := func(s string) []int32 { return l.tok.Encode([]byte(s)) }
	rows := []struct {
		name   string
		tokens []int32
		want   []string
	}{
		{"a word outside the language", ids("The weather today zebra"), []string{"token 4", "cannot follow", `most likely here: " is"`}},
		{"a trailing space", ids("The weather today is "), []string{"token 5", "remove the space", `" nice"`}},
		{"a byte", ids("\x00"), []string{"token 1", "cannot follow", " more"}},
		{"BOS inside", append(ids("The weather"), 1), []string{"token 3", "<s> cannot follow"}},
		{"a token after the end", append(ids("Today I am sad. I want to cry. It is hard."), 2, 300), []string{"after the end of the document"}},
		{"an id outside the vocabulary", []int32{1 << 20}, []string{"outside 0 to"}},
		{"a negative id", []int32{-1}, []string{"outside 0 to"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := l.Surprisals(r.tokens)
			checkError(t, err, r.want...)
		})
	}
}

func ExampleState() {
	l, err := English()
	if err != nil {
		panic(err)
	}
	s := l.Start()
	for _, token := range l.Tokenizer().Encode([]byte("The weather today is")) {
		if s, err = s.Advance(token); err != nil {
			panic(err)
		}
	}
	dist := make([]float64, l.Tokenizer().Size())
	if err := s.Distribution(dist); err != nil {
		panic(err)
	}
	best := 0
	for i, p := range dist {
		if p > dist[best] {
			best = i
		}
	}
	piece, _ := l.Tokenizer().Piece(int32(best))
	fmt.Printf("a document begins like this with probability %.2f; then follows%s with %.2f\n", math.Exp2(s.LogProb2()), piece, dist[best])
	// Output: a document begins like this with probability 0.17; then follows nice with 0.15
}

func BenchmarkAdvanceAndDistribution(b *testing.B) {
	l := mustEnglish(b)
	var docs [][]int32
	for i := range uint64(200) {
		d, err := l.Sample(rand.New(rand.NewPCG(4, i)))
		if err != nil {
			b.Fatal(err)
		}
		docs = append(docs, d)
	}
	dist := make([]float64, l.tok.Size())
	tokens := 0
	for b.Loop() {
		s := l.Start()
		for _, token := range docs[tokens%len(docs)] {
			if err := s.Distribution(dist); err != nil {
				b.Fatal(err)
			}
			var err error
			if s, err = s.Advance(token); err != nil {
				b.Fatal(err)
			}
		}
		tokens += s.Len()
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}

func BenchmarkEnglish(b *testing.B) {
	for b.Loop() {
		if _, err := English(); err != nil {
			b.Fatal(err)
		}
	}
}
