//go:build unix

package lock

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/fault"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func digest(t *testing.T, path string) string {
	t.Helper()
	sum, err := Digest(path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// The digest of a lone executable is the one that every tool prints; with a
// folder it is that of the documented lines.
func TestDigestIsTheDocumentedOne(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "lab-plugin-mine")
	write(t, exe, "abc")
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-4, appendix
	if got := digest(t, exe); got != abc {
		t.Errorf("executable alone: %s", got)
	}
	files := map[string]string{"lab-plugin-mine.d/mine.py": "print()", "lab-plugin-mine.d/lab_plugin/__init__.py": "", "lab-plugin-mine.d/a\nb": "x"}
	lines := []string{"lab-plugin-mine\x00" + abc + "\n"}
	for path, text := range files {
		write(t, filepath.Join(filepath.Dir(exe), path), text)
		lines = append(lines, fmt.Sprintf("%s\x00%x\n", path, sha256.Sum256([]byte(text))))
	}
	slices.Sort(lines)
	if got, want := digest(t, exe), fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "")))); got != want {
		t.Errorf("with a folder: %s, want %s", got, want)
	}
}

// Whatever belongs to the plugin changes its digest; what does not, does not.
func TestDigestCoversThePluginAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes bool
		change  func(t *testing.T, exe string)
	}{
		{"the executable", true, func(t *testing.T, exe string) { write(t, exe, "other") }},
		{"a file's text", true, func(t *testing.T, exe string) { write(t, exe+".d/mine.py", "other") }},
		{"a file deep inside", true, func(t *testing.T, exe string) { write(t, exe+".d/sub/deep.py", "other") }},
		{"one file more", true, func(t *testing.T, exe string) { write(t, exe+".d/more.py", "") }},
		{"a file's name", true, func(t *testing.T, exe string) { rename(t, exe+".d/mine.py", exe+".d/yours.py") }},
		{"two files exchanged", true, func(t *testing.T, exe string) {
			rename(t, exe+".d/mine.py", exe+".d/x")
			rename(t, exe+".d/sub/deep.py", exe+".d/mine.py")
			rename(t, exe+".d/x", exe+".d/sub/deep.py")
		}},
		{"a file with the cache's name", true, func(t *testing.T, exe string) { write(t, exe+".d/sub/__pycache__", "x") }},
		{"the cache of Python", false, func(t *testing.T, exe string) { write(t, exe+".d/__pycache__/mine.pyc", "x") }},
		{"a cache further down", false, func(t *testing.T, exe string) { write(t, exe+".d/sub/__pycache__/deep.pyc", "x") }},
		{"the neighbours", false, func(t *testing.T, exe string) { write(t, exe+"-other.d/x", "x") }},
		{"the times", false, func(t *testing.T, exe string) { write(t, exe+".d/mine.py", "mine") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "lab-plugin-mine")
			write(t, exe, "#!/bin/sh\n")
			write(t, exe+".d/mine.py", "mine")
			write(t, exe+".d/sub/deep.py", "deep")
			before := digest(t, exe)
			tt.change(t, exe)
			if after := digest(t, exe); (after != before) != tt.changes {
				t.Errorf("digest %s, before %s", after, before)
			}
		})
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// What cannot be pinned is refused by name.
func TestWhatCannotBePinnedIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		make       func(t *testing.T, exe string)
	}{
		{"a link to a file", "symbolic link", func(t *testing.T, exe string) { link(t, "/etc/passwd", exe+".d/x") }},
		{"a link to a folder", "symbolic link", func(t *testing.T, exe string) { link(t, t.TempDir(), exe+".d/x") }},
		{"a link that leads nowhere", "symbolic link", func(t *testing.T, exe string) { link(t, "/nowhere", exe+".d/x") }},
		{"a pipe", "neither a file nor a folder", func(t *testing.T, exe string) { pipe(t, exe+".d/x") }},
		{"the folder is a link", "is no folder", func(t *testing.T, exe string) {
			if err := os.RemoveAll(exe + ".d"); err != nil {
				t.Fatal(err)
			}
			link(t, t.TempDir(), exe+".d")
		}},
		{"the folder is a file", "is no folder", func(t *testing.T, exe string) {
			if err := os.RemoveAll(exe + ".d"); err != nil {
				t.Fatal(err)
			}
			write(t, exe+".d", "x")
		}},
		{"the executable is a folder", "no regular file", func(t *testing.T, exe string) {
			if err := os.Remove(exe); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(exe, "x"), "x")
		}},
		{"the executable is a pipe", "no regular file", func(t *testing.T, exe string) {
			if err := os.Remove(exe); err != nil {
				t.Fatal(err)
			}
			pipe(t, exe)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "lab-plugin-mine")
			write(t, exe, "#!/bin/sh\n")
			write(t, exe+".d/mine.py", "mine")
			tt.make(t, exe)
			if _, err := Digest(exe); err == nil || !strings.Contains(err.Error(), tt.says) || fault.KindOf(err) != fault.Plugin {
				t.Errorf("error is %v, want a plugin error that says %q", err, tt.says)
			}
		})
	}
	if _, err := Digest(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// A launcher that is a link is what the link leads to.
func TestDigestFollowsALinkedExecutable(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real"), "abc")
	link(t, "real", filepath.Join(dir, "lab-plugin-mine"))
	if digest(t, filepath.Join(dir, "real")) != digest(t, filepath.Join(dir, "lab-plugin-mine")) {
		t.Error("the digests differ")
	}
}
