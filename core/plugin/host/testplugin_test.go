//go:build unix

package host_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// testSamplers are what the test plugins offer.
func testSamplers() []sampler.Sampler {
	return []sampler.Sampler{halve{}, touch{}, keep{}, best{}, crash{}, printer{}, texts{}, report{}, tally{}, environ{}}
}

func declare(name string, kind sampler.Kind, params ...param.Spec) sampler.Declaration {
	return sampler.Declaration{Name: name, Kind: kind, Summary: "for tests", Source: "none", Params: params}
}

// halve halves every score.
type halve struct{}

func (halve) Declare() sampler.Declaration {
	d := declare("halve", sampler.Reshape)
	d.Aliases = []string{"half"}
	return d
}

func (halve) Apply(r *sampler.Row, _ param.Values) error {
	for i := range r.Scores.Values {
		r.Scores.Values[i] /= 2
	}
	return nil
}

// touch adds an amount to one score: what is left is the cost of the transport.
type touch struct{}

func (touch) Declare() sampler.Declaration {
	return declare("touch", sampler.Reshape, param.Spec{Name: "amount", Type: param.Float, Default: 1.0, Min: -10, Max: 10, Meaning: "what is added"})
}

func (touch) Apply(r *sampler.Row, set param.Values) error {
	r.Scores.Values[0] += float32(set.Float("amount"))
	return nil
}

// keep keeps every n-th listed token.
type keep struct{}

func (keep) Declare() sampler.Declaration {
	return declare("keep", sampler.Reshape, param.Spec{Name: "every", Type: param.Int, Default: int64(3), Min: 1, Max: 1e6, Meaning: "keeps every n-th"})
}

func (keep) Apply(r *sampler.Row, set param.Values) error {
	n := int(set.Int("every"))
	r.Scores.Keep(func(i int) bool { return i%n == 0 }, nil)
	return nil
}

// best takes the highest score.
type best struct{}

func (best) Declare() sampler.Declaration { return declare("best", sampler.Select) }

func (best) Apply(r *sampler.Row, _ param.Values) error {
	top := 0
	for i, v := range r.Scores.Values {
		if v > r.Scores.Values[top] {
			top = i
		}
	}
	r.Chosen = r.Scores.ID(top)
	return nil
}

// crash spoils half of its row and ends its process, once for every wire the
// test has laid; otherwise it halves.
type crash struct{}

func (crash) Declare() sampler.Declaration { return declare("crash", sampler.Reshape) }

func (crash) Apply(r *sampler.Row, set param.Values) error {
	for _, how := range []string{"kill", "exit", "stop", "hang", "fatal"} {
		if trip(how) || armed(how+"-always") {
			for i := range r.Scores.Values[:len(r.Scores.Values)/2] {
				r.Scores.Values[i] = -77
			}
			fmt.Fprintf(os.Stderr, "about to %s\n", how)
			note("about to "+how, strconv.Itoa(os.Getpid()))
			die(how)
		}
	}
	if trip("panic") {
		panic("a stage panicked")
	}
	return halve{}.Apply(r, set)
}

func armed(name string) bool {
	dir := os.Getenv("LAB_TEST_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func die(how string) {
	switch how {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "exit":
		os.Exit(7)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Minute)
	case "hang":
		select {}
	case "fatal":
		go func() { panic("in a goroutine of its own") }()
		select {}
	}
}

// printer prints in every way there is.
type printer struct{}

func (printer) Declare() sampler.Declaration { return declare("printer", sampler.Reshape) }

func (printer) Apply(*sampler.Row, param.Values) error {
	fmt.Println("printed with fmt")
	_, _ = syscall.Write(1, []byte("written to descriptor 1\n"))
	fmt.Fprintln(os.Stderr, "printed to standard error")
	slog.Warn("logged with slog", "answer", 42)
	return nil
}

// texts adds the length of each token's text to its score.
type texts struct{}

func (texts) Declare() sampler.Declaration {
	d := declare("texts", sampler.Reshape)
	d.Needs.TokenTexts = true
	return d
}

func (texts) Apply(r *sampler.Row, _ param.Values) error {
	for i := range r.Scores.Values {
		r.Scores.Values[i] += float32(len(r.Texts(r.Scores.ID(i))))
	}
	return nil
}

// report leaves the number of its process as its state.
type report struct{}

func (report) Declare() sampler.Declaration { return declare("report", sampler.Reshape) }

func (report) Apply(r *sampler.Row, _ param.Values) error {
	r.State = fmt.Appendf(nil, "%d", os.Getpid())
	return nil
}

// tally counts its calls in its state, adds the count, its history and its
// uniform numbers to the first score.
type tally struct{}

func (tally) Declare() sampler.Declaration {
	d := declare("tally", sampler.Reshape)
	d.Needs = sampler.Needs{History: 2, Uniforms: 3}
	return d
}

func (tally) Apply(r *sampler.Row, _ param.Values) error {
	n := uint64(0)
	if len(r.State) == 8 {
		n = binary.LittleEndian.Uint64(r.State)
	}
	n++
	r.State = binary.LittleEndian.AppendUint64(nil, n)
	sum := float64(n)
	for _, t := range r.History {
		sum += float64(t)
	}
	for _, u := range r.Uniforms {
		sum += u
	}
	r.Scores.Values[0] += float32(sum) + float32(r.Prompt)*100 + float32(r.Step)*1000
	return nil
}

// nameless has a declaration that is not legal.
type nameless struct{}

func (nameless) Declare() sampler.Declaration           { return sampler.Declaration{Kind: sampler.Reshape} }
func (nameless) Apply(*sampler.Row, param.Values) error { return nil }

