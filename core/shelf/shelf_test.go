package shelf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/core/fault"
)

// weights is a file that begins as a model does.
func weights(n int, fill byte) []byte {
	return append([]byte("GGUF"), bytes.Repeat([]byte{fill}, n)...)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// shelved is an empty shelf whose inspector refuses files with "bad" in them.
func shelved(t *testing.T) *Shelf {
	t.Helper()
	return At(filepath.Join(t.TempDir(), "models"), func(_ context.Context, paths []string) (Header, error) {
		for _, p := range paths {
			if b, err := os.ReadFile(p); err != nil || bytes.Contains(b, []byte("bad")) {
				return Header{}, fault.New(fault.Data, "read GGUF", p, "it is bad (%v)", err)
			}
		}
		return Header{Architecture: "llama", Known: true, Parameters: int64(len(paths)), Formats: []string{"F16"}}, nil
	})
}

func file(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// left returns the names in the folder.
func left(t *testing.T, s *Shelf) string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestACopyIsAddedFoundAndRemoved(t *testing.T) {
	s, data := shelved(t), weights(1000, 1)
	from := file(t, "small.gguf", data)
	e, err := s.Add(t.Context(), from, AddOptions{})
	if err != nil || e.Name != "small" || e.Files[0].SHA256 != sum(data) || e.Source != from || e.Linked {
		t.Fatalf("%+v, %v", e, err)
	}
	path, digest, found, err := s.Path("small")
	if err != nil || !found || digest != sum(data) {
		t.Fatalf("%s, %s, %v, %v", path, digest, found, err)
	}
	if stored, err := os.ReadFile(path); err != nil || !bytes.Equal(stored, data) {
		t.Errorf("%d bytes, %v", len(stored), err)
	}
	for _, p := range []string{path, s.record("small")} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
	if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info, err)
	}
	if got := left(t, s); got != "small.gguf small.json" {
		t.Errorf("the folder holds %s", got)
	}
	if _, err := s.Remove("small"); err != nil {
		t.Error(err)
	}
	if got := left(t, s); got != "" {
		t.Errorf("the folder still holds %s", got)
	}
	if _, err := os.Stat(from); err != nil {
		t.Error("the original went as well")
	}
}

func TestALinkedFileIsNeverDeleted(t *testing.T) {
	s, data := shelved(t), weights(10, 1)
	from := file(t, "far away.gguf", data)
	e, err := s.Add(t.Context(), from, AddOptions{Name: "far", Link: true})
	if err != nil || !e.Linked || s.Paths(e)[0] != from {
		t.Fatalf("%+v, %v", e, err)
	}
	if got := left(t, s); got != "far.json" {
		t.Errorf("the folder holds %s", got)
	}
	if _, err := s.Remove("far"); err != nil {
		t.Error(err)
	}
	if stored, err := os.ReadFile(from); err != nil || !bytes.Equal(stored, data) {
		t.Errorf("%v", err)
	}
}

