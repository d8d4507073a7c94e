package weights

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// peerModel is a model of testdata/mixtures.json, see testdata/README.md.
type peerModel struct {
	Name, Architecture                 string
	Layers, Cols, Heads, Keys, Experts int
	Tensors                            []peerTensor
	Outputs                            map[string]*struct {
		Types  []run
		SHA256 string
	}
}

type peerTensor struct {
	name   string
	dims   []int
	stored string
}

func (p *peerTensor) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.name, &p.dims, &p.stored})
}

type run struct {
	format string
	length int
}

func (r *run) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&r.format, &r.length})
}

// values are those of testdata/peer/mixtures.py.
func values(name string, n int) []float32 {
	digest := sha256.Sum256([]byte(name))
	seed := binary.LittleEndian.Uint64(digest[:8])
	out := make([]float32, n)
	for i := range out {
		sum := int64(0)
		for k := range 4 {
			z := (uint64(i)*4+uint64(k))*0x9E3779B97F4A7C15 + seed
			z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
			z = (z ^ z>>27) * 0x94D049BB133111EB
			z ^= z >> 31
			sum += int64(z>>44) - 1<<19
		}
		out[i] = float32(float64(sum) / (1 << 25))
	}
	return out
}

func typeNamed(t testing.TB, name string) gguf.Type {
	t.Helper()
	for n := range gguf.Type(64) {
		if n.String() == name {
			return n
		}
	}
	t.Fatalf("no type %s", name)
	return 0
}

// blob stores values as a tensor.
func blob(t testing.TB, name string, dims []int, stored gguf.Type, x []float32) gguf.Blob {
	t.Helper()
	f, ok := format(stored)
	if !ok {
		t.Fatalf("no format %v", stored)
	}
	data := make([]byte, f.Bytes(len(x)))
	kernel.Narrow(data, x, f)
	return gguf.Blob{Tensor: gguf.Tensor{Name: name, Type: stored, Dims: dims}, Data: data}
}

func writeFile(t testing.TB, pairs []gguf.Pair, blobs []gguf.Blob) string {
	t.Helper()
	var out bytes.Buffer
	if err := gguf.Write(&out, pairs, blobs); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "in.gguf")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m *peerModel) write(t *testing.T) string {
	t.Helper()
	a := m.Architecture + "."
	pairs := []gguf.Pair{{Key: "general.architecture", Value: m.Architecture}, {Key: a + "block_count", Value: uint32(m.Layers)},
		{Key: a + "attention.head_count", Value: uint32(m.Heads)}, {Key: a + "attention.head_count_kv", Value: uint32(m.Keys)},
		{Key: "general.file_type", Value: uint32(1000)}, {Key: "last", Value: []string{"a", "b"}}}
	if m.Experts > 0 {
		pairs = append(pairs, gguf.Pair{Key: a + "expert_count", Value: uint32(m.Experts)})
	}
	var blobs []gguf.Blob
	for _, p := range m.Tensors {
		n := 1
		for _, d := range p.dims {
			n *= d
		}
		blobs = append(blobs, blob(t, p.name, p.dims, typeNamed(t, p.stored), values(p.name, n)))
	}
	return writeFile(t, pairs, blobs)
}

// TestFilesAreThoseOfLlamaCpp compares formats and bytes of every tensor with
// testdata/mixtures.json.
func TestFilesAreThoseOfLlamaCpp(t *testing.T) {
	text, err := os.ReadFile("testdata/mixtures.json")
	if err != nil {
		t.Fatal(err)
	}
	var peer struct{ Models []peerModel }
	if err := json.Unmarshal(text, &peer); err != nil {
		t.Fatal(err)
	}
	compared, gaveUp := 0, 0
	for _, m := range peer.Models {
		in := m.write(t)
		if len(m.Outputs) != len(Targets()) {
			t.Fatalf("%s has %d outputs, there are %d targets", m.Name, len(m.Outputs), len(Targets()))
		}
		for _, target := range Targets() {
			t.Run(m.Name+"/"+target.Name, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out.gguf")
				report, err := Quantize(t.Context(), in, out, target, QuantizeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				want := m.Outputs[target.Name]
				if want == nil {
					gaveUp++ // see rules.go
					return
				}
				compared++
				f, err := gguf.Open(out)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				var types []string
				for _, r := range want.Types {
					for range r.length {
						types = append(types, r.format)
					}
				}
				digest := sha256.New()
				for i, p := range m.Tensors {
					got, ok := f.Tensor(p.name)
					if !ok || got.Type.String() != types[i] || report[i].To != types[i] || report[i].Name != p.name {
						t.Errorf("%s is in %v, reported as %+v, llama.cpp has %s", p.name, got.Type, report[i], types[i])
					}
					digest.Write(f.Data(got))
				}
				if got := hex.EncodeToString(digest.Sum(nil)); got != want.SHA256 {
					t.Errorf("the bytes of the tensors differ from those of llama.cpp: sha256 %s, not %s", got, want.SHA256)
				}
				if n, _, _ := f.Int("general.file_type"); n != int64(target.number) {
					t.Errorf("general.file_type is %d", n)
				}
			})
		}
	}
	if compared < 100 || gaveUp > 10 {
		t.Errorf("%d files were compared, %d not", compared, gaveUp)
	}
}