// chatter is a backend whose scores are a hash of the whole context: any token
// lost or doubled in a replay changes every score after it.
type chatter struct{}

func (chatter) Declare() model.Declaration {
	return model.Declaration{Name: "chatter", Summary: "for tests", Source: "none", Patterns: []string{"*.chat"}, Params: param.Specs{
		{Name: "vocab", Type: param.Int, Default: int64(50), Min: 2, Max: 1 << 20, Meaning: "tokens"},
		{Name: "top", Type: param.Int, Default: int64(0), Min: 0, Max: 100, Meaning: "tokens listed, 0 for all"},
	}}
}

func (chatter) Open(_ context.Context, ref string, set param.Values) (model.Model, error) {
	if strings.Contains(ref, "missing") {
		return nil, fault.New(fault.Model, "open model", ref, "no such file").Fix("create it")
	}
	digest := "sha256:chatter"
	if armed("other-weights") {
		digest = "sha256:something-else"
	}
	note("opened", fmt.Sprint(os.Getpid()))
	return &talk{seqs: map[uint64][]int32{}, vocab: int(set.Int("vocab")), top: int(set.Int("top")), digest: digest}, nil
}

type talk struct {
	vocab, top int
	digest     string
	seqs       map[uint64][]int32
	busy       bool
}

func (m *talk) Info() model.Info {
	return model.Info{Name: "chatter", Architecture: "hash", VocabSize: m.vocab, ContextLength: 1000, Parameters: 3,
		WeightBytes: 12, Digest: m.digest, Deterministic: true, TopN: m.top, Begin: 0, EndOfText: []int32{1}, Control: []int32{0, 1}}
}

func (m *talk) Encode(_ context.Context, text []byte, opt model.EncodeOptions) ([]int32, error) {
	var out []int32
	if opt.Begin {
		out = append(out, 0)
	}
	for _, b := range text {
		out = append(out, int32(b)%int32(m.vocab))
	}
	return out, nil
}

func (m *talk) Decode(_ context.Context, tokens []int32) ([]byte, error) {
	var out []byte
	for _, t := range tokens {
		out = append(out, fmt.Sprintf("<%d>", t)...)
	}
	return out, nil
}

func (m *talk) Pieces(context.Context) ([][]byte, error) {
	out := make([][]byte, m.vocab)
	for i := range out {
		out[i] = []byte(strings.Repeat("x", i%5))
	}
	return out, nil
}

func (m *talk) Forward(_ context.Context, batch []model.Input) (model.Usage, error) {
	if m.busy {
		return model.Usage{}, errors.New("two calls at once")
	}
	m.busy = true
	defer func() { m.busy = false }()
	for _, how := range []string{"kill", "hang", "exit"} {
		if trip("model-"+how) || armed("model-"+how+"-always") {
			fmt.Fprintf(os.Stderr, "about to %s\n", how)
			for _, in := range batch {
				for i := range in.Scores {
					in.Scores[i].Values[0] = -77
				}
			}
			die(how)
		}
	}
	if trip("second-kill") { // of the process that came after one that died
		die("kill")
	}
	if trip("model-panic") {
		panic("a model panicked")
	}
	var u model.Usage
	for _, in := range batch {
		if len(m.seqs[in.Seq]) != in.Start {
			return u, fault.New(fault.Model, "forward", "", "sequence %d holds %d tokens, not %d", in.Seq, len(m.seqs[in.Seq]), in.Start)
		}
	}
	for _, in := range batch {
		row := 0
		for k, t := range in.Tokens {
			m.seqs[in.Seq] = append(m.seqs[in.Seq], t)
			if in.Want == model.All || in.Want == model.Last && k == len(in.Tokens)-1 {
				m.fill(&in.Scores[row], m.seqs[in.Seq])
				row++
			}
		}
		u.DecodeTokens += int64(len(in.Tokens))
	}
	return u, nil
}

func (m *talk) fill(row *dist.Scores, context []int32) {
	h := fnv.New64a()
	for _, t := range context {
		_ = binary.Write(h, binary.LittleEndian, t)
	}
	seed := h.Sum64()
	for i := range row.Values {
		x := (seed ^ uint64(i)*0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
		row.Values[i] = float32(x>>40) / (1 << 22)
	}
	if m.top > 0 {
		*row = dist.Scores{Vocab: m.vocab, Unlisted: 0.25}
		for i := range m.top {
			row.IDs = append(row.IDs, int32(i*2))
			row.Values = append(row.Values, float32(math.Log(0.75/float64(m.top))))
		}
	}
}

func (m *talk) Edit(_ context.Context, edits []model.Edit) error {
	if trip("edit-kill") {
		die("kill")
	}
	for _, e := range edits {
		switch e.Op {
		case model.Fork:
			if e.To == 666 {
				return fault.New(fault.Limit, "edit", "", "no room for sequence %d", e.To)
			}
			m.seqs[e.To] = append([]int32(nil), m.seqs[e.Seq][:e.Length]...)
		case model.Truncate:
			m.seqs[e.Seq] = m.seqs[e.Seq][:e.Length]
		case model.Free:
			delete(m.seqs, e.Seq)
		}
	}
	return nil
}

func (m *talk) Verify(context.Context) (string, error) { return m.digest, nil }
func (m *talk) Close() error                           { return nil }

// fill gives a row scores that are all different.
func fill(row *dist.Scores) {
	for i := range row.Values {
		row.Values[i] = float32(math.Sin(float64(i))) * 4
	}
}

func listenAndIgnore(path string) net.Listener {
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	return l
}
