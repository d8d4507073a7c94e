package project

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
)

func detect(t *testing.T, path string) Source {
	t.Helper()
	src, err := Detect(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// program is a Go program without imports of its own, so that it builds at once.
const program = "package main\n\nfunc main() { println(\"I am a program\") }\n"

func TestGoBuildMakesTheExecutable(t *testing.T) {
	dir := tree(t, map[string]string{"mine/go.mod": "module mine\n\ngo 1.26\n", "mine/main.go": program})
	src := detect(t, filepath.Join(dir, "mine"))
	var sums [2][]byte
	for i := range sums {
		folder := t.TempDir()
		exe, err := Build(t.Context(), src, folder, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if exe != filepath.Join(folder, Executable("mine")) {
			t.Errorf("executable %s", exe)
		}
		if out, err := exec.Command(exe).CombinedOutput(); err != nil || string(out) != "I am a program\n" {
			t.Errorf("it says %q, %v", out, err)
		}
		if sums[i], err = os.ReadFile(exe); err != nil {
			t.Fatal(err)
		}
	}
	if string(sums[0]) != string(sums[1]) {
		t.Error("two builds of one source differ")
	}
}

func TestGoBuildShowsTheCompilersLines(t *testing.T) {
	dir := tree(t, map[string]string{"mine/go.mod": "module mine\n\ngo 1.26\n",
		"mine/main.go": "package main\n\nfunc main() {\n\tundefinedA()\n\tundefinedB()\n}\n"})
	t.Chdir(dir)
	_, err := Build(t.Context(), detect(t, "mine"), t.TempDir(), BuildOptions{})
	if fault.KindOf(err) != fault.Plugin {
		t.Fatalf("error %v", err)
	}
	for _, line := range []string{"\n  mine/main.go:4:2: undefined: undefinedA", "\n  mine/main.go:5:2: undefined: undefinedB"} {
		if !strings.Contains(err.Error(), line) {
			t.Errorf("%q is not in %q", line, err)
		}
	}
}

func TestCompilersLinesAreBounded(t *testing.T) {
	got := Source{Path: "mine"}.located("# mine\n" + strings.Repeat("./x.go:1:1: no\n", 500) + strings.Repeat("y", 5000))
	if n := strings.Count(got, "\n"); n != mostLines || !strings.HasSuffix(got, "…") {
		t.Errorf("%d lines, ending in %q", n, got[len(got)-20:])
	}
	if long := (Source{}).located(strings.Repeat("y", 5000)); len(long) > 500 {
		t.Errorf("a line of %d bytes", len(long))
	}
}

// bin makes a folder with programs the only one on PATH.
func bin(t *testing.T, scripts map[string]string) string {
	t.Helper()
	files := map[string]string{}
	for name, text := range scripts {
		files[name+"*"] = "#!/bin/sh\n" + text
	}
	dir := tree(t, files)
	t.Setenv("PATH", dir)
	return dir
}

func TestMissingToolsAreNamedWithTheirCure(t *testing.T) {
	goDir := tree(t, map[string]string{"main.go": goPlugin})
	pyDir := tree(t, map[string]string{"mine.py": pyPlugin})
	rows := []struct {
		name, dir string
		tools     map[string]string
		python    string
		says      []string
	}{
		{"no Go", goDir, nil, "", []string{"no go command on PATH", "https://go.dev/dl"}},
		{"no Python", pyDir, nil, "", []string{"no python3 on PATH", "install Python"}},
		{"a Python that is given and missing", pyDir, nil, "nosuch", []string{"--python", "nosuch", "is no program"}},
		{"an old Python", pyDir, map[string]string{"python3": "echo old: 3.6.1"}, "", []string{"Python 3.6.1", "3.9", "; make " + pyDir + "/.venv with another Python"}},
		{"an old Python that is given", pyDir, map[string]string{"old": "echo old: 3.6.1"}, "old", []string{"Python 3.6.1", "give --python another one"}},
		{"no grpcio", pyDir, map[string]string{"python3": "echo missing: grpcio"}, "",
			[]string{"has no grpcio", "python3 -m venv " + pyDir + "/.venv && " + pyDir + "/.venv/bin/python -m pip install grpcio"}},
		{"a Python that fails", pyDir, map[string]string{"python3": "echo broken >&2; exit 3"}, "", []string{"cannot be run (exit status 3)", "broken"}},
		{"something else", pyDir, map[string]string{"python3": "echo 'ok: relative'"}, "", []string{"does not answer like a Python"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			bin(t, r.tools)
			folder := t.TempDir()
			_, err := Build(t.Context(), detect(t, r.dir), folder, BuildOptions{Python: r.python, Package: pretended()})
			if err == nil {
				t.Fatal("it was built")
			}
			for _, says := range r.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q is not in %q", says, err)
				}
			}
			if entries, _ := os.ReadDir(folder); len(entries) > 0 {
				t.Errorf("%v was left", entries)
			}
		})
	}
}

// In a project that lists its requirements and has an environment, the cure is to
// install into that.
func TestInstallsIntoTheProjectsEnvironment(t *testing.T) {
	dir := tree(t, map[string]string{"mine.py": pyPlugin, "requirements.txt": "", ".venv/bin/python*": "#!/bin/sh\necho missing: grpcio\n"})
	_, err := Build(t.Context(), detect(t, dir), t.TempDir(), BuildOptions{Package: pretended()})
	want := "install it with: " + dir + "/.venv/bin/python -m pip install -r " + dir + "/requirements.txt"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want it to end in %q", err, want)
	}
}