func TestAllPartsOfASplitModelAreTaken(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 3 {
		data := weights(100+i, byte(i))
		want = append(want, sum(data))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("big-%05d-of-00003.gguf", i+1)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	second := "/big-00002-of-00003.gguf"
	for source, link := range map[string]bool{dir + second: false, dir + second + "": true, server.URL + second: false, server.URL + second + "?token=hidden": false} {
		s := shelved(t)
		e, err := s.Add(t.Context(), source, AddOptions{SHA256: want, Link: link})
		if err != nil || e.Name != "big" || len(e.Files) != 3 || e.Parameters != 3 || strings.Contains(e.Source, "hidden") {
			t.Fatalf("%s: %+v, %v", source, e, err)
		}
		for i, f := range e.Files {
			if f.SHA256 != want[i] {
				t.Errorf("part %d: %s", i, f.SHA256)
			}
		}
		if first := s.Paths(e)[0]; !strings.HasSuffix(first, "big-00001-of-00003.gguf") {
			t.Errorf("the first part is %s", first)
		}
		if _, err := s.Remove("big"); err != nil || left(t, s) != "" {
			t.Errorf("%v, %q is left", err, left(t, s))
		}
	}
	if err := os.Remove(filepath.Join(dir, "big-00003-of-00003.gguf")); err != nil {
		t.Fatal(err)
	}
	s := shelved(t)
	if _, err := s.Add(t.Context(), dir+second, AddOptions{}); fault.KindOf(err) != fault.Usage || left(t, s) != "" {
		t.Errorf("a part is missing: %v, %q is left", err, left(t, s))
	}
}

func TestWhatIsNotAddedLeavesNothing(t *testing.T) {
	good := weights(100, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bad.gguf":
			_, _ = w.Write(append(weights(10, 1), "bad"...))
		case "/good.gguf":
			_, _ = w.Write(good)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	rows := []struct {
		name, source string
		opt          AddOptions
		kind         fault.Kind
		says         string
	}{
		{"no file", filepath.Join(dir, "none.gguf"), AddOptions{}, fault.Usage, "no such file"},
		{"a folder", dir, AddOptions{Name: "x"}, fault.Usage, "not a regular file"},
		{"no model", file(t, "a.gguf", []byte("hello")), AddOptions{}, fault.Data, `"hell"`},
		{"an empty file", file(t, "a.gguf", nil), AddOptions{}, fault.Data, `""`},
		{"a model that cannot be read", file(t, "a.gguf", []byte("GGUFbad")), AddOptions{}, fault.Data, "it is bad"},
		{"such a model as a link", file(t, "a.gguf", []byte("GGUFbad")), AddOptions{Link: true}, fault.Data, "it is bad"},
		{"such a model from afar", web.URL + "/bad.gguf", AddOptions{}, fault.Data, "it is bad"},
		{"another digest", file(t, "a.gguf", good), AddOptions{SHA256: []string{strings.Repeat("0", 64)}}, fault.Data, sum(good)},
		{"another digest of a link", file(t, "a.gguf", good), AddOptions{Link: true, SHA256: []string{strings.Repeat("0", 64)}}, fault.Data, sum(good)},
		{"another digest from afar", web.URL + "/good.gguf", AddOptions{SHA256: []string{strings.Repeat("0", 64)}}, fault.Data, sum(good)},
		{"nothing there from afar", web.URL + "/none.gguf", AddOptions{}, fault.Usage, "404"},
		{"two digests", file(t, "a.gguf", good), AddOptions{SHA256: []string{sum(good), sum(good)}}, fault.Usage, "2 times"},
		{"a digest that is none", file(t, "a.gguf", good), AddOptions{SHA256: []string{"xyz"}}, fault.Usage, "hexadecimal"},
		{"a link to an address", web.URL + "/good.gguf", AddOptions{Link: true}, fault.Usage, "--link"},
		{"part 0", filepath.Join(dir, "a-00000-of-00002.gguf"), AddOptions{}, fault.Usage, "part 0 of 2"},
		{"part 3 of 2", filepath.Join(dir, "a-00003-of-00002.gguf"), AddOptions{}, fault.Usage, "part 3 of 2"},
		{"a million parts", filepath.Join(dir, "a-00001-of-99999.gguf"), AddOptions{}, fault.Usage, "99999"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := shelved(t)
			_, err := s.Add(t.Context(), r.source, r.opt)
			if fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.says) {
				t.Errorf("%v: %v", fault.KindOf(err), err)
			}
			if got := left(t, s); got != "" {
				t.Errorf("%q is left", got)
			}
		})
	}
}

func TestNamesThatWouldEscapeAreRefused(t *testing.T) {
	s := shelved(t)
	from := file(t, "a.gguf", weights(10, 1))
	for _, bad := range []string{"../a", "a/b", "/a", `a\b`, ".", "..", ".a", "-a", "a b", "a\x00", "a\n", "ä", "a.gguf", "a.GGUF", "a.json", "a.",
		"a-00001-of-00002", strings.Repeat("a", 101)} {
		if _, err := s.Add(t.Context(), from, AddOptions{Name: bad}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q was added: %v", bad, err)
		}
		if _, _, found, err := s.Path(bad); found || err != nil {
			t.Errorf("%q was found, %v", bad, err)
		}
		if _, err := s.Remove(bad); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q was removed: %v", bad, err)
		}
	}
	if got := left(t, s); got != "" {
		t.Errorf("%q was made", got)
	}
	for _, good := range []string{"a", "Llama-3.2-1B_Q4", "0"} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
}

