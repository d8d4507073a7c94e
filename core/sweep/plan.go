package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lab/core/chain"
	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/search"
)

// Cell is one choice of all settings.
type Cell struct {
	Index  int
	Values []any // of the plan's axes, nil where the cell's block lacks the key

	Prompt    string
	Model     string
	Chain     *chain.Chain
	Search    string // strategy, "" for sampling token by token
	Seed      uint64
	MaxTokens int
	Stop      []string

	chain        string // as it was written
	engine       *experiment.Model
	strategy     *strategy
	promptTokens int
}

// strategy is a search with its settings.
type strategy struct {
	search.Strategy
	set param.Values
}

// name is what messages call the cell: its number and its values of the axes.
func (c *Cell) name(axes []string) string {
	var parts []string
	for i, a := range axes {
		if c.Values[i] != nil {
			parts = append(parts, a+"="+show(c.Values[i]))
		}
	}
	return fmt.Sprintf("cell %d (%s)", c.Index, strings.Join(parts, ", "))
}

// Plan is a sweep that was checked. It is read-only.
type Plan struct {
	Spec    Spec
	Axes    []string // keys of the grid: settings in their order, then stages in that of lab sampler list
	Cells   []Cell
	Samples int

	session *experiment.Session
}

// maker expands a specification.
type maker struct {
	ctx     context.Context
	session *experiment.Session
	catalog chain.Catalog
	plan    *Plan
	offers  map[string]chain.Offer
	order   []string // of all samplers, by standard name
	chains  map[string]*chain.Chain
	errors  map[string]error  // of chains
	prompts map[[2]string]int // tokens of a model's prompts
}

// New checks a sweep against the samplers and models of a session: unknown keys,
// values out of range, prompts that are too long. Nothing is generated. Errors
// name the cells and what is wrong with each; models that the cells name are
// open when there is none.
func New(ctx context.Context, session *experiment.Session, spec Spec) (*Plan, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	m := &maker{ctx: ctx, session: session, catalog: session.Catalog(ctx), offers: map[string]chain.Offer{},
		chains: map[string]*chain.Chain{}, errors: map[string]error{}, prompts: map[[2]string]int{},
		plan: &Plan{Spec: spec, Samples: spec.Samples, session: session}}
	if err := m.axes(); err != nil {
		return nil, err
	}
	var wrong []error
	seen := map[string]int{}
	for i, b := range spec.Grid {
		err := m.block(b, func(c Cell) error {
			c.Index = len(m.plan.Cells)
			if err := m.finish(&c); err != nil {
				if ctx.Err() != nil {
					return err
				}
				wrong = append(wrong, fault.Wrap(err, fault.Usage, "", c.name(m.plan.Axes)))
			}
			key := fmt.Sprintf("%q %q %q %q %d %d %q", c.Prompt, c.Model, c.Chain, c.Search, c.Seed, c.MaxTokens, c.Stop)
			if first, twice := seen[key]; twice && len(wrong) == 0 {
				wrong = append(wrong, fault.New(fault.Usage, op, c.name(m.plan.Axes), "its settings are those of cell %d", first).Fix("list each choice once"))
			}
			seen[key] = c.Index
			m.plan.Cells = append(m.plan.Cells, c)
			return nil
		})
		if err != nil {
			return nil, fault.Wrap(err, fault.Usage, op, fmt.Sprintf("grid[%d]", i))
		}
	}
	if len(wrong) > 0 {
		return nil, several(wrong, len(m.plan.Cells))
	}
	return m.plan, nil
}

// several makes one error of those of many cells.
func several(wrong []error, cells int) error {
	const most = 5
	if len(wrong) == 1 {
		return fault.Wrap(wrong[0], fault.KindOf(wrong[0]), op, "")
	}
	var lines []string
	for _, err := range wrong[:min(most, len(wrong))] {
		lines = append(lines, err.Error())
	}
	if more := len(wrong) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return fault.New(fault.KindOf(wrong[0]), op, "", "%d of %d cells are invalid:\n  %s", len(wrong), cells, strings.Join(lines, "\n  ")).
		Fix("nothing was run")
}

// axes finds the keys of all blocks and refuses those nobody knows.
func (m *maker) axes() error {
	p := m.plan
	names, _ := Keys()
	all := map[string]bool{}
	for i, b := range p.Spec.Grid {
		for _, key := range keysOf(b) {
			if all[key] = true; slices.Contains(names, key) {
				continue
			}
			if err := m.stageKey(key); err != nil {
				return m.unknown(err, p.Spec.place(i, key), key)
			}
		}
	}
	for _, key := range keysOf(p.Spec.Fixed) {
		if slices.Contains(names, key) {
			continue
		}
		if err := m.stageKey(key); err != nil {
			return m.unknown(err, "option "+fault.Quote(key, 40), key)
		}
	}
	p.Axes = keysOf(all)
	at := slices.IndexFunc(p.Axes, func(a string) bool { return !slices.Contains(names, a) })
	if at < 0 {
		return nil
	}
	for _, s := range m.session.Host().Samplers(m.ctx) {
		m.order = append(m.order, s.Name)
	}
	slices.SortStableFunc(p.Axes[at:], func(a, b string) int { return m.rank(a) - m.rank(b) })
	return nil
}