// A Python project becomes a launcher and a copy of what belongs to it. The
// Python here is a script that shows how it was started.
func TestPythonProjectIsLaidOut(t *testing.T) {
	dir := tree(t, map[string]string{
		"it's/mine.py": pyPlugin, "it's/data/corpus.txt": "text", "it's/helper.py": "x = 1\n",
		"it's/.venv/pyvenv.cfg": "", "it's/.git/config": "", "it's/env/pyvenv.cfg": "", "it's/env/big": "", "it's/__pycache__/mine.pyc": "",
		"it's/runs/x/run.json": "", "it's/lab.lock": "",
		"a b/python*": "#!/bin/sh\ncase $1 in -c) echo \"ok: $0\";; *) echo \"$@\";; esac\n",
	})
	if err := os.Symlink("data/corpus.txt", filepath.Join(dir, "it's", "linked.txt")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "it's here")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := Build(t.Context(), detect(t, filepath.Join(dir, "it's")), folder, BuildOptions{Python: filepath.Join(dir, "a b", "python"), Package: pretended()})
	if err != nil {
		t.Fatal(err)
	}
	files, err := pluginFiles(exe+folderSuffix, cached)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(files, " "), "data/corpus.txt helper.py lab_plugin/__init__.py lab_plugin/rows.py linked.txt mine.py"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	if info, err := os.Lstat(filepath.Join(exe+folderSuffix, "linked.txt")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a link was not copied as the file: %v, %v", info, err)
	}
	if out, err := exec.Command(exe).CombinedOutput(); err != nil || string(out) != exe+".d/mine.py\n" {
		t.Errorf("it starts %q, %v", out, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a b")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(exe).CombinedOutput(); err == nil || !strings.Contains(string(out), "install the plugin again") {
		t.Errorf("without its Python it says %q, %v", out, err)
	}
}

func TestOwnPackageOfAProjectStays(t *testing.T) {
	dir := tree(t, map[string]string{"mine.py": pyPlugin, "lab_plugin/__init__.py": "own = 1\n"})
	tools := bin(t, map[string]string{"python3": "echo \"ok: $0\""})
	exe, err := Build(t.Context(), detect(t, dir), t.TempDir(), BuildOptions{Python: tools + "/python3"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(exe + ".d/lab_plugin/__init__.py"); err != nil || string(text) != "own = 1\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestProgramIsCopiedWithItsFolder(t *testing.T) {
	dir := tree(t, map[string]string{"lab-plugin-mine*": "#!/bin/sh\ncat \"$0.d/.data\"\n", "lab-plugin-mine.d/.data": "hidden\n",
		"lab-plugin-mine.d/__pycache__/x": ""})
	exe, err := Build(t.Context(), detect(t, filepath.Join(dir, "lab-plugin-mine")), t.TempDir(), BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(exe).CombinedOutput(); err != nil || string(out) != "hidden\n" {
		t.Errorf("it says %q, %v", out, err)
	}
	if _, err := os.Stat(exe + ".d/__pycache__"); err == nil {
		t.Error("a cache was copied")
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := tree(t, map[string]string{"mine.py": pyPlugin})
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := pluginFiles(dir, leftOut); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("a link to a folder: %v", err)
	}
}

// A lab that lies elsewhere by now is named with what mends it.
func TestAMovedLabIsNamedWithItsCure(t *testing.T) {
	dir := tree(t, map[string]string{"main.go": goPlugin,
		"go.mod": "module mine\n\ngo 1.26\n\nrequire lab v0.0.0\n\nreplace lab => ./nowhere\n"})
	_, err := Build(t.Context(), detect(t, dir), t.TempDir(), BuildOptions{})
	if err == nil || !strings.Contains(err.Error(), "; lab has moved: go mod edit -replace lab=FOLDER in \""+dir) {
		t.Errorf("error %v", err)
	}
}

// A build that is interrupted leaves nothing outside of its folder, whatever the
// tool does.
func TestBuildEndsWithItsContext(t *testing.T) {
	dir := tree(t, map[string]string{"main.go": goPlugin})
	bin(t, map[string]string{"go": `: > "${GOTMPDIR:-$TMPDIR}/left"; exec /bin/sleep 60`})
	scratch, folder := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", scratch)
	t.Setenv("GOTMPDIR", "")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	_, err := Build(ctx, detect(t, dir), folder, BuildOptions{})
	if fault.KindOf(err) != fault.Interrupted {
		t.Errorf("error %v", err)
	}
	for _, place := range []string{scratch, folder} {
		if entries, _ := os.ReadDir(place); len(entries) > 0 {
			t.Errorf("%v was left", entries)
		}
	}
	// far less than the minute that the tool would take, far more than a busy machine needs
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
