package generate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
)

// Bounds of one forward call of a scoring.
const (
	scoreBytes  = 32 << 20 // of the rows of scores
	scoreStems  = 32       // sequences extended
	scoreTokens = 512      // tokens of a sequence for which no scores are wanted
)

// scoreItem is one text: its tokens from start on are scored.
type scoreItem struct {
	tokens []int32
	start  int
	out    *Scoring
}

// scorer scores texts along the tree of their common beginnings. A model that
// refuses a call as a whole, because a token of it is impossible, is asked
// position by position from then on, so that the texts are scored up to that
// token.
type scorer struct {
	e     *Engine
	op    string // for messages
	opt   ScoreOptions
	items []*scoreItem
	head  *prefix // with which all texts begin, pinned; nil: none is kept

	scored, total int
	usage         model.Usage
	careful       bool
	scratch       []float64
	rows          []dist.Scores // dense headers, lent for the length of the work
	waiting       []*stem       // the last one starts next
	active        []*stem
	live          map[uint64]bool // sequences to be freed
}

// stem is a run of tokens that the texts of a group share, after what its parent
// has of them.
type stem struct {
	texts  []*scoreItem
	parent *stem
	kids   []*stem
	seq    uint64
	held   int // tokens the sequence holds
	end    int // the group shares tokens[:end]
	last   int // tokens[:last] are read; one less than end where nothing follows
	want   int // rows are wanted from this position on
	left   int // kids that have not started
}

func (st *stem) tokens() []int32 { return st.texts[0].tokens }

// newStem splits a group that shares tokens[:from].
func newStem(parent *stem, texts []*scoreItem, from int) *stem {
	st := &stem{texts: texts, parent: parent, end: len(texts[0].tokens)}
	first := st.tokens()
	st.want = texts[0].start - 1
	for _, t := range texts[1:] {
		n := from
		for n < min(st.end, len(t.tokens)) && t.tokens[n] == first[n] {
			n++
		}
		st.end, st.want = n, min(st.want, t.start-1)
	}
	var order []int32
	byNext := map[int32][]*scoreItem{}
	for _, t := range texts {
		if len(t.tokens) == st.end {
			continue
		}
		next := t.tokens[st.end]
		if byNext[next] == nil {
			order = append(order, next)
		}
		byNext[next] = append(byNext[next], t)
	}
	for _, next := range order {
		st.kids = append(st.kids, newStem(st, byNext[next], st.end))
	}
	if st.last = st.end; len(st.kids) == 0 {
		st.last--
	}
	st.left = len(st.kids)
	return st
}

// keepPrompt has what comes before every text evaluated, or finds it evaluated: the
// prompt, up to the first token that is scored of any text. A model that is not
// deterministic keeps none, and a short one is not worth it.
func (s *scorer) keepPrompt(ctx context.Context) error {
	if len(s.items) == 0 {
		return nil
	}
	tokens := s.items[0].tokens[:s.items[0].start]
	for _, t := range s.items[1:] { // one prompt, of which a text may take the end
		tokens = tokens[:min(len(tokens), t.start)]
	}
	if len(tokens) < leastShared || !s.e.info.Deterministic {
		return nil
	}
	held, _, err := s.e.prefill(ctx, &s.usage, tokens)
	if err != nil {
		return err
	}
	s.head = held[0]
	return nil
}

// run scores all items.
func (s *scorer) run(ctx context.Context) error {
	byFirst := map[int32][]*scoreItem{}
	var order []int32
	for _, t := range s.items {
		if byFirst[t.tokens[0]] == nil {
			order = append(order, t.tokens[0])
		}
		byFirst[t.tokens[0]] = append(byFirst[t.tokens[0]], t)
	}
	for _, first := range slices.Backward(order) {
		s.waiting = append(s.waiting, newStem(nil, byFirst[first], 0))
	}
	s.live = map[uint64]bool{}
	defer s.close()
	s.borrow()
	for len(s.waiting)+len(s.active) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		if err := s.step(ctx); err != nil {
			return err
		}
		if s.opt.OnStep != nil {
			s.opt.OnStep(s.scored, s.total)
		}
	}
	return nil
}

func (s *scorer) borrow() {
	n := max(1, min(s.total, scoreBytes/4/s.e.info.VocabSize))
	if l, ok := s.e.m.(lender); ok {
		s.rows = l.Rows(n)
		return
	}
	for range n {
		s.rows = append(s.rows, s.e.heapRow())
	}
}

func (s *scorer) close() {
	if s.head != nil {
		s.e.unpin(s.head)
	}
	for seq := range s.live {
		s.e.free(seq)
	}
	if l, ok := s.e.m.(lender); ok {
		l.Release(s.rows)
	}
}

// most is how many stems advance together.
func (s *scorer) most() int {
	if s.careful {
		return 1
	}
	return min(scoreStems, len(s.rows))
}

// start gives sequences to waiting stems while there is room: the last kid of a
// stem takes its sequence over, the others fork it.
func (s *scorer) start(ctx context.Context) error {
	for len(s.waiting) > 0 && len(s.active) < s.most() {
		st := s.waiting[len(s.waiting)-1]
		s.waiting = s.waiting[:len(s.waiting)-1]
		switch p := st.parent; {
		case p == nil && s.head != nil: // there is one such stem
			if err := s.afterHead(ctx, st); err != nil {
				return err
			}
		case p == nil:
			s.e.seq++
			st.seq = s.e.seq
		case p.left == 1:
			st.seq, st.held = p.seq, p.last
			p.left--
		default:
			p.left--
			s.e.seq++
			st.seq, st.held = s.e.seq, p.last
			if err := s.e.m.Edit(ctx, []model.Edit{{Op: model.Fork, Seq: p.seq, To: st.seq, Length: p.last}}); err != nil {
				return err
			}
		}
		s.live[st.seq] = true
		s.active = append(s.active, st)
	}
	return nil
}