func TestANameIsTakenOnce(t *testing.T) {
	s := shelved(t)
	from := file(t, "a.gguf", weights(10, 1))
	if _, err := s.Add(t.Context(), from, AddOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "A"} {
		if _, err := s.Add(t.Context(), from, AddOptions{Name: name}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "lab model rm a") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Remove("b"); err == nil || !strings.Contains(err.Error(), `did you mean "a"`) {
		t.Errorf("%v", err)
	}
}

// Of many that add the same name at once one succeeds, and what it added is whole.
func TestTwoAtOnceDoNotMixTheirBytes(t *testing.T) {
	s := shelved(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	added := []string{}
	for i := range 12 {
		data := weights(300_000, byte(i))
		from := file(t, "same.gguf", data)
		wg.Go(func() {
			_, err := s.Add(t.Context(), from, AddOptions{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				added = append(added, sum(data))
			} else if fault.KindOf(err) != fault.Usage {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	path, digest, found, err := s.Path("same")
	if err != nil || !found || len(added) != 1 || added[0] != digest {
		t.Fatalf("%d were added, %s, %v, %v", len(added), digest, found, err)
	}
	if stored, err := os.ReadFile(path); err != nil || sum(stored) != digest {
		t.Errorf("other bytes are stored, %v", err)
	}
	if got := left(t, s); got != "same.gguf same.json" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestAnInterruptedTransferIsGoneOnWith(t *testing.T) {
	data := weights(900_000, 3)
	ranges := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			ranges++
		}
		w.Header().Set("ETag", `"a"`)
		http.ServeContent(w, r, "m", time.Time{}, bytes.NewReader(data))
	}))
	defer web.Close()
	s := shelved(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Add(ctx, web.URL+"/m.gguf", AddOptions{Progress: func(_, _ int, done, _ int64) {
		if done > 100_000 {
			cancel()
		}
	}})
	if fault.KindOf(err) != fault.Interrupted || !slices.Equal(s.Unfinished(), []string{"m"}) || len(s.Names()) != 0 {
		t.Fatalf("%v, unfinished %v, names %v", err, s.Unfinished(), s.Names())
	}
	e, err := s.Add(t.Context(), web.URL+"/m.gguf", AddOptions{})
	if err != nil || e.Files[0].SHA256 != sum(data) || ranges == 0 || left(t, s) != "m.gguf m.json" {
		t.Errorf("%+v, %v, %d ranges, %q", e, err, ranges, left(t, s))
	}
}

func TestWhatATransferHasLeftCanBeRemoved(t *testing.T) {
	s := shelved(t)
	if err := os.MkdirAll(s.stage("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.stage("x"), "x.gguf"), []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	if gone, err := s.Remove("x"); err != nil || len(gone) != 1 || left(t, s) != "" {
		t.Errorf("%v, %v, %q", gone, err, left(t, s))
	}
}

func TestACopyThatIsInterruptedLeavesNothing(t *testing.T) {
	s := shelved(t)
	from := file(t, "big.gguf", weights(10<<20, 1))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Add(ctx, from, AddOptions{Progress: func(int, int, int64, int64) { cancel() }})
	if fault.KindOf(err) != fault.Interrupted || left(t, s) != "" {
		t.Errorf("%v, %q", err, left(t, s))
	}
}

func TestVerifyNamesWhatChanged(t *testing.T) {
	s, data := shelved(t), weights(1000, 1)
	for _, name := range []string{"same", "changed", "missing"} {
		if _, err := s.Add(t.Context(), file(t, name+".gguf", data), AddOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	changed := append(slices.Clone(data[:len(data)-1]), 9)
	if err := os.WriteFile(filepath.Join(s.Dir, "changed.gguf"), changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.Dir, "missing.gguf")); err != nil {
		t.Fatal(err)
	}
	entries, broken := s.Entries()
	if len(entries) != 3 || len(broken) != 0 {
		t.Fatalf("%v, %v", entries, broken)
	}
	for _, e := range entries {
		got, err := s.Verify(t.Context(), e, func(int, int, int64, int64) {})
		if err != nil || len(got) != 1 || got[0].Status != e.Name || got[0].Want != sum(data) {
			t.Errorf("%+v, %v", got, err)
		}
		if e.Name == "changed" && got[0].Got != sum(changed) {
			t.Errorf("the digest now is %s", got[0].Got)
		}
	}
}

// Whoever can write to the folder still cannot make a record lead elsewhere
// unless it says that it is linked.
func TestDamagedRecordsAreNamed(t *testing.T) {
	good := `{"schema":"lab/model-file/1","name":"x","files":[{"path":"x.gguf","bytes":1,"sha256":"00"}]}`
	for name, text := range map[string]string{
		"none":            "",
		"no JSON":         "{",
		"another schema":  strings.Replace(good, "file/1", "file/9", 1),
		"another name":    strings.Replace(good, `"x"`, `"y"`, 1),
		"no files":        `{"schema":"lab/model-file/1","name":"x","files":[]}`,
		"a path upwards":  strings.Replace(good, "x.gguf", "../x.gguf", 1),
		"a path":          strings.Replace(good, "x.gguf", "/etc/passwd", 1),
		"a relative link": strings.Replace(good, `"name"`, `"linked":true,"name"`, 1),
		"another file":    strings.Replace(good, "x.gguf", "y.gguf", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := shelved(t)
			if err := os.MkdirAll(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(s.Dir, "y.gguf")
			for _, p := range []string{filepath.Join(s.Dir, "x.gguf"), other} {
				if err := os.WriteFile(p, []byte("GGUF"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(s.record("x"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := s.Path("x"); fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), "lab model rm x") {
				t.Errorf("%v", err)
			}
			if _, broken := s.Entries(); len(broken) != 1 {
				t.Errorf("%v", broken)
			}
			if _, err := s.Remove("x"); err != nil || left(t, s) != "y.gguf" {
				t.Errorf("%v, %q is left", err, left(t, s))
			}
		})
	}
}

func TestThePlaceOfTheFolder(t *testing.T) {
	t.Setenv("LAB_MODELS", "/m")
	if dir, err := Folder(); err != nil || dir != "/m" {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv("LAB_MODELS", "")
	t.Setenv("XDG_DATA_HOME", "/data")
	if dir, err := Folder(); err != nil || dir != "/data/lab/models" {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "/home/me")
	if dir, err := Folder(); err != nil || dir != "/home/me/.local/share/lab/models" {
		t.Errorf("%s, %v", dir, err)
	}
}
