package gguf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

// splitFile writes a model of three parts, each with one tensor; change edits
// the pairs and tensors of a part before it is written.
func splitFile(t testing.TB, change func(part int, pairs *[]Pair, blobs *[]Blob)) (first string, whole []byte) {
	t.Helper()
	dir := t.TempDir()
	for i := range 3 {
		pairs := []Pair{{splitNo, uint32(i)}, {splitCount, uint32(3)}, {splitTensors, int32(3)}}
		if i == 0 {
			pairs = append(pairs, Pair{"general.architecture", "llama"}, Pair{"a.b", float32(1)})
		}
		blobs := []Blob{{Tensor{Name: fmt.Sprintf("t%d", i), Type: F32, Dims: []int{i + 1}}, bytes.Repeat([]byte{byte(i + 1)}, 4*(i+1))}}
		if change != nil {
			change(i, &pairs, &blobs)
		}
		var out bytes.Buffer
		if err := Write(&out, pairs, blobs); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", i+1))
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, out.Bytes()...)
	}
	return filepath.Join(dir, "m-00001-of-00003.gguf"), whole
}

func TestASplitFileIsOpenedByItsFirstPart(t *testing.T) {
	path, whole := splitFile(t, nil)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	use(f)
	var names []string
	for i, x := range f.Tensors {
		names = append(names, x.Name)
		if d := f.Data(x); len(d) != 4*(i+1) || d[0] != byte(i+1) || d[len(d)-1] != byte(i+1) {
			t.Errorf("tensor %s holds %v", x.Name, d)
		}
	}
	if !slices.Equal(names, []string{"t0", "t1", "t2"}) {
		t.Errorf("tensors %v", names)
	}
	if s, _, err := f.Text("general.architecture"); err != nil || s != "llama" {
		t.Errorf("architecture %q, %v", s, err)
	}
	if d, err := f.Digest(context.Background()); err != nil || d != fmt.Sprintf("%x", sha256.Sum256(whole)) {
		t.Errorf("digest %s, %v", d, err)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSplitFilesThatDoNotAgreeAreRefused(t *testing.T) {
	put := func(part int, key string, value any) func(int, *[]Pair, *[]Blob) {
		return func(i int, pairs *[]Pair, _ *[]Blob) {
			if i != part {
				return
			}
			for j := range *pairs {
				if (*pairs)[j].Key == key {
					(*pairs)[j].Value = value
					return
				}
			}
			*pairs = append(*pairs, Pair{key, value})
		}
	}
	without := func(part int, key string) func(int, *[]Pair, *[]Blob) {
		return func(i int, pairs *[]Pair, _ *[]Blob) {
			if i == part {
				*pairs = slices.DeleteFunc(*pairs, func(p Pair) bool { return p.Key == key })
			}
		}
	}
	rows := []struct {
		name   string
		change func(int, *[]Pair, *[]Blob)
		want   string
	}{
		{"no number", without(0, splitNo), `"split.no" is missing`},
		{"no number in a later part", without(1, splitNo), `"split.no" is missing`},
		{"no count in a later part", without(1, splitCount), "it says that it is part 1 of 1"},
		{"no count of tensors", without(0, splitTensors), `"split.tensors.count" is not what the first part has`},
		{"no count of tensors in a later part", without(2, splitTensors), `"split.tensors.count" is missing`},
		{"no count of tensors anywhere", func(i int, p *[]Pair, b *[]Blob) { without(i, splitTensors)(i, p, b) }, `"split.tensors.count" is missing`},
		{"parts without end", put(0, splitCount, uint32(1<<31)), "outside [1, 1000]"},
		{"no parts", put(0, splitCount, uint32(0)), "outside [1, 1000]"},
		{"more parts than the name says", put(0, splitCount, uint32(4)), "does not end in -00001-of-00004.gguf"},
		{"a number beyond the count", put(1, splitNo, uint32(3)), "outside [0, 2]"},
		{"two parts of one number", put(1, splitNo, uint32(2)), "part 3 of 3, its name that it is part 2 of 3"},
		{"another count", put(2, splitCount, uint32(5)), "part 3 of 5"},
		{"another count of tensors", put(1, splitTensors, int32(4)), `"split.tensors.count" is not what the first part has`},
		{"tensors that are missing", func(i int, p *[]Pair, b *[]Blob) { put(i, splitTensors, int32(4))(i, p, b) }, "hold 3 tensors"},
		{"metadata of its own", put(1, "x.y", uint32(1)), `"x.y" is not what the first part has`},
		{"other metadata", put(2, "a.b", float32(2)), `"a.b" is not what the first part has`},
		{"a tensor twice", func(i int, _ *[]Pair, b *[]Blob) { (*b)[0].Name = "t" }, `tensor "t" is in another part`},
		{"a count that is text", put(0, splitCount, "3"), "whole number"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			path, _ := splitFile(t, r.change)
			_, err := Open(path)
			if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) {
				t.Errorf("%v: %v, want ... %s ...", fault.KindOf(err), err, r.want)
			}
		})
	}
}