// afterHead starts a stem where the kept prompt ends, and scores the token there.
func (s *scorer) afterHead(ctx context.Context, st *stem) error {
	s.e.seq++
	st.seq, st.held = s.e.seq, len(s.head.tokens)
	if err := s.e.m.Edit(ctx, []model.Edit{{Op: model.Fork, Seq: s.head.seq, To: st.seq, Length: st.held}}); err != nil {
		return err
	}
	s.live[st.seq] = true
	row := s.head.row
	s.e.unpin(s.head) // the model may drop it when it needs the room
	s.head = nil
	return s.take(st, &model.Input{Start: st.held - 1, Scores: []dist.Scores{row}})
}

// step makes one forward call and takes what it says.
func (s *scorer) step(ctx context.Context) error {
	var batch []model.Input
	var owners []*stem
	rows := s.rows
	for _, st := range s.active[:min(len(s.active), s.most())] {
		in := model.Input{Seq: st.seq, Start: st.held}
		switch n := st.last - st.held; {
		case n == 0: // a text of one token after what its parent holds
			continue
		case st.held < st.want:
			in.Tokens = st.tokens()[st.held:min(st.last, st.want, st.held+scoreTokens)]
		case len(rows) == 0:
			continue
		default:
			n = min(n, max(1, len(s.rows)/min(len(s.active), s.most())), len(rows))
			if s.careful {
				n = 1
			}
			in.Tokens, in.Want, in.Scores = st.tokens()[st.held:st.held+n], model.All, slices.Clone(rows[:n])
			rows = rows[n:]
		}
		batch, owners = append(batch, in), append(owners, st)
	}
	if len(batch) > 0 {
		err := s.e.forward(ctx, &s.usage, batch)
		if fault.KindOf(err) == fault.Model && !s.careful && ctx.Err() == nil {
			s.careful = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	for i, st := range owners {
		st.held += len(batch[i].Tokens)
		if err := s.take(st, &batch[i]); err != nil {
			return err
		}
	}
	s.finish()
	return nil
}

// take scores the tokens that follow the positions of an input.
func (s *scorer) take(st *stem, in *model.Input) error {
	for i := range in.Scores {
		l := lookup{row: &in.Scores[i], scratch: &s.scratch}
		if !s.opt.Sums {
			d, err := dist.NewModel(l.row)
			if err != nil {
				return err
			}
			l.full = &d
		}
		at := in.Start + i + 1 // of the token that is looked up
		if at < st.end {
			ended, err := s.look(&l, st.texts, at)
			if err != nil {
				return err
			}
			if ended {
				st.cut()
				return nil
			}
			continue
		}
		for _, kid := range st.kids {
			ended, err := s.look(&l, kid.texts, at)
			if err != nil {
				return err
			}
			if ended {
				kid.cut()
			}
		}
	}
	return nil
}

// cut ends a stem and all that would follow it.
func (st *stem) cut() { st.kids, st.left, st.last = nil, 0, st.held }

// lookup is a row in which tokens are looked up; full is its distribution, nil
// where sums are all that is wanted.
type lookup struct {
	row     *dist.Scores
	full    *dist.Model
	scratch *[]float64
}

func (l *lookup) bits(token int32) (float64, error) {
	if l.full != nil {
		return l.full.SurprisalBits(token), nil
	}
	if n := len(l.row.Values); cap(*l.scratch) < n {
		*l.scratch = make([]float64, n)
	}
	return dist.SurprisalBits(l.row, token, *l.scratch)
}

// look scores one token for texts that share it, and reports whether it ends
// them.
func (s *scorer) look(l *lookup, texts []*scoreItem, at int) (ended bool, err error) {
	token := texts[0].tokens[at]
	bits, err := l.bits(token)
	if err != nil {
		return false, err
	}
	if math.IsNaN(bits) {
		return false, fault.New(fault.Data, "score", fmt.Sprintf("token %d at position %d", token, at),
			"it is not among the tokens that model %q lists, so its probability is not known", s.e.info.Name)
	}
	t := Scored{Token: token, Piece: s.e.Piece(token), SurprisalBits: bits + 0} // without -0
	if d := l.full; d != nil {
		t.Rank, t.Entropy = d.Rank(token), d.EntropyBounds()
		if s.opt.Top > 0 {
			t.Top, _ = d.Top(s.opt.Top)
		}
	}
	for _, text := range texts {
		if at < text.start {
			continue
		}
		out := text.out
		out.Count++
		out.Bits += t.SurprisalBits
		s.scored++
		if !s.opt.Sums {
			out.Tokens = append(out.Tokens, t)
		}
	}
	return math.IsInf(t.SurprisalBits, 1), nil
}

// finish takes stems that are read off the active ones and lets their kids wait.
func (s *scorer) finish() {
	s.active = slices.DeleteFunc(s.active, func(st *stem) bool {
		if st.held < st.last {
			return false
		}
		alive := st.kids[:0:0]
		for _, kid := range st.kids {
			if kid.last > st.held { // not cut, and something to read
				alive = append(alive, kid)
			}
		}
		st.left = len(alive)
		s.waiting = append(s.waiting, alive...)
		if len(alive) == 0 {
			s.e.free(st.seq)
			delete(s.live, st.seq)
		}
		return true
	})
}
