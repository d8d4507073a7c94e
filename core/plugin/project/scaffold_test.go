package project

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lab/core/fault"
)

// pretended stands for the Python package, of which only the names matter here.
func pretended() fs.FS {
	return fstest.MapFS{
		"lab_plugin/__init__.py": {Data: []byte("serve = None\n")},
		"lab_plugin/rows.py":     {Data: []byte("rows = 1\n")},
	}
}

func checkout(t *testing.T) string {
	t.Helper()
	dir, err := FindLab("", "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func plan(t *testing.T, language, kind, dir string) Plan {
	t.Helper()
	return Plan{Name: "my-own", Language: language, Kind: kind, Dir: dir, Lab: checkout(t), Package: pretended(), Requirements: "grpcio\n"}
}

// Whatever the language and kind: no gap is left in a file, what is detected is
// what was planned, every command of the README is there, and Go files are in the
// one format.
func TestNewWritesAWholeProject(t *testing.T) {
	for _, language := range Languages() {
		for _, kind := range Kinds() {
			t.Run(language+" "+kind, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "deep", "project")
				made, err := New(plan(t, language, kind, dir))
				if err != nil {
					t.Fatal(err)
				}
				gap := regexp.MustCompile(`\{\{[A-Z]+\}\}`)
				var onDisk []string
				err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
					if err != nil || e.IsDir() {
						return err
					}
					rel, _ := filepath.Rel(dir, path)
					onDisk = append(onDisk, filepath.ToSlash(rel))
					text, err := os.ReadFile(path)
					if m := gap.Find(text); m != nil {
						t.Errorf("%s still has %s", rel, m)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(onDisk)
				if !slices.Equal(onDisk, made.Files) {
					t.Errorf("files %v, on disk %v", made.Files, onDisk)
				}
				readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range made.Commands {
					if !strings.Contains(string(readme), "\n    "+c+" ") {
						t.Errorf("the README lacks the command %q", c)
					}
				}
				src, err := Detect(dir, "")
				want := map[string]Form{"go": GoPackage, "python": PythonProject}[language]
				if err != nil || src.Name != "my-own" || src.Form != want {
					t.Errorf("it is detected as a %v called %q, %v", src.Form, src.Name, err)
				}
				if language == "go" {
					if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
						t.Errorf("gofmt: %v: %s", err, out)
					}
				}
			})
		}
	}
}

func TestNewNeverOverwrites(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		says  string
	}{
		{"a project", map[string]string{"x/main.go": "mine"}, "not empty"},
		{"a folder with a hidden file only", map[string]string{"x/.keep": "mine"}, "not empty"},
		{"a file", map[string]string{"x": "mine"}, "a file of that name"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			dir := tree(t, r.files)
			_, err := New(plan(t, "go", "sampler", filepath.Join(dir, "x")))
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.says) {
				t.Errorf("error %v, want one with %q", err, r.says)
			}
			for name, text := range r.files {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
					t.Errorf("%s is now %q, %v", name, got, err)
				}
			}
			entries, _ := os.ReadDir(dir)
			if len(entries) != 1 {
				t.Errorf("%d entries are left beside it", len(entries)-1)
			}
		})
	}
}

func TestNewFillsAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	made, err := New(plan(t, "python", "model", dir))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := pluginFiles(dir, func(string, fs.DirEntry) bool { return false })
	if err != nil || len(entries) != len(made.Files) {
		t.Errorf("%d files, want %d (%v)", len(entries), len(made.Files), err)
	}
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	rows := []struct {
		name   string
		change func(*Plan)
		says   string
	}{
		{"a name", func(p *Plan) { p.Name = "My" }, "no name of a plugin"},
		{"a name that leads elsewhere", func(p *Plan) { p.Name = "../x" }, "no name of a plugin"},
		{"a language", func(p *Plan) { p.Language = "rust" }, "language"},
		{"a kind", func(p *Plan) { p.Kind = "models" }, `did you mean "model"`},
		{"a checkout", func(p *Plan) { p.Lab = "/nowhere" }, "lab source"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x")
			p := plan(t, "go", "sampler", dir)
			r.change(&p)
			if _, err := New(p); err == nil || !strings.Contains(err.Error(), r.says) {
				t.Errorf("error %v, want one with %q", err, r.says)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder is there")
			}
		})
	}
}

// A plugin lists every requirement of lab, or go build would want a network.
func TestGoModListsWhatLabRequires(t *testing.T) {
	lab := checkout(t)
	text, err := goMod("x", t.TempDir(), lab)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join(lab, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := regexp.MustCompile(`(?m)^\s+(\S+ v\S+)`).FindAllStringSubmatch(string(own), -1)
	if len(versions) < 20 {
		t.Fatalf("only %d requirements were found in lab's go.mod", len(versions))
	}
	for _, v := range versions {
		if !strings.Contains(text, "\t"+v[1]+" // indirect\n") {
			t.Errorf("%s is missing", v[1])
		}
	}
	if !strings.Contains(text, "replace lab => "+lab+"\n") {
		t.Errorf("lab is not replaced: %s", text)
	}
}

func TestModulePathIsRelativeInsideTheCheckoutOnly(t *testing.T) {
	rows := []struct{ name, folder, lab, want string }{
		{"inside", "/src/lab/plugins/x", "/src/lab", "../.."},
		{"beside, with a name that begins alike", "/src/labels/x", "/src/lab", "/src/lab"},
		{"with a blank", "/src/x", "/my src/lab", `"/my src/lab"`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := modulePath(filepath.FromSlash(r.folder), filepath.FromSlash(r.lab)); got != r.want {
				t.Errorf("%s, want %s", got, r.want)
			}
		})
	}
}

func TestFindLabLooksAround(t *testing.T) {
	lab := checkout(t)
	if got, err := FindLab(lab, ""); err != nil || got != lab {
		t.Errorf("given %s: %s, %v", lab, got, err)
	}
	if _, err := FindLab(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "no checkout of lab") {
		t.Errorf("a folder without lab: %v", err)
	}
}
