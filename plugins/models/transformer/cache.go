package transformer

import (
	"fmt"

	"lab/core/fault"
	"lab/plugins/models/internal/kernel"
)

// pageTokens is how many positions a page of the cache holds. Forks share whole
// pages and copy at most one.
const pageTokens = 16

// page holds keys and values of pageTokens positions in all layers. A page that
// more than one sequence holds is never written to.
type page struct {
	refs int
	// Its lines: in float32, or as blocks.
	floats []float32
	blocks []byte
}

// sequence is the cache of one sequence.
type sequence struct {
	pages  []*page
	length int // positions whose keys and values are valid
}

// cache holds all sequences of a model. Its memory grows page by page up to a
// limit; pages that are given back are used again.
type cache struct {
	h     *hyper
	limit int // pages
	used  int // pages held by sequences
	idle  []*page
	seqs  map[uint64]*sequence

	memory    func() (left int64, known bool) // of the machine
	unchecked int64                           // bytes taken since it was asked
}

// checkEvery is how much memory is taken between two looks at what the machine
// has left.
const checkEvery = 32 << 20

func newCache(h *hyper, limitBytes int64) *cache {
	c := &cache{h: h, seqs: map[uint64]*sequence{}, memory: availableMemory}
	c.limit = int(min(limitBytes/c.pageBytes(), 1<<31-1))
	return c
}

func (c *cache) pageBytes() int64 { return c.h.kvBytes() * pageTokens }

// bytes returns the memory of the pages that sequences hold.
func (c *cache) bytes() int64 { return int64(c.used) * c.pageBytes() }

// take returns a page with one reference; the caller has made sure that the
// limit allows it.
func (c *cache) take() *page {
	c.used++
	if n := len(c.idle); n > 0 {
		p := c.idle[n-1]
		c.idle = c.idle[:n-1]
		p.refs = 1
		return p
	}
	if c.h.cacheFormat == kernel.F32 {
		return &page{refs: 1, floats: make([]float32, c.pageBytes()/4)}
	}
	return &page{refs: 1, blocks: make([]byte, c.pageBytes())}
}

// drop gives references back.
func (c *cache) drop(pages []*page) {
	for _, p := range pages {
		p.refs--
		if p.refs == 0 {
			c.used--
			c.idle = append(c.idle, p)
		}
	}
}

func pagesFor(tokens int) int { return (tokens + pageTokens - 1) / pageTokens }

// draft is a sequence while a call extends it: its pages from the first that
// will be written are its own. Nothing of the sequence changes before commit.
type draft struct {
	id     uint64
	old    *sequence // nil for a new one
	pages  []*page
	fresh  int // number of pages at the end that the draft has taken
	length int // after the call
	h      *hyper
}

// extension is what a draft is made for.
type extension struct {
	id     uint64
	tokens int
}

// reserve prepares the extension of all sequences, or of none: a limit error
// says how much is missing.
func (c *cache) reserve(extensions []extension) ([]*draft, error) {
	drafts := make([]*draft, len(extensions))
	missing := 0
	for i, e := range extensions {
		d := &draft{id: e.id, old: c.seqs[e.id], h: c.h, length: e.tokens}
		keep := 0
		if d.old != nil {
			d.length += d.old.length
			keep = d.old.length / pageTokens
			if d.old.length%pageTokens != 0 && d.old.pages[keep].refs == 1 {
				keep++ // the last page is its own and has room
			}
			d.pages = append(make([]*page, 0, pagesFor(d.length)), d.old.pages[:keep]...)
		}
		d.fresh = pagesFor(d.length) - keep
		missing += d.fresh
		drafts[i] = d
	}
	if c.used+missing > c.limit {
		return nil, c.full(drafts, missing)
	}
	if err := c.affords(missing); err != nil {
		return nil, err
	}
	for _, d := range drafts {
		keep := len(d.pages)
		for range d.fresh {
			d.pages = append(d.pages, c.take())
		}
		if d.old != nil && d.fresh > 0 && keep < len(d.old.pages) {
			copy(d.pages[keep].floats, d.old.pages[keep].floats)
			copy(d.pages[keep].blocks, d.old.pages[keep].blocks)
		}
	}
	return drafts, nil
}