func small(t *testing.T) (string, []gguf.Pair, []gguf.Blob) {
	t.Helper()
	pairs := []gguf.Pair{{Key: "general.architecture", Value: "llama"}, {Key: "general.file_type", Value: uint32(0)},
		{Key: "a.texts", Value: []string{"x", "\xff"}}, {Key: "a.nested", Value: []any{[]any{[]int32{1}}}}, {Key: "llama.block_count", Value: uint32(1)}}
	blobs := []gguf.Blob{
		blob(t, "token_embd.weight", []int{256, 3000}, gguf.F32, values("e", 256*3000)),
		blob(t, "blk.0.ffn_down.weight", []int{64, 33}, gguf.BF16, values("d", 64*33)),
		blob(t, "blk.0.odd.weight", []int{33, 3}, gguf.F32, values("o", 99)),
		blob(t, "output_norm.weight", []int{256}, gguf.F32, values("n", 256)),
	}
	return writeFile(t, pairs, blobs), pairs, blobs
}

func TestMetadataIsCopiedAndThreadsChangeNothing(t *testing.T) {
	in, pairs, _ := small(t)
	target, err := FindTarget("Q4_0")
	if err != nil {
		t.Fatal(err)
	}
	var first []byte
	for _, threads := range []int{1, 2, 5} {
		out := filepath.Join(t.TempDir(), "out.gguf")
		last, total := int64(0), int64(0)
		report, err := Quantize(t.Context(), in, out, target, QuantizeOptions{Threads: threads, Progress: func(done, all int64) { last, total = done, all }})
		if err != nil {
			t.Fatal(err)
		}
		if last != total || total == 0 {
			t.Errorf("progress ends at %d of %d", last, total)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		}
		if !bytes.Equal(text, first) {
			t.Errorf("%d threads make other bytes", threads)
		}
		if got := fmt.Sprintln(report[0].To, report[1].To, report[2].To, report[3].To); got != "Q6_K Q4_0 F16 F32\n" {
			t.Errorf("formats %s", got)
		}
		if !strings.Contains(report[2].Why, "no whole blocks") || report[3].Why != "a vector" || report[1].Why != "" {
			t.Errorf("reasons %+v", report)
		}
	}
	old, err := gguf.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	f, err := gguf.Read("out", first)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		a, _ := old.Value(p.Key)
		b, found := f.Value(p.Key)
		if p.Key != "general.file_type" && (!found || !reflect.DeepEqual(a, b)) {
			t.Errorf("%s is %+v, was %+v", p.Key, b, a)
		}
	}
	if n, _, _ := f.Int("general.file_type"); n != 2 {
		t.Errorf("file type %d", n)
	}
	if n, _, _ := f.Int("general.quantization_version"); n != 2 || len(f.Keys()) != len(pairs)+1 {
		t.Errorf("version %d, keys %v", n, f.Keys())
	}
}

