package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plots/explore"
)

const opExplore = "lab explore"

type exploreFlags struct {
	model, out           string
	chain                string
	breadth, depth, head int
	list                 int
	seed                 uint64
	serve                bool
	port                 int
}

func exploreCommand(s *settings) *cobra.Command {
	x := &exploreFlags{}
	cmd := &cobra.Command{
		Use:   "explore PROMPT",
		Short: "Make a page on which the chain can be changed and the text stepped forward",
		Long: `Makes a page in a browser: the next-token distribution after PROMPT, controls for
the stages of a chain and their order, what each stage did (the ledger), and a
draw that gives the same token as lab next and lab generate under the same seed.

Without --serve the page is one HTML file that needs nothing else. It carries the
scores of the prompt and of its likeliest continuations, --breadth at each of
--depth steps: 4 bytes a token and context, and a third more as text. It says so
where a step leaves them. --head N carries the N likeliest tokens of each context
and the mass of the others, for models of large vocabularies: what then cannot be
known, a temperature over all tokens for instance, is refused and not guessed.

With --serve the page asks the model for every step. The server answers on
127.0.0.1 only, to the page that it gave out under an address with a secret; it
ends on Ctrl-C.`,
		Example: `  lab explore "The weather today is"
  lab explore "The weather today is" -o weather.html --chain "temperature:1.2 | top_p:0.9"
  lab explore "Anna has a" --model grammar --serve`,
		Args: oneArg("one prompt", `lab explore "The weather today is"`),
	}
	f := cmd.Flags()
	f.StringVarP(&x.model, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	f.StringVarP(&x.chain, "chain", "c", "", "chain with which the page opens: any of "+strings.Join(explore.Stages(), ", ")+", each with its one value")
	f.StringVarP(&x.out, "out", "o", "explore.html", "file to write")
	f.IntVar(&x.breadth, "breadth", 3, "continuations carried after each context, the likeliest first")
	f.IntVar(&x.depth, "depth", 2, "steps after the prompt for which scores are carried")
	f.IntVar(&x.head, "head", 0, "carry so many tokens of each context, the likeliest, and the mass of the others; 0 carries all")
	f.IntVarP(&x.list, "top", "n", 20, "how many tokens to list, the likeliest under the model first")
	f.Uint64Var(&x.seed, "seed", 0, "run seed with which the page opens")
	f.BoolVar(&x.serve, "serve", false, "serve the page on this machine and ask the model for every step, until Ctrl-C")
	f.IntVar(&x.port, "port", 0, "with --serve: port to listen on; 0 takes a free one")
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := x.check(cmd); err != nil {
			return err
		}
		if x.serve {
			return x.runServer(s, cmd, args[0])
		}
		return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
			return x.write(ctx, s, session, cmd, args[0])
		}, nil)
	}
	return cmd
}

// check refuses values and flags that do not belong together.
func (x *exploreFlags) check(cmd *cobra.Command) error {
	if x.breadth < 1 || x.depth < 0 || x.head < 0 {
		return fault.New(fault.Usage, opExplore, "", "--breadth %d --depth %d --head %d", x.breadth, x.depth, x.head).
			Fix("use a breadth of at least 1, a depth and a head of at least 0")
	}
	if x.port < 0 || x.port > 65535 {
		return fault.New(fault.Usage, opExplore, "", "--port %d is no port", x.port).Fix("use one from 1 to 65535, or 0 for a free one")
	}
	others, fix := []string{"port"}, "add --serve"
	if x.serve {
		others, fix = []string{"out", "breadth", "depth", "head"}, "leave it out: with --serve no file is written, and the model is asked for every step"
	}
	for _, name := range others {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, opExplore, "", "--%s has no meaning here", name).Fix("%s", fix)
		}
	}
	return nil
}

// write writes the page as a file.
func (x *exploreFlags) write(ctx context.Context, s *settings, session *experiment.Session, cmd *cobra.Command, prompt string) error {
	p, m, err := x.page(ctx, s, session, prompt)
	if err != nil {
		return err
	}
	if p.Nodes, err = exploreTree(ctx, m, p.Prompt, x.breadth, x.depth, x.head); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := explore.Write(&page, p); err != nil {
		return err
	}
	if err := os.WriteFile(x.out, page.Bytes(), 0o644); err != nil {
		return fault.Wrap(err, fault.Data, opExplore, x.out)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: %d contexts, %d bytes\n", x.out, len(p.Nodes), page.Len())
	return nil
}

// page returns a page without contexts, and its model.
func (x *exploreFlags) page(ctx context.Context, s *settings, session *experiment.Session, prompt string) (*explore.Page, *experiment.Model, error) {
	p := &explore.Page{Prompt: []byte(prompt), Seed: x.seed, List: x.list, Flags: "--model " + explore.Quote(x.model)}
	for _, shared := range []struct {
		flag   string
		values []string
	}{{"--model-set", s.modelSet}, {"--plugin-dir", s.pluginDirs}, {"--plugin", s.plugins}} {
		for _, v := range shared.values {
			p.Flags += " " + shared.flag + " " + explore.Quote(v)
		}
	}
	catalog := session.Catalog(ctx)
	for _, name := range explore.Stages() {
		offer, err := catalog.Sampler(name)
		if err != nil {
			return nil, nil, err
		}
		p.Samplers = append(p.Samplers, offer.Declaration)
	}
	var err error
	if p.Chain, err = exploreChain(ctx, session, x.chain); err != nil {
		return nil, nil, err
	}
	m, err := session.Model(ctx, x.model, nil)
	if err != nil {
		return nil, nil, err
	}
	p.Model, p.Pieces, p.End = m.Info().Name, m.Pieces(), m.Info().EndOfText
	return p, m, nil
}

// exploreChain returns the stages of a chain that the page can compute.
func exploreChain(ctx context.Context, session *experiment.Session, text string) ([]explore.Setting, error) {
	c, err := session.Chain(ctx, text, "flag --chain")
	if err != nil {
		return nil, err
	}
	refuse := func(s chain.Stage, what string, args ...any) error {
		return fault.New(fault.Usage, opExplore, "--chain", "stage %s: "+what, append([]any{fault.Quote(s.Name, 60)}, args...)...).
			Fix("the page has %s, each with its one value, and the draw; lab next shows any chain", strings.Join(explore.Stages(), ", "))
	}
	var out []explore.Setting
	for i, s := range c.Stages {
		if i == len(c.Stages)-1 && s.Name == chain.DefaultSelector {
			break
		}
		if !slices.Contains(explore.Stages(), s.Name) || s.Declaration.Kind != sampler.Reshape {
			return nil, refuse(s, "the page cannot compute it")
		}
		for _, v := range s.Values[1:] {
			if v.Origin != param.DefaultOrigin {
				return nil, refuse(s, "the page has no setting %s", v.Name)
			}
		}
		set := explore.Setting{Name: s.Name}
		switch v := s.Values[0].Value.(type) {
		case float64:
			set.Value = v
		case int64:
			set.Value = float64(v)
		}
		if slices.ContainsFunc(out, func(o explore.Setting) bool { return o.Name == s.Name }) {
			return nil, refuse(s, "it is there twice")
		}
		out = append(out, set)
	}
	return out, nil
}
