package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/plugin"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

const (
	serveWord  = "serve-test-plugin"
	modelsWord = "serve-test-models"
)

// TestMain makes the test binary the plugins that are measured.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveWord {
		plugin.Serve(plugin.Plugin{Name: "measured", Version: "1", Samplers: append(samplers(), die{}, cut{}), Models: []model.Backend{cycle{}}})
	}
	if len(os.Args) == 2 && os.Args[1] == modelsWord {
		plugin.Serve(plugin.Plugin{Name: "models", Version: "1", Models: []model.Backend{cycle{}}})
	}
	os.Exit(m.Run())
}

func samplers() []sampler.Sampler { return []sampler.Sampler{halve{}, reader{}, touch{}} }

// cut leaves the first tokens, as a truncation leaves a few.
type cut struct{}

const left = 256

func (cut) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "cut", Kind: sampler.Reshape, Summary: "Leaves the first tokens.", Source: "This test."}
}

func (cut) Apply(row *sampler.Row, _ param.Values) error {
	row.Scores.Keep(func(i int) bool { return i < left }, nil)
	return nil
}

// die ends its process.
type die struct{}

func (die) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "die", Kind: sampler.Reshape, Summary: "Ends its process.", Source: "This test."}
}

func (die) Apply(*sampler.Row, param.Values) error {
	os.Exit(3)
	return nil
}

// halve changes every score, so that a row that was not written anew before a
// call is told from one that was: its best score would not be about 0 any more.
type halve struct{}

func (halve) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "halve", Kind: sampler.Reshape, Summary: "Halves every score.", Source: "This test.",
		Params: param.Specs{{Name: "by", Type: param.Float, Default: 2.0, Min: 1, Max: 10, Meaning: "What scores are divided by."}}}
}

func (halve) Apply(row *sampler.Row, set param.Values) error {
	if len(row.State) > 0 {
		return errors.New("it was given the state of an earlier call")
	}
	if worst := slices.Min(row.Scores.Values); row.Scores.Vocab > 10 && worst > -steepness*float32(math.Log(float64(row.Scores.Vocab)))/1.5 {
		return fmt.Errorf("the lowest score is %v: the row was not written anew", worst)
	}
	for i := range row.Scores.Values {
		row.Scores.Values[i] /= float32(set.Float("by"))
	}
	row.State = []byte{1}
	return nil
}

// reader needs everything that a stage may need.
type reader struct{}

func (reader) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "reader", Kind: sampler.Select, Summary: "Takes the best token.", Source: "This test.",
		Needs: sampler.Needs{History: 8, Uniforms: 2, TokenTexts: true, Passes: 1}}
}

func (reader) Apply(row *sampler.Row, _ param.Values) error {
	if len(row.History) != 8 || len(row.Uniforms) != 2 || len(row.Passes) != 1 || string(row.Texts(0)) != "a" {
		return errors.New("something that it needs is missing")
	}
	row.Chosen = row.Scores.ID(slices.Index(row.Scores.Values, slices.Max(row.Scores.Values)))
	return nil
}

// touch changes one score: what is left of a hop is its transport and the checks.
type touch struct{}

func (touch) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "touch", Kind: sampler.Reshape, Summary: "Changes one score.", Source: "This test."}
}

func (touch) Apply(row *sampler.Row, _ param.Values) error {
	row.Scores.Values[0]++
	return nil
}

