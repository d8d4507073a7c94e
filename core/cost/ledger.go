package cost

// Ledger is the tokens of one request, or a sum over requests, each counted
// once and by the model's own ids. Cost functions consume it, whether they
// answer in operations or in money.
type Ledger struct {
	Prompt    int64 // new prompt tokens: neither read from a cache nor written to one at a price
	Cached    int64 // prompt tokens read from a cache
	Written   int64 // prompt tokens written to a cache at a price of their own
	Output    int64 // tokens of the answer, reasoning not included
	Reasoning int64 // hidden tokens, billed as output
	Proposed  int64 // tokens a draft model proposed
	Accepted  int64 // of them, those accepted; they are in Output or Reasoning too
	Judge     int64 // tokens a judge read to score candidates
	Wasted    int64 // generated and thrown away: cut by a stop, of rejected beams or samples
}

// Validate refuses negative counts and a draft that accepted more than it
// proposed.
func (l Ledger) Validate() error {
	g := guarded("token ledger")
	l.check(g)
	return g.result()
}

func (l Ledger) check(g *guard) {
	for _, f := range []struct {
		name string
		n    int64
	}{{"prompt", l.Prompt}, {"cached", l.Cached}, {"written", l.Written}, {"output", l.Output}, {"reasoning", l.Reasoning},
		{"proposed", l.Proposed}, {"accepted", l.Accepted}, {"judge", l.Judge}, {"wasted", l.Wasted}} {
		g.atLeast(f.name, f.n, 0)
	}
	if l.Accepted > l.Proposed {
		g.refuse("", "%d draft tokens accepted of %d proposed", l.Accepted, l.Proposed)
	}
}

// PromptTokens returns all tokens of the prompt.
func (l Ledger) PromptTokens() int64 { return l.Prompt + l.Cached + l.Written }

// Generated returns the tokens that cost a decode step: answer, reasoning and
// what was thrown away.
func (l Ledger) Generated() int64 { return l.Output + l.Reasoning + l.Wasted }

// Plus returns the sum of two ledgers.
func (l Ledger) Plus(m Ledger) Ledger {
	return Ledger{l.Prompt + m.Prompt, l.Cached + m.Cached, l.Written + m.Written, l.Output + m.Output, l.Reasoning + m.Reasoning,
		l.Proposed + m.Proposed, l.Accepted + m.Accepted, l.Judge + m.Judge, l.Wasted + m.Wasted}
}

// Usage is how a provider reports the tokens of a request.
type Usage struct {
	Prompt, Cached, Written, Output, Reasoning int64
	// PromptIncludes says that Cached and Written are part of Prompt (the OpenAI
	// way) and not beside it (the raw Anthropic way). It belongs to the price
	// record; taking it wrong bills cached tokens twice.
	PromptIncludes bool
	// OutputIncludes says that Reasoning is part of Output.
	OutputIncludes bool
}

// Ledger returns the ledger of a report: uncached = prompt − cached − written
// where the prompt includes them (F16). Cached tokens beyond the prompt are an error.
func (u Usage) Ledger() (Ledger, error) {
	l := Ledger{Prompt: u.Prompt, Cached: u.Cached, Written: u.Written, Output: u.Output, Reasoning: u.Reasoning}
	g := guarded("usage")
	l.check(g)
	if u.PromptIncludes {
		l.Prompt -= u.Cached + u.Written
		if l.Prompt < 0 {
			g.refuse("the provider may report them beside the prompt: set prompt_includes_cached to false",
				"%d cached and %d written tokens are more than the prompt of %d", u.Cached, u.Written, u.Prompt)
		}
	}
	if u.OutputIncludes {
		l.Output -= u.Reasoning
		if l.Output < 0 {
			g.refuse("", "%d reasoning tokens are more than the output of %d", u.Reasoning, u.Output)
		}
	}
	if g.err != nil {
		return Ledger{}, g.err
	}
	return l, nil
}

// Operations is the FLOP of a ledger, by part.
type Operations struct {
	Prefill float64 // prompt tokens that were processed
	Decode  float64 // answer, reasoning and waste
	Judge   float64 // tokens scored, at the model's own cost
}

// Total returns the sum.
func (o Operations) Total() float64 { return o.Prefill + o.Decode + o.Judge }

// Operations returns what one request of the ledger costs the model (F3 and F4): the
// new and written prompt after the cached one, then one decode step for each
// generated token after the first, which comes from the prefill. Judge tokens are
// taken as one prefill with all scores by the same model; a draft model's own work
// is not in it.
func (a *Arch) Operations(l Ledger, c Convention) (Operations, error) {
	if err := l.Validate(); err != nil {
		return Operations{}, err
	}
	var o Operations
	var err error
	if n := l.Prompt + l.Written; n > 0 {
		if o.Prefill, err = a.Prefill(Prefill{New: n, Cached: l.Cached}, c); err != nil {
			return Operations{}, err
		}
	} else if l.Generated() > 0 {
		g := guarded("token ledger")
		g.refuse("a cache holds at most all prompt tokens but the last", "%d tokens were generated from a prompt of which none was processed", l.Generated())
		return Operations{}, g.err
	}
	if n := l.Generated(); n > 1 {
		if o.Decode, err = a.DecodeRun(l.PromptTokens(), n-1, c); err != nil {
			return Operations{}, err
		}
	}
	if l.Judge > 0 {
		if o.Judge, err = a.Prefill(Prefill{New: l.Judge, AllLogits: true}, c); err != nil {
			return Operations{}, err
		}
	}
	return o, nil
}
