package main

import (
	"context"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/generate"
)

// passFlags ask for a further model pass, for stages that compare two.
type passFlags struct{ prompt, model string }

func (p *passFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.prompt, "negative-prompt", "", "prompt of a further model pass, for guidance stages such as cfg and context_aware")
	f.StringVar(&p.model, "second-model", "", "model of a further pass, for stages such as contrastive; it must share the vocabulary")
}

// passes opens what the flags ask for.
func (p *passFlags) passes(ctx context.Context, session *experiment.Session) ([]generate.Pass, error) {
	if p.prompt == "" && p.model == "" {
		return nil, nil
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
