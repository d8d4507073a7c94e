package gguf

import (
	"bytes"
	"reflect"
	"testing"
)

// A file written anew with its own tensors says and holds the same.
func TestARewrittenFileSaysTheSame(t *testing.T) {
	old, err := Read("sample", sample(t))
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(change []Pair, drop string) *File {
		t.Helper()
		head, placed, total, err := old.Rewritten(change, func(key string) bool { return key == drop }, old.Tensors)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]byte, total)
		copy(out, head)
		for i, p := range placed {
			copy(out[p.Offset:], old.Data(old.Tensors[i]))
		}
		f, err := Read("rewritten", out)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range placed {
			if got, _ := f.Tensor(p.Name); !reflect.DeepEqual(got, p) || !bytes.Equal(f.Data(got), old.Data(old.Tensors[i])) {
				t.Errorf("tensor %q: %+v, want %+v", p.Name, got, p)
			}
		}
		return f
	}
	same := rewrite(nil, "")
	if !reflect.DeepEqual(same.Keys(), old.Keys()) {
		t.Errorf("keys %v, were %v", same.Keys(), old.Keys())
	}
	for _, key := range old.Keys() {
		a, _ := old.Value(key)
		b, _ := same.Value(key)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s is %+v, was %+v", key, b, a)
		}
	}
	changed := rewrite([]Pair{{"b.new", uint32(5)}, {"a.uint32", "text now"}}, "a.texts")
	if n, _, _ := changed.Int("b.new"); n != 5 || changed.Keys()[len(changed.Keys())-1] != "b.new" {
		t.Errorf("the new key: %d, %v", n, changed.Keys())
	}
	if s, _, _ := changed.Text("a.uint32"); s != "text now" || changed.Keys()[1] != "a.uint32" {
		t.Errorf("the changed key: %q, %v", s, changed.Keys())
	}
	if _, found := changed.Value("a.texts"); found || len(changed.Keys()) != len(old.Keys()) {
		t.Errorf("the dropped key is there: %v", changed.Keys())
	}
	if _, _, _, err := old.Rewritten([]Pair{{"x", struct{}{}}}, func(string) bool { return false }, nil); err == nil {
		t.Error("a struct was written")
	}
}

// The alignment of the file is kept.
func TestARewrittenFileIsAlignedAsBefore(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, []Pair{{"general.alignment", uint32(128)}}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := Read("aligned", append(out.Bytes(), make([]byte, 128)...))
	if err != nil {
		t.Fatal(err)
	}
	tensors := []Tensor{{Name: "a", Type: F32, Dims: []int{1}, Size: 4}, {Name: "b", Type: F32, Dims: []int{1}, Size: 4}}
	head, placed, total, err := f.Rewritten(nil, func(string) bool { return false }, tensors)
	if err != nil || len(head)%128 != 0 || placed[0].Offset != int64(len(head)) || placed[1].Offset != placed[0].Offset+128 || total != placed[1].Offset+128 {
		t.Errorf("head of %d bytes, %+v, %d bytes, %v", len(head), placed, total, err)
	}
}