func TestWhatIsNotQuantisedLeavesNothing(t *testing.T) {
	q4, err := FindTarget("q4_0")
	if err != nil {
		t.Fatal(err)
	}
	with := func(x float32) []float32 {
		v := values("x", 256*2)
		v[300] = x
		return v
	}
	file := func(stored gguf.Type, x []float32, pairs ...gguf.Pair) string {
		return writeFile(t, append(pairs, gguf.Pair{Key: "general.architecture", Value: "llama"}), []gguf.Blob{blob(t, "blk.0.a.weight", []int{256, 2}, stored, x)})
	}
	good := file(gguf.F32, with(1))
	f16, err := FindTarget("f16")
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	rows := []struct {
		name   string
		ctx    context.Context
		in     string
		target Target
		kind   fault.Kind
		says   string
	}{
		{"quantised already", nil, file(gguf.Q8_0, with(1)), q4, fault.Usage, "Q8_0: what that lost"},
		{"the same format already", nil, file(gguf.Q4_0, with(1)), q4, fault.Usage, "Q4_0: what that lost"},
		{"NaN", nil, file(gguf.F32, with(float32(math.NaN()))), q4, fault.Data, "has NaN as value 300"},
		{"infinite", nil, file(gguf.BF16, with(float32(math.Inf(-1)))), q4, fault.Data, "has -Inf as value 300"},
		{"too large", nil, file(gguf.F32, with(1e9)), q4, fault.Data, "too large for Q4_0 near value 300"},
		{"too large for a scale", nil, file(gguf.F32, with(1e7)), q4, fault.Data, "too large for Q4_0 near value 288"},
		{"too large for a half", nil, file(gguf.F32, with(65520)), f16, fault.Data, "too large for F16 near value 300"},
		{"a part of a model", nil, file(gguf.F32, with(1), gguf.Pair{Key: "split.tensors.count", Value: int32(9)}), q4, fault.Usage, "1 of its 9 tensors"},
		{"no file", nil, filepath.Join(t.TempDir(), "none.gguf"), q4, fault.Model, "no such file"},
		{"interrupted", cancelled, good, q4, fault.Interrupted, "nothing was written"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			ctx := r.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			folder := t.TempDir()
			_, err := Quantize(ctx, r.in, filepath.Join(folder, "out.gguf"), r.target, QuantizeOptions{})
			if fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.says) {
				t.Errorf("%v: %v", fault.KindOf(err), err)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
	if _, err := Quantize(t.Context(), good, good, q4, QuantizeOptions{Replace: true}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "the output is the input") {
		t.Errorf("onto itself: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out.gguf")
	if err := os.WriteFile(out, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Quantize(t.Context(), good, out, q4, QuantizeOptions{}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "--force") {
		t.Errorf("onto another file: %v", err)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "mine" {
		t.Errorf("the other file is now %q, %v", text, err)
	}
	if _, err := Quantize(t.Context(), good, out, q4, QuantizeOptions{Replace: true}); err != nil {
		t.Errorf("with --force: %v", err)
	}
	if _, err := Quantize(t.Context(), good, filepath.Join(t.TempDir(), "no", "out.gguf"), q4, QuantizeOptions{}); fault.KindOf(err) != fault.Usage {
		t.Errorf("into no folder: %v", err)
	}
	if _, err := FindTarget("q4_9"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("%v", err)
	}
}

func TestAnInterruptionInTheMiddleLeavesNothing(t *testing.T) {
	in, _, _ := small(t)
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	target, err := FindTarget("iq4_nl")
	if err != nil {
		t.Fatal(err)
	}
	stages := 0
	_, err = Quantize(ctx, in, filepath.Join(folder, "out.gguf"), target, QuantizeOptions{Progress: func(int64, int64) { stages++; cancel() }})
	if fault.KindOf(err) != fault.Interrupted || stages == 0 {
		t.Errorf("%v after %d stages", err, stages)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestAFileIsDescribed(t *testing.T) {
	in, _, _ := small(t)
	d, err := Describe(t.Context(), []string{in})
	want := Description{Architecture: "llama", Known: true, Parameters: 256*3000 + 64*33 + 99 + 256, Formats: []string{"F32", "BF16"}}
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, %v", d, err)
	}
	folder := t.TempDir()
	split := func(no, count int) string {
		var out bytes.Buffer
		pairs := []gguf.Pair{{Key: "general.architecture", Value: "nobody"}, {Key: "split.no", Value: uint32(no)}, {Key: "split.count", Value: uint32(count)},
			{Key: "split.tensors.count", Value: uint32(count)}}
		name := fmt.Sprintf("blk.%d.a.weight", no)
		if err := gguf.Write(&out, pairs, []gguf.Blob{blob(t, name, []int{32, 2}, gguf.F32, values(name, 64))}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, fmt.Sprintf("m-%05d-of-%05d.gguf", no+1, count))
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	paths := []string{split(0, 2), split(1, 2)}
	d, err = Describe(t.Context(), paths)
	if err != nil || d.Known || d.Parameters != 128 || d.Architecture != "nobody" {
		t.Errorf("%+v, %v", d, err)
	}
	for name, paths := range map[string][]string{"one part alone": paths[:1], "the wrong order": {paths[1], paths[0]}, "a whole file as two": {in, in}} {
		if _, err := Describe(t.Context(), paths); fault.KindOf(err) != fault.Data && fault.KindOf(err) != fault.Model {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A split model is written as one file.
	target, err := FindTarget("q8_0")
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(folder, "whole.gguf")
	if _, err := Quantize(t.Context(), paths[0], whole, target, QuantizeOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, key := range f.Keys() {
		if strings.HasPrefix(key, "split.") {
			t.Errorf("%s is still there", key)
		}
	}
	for i := range 2 {
		name := fmt.Sprintf("blk.%d.a.weight", i)
		want := blob(t, name, []int{32, 2}, gguf.Q8_0, values(name, 64))
		if got, ok := f.Tensor(name); !ok || !bytes.Equal(f.Data(got), want.Data) {
			t.Errorf("tensor %s is another", name)
		}
	}
	if _, err := Quantize(t.Context(), paths[1], filepath.Join(folder, "x.gguf"), target, QuantizeOptions{}); fault.KindOf(err) != fault.Model {
		t.Errorf("from a second part: %v", err)
	}
}