func TestWhatIsNotThereOfASplitFileIsNamed(t *testing.T) {
	path, _ := splitFile(t, nil)
	other := strings.Replace(path, "00001-of", "00002-of", 1)
	_, err := Open(other)
	if strings.Count(err.Error(), "open model") != 1 {
		t.Errorf("said twice: %v", err)
	}
	if err == nil || fault.KindOf(err) != fault.Model || !strings.Contains(err.Error(), "part 2 of the 3") || !strings.Contains(err.Error(), "-00001-of-00003.gguf") {
		t.Errorf("opened by its second part: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read("bytes", data); err == nil || !strings.Contains(err.Error(), "part 1 of the 3") {
		t.Errorf("bytes of a part: %v", err)
	}
	renamed := filepath.Join(filepath.Dir(path), "other.gguf")
	if err := os.WriteFile(renamed, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(renamed); err == nil || !strings.Contains(err.Error(), "by which the others are found") {
		t.Errorf("a first part of another name: %v", err)
	}
	if err := os.Truncate(other, 70); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "-00002-of-00003.gguf") {
		t.Errorf("a part cut short: %v", err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	if err == nil || fault.KindOf(err) != fault.Model || !strings.Contains(err.Error(), `part 2 of 3, "m-00002-of-00003.gguf", is missing`) {
		t.Errorf("without its second part: %v", err)
	}
}

func TestAFileWrittenToWhileOpenIsNoticed(t *testing.T) {
	path, whole := splitFile(t, nil)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()
	digest := fmt.Sprintf("%x", sha256.Sum256(whole))
	if err := f.Unchanged(ctx, digest); err != nil {
		t.Fatal(err)
	}
	last := strings.Replace(path, "00001-of", "00003-of", 1)
	data, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(last, data, 0o600); err != nil {
			t.Fatal(err)
		}
		// Two writes within one tick of the clock leave the same time.
		when := f.parts[2].stamp.ModTime().Add(1e9)
		if err := os.Chtimes(last, when, when); err != nil {
			t.Fatal(err)
		}
	}
	write(data)
	if err := f.Unchanged(ctx, digest); err != nil {
		t.Errorf("the same bytes written again: %v", err)
	}
	if f.parts[2].touched() {
		t.Error("bytes found to be the same are looked at again and again")
	}
	data[len(data)-20] ^= 1
	write(data)
	err = f.Unchanged(ctx, digest)
	if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "changed while in use") {
		t.Errorf("other bytes: %v", err)
	}
}

// FuzzSplit opens models of two parts.
func FuzzSplit(f *testing.F) {
	path, _ := splitFile(f, nil)
	read := func(part int) []byte {
		name, _ := partPath(path, part, 3)
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	both := func(data []byte) []byte { // of three parts, made two
		return bytes.Replace(data, append([]byte(splitCount), 4, 0, 0, 0, 3), append([]byte(splitCount), 4, 0, 0, 0, 2), 1)
	}
	f.Add(both(read(0)), both(read(1)))
	f.Add(both(read(1)), both(read(0)))
	f.Add(read(0), read(2))
	f.Add(both(read(0)), []byte{})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		dir := t.TempDir()
		for i, data := range [][]byte{one, two} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("m-%05d-of-00002.gguf", i+1)), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g, err := Open(filepath.Join(dir, "m-00001-of-00002.gguf"))
		if err != nil {
			if k := fault.KindOf(err); k != fault.Data && k != fault.Model {
				t.Errorf("kind %v: %v", k, err)
			}
			return
		}
		defer g.Close()
		use(g)
		if _, err := g.Digest(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