// full is the error for a cache that cannot grow by so many pages: it says what
// would fit, and in how large a cache everything would.
func (c *cache) full(drafts []*draft, missing int) error {
	free, fit := c.limit-c.used, 0
	for room := free; fit < len(drafts) && drafts[fit].fresh <= room; fit++ {
		room -= drafts[fit].fresh
	}
	mib := (int64(c.used+missing)*c.pageBytes() + 1<<20 - 1) >> 20
	return fault.New(fault.Limit, "forward", "KV cache",
		"%d tokens' worth of pages are needed, %d are free of the %d that the limit of %d bytes allows (%d sequences hold %d); of the %d sequences of this call the first %d would fit",
		missing*pageTokens, free*pageTokens, c.limit*pageTokens, int64(c.limit)*c.pageBytes(), len(c.seqs), c.used*pageTokens, len(drafts), fit).
		Fix("free sequences, use fewer samples at once, or open the model with cache_mib of at least %d%s", mib, c.smaller())
}

// smaller names the setting that makes the cache smaller, where it is not used.
func (c *cache) smaller() string {
	if c.h.cacheFormat == kernel.F32 {
		return ", or with cache_type q8_0"
	}
	return ""
}

// affords refuses to take so many pages when the machine has no memory left for
// them, which would end the process, or another one.
func (c *cache) affords(pages int) error {
	bytes := int64(max(pages-len(c.idle), 0)) * c.pageBytes()
	if c.unchecked+bytes < checkEvery {
		c.unchecked += bytes
		return nil
	}
	if left, known := c.memory(); known && bytes > left {
		return fault.New(fault.Limit, "forward", "KV cache", "%d tokens' worth of pages take %d MiB more, the machine has %d MiB left",
			pages*pageTokens, bytes>>20, left>>20).Fix("free sequences, or use fewer samples at once%s", c.smaller())
	}
	c.unchecked = 0
	return nil
}

// commit makes the drafts the sequences.
func (c *cache) commit(drafts []*draft) {
	for _, d := range drafts {
		s := d.old
		if s == nil {
			s = &sequence{}
			c.seqs[d.id] = s
		}
		if kept := len(d.pages) - d.fresh; kept < len(s.pages) {
			c.drop(s.pages[kept:])
		}
		s.pages, s.length = d.pages, d.length
	}
}

// abandon forgets the drafts; the sequences are as they were.
func (c *cache) abandon(drafts []*draft) {
	for _, d := range drafts {
		c.drop(d.pages[len(d.pages)-d.fresh:])
	}
}

// fork makes to a copy of the first length tokens of from, sharing its pages.
func (c *cache) fork(from, to uint64, length int) error {
	s, err := c.find("fork", from, length)
	if err != nil {
		return err
	}
	if _, ok := c.seqs[to]; ok {
		return fault.New(fault.Usage, "fork", sequenceName(from), "sequence %d, which it is to become, exists", to)
	}
	pages := s.pages[:pagesFor(length):pagesFor(length)]
	for _, p := range pages {
		p.refs++
	}
	c.seqs[to] = &sequence{pages: append([]*page(nil), pages...), length: length}
	return nil
}

// truncate keeps the first length tokens of a sequence.
func (c *cache) truncate(id uint64, length int) error {
	s, err := c.find("truncate", id, length)
	if err != nil {
		return err
	}
	keep := pagesFor(length)
	c.drop(s.pages[keep:])
	s.pages, s.length = s.pages[:keep], length
	return nil
}

// free forgets a sequence; an unknown one is no error.
func (c *cache) free(id uint64) {
	if s, ok := c.seqs[id]; ok {
		c.drop(s.pages)
		delete(c.seqs, id)
	}
}

// find returns a sequence that holds at least length tokens.
func (c *cache) find(op string, id uint64, length int) (*sequence, error) {
	s, ok := c.seqs[id]
	if !ok {
		return nil, fault.New(fault.Usage, op, sequenceName(id), "there is no such sequence")
	}
	if length < 0 || length > s.length {
		return nil, fault.New(fault.Usage, op, sequenceName(id), "length %d is outside [0, %d]", length, s.length)
	}
	return s, nil
}

func sequenceName(id uint64) string { return fmt.Sprintf("sequence %d", id) }
