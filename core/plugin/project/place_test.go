package project

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/plugin/lock"
)

// version is a plugin that is a script with a folder.
func version(t *testing.T, text string) Source {
	t.Helper()
	dir := tree(t, map[string]string{"lab-plugin-mine*": "#!/bin/sh\n# " + text, "lab-plugin-mine.d/data": text})
	return detect(t, filepath.Join(dir, "lab-plugin-mine"))
}

func contents(t *testing.T, p Place) string {
	t.Helper()
	files, err := pluginFiles(p.Dir, cached)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return ""
		}
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(p.Dir, f))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f+"="+strings.TrimPrefix(string(text), "#!/bin/sh\n# "))
	}
	return strings.Join(out, " ")
}

const (
	oneInPlace = "lab-plugin-mine=one lab-plugin-mine.d/data=one"
	twoInPlace = "lab-plugin-mine=two lab-plugin-mine.d/data=two"
)

func TestInstallReplaceRemove(t *testing.T) {
	home := t.TempDir()
	p := ProjectPlace(home)
	one, two := version(t, "one"), version(t, "two")
	checked := ""
	opt := InstallOptions{Check: func(_ context.Context, folder string) (string, error) {
		checked = folder
		if got := contents(t, Place{folder}); !strings.HasPrefix(got, "lab-plugin-mine=") {
			t.Errorf("what is checked is %q", got)
		}
		return "1.0", nil
	}}
	first, err := p.Install(t.Context(), one, opt)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := lock.Digest(first.Path); err != nil || sum != first.SHA256 || first.Before != "" || first.Version != "1.0" {
		t.Errorf("installed %+v, digest %s, %v", first, sum, err)
	}
	if filepath.Dir(checked) != p.Dir {
		t.Errorf("checked in %s, which may be another file system than %s", checked, p.Dir)
	}
	if again, err := p.Install(t.Context(), one, opt); err != nil || again.Before != first.SHA256 {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if _, err := p.Install(t.Context(), two, opt); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("another: %v", err)
	}
	if got := contents(t, p); got != oneInPlace {
		t.Errorf("in place: %s", got)
	}
	opt.Replace = true
	if second, err := p.Install(t.Context(), two, opt); err != nil || second.Before != first.SHA256 || second.SHA256 == first.SHA256 {
		t.Errorf("replaced: %+v, %v", second, err)
	}
	if got := contents(t, p); got != twoInPlace {
		t.Errorf("in place: %s", got)
	}
	if gone, err := p.Remove("mine"); err != nil || len(gone) != 2 {
		t.Errorf("removed %v, %v", gone, err)
	}
	if entries, _ := os.ReadDir(home); len(entries) != 0 {
		t.Errorf("%v was left", entries)
	}
	if _, err := p.Remove("mine"); fault.KindOf(err) != fault.Usage {
		t.Errorf("removed twice: %v", err)
	}
	if _, err := p.Remove("../x"); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("a name that leads elsewhere: %v", err)
	}
}

// Whatever fails, what was there is there, and nothing more.
func TestFailedInstallChangesNothing(t *testing.T) {
	refuses := errors.New("it does not start")
	rows := []struct {
		name  string
		spoil func(t *testing.T, p Place, opt *InstallOptions, cancel func())
	}{
		{"the check refuses it", func(_ *testing.T, _ Place, opt *InstallOptions, _ func()) {
			opt.Check = func(context.Context, string) (string, error) { return "", refuses }
		}},
		{"it is interrupted", func(_ *testing.T, _ Place, opt *InstallOptions, cancel func()) {
			opt.Check = func(context.Context, string) (string, error) { cancel(); return "1", nil }
		}},
		{"it cannot be put into its place", func(_ *testing.T, _ Place, opt *InstallOptions, _ func()) {
			opt.Check = func(_ context.Context, staged string) (string, error) {
				return "1", os.Symlink("nothing", filepath.Join(staged, "before")) // where the old one is to go
			}
		}},
	}
	for _, before := range []string{"", "one"} {
		for _, r := range rows {
			t.Run(r.name+", before: "+before, func(t *testing.T) {
				home := t.TempDir()
				p := ProjectPlace(home)
				want := ""
				if before != "" {
					if _, err := p.Install(t.Context(), version(t, before), InstallOptions{}); err != nil {
						t.Fatal(err)
					}
					want = oneInPlace
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				opt := InstallOptions{Replace: true}
				r.spoil(t, p, &opt, cancel)
				if _, err := p.Install(ctx, version(t, "two"), opt); err == nil {
					t.Error("it was installed")
				}
				if got := contents(t, p); got != want {
					t.Errorf("in place: %q, want %q", got, want)
				}
				entries, _ := os.ReadDir(home)
				if before == "" && len(entries) != 0 {
					t.Errorf("%v was left", entries)
				}
				if hidden, _ := filepath.Glob(filepath.Join(p.Dir, ".*")); len(hidden) != 0 {
					t.Errorf("%v was left", hidden)
				}
			})
		}
	}
}

// When a later step of the swap fails, the steps before it are taken back.
func TestSwapIsTakenBack(t *testing.T) {
	dir := tree(t, map[string]string{
		"old/lab-plugin-mine*": "one", "old/lab-plugin-mine.d/data": "one",
		"new/lab-plugin-mine.d/data": "two", "new/lab-plugin-mine*": "two",
	})
	p := Place{filepath.Join(dir, "old")}
	// Where the old folder is to go, something is already.
	aside := filepath.Join(dir, "aside")
	blocked := filepath.Join(aside, "lab-plugin-mine.d", "x")
	if err := os.MkdirAll(filepath.Dir(blocked), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exchange(filepath.Join(dir, "new", "lab-plugin-mine"), p.path("mine"), aside); err == nil {
		t.Fatal("it succeeded")
	}
	if got := contents(t, p); got != oneInPlace {
		t.Errorf("in place: %s", got)
	}
	if got := contents(t, Place{filepath.Join(dir, "new")}); got != twoInPlace {
		t.Errorf("staged: %s", got)
	}
}

// Half a plugin, as a kill may leave it, can be removed and installed over.
func TestHalvesAreCleared(t *testing.T) {
	home := t.TempDir()
	p := ProjectPlace(home)
	half := filepath.Join(p.Dir, "lab-plugin-mine.d")
	stale, fresh := filepath.Join(p.Dir, stagePrefix+"1"), filepath.Join(p.Dir, stagePrefix+"2")
	for _, dir := range []string{half, stale, fresh} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(stale, long, long); err != nil {
		t.Fatal(err)
	}
	if gone, err := p.Remove("mine"); err != nil || len(gone) != 1 || gone[0] != half {
		t.Errorf("removed %v, %v", gone, err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a killed installation left is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("what may be an installation under way was removed")
	}
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	if done, err := p.Install(t.Context(), version(t, "one"), InstallOptions{Replace: true}); err != nil || done.Before != "unknown" {
		t.Errorf("installed over a half: %+v, %v", done, err)
	}
}

func TestUserPlaceFollowsTheEnvironment(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	if p, err := UserPlace(); err != nil || p.Dir != filepath.FromSlash("/data/lab/plugins") {
		t.Errorf("%v, %v", p, err)
	}
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "/home/me")
	if p, err := UserPlace(); err != nil || p.Dir != filepath.FromSlash("/home/me/.local/share/lab/plugins") {
		t.Errorf("%v, %v", p, err)
	}
	t.Setenv("HOME", "")
	if _, err := UserPlace(); err == nil {
		t.Error("without a home there is a place")
	}
}
