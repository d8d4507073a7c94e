package canvas

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/fault"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteFileIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("long-", 40)+"name.svg")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := WriteFile(path, text("first")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken half way")
	err := WriteFile(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "sec"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "first" {
		t.Errorf("after a failed write the file holds %q", got)
	}
	if err := WriteFile(path, text("third")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "third" {
		t.Errorf("the file holds %q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o400 == 0 || info.Mode().Perm()&0o111 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteFileSaysWhereItCannotWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	rows := []struct{ name, path, says string }{
		{"folder missing", filepath.Join(dir, "none", "a.svg"), "there is no folder"},
		{"path is a folder", dir, "this is a folder"},
		{"folder is a file", filepath.Join(file, "a.svg"), "not a directory"},
		{"a system folder", "/proc/a.svg", "/proc"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			err := WriteFile(r.path, func(io.Writer) error { return errors.New("must not be reached") })
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.says) {
				t.Errorf("got %v (%v)", err, fault.KindOf(err))
			}
			if err != nil && strings.Contains(err.Error(), "must not be reached") {
				t.Error("the file was written")
			}
		})
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
}
