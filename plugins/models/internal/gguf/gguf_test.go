package gguf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lab/core/fault"
)

// sample is a small file with every kind of value the writer knows and tensors
// of all three types.
func sample(t testing.TB) []byte {
	t.Helper()
	pairs := []Pair{
		{"general.architecture", "llama"},
		{"a.uint32", uint32(7)}, {"a.uint64", uint64(1) << 40}, {"a.int32", int32(-3)},
		{"a.float32", float32(0.5)}, {"a.bool", true},
		{"a.texts", []string{"a", "", "\xff\x00b"}},
		{"a.floats", []float32{1, -2}}, {"a.ints", []int32{1, -1, 3}},
		{"a.nested", []any{[]any{[]int32{1}, []int32{}}, []any{[]int32{2, 3}}}},
		{"a.none", []string{}}, {"a.bytes", []byte{0, 255}},
	}
	blob := func(name string, typ Type, size int, dims ...int) Blob {
		return Blob{Tensor{Name: name, Type: typ, Dims: dims}, bytes.Repeat([]byte{byte(size)}, size)}
	}
	var out bytes.Buffer
	err := Write(&out, pairs, []Blob{
		blob("f32", F32, 4*6, 3, 2), blob("f16", F16, 2*5, 5), blob("q8", Q8_0, 2*34, 32, 2),
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	data := sample(t)
	f, err := Read("sample", data)
	if err != nil {
		t.Fatal(err)
	}
	if f.Version != 3 || len(f.Keys()) != 12 {
		t.Errorf("version %d, %d keys", f.Version, len(f.Keys()))
	}
	for _, r := range []struct {
		key  string
		want any
		get  func() (any, bool, error)
	}{
		{"a.uint32", int64(7), func() (any, bool, error) { return three(f.Int("a.uint32")) }},
		{"a.uint64", int64(1) << 40, func() (any, bool, error) { return three(f.Int("a.uint64")) }},
		{"a.int32", int64(-3), func() (any, bool, error) { return three(f.Int("a.int32")) }},
		{"a.float32", 0.5, func() (any, bool, error) { return three(f.Float("a.float32")) }},
		{"a.bool", true, func() (any, bool, error) { return three(f.Bool("a.bool")) }},
		{"general.architecture", "llama", func() (any, bool, error) { return three(f.Text("general.architecture")) }},
		{"a.texts", []string{"a", "", "\xff\x00b"}, func() (any, bool, error) { return three(f.Texts("a.texts", 3)) }},
		{"a.none", []string{}, func() (any, bool, error) { return three(f.Texts("a.none", -1)) }},
		{"a.floats", []float32{1, -2}, func() (any, bool, error) { return three(f.Floats("a.floats", -1)) }},
		{"a.bytes", []byte{0, 255}, func() (any, bool, error) { return three(f.Bytes("a.bytes")) }},
		{"a.ints", []int64{1, -1, 3}, func() (any, bool, error) { return three(f.Ints("a.ints", 3)) }},
	} {
		t.Run(r.key, func(t *testing.T) {
			got, found, err := r.get()
			if err != nil || !found || !reflect.DeepEqual(got, r.want) {
				t.Errorf("got %v, %v, %v, want %v", got, found, err, r.want)
			}
		})
	}
	if v, ok := f.Value("a.nested"); !ok || v.Elem != Array || v.Len != 2 {
		t.Errorf("nested array: %+v", v)
	}
	for i, want := range []Tensor{
		{Name: "f32", Type: F32, Dims: []int{3, 2}, Size: 24},
		{Name: "f16", Type: F16, Dims: []int{5}, Size: 10},
		{Name: "q8", Type: Q8_0, Dims: []int{32, 2}, Size: 68},
	} {
		got, ok := f.Tensor(want.Name)
		want.Offset = f.Tensors[i].Offset
		if !ok || !reflect.DeepEqual(got, want) || got.Offset%32 != 0 {
			t.Errorf("tensor %q: %+v", want.Name, got)
		}
		if d := f.Data(got); int64(len(d)) != want.Size || d[0] != byte(want.Size) || d[len(d)-1] != byte(want.Size) {
			t.Errorf("tensor %q has other bytes than were written", want.Name)
		}
	}
}

// TestRowsAreWholeBlocks writes what the sizes of ggml (gguf.GGML_QUANT_SIZES of
// the Python package gguf 0.19.0) make of a tensor, a second one behind it.
func TestRowsAreWholeBlocks(t *testing.T) {
	for _, r := range []struct {
		typ          Type
		values, size int
	}{
		{F32, 1, 4}, {F16, 1, 2}, {BF16, 1, 2}, {Q4_0, 32, 18}, {Q4_1, 32, 20}, {Q5_0, 32, 22}, {Q5_1, 32, 24}, {Q8_0, 32, 34},
		{IQ4_NL, 32, 18}, {Q2_K, 256, 84}, {Q3_K, 256, 110}, {Q4_K, 256, 144}, {Q5_K, 256, 176}, {Q6_K, 256, 210},
	} {
		t.Run(r.typ.String(), func(t *testing.T) {
			write := func(cols int) (*File, error) {
				blobs := []Blob{
					{Tensor{Name: "a", Type: r.typ, Dims: []int{cols, 2}}, make([]byte, 2*3*r.size)},
					{Tensor{Name: "b", Type: F32, Dims: []int{1}}, []byte{1, 2, 3, 4}},
				}
				var out bytes.Buffer
				if err := Write(&out, nil, blobs); err != nil {
					t.Fatal(err)
				}
				return Read("blocks", out.Bytes())
			}
			f, err := write(3 * r.values)
			if err != nil {
				t.Fatal(err)
			}
			if a, _ := f.Tensor("a"); a.Size != int64(6*r.size) {
				t.Errorf("two rows of three blocks take %d bytes, want %d", a.Size, 6*r.size)
			}
			if _, err := write(3*r.values - 1); (err == nil) != (r.values == 1) {
				t.Errorf("a row of a part of a block: %v", err)
			}
			if _, err := write(4 * r.values); r.size > 4 && err == nil {
				t.Error("a block too many was read")
			}
		})
	}
}

func three[T any](v T, found bool, err error) (any, bool, error) { return v, found, err }

func TestGettersTellAbsentFromWrong(t *testing.T) {
	f, err := Read("sample", sample(t))
	if err != nil {
		t.Fatal(err)
	}
	get := map[string]func(key string) (any, bool, error){
		"Int": func(k string) (any, bool, error) { return three(f.Int(k)) }, "Float": func(k string) (any, bool, error) { return three(f.Float(k)) },
		"Bool": func(k string) (any, bool, error) { return three(f.Bool(k)) }, "Text": func(k string) (any, bool, error) { return three(f.Text(k)) },
		"Texts":  func(k string) (any, bool, error) { return three(f.Texts(k, -1)) },
		"Ints":   func(k string) (any, bool, error) { return three(f.Ints(k, -1)) },
		"Bytes":  func(k string) (any, bool, error) { return three(f.Bytes(k)) },
		"Floats": func(k string) (any, bool, error) { return three(f.Floats(k, 2)) },
	}
	fits := map[string][]string{
		"Int": {"a.uint32", "a.uint64", "a.int32"}, "Float": {"a.float32"}, "Bool": {"a.bool"},
		"Text": {"general.architecture"}, "Texts": {"a.texts", "a.none"}, "Ints": {"a.ints", "a.bytes"}, "Floats": {"a.floats"},
		"Bytes": {"a.bytes"},
	}
	for name, g := range get {
		if _, found, err := g("a.absent"); found || err != nil {
			t.Errorf("%s of an absent key: %v, %v", name, found, err)
		}
		for _, key := range f.Keys() {
			ok := false
			for _, k := range fits[name] {
				ok = ok || k == key
			}
			_, _, err := g(key)
			if ok != (err == nil) {
				t.Errorf("%s(%q): %v", name, key, err)
			}
			if err != nil && (fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), key)) {
				t.Errorf("%s(%q): %v", name, key, err)
			}
		}
	}
	if _, _, err := f.Texts("a.texts", 4); err == nil {
		t.Error("three strings passed for four")
	}
}

