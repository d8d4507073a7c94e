package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"lab/core/plugin/param"
	"lab/core/seed"
	"lab/core/trace"
)

func beamStrategy() Strategy {
	return Strategy{
		Name: "beam",
		Summary: "Beam search: keeps the width best unfinished sequences at every step, of equal ones the one from the better parent, then the lower id; " +
			"in groups with a diversity penalty, or stochastic: without replacement.",
		Source: "Lowerre 1976; groups: Vijayakumar et al. 2018, Diverse beam search; stochastic: Kool, van Hoof, Welling 2019, Stochastic beams and where to find them, algorithm 1",
		Params: append(param.Specs{
			{Name: "width", Aliases: []string{"num_beams", "beams"}, Type: param.Int, Default: int64(4), Min: 1, Max: 1024, Unit: "sequences", Meaning: "beams kept per step; 1 is greedy"},
			{Name: "groups", Aliases: []string{"num_beam_groups"}, Type: param.Int, Default: int64(1), Min: 1, Max: 1024, Meaning: "equal groups of beams, searched one after the other; must divide width"},
			{Name: "diversity", Aliases: []string{"diversity_penalty"}, Type: param.Float, Default: 0.0, Min: 0, Max: math.Inf(1), Unit: "nats",
				Meaning: "taken off a token for every beam of an earlier group that took it at this step, when choosing only: scores stay probabilities"},
			{Name: "stochastic", Type: param.Bool, Default: false, Meaning: "draw width sequences without replacement from the distribution over sequences, by Gumbel top-k; the seed counts"},
		}, rankParams(rankSum)...),
		run: runBeam,
	}
}

// beam is a live sequence. In stochastic search it has the perturbed ln
// probability g of the subtree it stands for.
type beam struct {
	*node
	g float64
}

// candidate is a beam extended by a token.
type candidate struct {
	parent int
	token  int32
	by     float64 // what is compared
	ln     float64 // ln p of the extended sequence, or its perturbed one
}

type beamSearch struct {
	*searcher
	rank       ranker
	width      int
	diversity  float64
	stochastic bool
	count      uint64 // nodes expanded, which names their random numbers
	group      int    // that is being advanced

	done []finishedBeam
}

type finishedBeam struct {
	Sequence
	group, order int
}

func runBeam(ctx context.Context, w *searcher, set param.Values) (*Result, error) {
	width, groups := int(set.Int("width")), int(set.Int("groups"))
	if width%groups != 0 {
		return nil, usage("beam", "groups = %d does not divide width = %d", groups, width)
	}
	s := &beamSearch{searcher: w, rank: newRanker(set), width: width / groups,
		diversity: set.Float("diversity"), stochastic: set.Bool("stochastic")}
	if s.stochastic && (groups > 1 || s.rank.rule != rankSum || s.rank.model) {
		return nil, usage("beam", "stochastic search ranks by perturbed ln p of the sampling distribution, without groups or length rules")
	}
	r := &Result{ScoreIs: s.rank.is()}
	if s.stochastic {
		r.ScoreIs = "perturbed ln p (Gumbel); sequences are a sample without replacement"
	}
	err := s.search(ctx, groups)
	slices.SortStableFunc(s.done, func(a, b finishedBeam) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.order, b.order))
	})
	for i, f := range s.done {
		if i == width {
			break
		}
		r.Sequences = append(r.Sequences, f.Sequence)
	}
	return r, err
}

func (s *beamSearch) search(ctx context.Context, groups int) (err error) {
	root, err := s.root(ctx, s.Engine)
	if err != nil {
		return err
	}
	live := make([][]*beam, groups)
	live[0] = []*beam{{node: root}}
	for g := 1; g < groups; g++ {
		b, err := root.Fork(ctx)
		if err != nil {
			return err
		}
		live[g] = []*beam{{node: &node{Branch: b}}}
	}
	ended := make([]int, groups)
	defer func() {
		for _, group := range live {
			for _, b := range group {
				if err != nil && len(b.completion()) > 0 {
					s.finish(b, b.g, trace.Stop{Reason: trace.Interrupted})
				}
				b.Drop()
			}
		}
	}()
	for {
		var nodes []*node
		for _, group := range live {
			for _, b := range group {
				nodes = append(nodes, b.node)
			}
		}
		if len(nodes) == 0 {
			return nil
		}
		if err := s.expand(ctx, nodes...); err != nil {
			return err
		}
		taken := map[int32]int{}
		for g := range live {
			s.group = g
			next, err := s.advance(ctx, live[g], taken, &ended[g])
			if err != nil {
				return err
			}
			live[g] = next
		}
		s.step()
	}
}

