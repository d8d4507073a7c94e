//go:build unix

package conform_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// brokenSamplers break one law each, the one they are named after; some break
// others with it.
func brokenSamplers() []sampler.Sampler {
	reshape := func(name string, needs sampler.Needs, apply func(r *sampler.Row, set param.Values) error, params ...param.Spec) stage {
		return stage{declare(name, sampler.Reshape, needs, params...), apply}
	}
	none := sampler.Needs{}
	twoLines := reshape("declaration", none, func(*sampler.Row, param.Values) error { return nil })
	twoLines.d.Formula = "one line\nand another"
	systems := reshape("systems", none, func(r *sampler.Row, _ param.Values) error {
		if r.System != "" {
			panic("that rule was never written")
		}
		return nil
	})
	systems.d.Systems = []sampler.System{{Name: "elsewhere", Term: "it", Differs: "it panics"}}
	var calls, last, steps int // between calls, which is what must not be
	var mu sync.Mutex          // several rows may be under way at once
	var previous float32
	var under atomic.Int64 // rows under way
	memo := map[string]float32{}
	return []sampler.Sampler{
		twoLines, systems,
		reshape("defaults", none, func(*sampler.Row, param.Values) error {
			return fault.New(fault.Data, "", "", "not today")
		}, number("gain", 1, 0, 2)),
		reshape("distribution", none, func(r *sampler.Row, _ param.Values) error {
			for i, v := range r.Scores.Values {
				if !dist.Finite(v) {
					r.Scores.Values[i] = -5 // back from the dead
				}
			}
			return nil
		}),
		reshape("magnitudes", none, func(r *sampler.Row, _ param.Values) error {
			for i := range r.Scores.Values {
				r.Scores.Values[i] *= 8
			}
			return nil
		}),
		reshape("one_token", none, func(r *sampler.Row, _ param.Values) error {
			for i := range r.Scores.Values {
				r.Scores.Values[i] -= 100 / float32(len(r.Scores.Values)-1)
			}
			return nil
		}),
		reshape("large_vocabulary", none, func(r *sampler.Row, _ param.Values) error {
			var seen [1 << 16]bool
			for i := range r.Scores.Values {
				seen[r.Scores.ID(i)] = true
			}
			return nil
		}),
		reshape("lowest_id", none, func(r *sampler.Row, _ param.Values) error {
			top, at := float32(math.Inf(-1)), 0
			for i, v := range r.Scores.Values {
				if v >= top {
					top, at = v, i
				}
			}
			r.Scores.Keep(func(i int) bool { return i == at }, nil)
			return nil
		}),
		reshape("min_keep", none, func(r *sampler.Row, _ param.Values) error {
			at := best(r.Scores)[0]
			r.Scores.Keep(func(i int) bool { return i == at }, nil)
			return nil
		}, whole("min_keep", 1)),
		reshape("deterministic", none, func(r *sampler.Row, _ param.Values) error {
			calls++
			r.Scores.Values[0] -= float32(calls % 7)
			return nil
		}),
		reshape("batch", none, func(r *sampler.Row, _ param.Values) error {
			mu.Lock()
			was := previous
			previous = r.Scores.Values[0]
			mu.Unlock()
			if r.Scores.Len() > 1 {
				r.Scores.Values[0] -= was / 64
			}
			return nil
		}),
		reshape("state", none, func(r *sampler.Row, _ param.Values) error {
			if steps++; len(r.State) == 0 {
				steps = 1
			}
			r.State = []byte{1} // the number itself it keeps
			r.Scores.Values[0] -= float32(steps)
			return nil
		}),
		// It spoils the context for the stage after it, which reads it.
		reshape("scribbler", sampler.Needs{History: -1}, func(r *sampler.Row, _ param.Values) error {
			for i := range r.History {
				r.History[i] = 0
			}
			return nil
		}),
		reshape("chain", sampler.Needs{History: 1}, func(r *sampler.Row, _ param.Values) error {
			if n := len(r.History); n > 0 && r.Scores.Has(r.History[n-1]) {
				r.Scores.Values[r.Scores.Index(r.History[n-1])] -= 1
			}
			return nil
		}),
		reshape("sparse", none, func(r *sampler.Row, _ param.Values) error {
			for i := range r.Scores.Values {
				r.Scores.Values[i] -= float32(i%3) / 4 // a place is not an id
			}
			return nil
		}),
		reshape("shift", none, func(r *sampler.Row, _ param.Values) error {
			for i, v := range r.Scores.Values {
				if v > 0 {
					r.Scores.Values[i] /= 2
				}
			}
			return nil
		}),
		reshape("off", none, func(r *sampler.Row, set param.Values) error {
			for i := range r.Scores.Values {
				r.Scores.Values[i] = (r.Scores.Values[i]/64 + 4096 - 4096) * 64 * float32(set.Float("gain"))
			}
			return nil
		}, number("gain", 1, 1, 1)),
		reshape("unlisted", none, func(r *sampler.Row, _ param.Values) error {
			r.Scores.Unlisted /= 2
			return nil
		}),
		reshape("broken_rows", sampler.Needs{Raw: true}, func(*sampler.Row, param.Values) error { return nil }),
		reshape("probabilities", none, func(r *sampler.Row, _ param.Values) error {
			p, err := dist.NewSampling(r.Scores)
			if err != nil {
				return err
			}
			for i := range r.Scores.Values {
				if id := r.Scores.ID(i); r.Scores.Has(id) {
					r.Scores.Values[i] = float32(p.P(id))
				}
			}
			return nil
		}),
		// It takes what is listed for all there is.
		reshape("tail", none, func(r *sampler.Row, _ param.Values) error {
			r.Scores.Unlisted = 0
			return nil
		}),
		reshape("even_ids", none, func(r *sampler.Row, _ param.Values) error {
			if r.Scores.Len() > 1 {
				r.Scores.Keep(func(i int) bool { return r.Scores.ID(i)%2 == 0 || i == best(r.Scores)[0] }, nil)
			}
			return nil
		}),
		stage{declare("greedy", sampler.Select, none), func(r *sampler.Row, _ param.Values) error {
			top := float32(math.Inf(-1))
			for i, v := range r.Scores.Values {
				if v >= top {
					r.Chosen, top = r.Scores.ID(i), v
				}
			}
			return nil
		}},
		reshape("scribbler_of_passes", sampler.Needs{Passes: 1}, func(r *sampler.Row, _ param.Values) error {
			for i, v := range r.Passes[0].Values {
				if i < r.Scores.Len() {
					r.Scores.Values[i] -= min(max(v, -1), 1)
				}
				r.Passes[0].Values[i] = v + 0.5
			}
			return nil
		}),
		reshape("wordy", none, func(*sampler.Row, param.Values) error {
			panic(strings.Repeat("a line\n", 10_000))
		}),
		reshape("hoarder", none, func(r *sampler.Row, _ param.Values) error {
			r.State = append(r.State, make([]byte, 1000)...)
			return nil
		}),
		// At 0 it does nothing, and yet moves every score.
		reshape("moved", none, func(r *sampler.Row, set param.Values) error {
			top := slices.Max(r.Scores.Values)
			for i, v := range r.Scores.Values {
				r.Scores.Values[i] = (v - top) * float32(1+set.Float("gain"))
			}
			return nil
		}, number("gain", 1, 0, 2)),
		reshape("slow", none, func(r *sampler.Row, _ param.Values) error {
			if len(r.Scores.Values) > 100_000 {
				time.Sleep(300 * time.Millisecond)
			}
			return nil
		}),
		// It takes a row for another with as many scores and the same first one.
		reshape("memo", none, func(r *sampler.Row, _ param.Values) error {
			key := fmt.Sprint(r.Scores.Len(), r.Scores.Values[0])
			top, ok := memo[key]
			if !ok {
				top = slices.Max(r.Scores.Values)
				memo[key] = top
			}
			if r.Scores.Unlisted == 0 {
				r.Scores.KeepFrom(min(top, slices.Max(r.Scores.Values)) - 1)
			}
			return nil
		}),
		reshape("together", none, func(r *sampler.Row, _ param.Values) error {
			n := under.Add(1)
			if r.Scores.Len() > 10_000 {
				time.Sleep(5 * time.Millisecond)
				n = max(n, under.Load())
			}
			under.Add(-1)
			r.Scores.Values[0] -= float32(n - 1)
			return nil
		}),
		stage{declare("draws", sampler.Select, sampler.Needs{Uniforms: 1}), func(r *sampler.Row, _ param.Values) error {
			var ids []int32
			for i, v := range r.Scores.Values {
				if dist.Finite(v) {
					ids = append(ids, r.Scores.ID(i))
				}
			}
			r.Chosen = ids[int(r.Uniforms[0]*float64(len(ids)))] // each alike
			return nil
		}},
		reshape("idle", sampler.Needs{Uniforms: 1}, func(*sampler.Row, param.Values) error { return nil }),
		reshape("crash", none, func(*sampler.Row, param.Values) error {
			os.Exit(7)
			return nil
		}),
		reshape("refuses", none, func(*sampler.Row, param.Values) error {
			return fault.New(fault.Usage, "", "", "gain must be another")
		}, number("gain", 1, 0, 2)),
		reshape("shrinks", none, func(r *sampler.Row, _ param.Values) error {
			for i, v := range r.Scores.Values {
				if v > 3 && last >= 0 {
					r.Scores.Values[i] = float32(math.NaN())
				}
			}
			return nil
		}, number("gain", 1, 0, 2), whole("k", 3)),
	}
}