// BenchmarkPlaneHop compares the hop of a row in shared memory with the bare round
// trip of the same process, for a sampler that touches one score. Naming a row costs
// next to nothing whatever its size (BenchmarkTransport in package host); a whole row
// of 1 MiB is besides copied once, for a repetition, and looked through at both ends,
// by another processor each time.
func BenchmarkPlaneHop(b *testing.B) {
	h := open(b, host.Options{})
	local, err := sampler.NewSet(touch{})
	if err != nil {
		b.Fatal(err)
	}
	d := touch{}.Declare()
	c := Case{Label: d.Name, Declaration: d, Stage: sampler.Stage{Sampler: d.Name}}
	for _, vocab := range []int{1000, 32_000, 262_144} {
		b.Run(fmt.Sprint(vocab), func(b *testing.B) {
			var hops []Hop
			for b.Loop() {
				hops, err = Samplers(b.Context(), h, "measured", []Case{c}, Options{Vocab: []int{vocab}, Batch: []int{1}, Local: local})
				if err != nil {
					b.Fatal(err)
				}
			}
			us := func(d time.Duration) float64 { return d.Seconds() * 1e6 }
			for _, x := range hops {
				name := string(x.Transport)
				b.ReportMetric(us(x.Call.Median-x.Bare.Median), name+"-over-bare-µs")
				b.ReportMetric(x.Call.Over(x.Bare), name+"/bare")
			}
			b.ReportMetric(us(hops[0].Bare.Median), "bare-µs")
			b.ReportMetric(us(hops[0].Watched.Median-hops[0].Bare.Median), "watchdog-µs")
			b.ReportMetric(us(hops[0].InProcess.Median), "in-process-µs")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPlaneHopAfterACut is the hop of a row of 262,144 tokens of which an
// earlier stage left 256: there is next to nothing to copy and to look through.
func BenchmarkPlaneHopAfterACut(b *testing.B) {
	const vocab = 262_144
	h := open(b, host.Options{})
	trip, err := h.Trip(b.Context(), "measured")
	if err != nil {
		b.Fatal(err)
	}
	whole := h.Rows(vocab, 1)
	from, run := scores(vocab, 1), h.Runner("measured")
	cutting := &sampler.Call{Stages: []sampler.Stage{{Sampler: "cut"}}, Items: []*sampler.Item{{}}}
	call := &sampler.Call{Stages: []sampler.Stage{{Sampler: "touch"}}, Items: []*sampler.Item{{}}}
	ready := func() {
		write(whole, from)
		*cutting.Items[0] = sampler.Item{Scores: whole[0]}
		if err := run.Run(b.Context(), cutting); err != nil {
			b.Fatal(err)
		}
		*call.Items[0] = sampler.Item{Scores: cutting.Items[0].Scores}
	}
	ready()
	if row := &call.Items[0].Scores; row.Len() != left || !h.Shared(row) {
		b.Fatalf("a row of %d tokens, in shared memory: %t", row.Len(), h.Shared(row))
	}
	bare := &kind{ready: ready, call: trip.Bare}
	hop := &kind{ready: ready, call: func(ctx context.Context) error { return run.Run(ctx, call) }}
	for b.Loop() {
		if err := measure(b.Context(), []*kind{bare, hop}, 500*time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
	calls, trips := times(hop.took), times(bare.took)
	b.ReportMetric((calls.Median-trips.Median).Seconds()*1e6, "plane-over-bare-µs")
	b.ReportMetric(calls.Over(trips), "plane/bare")
	b.ReportMetric(trips.Median.Seconds()*1e6, "bare-µs")
	b.ReportMetric(0, "ns/op")
}

func open(t testing.TB, opt host.Options) *host.Host {
	t.Helper()
	opt.Builtins = []host.Command{{Name: "measured", Argv: host.Self(serveWord)}, {Name: "models", Argv: host.Self(modelsWord)}}
	h, err := host.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func cases(t testing.TB) []Case {
	t.Helper()
	var out []Case
	for _, s := range samplers() {
		d := s.Declare()
		values, err := d.Params.Resolve("test", d.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Case{Label: d.Name, Declaration: d, Stage: sampler.Stage{Sampler: d.Name, Values: values}})
	}
	return out
}

func sound(t *testing.T, what string, all ...Times) {
	t.Helper()
	for i, x := range all {
		if x.Rounds < minRounds || !(0 < x.P10 && x.P10 <= x.Median && x.Median <= x.P90) {
			t.Errorf("%s: times %d are %+v", what, i, x)
		}
	}
}

func TestEverySettingOfASamplerIsMeasured(t *testing.T) {
	h := open(t, host.Options{})
	local, err := sampler.NewSet(samplers()...)
	if err != nil {
		t.Fatal(err)
	}
	var last [2]int
	opt := Options{Vocab: []int{50, 3000}, Batch: []int{1, 3}, For: time.Millisecond, Local: local,
		Progress: func(done, total int, _ string) { last = [2]int{done, total} }}
	hops, err := Samplers(t.Context(), h, "measured", cases(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range hops {
		what := fmt.Sprintf("%s %d %d %s", x.Case, x.Vocab, x.Batch, x.Transport)
		seen[what] = true
		sound(t, what, x.Call, x.Bare, x.Watched, x.InProcess)
		if got := x.PerRow() * float64(x.Batch); !(math.Abs(got-x.Call.Median.Seconds()) <= 1e-12) { // rounding of one division
			t.Errorf("%s: %g s per row of %v", what, x.PerRow(), x.Call.Median)
		}
	}
	if len(seen) != 3*2*2*2 || len(hops) != len(seen) {
		t.Errorf("%d of %d settings are distinct, want 24: %v", len(seen), len(hops), seen)
	}
	if last != [2]int{12, 12} {
		t.Errorf("progress ended at %v", last)
	}
}

// Without shared memory there is one transport, and nothing is called the other.
func TestWithoutSharedMemoryOnlyBytesAreMeasured(t *testing.T) {
	h := open(t, host.Options{Inline: true})
	hops, err := Samplers(t.Context(), h, "measured", cases(t)[:1], Options{Vocab: []int{100}, Batch: []int{1}, For: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(hops) != 1 || hops[0].Transport != Inline || hops[0].InProcess.Known() {
		t.Errorf("got %+v", hops)
	}
}

func TestAModelIsMeasuredWithAContextOfItsOwn(t *testing.T) {
	h := open(t, host.Options{})
	m, err := h.OpenModel(t.Context(), "measured/cycle", nil)
	if err != nil {
		t.Fatal(err)
	}
	local, err := cycle{}.Open(t.Context(), "cycle", nil)
	if err != nil {
		t.Fatal(err)
	}
	speeds, err := Models(t.Context(), h, []Subject{{Label: "it", Model: m, Local: local}}, Options{Batch: []int{1, 4}, Prefill: 6, For: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range speeds {
		sound(t, string(s.Phase), s.Forward, s.Bare, s.InProcess)
		tokens := s.TokensPerSecond() * s.Forward.Median.Seconds()
		got = append(got, fmt.Sprintf("%s %d %d %s %.0f", s.Phase, s.Batch, s.Context, s.Transport, tokens))
	}
	want := []string{"prefill 1 6 inline 6", "prefill 1 6 plane 6", "decode 1 6 inline 1", "decode 1 6 plane 1", "decode 4 6 inline 4", "decode 4 6 plane 4"}
	if !slices.Equal(got, want) {
		t.Errorf("measured %q, want %q", got, want)
	}
	if c := local.(*cycleModel); len(c.seqs) != 0 {
		t.Errorf("%d sequences were left", len(c.seqs))
	}
}

func TestSizesThatCannotBeMeasured(t *testing.T) {
	for name, opt := range map[string]Options{
		"an empty vocabulary":    {Vocab: []int{0}},
		"a huge vocabulary":      {Vocab: []int{maxVocab + 1}},
		"no rows":                {Batch: []int{-1}},
		"too many rows":          {Batch: []int{maxBatch + 1}},
		"too many scores":        {Vocab: []int{1 << 20}, Batch: []int{1 << 10}},
		"an unknown transport":   {Transports: []Transport{"plain"}},
		"an impossible context":  {Prefill: -3},
		"too many sizes to list": {Vocab: slices.Repeat([]int{7}, maxLists+1)},
	} {
		if err := opt.Check(); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Options{}).Check(); err != nil {
		t.Error(err)
	}
}

func TestPercentilesAreValuesThatWereMeasured(t *testing.T) {
	var all []time.Duration
	for i := range 101 {
		all = append(all, time.Duration((i*37)%101))
	}
	if got := times(all); got != (Times{Rounds: 101, P10: 10, Median: 50, P90: 90}) {
		t.Errorf("got %+v", got)
	}
	if got := times([]time.Duration{5}); got != (Times{1, 5, 5, 5}) {
		t.Errorf("of one: %+v", got)
	}
	if r := (Times{}).Over(Times{Rounds: 1, Median: 1}); !math.IsNaN(r) {
		t.Errorf("nothing measured is %g times something", r)
	}
}

// A trip is one of the process it was made for, and says so when that is gone.
func TestTripsEndWithTheirProcess(t *testing.T) {
	ctx := t.Context()
	h := open(t, host.Options{Restarts: -1})
	trip, err := h.Trip(ctx, "measured")
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{"bare": trip.Bare, "watched": trip.Watched} {
		if err := call(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	item := &sampler.Item{Scores: heapRows(3, 1)[0]}
	if err := h.Runner("measured").Run(ctx, &sampler.Call{Stages: []sampler.Stage{{Sampler: "die"}}, Items: []*sampler.Item{item}}); err == nil {
		t.Fatal("the process did not die")
	}
	for name, call := range map[string]func(context.Context) error{"bare": trip.Bare, "watched": trip.Watched} {
		if err := call(ctx); fault.KindOf(err) != fault.Plugin {
			t.Errorf("%s after the process: %v", name, err)
		}
	}
	if err := trip.Watched(ctx); err == nil || !strings.Contains(err.Error(), "its process has ended (exit status 3)") {
		t.Error(err)
	}
}

func TestTripsNeedSomethingToCall(t *testing.T) {
	h := open(t, host.Options{})
	if _, err := h.Trip(t.Context(), "models"); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
	if _, err := h.Trip(t.Context(), "nosuch"); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
	m, err := h.OpenModel(t.Context(), "models/cycle", nil)
	if err != nil {
		t.Fatal(err)
	}
	trip, err := m.Trip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(trip.Bare(t.Context()), trip.Watched(t.Context())); err != nil {
		t.Error(err)
	}
}

// Rows without a model lie where plugins can map them, and are used again.
func TestRowsWithoutAModel(t *testing.T) {
	h := open(t, host.Options{})
	rows := h.Rows(1234, 2)
	own := heapRows(1234, 1)[0]
	if len(rows) != 2 || rows[0].Len() != 1234 || !h.Shared(&rows[0]) || !h.Shared(&rows[1]) || h.Shared(&own) {
		t.Fatalf("%d rows, shared %t", len(rows), h.Shared(&rows[0]))
	}
	first := &rows[0].Values[0]
	h.Release(rows)
	again := h.Rows(1234, 2)
	if !slices.ContainsFunc([]*float32{&again[0].Values[0], &again[1].Values[0]}, func(p *float32) bool { return p == first }) {
		t.Error("released rows are not used again")
	}
}

// An error of the plugin ends the measurement and names what was measured.
func TestAFailingSamplerIsNamed(t *testing.T) {
	h := open(t, host.Options{})
	c := cases(t)[0]
	c.Stage.Sampler = "nosuch"
	_, err := Samplers(t.Context(), h, "measured", []Case{c}, Options{Vocab: []int{10}, Batch: []int{1}})
	if err == nil || !strings.Contains(err.Error(), "halve, 10 tokens, batch 1") {
		t.Error(err)
	}
}

// cycle is a model in which every token is followed by the next one.
type cycle struct{}

func (cycle) Declare() model.Declaration {
	return model.Declaration{Name: "cycle", Summary: "Counts.", Source: "This test."}
}

func (cycle) Open(context.Context, string, param.Values) (model.Model, error) {
	return &cycleModel{seqs: map[uint64]int{}}, nil
}

type cycleModel struct{ seqs map[uint64]int }

func (*cycleModel) Info() model.Info {
	return model.Info{Name: "cycle", Architecture: "cycle", VocabSize: 7, ContextLength: 32, Digest: "7", Deterministic: true, Begin: -1}
}

func (*cycleModel) Encode(context.Context, []byte, model.EncodeOptions) ([]int32, error) {
	return nil, nil
}
func (*cycleModel) Decode(context.Context, []int32) ([]byte, error) { return nil, nil }
func (*cycleModel) Pieces(context.Context) ([][]byte, error)        { return make([][]byte, 7), nil }

func (m *cycleModel) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	for _, in := range batch {
		if err := in.Check(m.Info(), m.seqs[in.Seq]); err != nil {
			return model.Usage{}, err
		}
	}
	u := model.Usage{BytesMoved: 1000} // weights once a call
	for _, in := range batch {
		for range in.Tokens {
			m.seqs[in.Seq]++
			u.FLOPs += 10
			u.BytesMoved += 2 * int64(m.seqs[in.Seq])
		}
		for r := range in.Scores {
			v := in.Scores[r].Values
			for i := range v {
				v[i] = -1
			}
			v[(in.Tokens[len(in.Tokens)-1]+1)%7] = 3
		}
	}
	for _, n := range m.seqs {
		u.CacheBytes += 2 * int64(n)
	}
	return u, nil
}

func (m *cycleModel) Edit(_ context.Context, edits []model.Edit) error {
	for _, e := range edits {
		switch e.Op {
		case model.Free:
			delete(m.seqs, e.Seq)
		case model.Truncate:
			m.seqs[e.Seq] = e.Length
		case model.Fork:
			m.seqs[e.To] = e.Length
		}
	}
	return nil
}

func (*cycleModel) Verify(context.Context) (string, error) { return "7", nil }
func (*cycleModel) Close() error                           { return nil }