// advance moves one group by a token: it chooses among the extensions of its
// beams, sets the complete ones aside, and returns those that live on. taken
// counts the tokens chosen by earlier groups at this step.
func (s *beamSearch) advance(ctx context.Context, group []*beam, taken map[int32]int, ended *int) ([]*beam, error) {
	chosen := s.choose(group, taken)
	left := make([]int, len(group)) // children of each beam still to be made
	for _, c := range chosen {
		left[c.parent]++
	}
	for i, b := range group {
		if left[i] == 0 {
			b.Drop()
		}
	}
	var next []*beam
	counts := map[int32]int{}
	for _, c := range chosen {
		parent := group[c.parent]
		counts[c.token]++
		child := &beam{g: c.ln}
		if left[c.parent]--; left[c.parent] == 0 {
			child.node = parent.node // the last child takes the beam itself
			child.take(c.token)
		} else {
			n, err := parent.child(ctx, c.token)
			if err != nil {
				for _, b := range next {
					b.Drop()
				}
				return nil, err
			}
			child.node = n
		}
		if stop, ok := s.searcher.done(child.node); ok {
			s.finish(child, c.ln, stop)
			*ended++
			child.Drop()
			continue
		}
		next = append(next, child)
	}
	for t, n := range counts {
		taken[t] += n
	}
	return s.prune(next, *ended), nil
}

// prune ends a group that can no longer win: it has as many complete sequences as
// beams of its own, and no live one can beat the worst of that many best.
func (s *beamSearch) prune(live []*beam, ended int) []*beam {
	if s.stochastic || ended < s.width {
		return live
	}
	scores := make([]float64, 0, ended)
	for _, f := range s.done {
		if f.group == s.group {
			scores = append(scores, float64(f.Score))
		}
	}
	slices.Sort(scores)
	worst := scores[max(0, len(scores)-s.width)]
	for _, b := range live {
		if s.rank.best(s.rank.ln(b.node), len(b.completion()), s.MaxTokens) > worst {
			return live
		}
	}
	for _, b := range live {
		b.Drop()
	}
	return nil
}

// choose returns the best extensions of a group's beams: as many as the width,
// less the complete sequences of a stochastic search, which keep their place.
func (s *beamSearch) choose(group []*beam, taken map[int32]int) []candidate {
	room := s.width
	if s.stochastic {
		room -= len(s.done)
	}
	var all []candidate
	better := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.by, a.by), cmp.Compare(a.parent, b.parent), cmp.Compare(a.token, b.token))
	}
	for i, b := range group {
		var own []candidate
		if s.stochastic {
			own = s.perturbed(i, b)
		} else {
			base := s.rank.ln(b.node)
			b.sampling.Each(func(token int32, p float64) bool {
				ln := b.sampling.LogP(token)
				if s.rank.model {
					ln = b.model.LogP(token)
				}
				by := base + ln - s.diversity*float64(taken[token])
				own = append(own, candidate{parent: i, token: token, by: by, ln: base + ln})
				return true
			})
		}
		slices.SortFunc(own, better)
		all = append(all, own[:min(room, len(own))]...)
	}
	slices.SortFunc(all, better)
	return all[:min(room, len(all))]
}

// perturbed returns the children of a beam with Gumbel-perturbed ln
// probabilities whose maximum is the beam's own: the children's Gumbels are
// drawn, and shifted by the rule of appendix B.3 of the paper, which keeps their
// order and is stable in floating point.
func (s *beamSearch) perturbed(parent int, b *beam) []candidate {
	s.count++
	u := make([]float64, b.sampling.Support())
	s.stream.Uniforms(u, s.count, uint64(len(b.completion())), seed.Lane("stochastic_beam", 0))
	var out []candidate
	top := math.Inf(-1)
	i := 0
	b.sampling.Each(func(token int32, _ float64) bool {
		phi := b.drawnLn + b.sampling.LogP(token)
		g := phi - math.Log(-math.Log(max(u[i], 0x1p-53))) // u = 0 has no Gumbel
		i++
		if math.IsInf(phi, -1) {
			return true
		}
		out = append(out, candidate{parent: parent, token: token, ln: g})
		top = max(top, g)
		return true
	})
	root := len(b.completion()) == 0
	for i, c := range out {
		g := c.ln
		if !root {
			v := b.g - g + log1mexp(g-top)
			g = b.g - max(0, v) - math.Log1p(math.Exp(-math.Abs(v)))
		}
		out[i].ln, out[i].by = g, g
	}
	return out
}

// log1mexp returns ln(1 - e^x) for x <= 0.
func log1mexp(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

func (s *beamSearch) finish(b *beam, g float64, stop trace.Stop) {
	score := g
	if !s.stochastic {
		tokens := b.completion()
		score = s.rank.score(s.rank.ln(b.node), len(tokens), len(s.bytesOf(tokens)))
	}
	s.done = append(s.done, finishedBeam{group: s.group, order: len(s.done),
		Sequence: s.sequence(b.completion(), b.modelLn, b.drawnLn, score, stop)})
	s.finished++
}
