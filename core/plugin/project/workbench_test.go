package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWorkbenchBuildsWhatChanged(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w, err := NewWorkbench()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.dir.Path()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", info.Mode(), err)
	}
	dir := tree(t, map[string]string{"lab-plugin-mine*": "one", "lab-plugin-mine.d/data": "one"})
	path := filepath.Join(dir, "lab-plugin-mine")
	build := func() string {
		t.Helper()
		src, folder, err := w.Plugin(t.Context(), path, BuildOptions{})
		if err != nil || src.Name != "mine" {
			t.Fatalf("%+v, %v", src, err)
		}
		return folder
	}
	first := build()
	if again := build(); again != first {
		t.Error("it was built twice without a change")
	}
	if err := os.WriteFile(filepath.Join(dir, "lab-plugin-mine.d", "data"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	second := build()
	if second == first {
		t.Error("a change was not seen")
	}
	if _, err := os.Stat(first); err == nil {
		t.Error("the build before is still there")
	}
	if got := contents(t, Place{second}); !strings.Contains(got, "data=another") {
		t.Errorf("built: %s", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(os.TempDir()); len(entries) != 0 {
		t.Errorf("%v was left", entries)
	}
}

// Of the folders in TMPDIR only an old workbench that nobody holds is removed.
func TestSweepRemovesDeadWorkbenchesOnly(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	live, err := NewWorkbench()
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	make := func(name string, mode os.FileMode, age time.Duration) string {
		path := filepath.Join(temp, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := make("lab-bench-1", 0o700, time.Hour)
	stay := []string{
		make("lab-bench-new-2", 0o700, 0),
		make("lab-bench-3", 0o755, time.Hour),
		make("lab-bench-mine", 0o700, time.Hour),
		live.dir.Path(),
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(live.dir.Path(), old, old); err != nil {
		t.Fatal(err)
	}
	next, err := NewWorkbench()
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := os.Stat(dead); err == nil {
		t.Error("the dead one is still there")
	}
	for _, path := range stay {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was removed", filepath.Base(path))
		}
	}
}

func TestWatchedIsWhatAPluginIsMadeOf(t *testing.T) {
	files := map[string]string{
		"go.mod": "module x\n", "own/own.go": "package own\n", "own/notes.txt": "", ".git/x.go": "",
		"mine/main.go": goPlugin, "mine/corpus.txt": "", "mine/lab-plugin-mine*": "", "mine/runs/a/run.json": "",
	}
	dir := tree(t, files)
	seen := detect(t, filepath.Join(dir, "mine")).Watched()
	want := []string{"go.mod", "own/own.go", "mine/main.go", "mine/corpus.txt"}
	for _, name := range want {
		if _, ok := seen[filepath.Join(dir, name)]; !ok {
			t.Errorf("%s is not watched", name)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("watched: %v", seen)
	}
	before := detect(t, filepath.Join(dir, "mine")).Watched()
	if !before.Equal(seen) {
		t.Error("nothing changed, and yet")
	}
	if err := os.Remove(filepath.Join(dir, "own", "own.go")); err != nil {
		t.Fatal(err)
	}
	if after := detect(t, filepath.Join(dir, "mine")).Watched(); after.Equal(seen) || seen.Equal(after) {
		t.Error("a file that went is not seen")
	}
}
