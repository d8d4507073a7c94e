package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/plots/explore"
)

// runServer serves the page until Ctrl-C, which is how it ends well: the models
// are closed and verified as after any other command.
func (x *exploreFlags) runServer(s *settings, cmd *cobra.Command, prompt string) error {
	signal := cmd.Context()
	cmd.SetContext(context.WithoutCancel(signal))
	return s.with(cmd, []string{"samplers", "models"}, func(ctx context.Context, session *experiment.Session) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(signal, stop)()
		p, m, err := x.page(ctx, s, session, prompt)
		if err != nil {
			return err
		}
		steps, err := newStepper(ctx, m, p.Prompt)
		if err != nil {
			return err
		}
		defer steps.drop()
		row, err := steps.row(ctx, nil)
		if err != nil {
			return err
		}
		p.Nodes = []explore.Node{{Row: row}}
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(x.port)))
		if err != nil {
			return fault.Wrap(err, fault.Usage, opExplore, fmt.Sprintf("--port %d", x.port))
		}
		return explore.Serve(ctx, l, p, steps.row, func(url string) {
			fmt.Fprintf(cmd.OutOrStdout(), "%s\nOpen this address in a browser on this machine; Ctrl-C ends.\n", url)
		})
	}, nil)
}

// mostBranches is how many contexts a stepper keeps evaluated, beside the prompt.
const mostBranches = 8

// stepper evaluates contexts after one prompt, each from the longest one that it
// has already. Safe for concurrent use: one after another.
type stepper struct {
	mu       sync.Mutex
	m        *experiment.Model
	root     *generate.Branch
	branches []*generate.Branch // the least recently used first
}

func newStepper(ctx context.Context, m *experiment.Model, prompt []byte) (*stepper, error) {
	root, err := m.Root(ctx, nil, prompt)
	if err != nil {
		return nil, err
	}
	return &stepper{m: m, root: root}, nil
}

// row returns the scores after the prompt and the tokens of path. A path that
// goes on after the end of a text is a usage error, one that does not fit the
// context a limit error.
func (s *stepper) row(ctx context.Context, path []int32) (dist.Scores, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return dist.Scores{}, err
	}
	if most := s.m.Info().ContextLength; s.root.Prompt()+len(path) > most {
		return dist.Scores{}, fault.New(fault.Limit, opExplore, "", "the context of model %q holds %d tokens, and this is token %d", s.m.Info().Name, most, s.root.Prompt()+len(path))
	}
	for i, id := range path {
		if s.m.IsEnd(id) {
			return dist.Scores{}, fault.New(fault.Usage, opExplore, "", "token %d of the path ends the text", i+1)
		}
	}
	row, err := s.evaluate(ctx, path)
	if fault.KindOf(err) == fault.Limit && len(s.branches) > 0 { // no room: let go of what is kept
		s.forget(len(s.branches))
		row, err = s.evaluate(ctx, path)
	}
	return row, err
}

func (s *stepper) evaluate(ctx context.Context, path []int32) (dist.Scores, error) {
	at := s.nearest(path)
	if after := at.Tokens()[at.Prompt():]; len(after) < len(path) {
		next, err := at.Fork(ctx)
		if err != nil {
			return dist.Scores{}, err
		}
		next.Append(path[len(after):]...)
		if err := generate.Grow(ctx, nil, next); err != nil {
			next.Drop()
			return dist.Scores{}, err
		}
		s.branches = append(s.branches, next)
		s.forget(len(s.branches) - mostBranches)
		at = next
	} else if err := generate.Grow(ctx, nil, at); err != nil {
		return dist.Scores{}, err
	}
	return at.Row(), nil
}

// nearest returns the branch that holds most of a path and nothing else, as the
// newest.
func (s *stepper) nearest(path []int32) *generate.Branch {
	best, length, found := s.root, 0, -1
	for i, b := range s.branches {
		after := b.Tokens()[b.Prompt():]
		if len(after) > length && len(after) <= len(path) && slices.Equal(after, path[:len(after)]) {
			best, length, found = b, len(after), i
		}
	}
	if found >= 0 {
		s.branches = append(slices.Delete(s.branches, found, found+1), best)
	}
	return best
}

// forget drops the n least recently used branches, none for n below 1.
func (s *stepper) forget(n int) {
	for ; n > 0; n-- {
		s.branches[0].Drop()
		s.branches = s.branches[1:]
	}
}

func (s *stepper) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(len(s.branches))
	s.root.Drop()
}