// unknown says which keys there are when a key is neither a setting nor a stage.
func (m *maker) unknown(err error, subject, key string) error {
	if _, _, dotted := strings.Cut(key, "."); dotted || m.ctx.Err() != nil {
		return fault.Wrap(err, fault.Usage, op, subject)
	}
	names, _ := Keys()
	known := slices.Clone(names)
	for _, s := range m.session.Host().Samplers(m.ctx) {
		known = append(append(known, s.Name), s.Aliases...)
	}
	return fault.Wrap(fault.Unknown(op, "key", key, known), fault.Usage, op, subject)
}

// stageKey checks that a key names a stage, and a setting of it when it has a dot.
func (m *maker) stageKey(key string) error {
	_, _, err := m.stage(key)
	return err
}

// stage returns the sampler that a key names, and which of its settings.
func (m *maker) stage(key string) (chain.Offer, param.Spec, error) {
	name, set, dotted := strings.Cut(key, ".")
	offer, err := m.offer(name)
	if err != nil {
		return offer, param.Spec{}, err
	}
	specs := offer.Declaration.Params
	if !dotted {
		if len(specs) == 0 {
			return offer, param.Spec{}, nil
		}
		return offer, specs[0], nil
	}
	spec, ok := specs.Find(set)
	if !ok {
		return offer, spec, fault.Unknown(op, "setting of "+name, set, specs.Names())
	}
	return offer, spec, nil
}

func (m *maker) offer(name string) (chain.Offer, error) {
	if o, ok := m.offers[name]; ok {
		return o, nil
	}
	o, err := m.catalog.Sampler(name)
	if err == nil {
		m.offers[name] = o
	}
	return o, err
}

// rank is the place of a stage in the list of samplers; script's own come last.
func (m *maker) rank(key string) int {
	offer, _, err := m.stage(key)
	at := slices.Index(m.order, offer.Declaration.Name)
	if err != nil || at < 0 {
		return len(m.order)
	}
	return at
}

// block calls visit with every cell of a block, the last axis varying fastest.
func (m *maker) block(b Block, visit func(Cell) error) error {
	axes := m.plan.Axes
	place := make([]int, len(axes))
	for {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		c := defaults()
		c.Values = make([]any, len(axes))
		for i, a := range axes {
			if values := b[a]; len(values) > 0 {
				c.Values[i] = values[place[i]]
			}
		}
		if err := visit(c); err != nil {
			return err
		}
		i := len(axes) - 1
		for ; i >= 0; i-- {
			if place[i]++; place[i] < len(b[axes[i]]) {
				break
			}
			place[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// finish sets a cell from the fixed settings and its values, and checks it.
func (m *maker) finish(c *Cell) error {
	stages := map[string]any{}
	apply := func(key string, v any) error {
		for _, s := range settings() {
			if s.name == key {
				if err := s.set(c, v); err != nil {
					return fault.Wrap(err, fault.Usage, "", key)
				}
				return nil
			}
		}
		stages[key] = v
		return nil
	}
	for _, key := range keysOf(m.plan.Spec.Fixed) {
		if err := apply(key, m.plan.Spec.Fixed[key]); err != nil {
			return err
		}
	}
	for i, key := range m.plan.Axes {
		if c.Values[i] == nil {
			continue
		}
		if err := apply(key, c.Values[i]); err != nil {
			return err
		}
	}
	var err error
	if c.Chain, err = m.chain(c.chain, stages); err != nil {
		return err
	}
	return m.open(c)
}

// open finds the model of a cell and checks what depends on it.
func (m *maker) open(c *Cell) (err error) {
	if c.engine, err = m.session.Model(m.ctx, c.Model, nil); err != nil {
		return err
	}
	if err := c.engine.CheckPasses(c.Chain, nil); err != nil {
		return err
	}
	if c.Search != "" {
		s, set, err := search.Parse(c.Search, "grid")
		if err != nil {
			return err
		}
		if len(c.Stop) > 0 {
			return fault.New(fault.Usage, "", "search", "strategies know no stop strings").Fix("leave stop out of cells with a search")
		}
		c.strategy = &strategy{s, set}
	}
	key := [2]string{c.Model, c.Prompt}
	n, ok := m.prompts[key]
	if !ok {
		tokens, err := c.engine.Encode(m.ctx, []byte(c.Prompt))
		if err != nil {
			return err
		}
		n = len(tokens)
		m.prompts[key] = n
	}
	c.promptTokens = n
	return nil
}
