package private

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

func TestAFolderIsPrivateAndGoes(t *testing.T) {
	parent := t.TempDir()
	a, err := Make(parent, "some-")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Make(parent, "some-")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(a.Path())
	if err != nil || info.Mode().Perm() != 0o700 || !filepath.IsAbs(a.Path()) || a.Path() == b.Path() ||
		!regexp.MustCompile(`^some-[0-9]{1,10}$`).MatchString(filepath.Base(a.Path())) {
		t.Errorf("%s and %s, %v, %v", a.Path(), b.Path(), info, err)
	}
	if err := os.WriteFile(filepath.Join(a.Path(), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	Sweep(parent, "some-", func(path string) { t.Errorf("%s was swept while its owner lives", path) })
	for _, f := range []*Folder{a, b} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSweepFindsTheDeadOnly(t *testing.T) {
	parent := t.TempDir()
	make := func(name string, mode os.FileMode, age time.Duration) string {
		t.Helper()
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dead := []string{make("some-1", 0o700, 0), make("some-2", 0o700, time.Hour), make("some-new-3", 0o700, time.Hour)}
	make("some-new-4", 0o700, 0) // about to be locked
	make("some-5", 0o755, time.Hour)
	make("some-mine", 0o700, time.Hour)
	make("other-6", 0o700, time.Hour)
	if err := os.Symlink(make("elsewhere", 0o700, time.Hour), filepath.Join(parent, "some-7")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "some-8"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	var swept []string
	Sweep(parent, "some-", func(path string) { swept = append(swept, path) })
	if !slices.Equal(swept, dead) {
		t.Errorf("swept %q, want %q", swept, dead)
	}
	Sweep(filepath.Join(parent, "nowhere"), "some-", func(string) { t.Error("something was found nowhere") })
}
