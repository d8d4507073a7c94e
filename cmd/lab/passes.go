package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
)

// passFlags ask for a further model pass, for stages that compare two.
type passFlags struct{ prompt, model string }

func (p *passFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.prompt, "negative-prompt", "", "prompt of a further model pass, for guidance stages such as cfg and context_aware")
	f.StringVar(&p.model, "second-model", "", "model of a further pass, for stages such as contrastive; it must share the vocabulary")
}

// passes opens what the flags ask for. Flags that no stage of the chains would look
// at are a usage error.
func (p *passFlags) passes(ctx context.Context, session *experiment.Session, chains ...*chain.Chain) ([]generate.Pass, error) {
	if p.prompt == "" && p.model == "" {
		return nil, nil
	}
	if !slices.ContainsFunc(chains, func(c *chain.Chain) bool { return c.Passes() > 0 }) {
		return nil, fault.New(fault.Usage, "chain", "", "no stage compares with a further model pass, which --negative-prompt and --second-model ask for").
			Fix("add one, for instance cfg:1.5 or contrastive, or leave the flag out")
	}
	pass := generate.Pass{Prompt: []byte(p.prompt)}
	if p.model != "" {
		m, err := session.Model(ctx, p.model, nil)
		if err != nil {
			return nil, err
		}
		pass.Engine = m.Engine
	}
	return []generate.Pass{pass}, nil
}
