//go:build python && linux

package python

import (
	"context"
	"fmt"
	"testing"

	"lab/core/plugin/host"
	"lab/core/plugin/sampler"
)

// BenchmarkInlineHop compares one sampler call of a row that travels as bytes,
// there and back, to a plugin in Go and to one in Python that change one score of
// it. Read the ratio at 32,768 tokens, which should be below 5; a row of two
// tokens shows what the call costs without its row.
func BenchmarkInlineHop(b *testing.B) {
	dir := layOut(b, "touch", "testdata", "touch.py")
	h := open(b, dir, func(o *host.Options) {
		o.Inline = true
		o.Builtins = []host.Command{{Name: "go", Argv: host.Self(serveWord)}}
	})
	for _, vocab := range []int{2, 32768, 262144} {
		for _, plugin := range []string{"go", "touch"} {
			name := map[string]string{"go": "go", "touch": "python"}[plugin]
			for _, ledger := range []bool{false, true} {
				b.Run(fmt.Sprintf("%d/%s/ledger=%t", vocab, name, ledger), func(b *testing.B) {
					it := &sampler.Item{Scores: ramp(vocab)}
					call := &sampler.Call{Items: []*sampler.Item{it}, Stages: []sampler.Stage{{Sampler: "touch"}}, Ledger: ledger}
					run := h.Runner(plugin)
					if err := run.Run(context.Background(), call); err != nil { // starts it
						b.Fatal(err)
					}
					for b.Loop() {
						if err := run.Run(context.Background(), call); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
