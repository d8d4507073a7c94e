package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/plots/explore"
)

const opExplore = "lab explore"

// exploreLimit is how many bytes of scores a page may carry: base64 makes a
// third more of them, and a browser reads that in about a second.
const exploreLimit = 64 << 20

func exploreCommand(s *settings) *cobra.Command {
	var ref, out string
	var breadth, depth, list int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "explore PROMPT",
		Short: "Write a page on which the chain can be changed and the text stepped forward",
		Long: `Writes one HTML file that needs nothing else: the next-token distribution after
PROMPT, controls for the stages of a chain, what each stage did, and a draw that
gives the same token as lab next and lab run under the same seed. The file
carries every score of the prompt and of its likeliest continuations, --breadth
at each of --depth steps, 4 bytes a token; it says so where a step leaves them.`,
		Example: `  lab explore "The weather today is"
  lab explore "The weather today is" -o weather.html --breadth 4 --depth 1`,
		Args: oneArg("one prompt", `lab explore "The weather today is"`),
	}
	f := cmd.Flags()
	f.StringVarP(&ref, "model", "m", experiment.DefaultModel, "model: a name from lab model list, or the path of a GGUF file")
	f.StringVarP(&out, "out", "o", "explore.html", "file to write")
	f.IntVar(&breadth, "breadth", 3, "continuations carried after each context, the likeliest first")
	f.IntVar(&depth, "depth", 2, "steps after the prompt for which scores are carried")
	f.IntVarP(&list, "top", "n", 20, "how many tokens to list, the likeliest under the model first")
	f.Uint64Var(&seed, "seed", 0, "run seed with which the page opens")
	s.pluginFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if breadth < 1 || depth < 0 {
			return fault.New(fault.Usage, opExplore, "", "--breadth %d --depth %d", breadth, depth).Fix("use a breadth of at least 1 and a depth of at least 0")
		}
		return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
			m, err := session.Model(ctx, ref, nil)
			if err != nil {
				return err
			}
			p := &explore.Page{Prompt: []byte(args[0]), Model: m.Info().Name, Seed: seed, List: list,
				Line: "lab next " + explore.Quote(args[0]) + " --model " + explore.Quote(ref)}
			for id := range int32(m.Info().VocabSize) {
				p.Pieces = append(p.Pieces, m.Piece(id))
			}
			if p.Nodes, err = exploreTree(ctx, m, p.Prompt, breadth, depth); err != nil {
				return err
			}
			var page bytes.Buffer
			if err := explore.Write(&page, p); err != nil {
				return err
			}
			if err := os.WriteFile(out, page.Bytes(), 0o644); err != nil {
				return fault.Wrap(err, fault.Data, opExplore, out)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: %d contexts, %d bytes\n", out, len(p.Nodes), page.Len())
			return nil
		}, nil)
	}
	return cmd
}

// exploreTree returns the scores of the prompt and of its likeliest
// continuations, breadth first.
func exploreTree(ctx context.Context, m *experiment.Model, prompt []byte, breadth, depth int) ([]explore.Node, error) {
	contexts, level := 1, 1
	for range depth {
		level *= breadth
		contexts += level
		if contexts > exploreLimit/(4*m.Info().VocabSize) {
			return nil, fault.New(fault.Limit, opExplore, "", "--breadth %d --depth %d carry more than %d bytes of scores", breadth, depth, exploreLimit).
				Fix("choose a smaller breadth or depth")
		}
	}
	root, err := m.Root(ctx, nil, prompt)
	if err != nil {
		return nil, err
	}
	var nodes []explore.Node
	type open struct {
		branch *generate.Branch
		path   []int32
	}
	queue := []open{{branch: root}}
	defer func() {
		for _, o := range queue {
			o.branch.Drop()
		}
	}()
	for len(queue) > 0 {
		at := queue[0]
		if err := generate.Grow(ctx, nil, at.branch); err != nil {
			return nil, err
		}
		row := at.branch.Row()
		if !row.Dense() {
			return nil, fault.New(fault.Data, opExplore, m.Ref, "the backend does not list every token, which the page needs").Fix("use a local model")
		}
		nodes = append(nodes, explore.Node{Path: at.path, Scores: slices.Clone(row.Values)})
		if len(at.path) < depth && !at.branch.Ended() {
			d, err := dist.NewModel(&row)
			if err != nil {
				return nil, err
			}
			best, _ := d.Top(breadth)
			for _, e := range best {
				child, err := at.branch.Fork(ctx)
				if err != nil {
					return nil, err
				}
				child.Append(e.ID)
				queue = append(queue, open{branch: child, path: append(slices.Clone(at.path), e.ID)})
			}
		}
		at.branch.Drop()
		queue = queue[1:]
	}
	return nodes, nil
}