// lateSamplers change their mind when the clock has moved on.
func lateSamplers() []sampler.Sampler {
	var first time.Time
	return []sampler.Sampler{stage{declare("clock", sampler.Reshape, sampler.Needs{}), func(r *sampler.Row, _ param.Values) error {
		if first.IsZero() {
			first = time.Now()
		}
		if time.Since(first) > laterThan {
			r.Scores.Values[0] -= 1
		}
		return nil
	}}}
}

// laterThan is less than the law "later" waits, and more than the questions
// before take.
const laterThan = time.Second

// stuckSamplers never answer.
func stuckSamplers() []sampler.Sampler {
	var out []sampler.Sampler
	for _, name := range []string{"stuck_a", "stuck_b", "stuck_c", "stuck_d"} {
		out = append(out, stage{declare(name, sampler.Reshape, sampler.Needs{}), func(*sampler.Row, param.Values) error { select {} }})
	}
	return out
}

// brokenModels break one law each, the one they are named after.
func brokenModels() []model.Backend {
	var out []model.Backend
	add := func(law string, top int, change func(m *talk)) {
		out = append(out, &talker{name: "model_" + law, top: top, change: change})
	}
	add("info", 0, func(m *talk) { m.info.Parameters += int64(m.opened) })
	add("digest", 0, func(m *talk) {
		n := 0
		m.digest = func() string { n++; return m.info.Digest + string(rune('a'+n)) }
	})
	add("pieces", 0, func(m *talk) {
		piece := m.piece
		m.piece = func(id int32) []byte {
			if id == 1 {
				return []byte("</s>")
			}
			return piece(id)
		}
	})
	add("tokenizer", 0, func(m *talk) {
		tokens := m.tokens
		m.tokens = func(text []byte) []int32 { return tokens(bytes.ToValidUTF8(text, []byte("?"))) }
	})
	add("special", 0, func(m *talk) {
		tokens := m.tokens
		m.tokens = func(text []byte) []int32 {
			if before, after, ok := bytes.Cut(text, []byte("</s>")); ok {
				return append(append(tokens(before), 1), tokens(after)...)
			}
			return tokens(text)
		}
	})
	add("rows", 5, func(m *talk) {
		m.row = func(row *dist.Scores, _ []int32) { m.list(row, 6) }
	})
	add("nan", 0, func(m *talk) {
		m.row = func(row *dist.Scores, context []int32) {
			if m.fill(row, context); len(context) > 3 {
				row.Values[7] = float32(math.NaN())
			}
		}
	})
	add("prefix", 0, func(m *talk) {
		m.grow = func(held, tokens []int32) []int32 {
			if len(held) > 4 && len(tokens) == 1 {
				held = held[1:] // a window that slides too early
			}
			return append(slices.Clone(held), tokens...)
		}
		m.check = func(model.Input) error { return nil }
	})
	add("fork", 0, func(m *talk) {
		// The fork shares what the parent goes on to write.
		m.fork = func(tokens []int32, length int) []int32 { return tokens[:length] }
		m.grow = func(held, tokens []int32) []int32 { return append(held, tokens...) }
	})
	// It keeps one number for each token, made of those before, and a fork shares
	// the memory of its parent's.
	add("cache", 0, func(m *talk) {
		m.fork = func(held []int32, length int) []int32 { return held[:length] }
		m.cut = m.fork
		m.grow = func(held, tokens []int32) []int32 {
			for _, t := range tokens {
				before := int32(0)
				if len(held) > 0 {
					before = held[len(held)-1]
				}
				held = append(held, (before+t+1)*1_000_003)
			}
			return held
		}
		m.row = func(row *dist.Scores, held []int32) { m.fill(row, held[len(held)-1:]) }
	})
	add("crowd", 0, func(m *talk) {
		m.grow = func(held, tokens []int32) []int32 {
			if len(m.seqs) > 64 {
				held = make([]int32, len(held)) // what is beyond its memory
			}
			return append(slices.Clone(held), tokens...)
		}
	})
	everyones := map[uint64][]int32{}
	add("shared", 0, func(m *talk) { m.seqs = everyones })
	add("probabilities", 0, func(m *talk) {
		m.row = func(row *dist.Scores, context []int32) {
			m.fill(row, context)
			p, _ := dist.NewModel(row)
			for i := range row.Values {
				row.Values[i] = float32(p.P(int32(i)))
			}
		}
	})
	add("shown", 0, func(m *talk) {
		m.shown = func(id int32) []byte { return bytes.ReplaceAll(m.piece(id), []byte(" "), []byte("▁")) }
	})
	add("chat", 0, func(m *talk) {
		tokens := m.tokens
		m.tokens = func(text []byte) []int32 {
			if bytes.HasPrefix(text, []byte("<|im_end|>")) {
				return append([]int32{1}, tokens(text[len("<|im_end|>"):])...)
			}
			return tokens(text)
		}
	})
	add("early", 0, func(m *talk) { m.early = true })
	var first time.Time
	add("clock", 0, func(m *talk) {
		m.row = func(row *dist.Scores, context []int32) {
			if m.fill(row, context); first.IsZero() {
				first = time.Now()
			}
			if time.Since(first) > laterThan {
				row.Values[9]++
			}
		}
	})
	out = append(out, &talker{name: "model_shut", shut: true}, &talker{name: "model_file", shut: true, files: true})
	add("truncate", 0, func(m *talk) {
		m.cut = func(tokens []int32, _ int) []int32 { return tokens }
		m.check = func(model.Input) error { return nil }
	})
	add("batch", 0, func(m *talk) {
		m.row = func(row *dist.Scores, context []int32) {
			m.fill(row, context)
			row.Values[9] += float32(min(m.batch, 2)-1) / 4
		}
	})
	add("contexts", 0, func(m *talk) {
		check := m.check
		m.check = func(in model.Input) error {
			if len(in.Tokens) > 1 && in.Start == 8 && in.Start+len(in.Tokens) < 40 {
				return fault.New(fault.Internal, "", "", "index out of range")
			}
			return check(in)
		}
	})
	add("context_length", 0, func(m *talk) {
		m.check = func(in model.Input) error {
			info := m.info
			info.ContextLength++
			return in.Check(info, len(m.seqs[in.Seq]))
		}
	})
	add("usage", 0, func(m *talk) { m.count = func(u *model.Usage, n int) { u.DecodeTokens += int64(n) } })
	add("hidden", 0, func(m *talk) { m.hidden = func(int) float32 { return 0 } })
	add("large_batch", 0, func(m *talk) {
		m.row = func(row *dist.Scores, context []int32) {
			m.fill(row, context)
			if m.batch > 100 {
				row.Values[9]++
			}
		}
	})
	return out
}