// edit returns a copy of the sample with bytes replaced at the first occurrence
// of marker plus shift.
func edit(t testing.TB, marker string, shift int, put []byte) []byte {
	t.Helper()
	data := sample(t)
	at := bytes.Index(data, []byte(marker))
	if at < 0 {
		t.Fatalf("no %q in the sample", marker)
	}
	copy(data[at+shift:], put)
	return data
}

func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
func u32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

type malformedRow struct {
	name string
	data []byte
	want string
}

func malformed(t testing.TB) []malformedRow {
	huge := uint64(1) << 62
	return []malformedRow{
		{"empty", nil, "at byte 0: the magic number needs 4 bytes"},
		{"another kind of file", []byte("%PDF-1.7 and so on and so on"), `it starts with "%PDF"`},
		{"version 1", edit(t, "GGUF", 4, u32(1)), "version 1 is not read"},
		{"big-endian", edit(t, "GGUF", 4, []byte{0, 0, 0, 3}), "big-endian"},
		{"a future version", edit(t, "GGUF", 4, u32(4)), "version 4 is not known; 2 and 3 are"},
		{"more tensors than bytes", edit(t, "GGUF", 8, u64(huge)), "at byte 8: it announces 4611686018427387904 tensors"},
		{"more pairs than bytes", edit(t, "GGUF", 16, u64(huge)), "at byte 16: it announces"},
		{"a key longer than the file", edit(t, "GGUF", 24, u64(huge)), "at byte 32: metadata key 0 needs"},
		{"an empty key", edit(t, "GGUF", 24, u64(0)), "metadata key 0 is empty"},
		{"a key twice", edit(t, "a.uint32", 0, []byte("a.uint64")), `metadata "a.uint64" is given twice`},
		{"an unknown value type", edit(t, "a.uint32", 8, u32(13)), `metadata "a.uint32" has the value type 13`},
		{"a text longer than the file", edit(t, "general.architecture", 24, u64(huge)), `metadata "general.architecture" needs`},
		{"a bool of 2", edit(t, "a.bool", 10, []byte{2}), "is a bool of value 2"},
		{"an unknown element type", edit(t, "a.ints", 10, u32(99)), "elements of type 99"},
		{"an array longer than the file", edit(t, "a.ints", 14, u64(huge)), `elements of metadata "a.ints"`},
		{"an array of text longer than the file", edit(t, "a.texts", 15, u64(1000)), `elements of metadata "a.texts"`},
		{"a text in an array longer than the file", edit(t, "a.texts", 23, u64(huge)), "an element of metadata"},
		{"a tensor without a name", edit(t, "f32", -8, u64(0)), "the name of tensor 0 is empty"},
		{"a tensor name beyond the limit", edit(t, "f32", -8, u64(65)), "longer than 64 bytes"},
		{"no dimensions", edit(t, "f32\x02", 3, u32(0)), "has 0 dimensions"},
		{"five dimensions", edit(t, "f32\x02", 3, u32(5)), "has 5 dimensions"},
		{"a dimension of zero", edit(t, "f32\x02", 7, u64(0)), `dimension 0 of tensor "f32" is 0`},
		{"dimensions whose product overflows", edit(t, "f32\x02", 7, append(u64(1<<31-1), u64(1<<40)...)), "dimension 1"},
		{"a tensor larger than the file", edit(t, "f32\x02", 7, append(u64(1<<31-1), u64(1<<31-1)...)), "is larger than the file"},
		{"an unknown storage type", edit(t, "f32\x02", 23, u32(4)), "unknown storage type 4"},
		{"a row that is no multiple of the block", edit(t, "f32\x02", 23, u32(8)), "stores blocks of 32"},
		{"an offset out of line", edit(t, "f16\x01", 19, u64(33)), "offset 33"},
		{"an offset beyond the file", edit(t, "f16\x01", 19, u64(huge)), "beyond the file"},
		{"an offset that overflows", edit(t, "f16\x01", 19, u64(1<<64-32)), "beyond the file"},
		{"two tensors in one place", edit(t, "f16\x01", 19, u64(0)), "overlap"},
		{"a tensor name twice", edit(t, "f16\x01", 0, []byte("f32")), `tensor "f32" is described twice`},
		{"a tensor past the end", edit(t, "q8\x02", 14, u64(3)), "the file ends before"},
	}
}

