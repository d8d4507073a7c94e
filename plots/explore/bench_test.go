package explore

import (
	"fmt"
	"testing"

	"lab/core/dist"
)

// BenchmarkWrite is a page of the largest usual vocabulary with the default 13
// contexts: whole rows, and the likeliest thousand of each. page/raw is the size of
// the page over that of the scores that it carries.
func BenchmarkWrite(b *testing.B) {
	row := dist.NewDense(largeRow(262144))
	p := example(b)
	p.Chain, p.End = nil, nil
	p.Pieces = make([][]byte, row.Vocab)
	for i := range p.Pieces {
		p.Pieces[i] = fmt.Appendf(nil, " token%d", i)
	}
	for _, head := range []int{0, 1000} {
		b.Run(fmt.Sprintf("head=%d", head), func(b *testing.B) {
			size := 0
			for b.Loop() {
				p.Nodes = nil
				for i := range int32(13) {
					n := Node{Row: row}
					if i > 0 {
						n.Path = []int32{i}
					}
					if head > 0 {
						var err error
						if n, err = Head(n, head); err != nil {
							b.Fatal(err)
						}
					}
					p.Nodes = append(p.Nodes, n)
				}
				var page counter
				if err := Write(&page, p); err != nil {
					b.Fatal(err)
				}
				size = int(page)
			}
			b.ReportMetric(float64(size)/float64(13*4*row.Vocab), "page/raw")
		})
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
