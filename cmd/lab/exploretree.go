package main

import (
	"context"
	"slices"

	"lab/core/dist"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/generate"
	"lab/plots/explore"
)

// exploreLimit is how many bytes of scores a page may carry: base64 makes a
// third more of them, and a browser reads that in about a second.
const exploreLimit = 64 << 20

// fits refuses a tree that a page could not carry: 4 bytes a score, and 4 more for
// its token where not all are carried.
func fits(vocab, breadth, depth, head int) error {
	size := 4 * vocab
	if head > 0 && head < vocab {
		size = 8 * head
	}
	contexts, level := 1, 1
	for range depth {
		level *= breadth
		contexts += level
		if contexts > exploreLimit/size {
			return fault.New(fault.Limit, opExplore, "", "--breadth %d --depth %d carry more than %d bytes of scores, %d for each context", breadth, depth, exploreLimit, size).
				Fix("choose a smaller breadth or depth, or --head 1000 for the likeliest tokens alone")
		}
	}
	return nil
}

// exploreTree returns the scores of the prompt and of its likeliest continuations,
// breadth first; head above 0 is how many tokens of each context.
func exploreTree(ctx context.Context, m *experiment.Model, prompt []byte, breadth, depth, head int) ([]explore.Node, error) {
	if err := fits(m.Info().VocabSize, breadth, depth, head); err != nil {
		return nil, err
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
		n := explore.Node{Path: at.path, Row: at.branch.Row()}
		if head > 0 {
			if n, err = explore.Head(n, head); err != nil {
				return nil, err
			}
		}
		nodes = append(nodes, n)
		if len(at.path) < depth {
			next, err := likeliest(&n.Row, breadth)
			if err != nil {
				return nil, err
			}
			for _, id := range next {
				if m.IsEnd(id) { // the text ends there
					continue
				}
				child, err := at.branch.Fork(ctx)
				if err != nil {
					return nil, err
				}
				child.Append(id)
				queue = append(queue, open{branch: child, path: append(slices.Clone(at.path), id)})
			}
		}
		at.branch.Drop()
		queue = queue[1:]
	}
	return nodes, nil
}

// likeliest returns the n best tokens of a row, which may be a head.
func likeliest(row *dist.Scores, n int) ([]int32, error) {
	listed := dist.Scores{Vocab: row.Vocab, IDs: row.IDs, Values: row.Values}
	d, err := dist.NewModel(&listed)
	if err != nil {
		return nil, err
	}
	best, _ := d.Top(n)
	ids := make([]int32, len(best))
	for i, e := range best {
		ids[i] = e.ID
	}
	return ids, nil
}