func TestMalformedFilesAreDataErrorsThatSayWhere(t *testing.T) {
	for _, r := range malformed(t) {
		t.Run(r.name, func(t *testing.T) {
			_, err := Read("sample", r.data)
			if err == nil {
				t.Fatal("it was read")
			}
			if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) {
				t.Errorf("%v: got %v, want ... %s ...", fault.KindOf(err), err, r.want)
			}
			if !strings.Contains(err.Error(), "at byte ") {
				t.Errorf("the error does not say where: %v", err)
			}
		})
	}
}

func TestArraysNestOnlySoDeep(t *testing.T) {
	for _, depth := range []int{maxDepth, maxDepth + 1, 5000} {
		var v any = []int32{1}
		for range depth - 1 {
			v = []any{v}
		}
		var out bytes.Buffer
		if err := Write(&out, []Pair{{"deep", v}}, nil); err != nil {
			t.Fatal(err)
		}
		_, err := Read("deep", out.Bytes())
		if (err == nil) != (depth <= maxDepth) {
			t.Errorf("%d arrays deep: %v", depth, err)
		}
	}
}

func TestAlignmentIsRespectedAndBounded(t *testing.T) {
	for _, r := range []struct {
		n  uint32
		ok bool
	}{{8, true}, {32, true}, {4096, true}, {0, false}, {1, false}, {24, false}, {1 << 21, false}} {
		var out bytes.Buffer
		if err := Write(&out, []Pair{{"general.alignment", r.n}}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Read("aligned", out.Bytes()); (err == nil) != r.ok {
			t.Errorf("alignment %d: %v", r.n, err)
		}
	}
}

func TestEveryTruncationIsAnErrorAndEveryFlippedByteIsSurvived(t *testing.T) {
	whole := sample(t)
	f, err := Read("whole", whole)
	if err != nil {
		t.Fatal(err)
	}
	last := f.Tensors[len(f.Tensors)-1]
	end := int(last.Offset + last.Size) // the padding after it may be missing
	for n := range end {
		_, err := Read("cut", whole[:n:n])
		if fault.KindOf(err) != fault.Data || err == nil {
			t.Fatalf("cut to %d of %d bytes: %v", n, end, err)
		}
	}
	for at := range int(f.Tensors[0].Offset) {
		for _, flip := range []byte{1, 0x80, 0xff} {
			data := bytes.Clone(whole)
			data[at] ^= flip
			if g, err := Read("flipped", data); err == nil {
				use(g)
			} else if fault.KindOf(err) != fault.Data {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
	}
}

// use touches everything a file offers.
func use(f *File) {
	for _, key := range f.Keys() {
		f.Int(key)
		f.Float(key)
		f.Bool(key)
		f.Text(key)
		f.Texts(key, -1)
		f.Ints(key, -1)
		f.Bytes(key)
		f.Floats(key, -1)
	}
	for _, t := range f.Tensors {
		if d := f.Data(t); len(d) > 0 {
			_ = d[len(d)-1]
		}
		t.Elements()
	}
}

func TestMemoryIsBoundedByTheFile(t *testing.T) {
	// A header that announces as much as its bytes allow, with nothing behind.
	data := append([]byte("GGUF\x03\x00\x00\x00"), append(u64(30000), u64(70000)...)...)
	data = append(data, make([]byte, 1<<20)...)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read("announcing", data); err == nil {
				b.Fatal("it was read")
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", allocated, len(data))
	}
}

func TestOpenMapsAFileAndDigestsIt(t *testing.T) {
	data := sample(t)
	path := filepath.Join(t.TempDir(), "sample.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	use(f)
	digest, err := f.Digest(context.Background())
	if want := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || digest != want {
		t.Errorf("digest %s, %v, want %s", digest, err, want)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Digest(cancelled); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("digest under a cancelled context: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.gguf")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		name, path string
		kind       fault.Kind
		want       string
	}{
		{"missing", filepath.Join(dir, "no.gguf"), fault.Model, "no such file"},
		{"a folder", dir, fault.Model, "not a regular file"},
		{"empty", empty, fault.Data, "empty"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := Open(r.path)
			if err == nil || fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.want) {
				t.Errorf("%v: %v", fault.KindOf(err), err)
			}
		})
	}
}

func TestAFileCutShortWhileMappedIsAnErrorNotACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cut.gguf")
	data := append(sample(t), make([]byte, 1<<16)...)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Digest(context.Background()); err == nil || fault.KindOf(err) != fault.Data {
		t.Errorf("digest of bytes that are gone: %v", err)
	}
}

func TestOtherPanicsPassThroughProtect(t *testing.T) {
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("recovered %v", r)
		}
	}()
	_ = Protect("x", func() error { panic("mine") })
}

func FuzzRead(f *testing.F) {
	f.Add(sample(f))
	for _, r := range malformed(f) {
		f.Add(r.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Read("fuzzed", data)
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Errorf("kind %v: %v", fault.KindOf(err), err)
			}
			return
		}
		use(g)
	})
}
