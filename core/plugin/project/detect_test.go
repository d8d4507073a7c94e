package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a new folder; a name that ends with * is executable.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as Detect will name it
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		mode := os.FileMode(0o644)
		if plain, ok := strings.CutSuffix(name, "*"); ok {
			name, mode = plain, 0o755
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	goPlugin = "package main\n\nimport \"lab/core/plugin\"\n\nfunc main() { plugin.Serve(plugin.Plugin{Version: \"1\", Name: \"mine\"}) }\n"
	pyPlugin = "from lab_plugin import sampler, serve\nserve(\"mine\", version=\"1\", samplers=[])\n"
)

func TestDetectFindsFormAndName(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		path  string // below the folder
		given string
		form  Form
		want  string // the name
		file  string
	}{
		{"a Go program names itself", map[string]string{"main.go": goPlugin}, "", "", GoPackage, "mine", ""},
		{"a Go program named by a constant under another import", map[string]string{
			"a.go": "package main\n\nconst own = \"mine\"\n",
			"b.go": "package main\n\nimport p \"lab/core/plugin\"\n\nfunc main() { p.Serve(p.Plugin{Name: own}) }\n"}, "", "", GoPackage, "mine", ""},
		{"a Plugin of another package names nothing", map[string]string{
			"lab-plugin-folder/main.go": "package main\n\nimport \"other/plugin\"\n\nfunc main() { _ = plugin.Plugin{Name: \"wrong\"} }\n"},
			"lab-plugin-folder", "", GoPackage, "folder", ""},
		{"Go goes before scripts beside it", map[string]string{"main.go": goPlugin, "tool.py": pyPlugin}, "", "", GoPackage, "mine", ""},
		{"a name that is given wins", map[string]string{"main.go": goPlugin}, "", "other", GoPackage, "other", ""},
		{"a Go program that does not parse is left to the compiler", map[string]string{"broken/main.go": "package main\n\nfunc main() {"}, "broken", "", GoPackage, "broken", ""},
		{"the Python file that serves", map[string]string{"a.py": pyPlugin, "helper.py": "x = 1\n", "test_a.py": pyPlugin}, "", "", PythonProject, "mine", "a.py"},
		{"a Python file by itself", map[string]string{"a.py": pyPlugin, "b.py": strings.Replace(pyPlugin, "mine", "yours", 1)}, "b.py", "", PythonProject, "yours", "b.py"},
		{"a Python name by keyword, over two lines", map[string]string{"a.py": "import lab_plugin\nlab_plugin.serve(\n    name='mine', version='1')\n"}, "", "", PythonProject, "mine", "a.py"},
		{"a Python name that is computed", map[string]string{"lab-plugin-folder/a.py": "import lab_plugin\nlab_plugin.serve(NAME, version='1')\n"}, "lab-plugin-folder", "", PythonProject, "folder", "a.py"},
		{"a folder with characters of patterns", map[string]string{"[x] *?/a.py": pyPlugin}, "[x] *?", "", PythonProject, "mine", "a.py"},
		{"an executable", map[string]string{"lab-plugin-mine*": "#!/bin/sh\n"}, "lab-plugin-mine", "", Program, "mine", "lab-plugin-mine"},
		{"an executable of another name", map[string]string{"tool*": "#!/bin/sh\n"}, "tool", "", Program, "tool", "tool"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			dir := tree(t, r.files)
			got, err := Detect(filepath.Join(dir, r.path), r.given)
			if err != nil {
				t.Fatal(err)
			}
			if got.Form != r.form || got.Name != r.want {
				t.Errorf("a %v called %q, want a %v called %q", got.Form, got.Name, r.form, r.want)
			}
			if r.file != "" && filepath.Base(got.File) != r.file {
				t.Errorf("file %q, want %q", got.File, r.file)
			}
		})
	}
}

// A link stands for the project that it leads to, but for the name; an executable's
// files are beside the link.
func TestDetectFollowsLinksToProjects(t *testing.T) {
	dir := tree(t, map[string]string{"go/main.go": goPlugin, "nameless/a.py": "import lab_plugin\nlab_plugin.serve(NAME)\n", "bin/tool*": "#!/bin/sh\n"})
	rows := []struct{ name, to, dir, file, want string }{
		{"a Go package", "go", "go", "", "mine"},
		{"a folder whose source does not say", "nameless", "nameless", "nameless/a.py", "link"},
		{"a Python file", "nameless/a.py", "nameless", "nameless/a.py", "nameless"},
		{"an executable", "bin/tool", ".", "link", "link"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			link := filepath.Join(dir, "lab-plugin-link")
			if filepath.Ext(r.to) == ".py" {
				link += ".py"
			} else if r.file == "link" {
				r.file = "lab-plugin-link"
			}
			if err := os.Symlink(filepath.Join(dir, r.to), link); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(link)
			got, err := Detect(link, "")
			if err != nil {
				t.Fatal(err)
			}
			if got.Dir != filepath.Join(dir, r.dir) || r.file != "" && got.File != filepath.Join(dir, r.file) || got.Name != r.want {
				t.Errorf("%+v, want %s and %s called %s", got, r.dir, r.file, r.want)
			}
			if len(got.Watched()) == 0 {
				t.Error("nothing is watched")
			}
		})
	}
}

func TestDetectSaysWhatIsWrong(t *testing.T) {
	rows := []struct {
		name, path string
		files      map[string]string
		given      string
		says       string
	}{
		{"nothing there", "none", nil, "", "it is not there"},
		{"an empty folder", "", nil, "", "lab plugin new"},
		{"a Go library", "", map[string]string{"a.go": "package mine\n"}, "", `the Go package "mine"`},
		{"two Go packages", "", map[string]string{"a.go": "package mine\n", "b.go": "package main\n"}, "", "packages"},
		{"a Go module without a program at its root", "", map[string]string{"go.mod": "module x\n", "cmd/x/main.go": goPlugin}, "", "give the folder of the main package"},
		{"one file of a Go package", "main.go", map[string]string{"main.go": goPlugin}, "", "give the folder"},
		{"two Python files that serve", "", map[string]string{"a.py": pyPlugin, "b.py": pyPlugin}, "", "a.py, b.py"},
		{"serve in a comment only", "", map[string]string{"a.py": "import lab_plugin\n# serve(\"mine\")\n"}, "", "neither a Go program"},
		{"a Python file without the package", "a.py", map[string]string{"a.py": "serve('x')\n"}, "", "does not call lab_plugin's serve"},
		{"a file that cannot be executed", "lab-plugin-x", map[string]string{"lab-plugin-x": ""}, "", "chmod +x"},
		{"a source that calls itself what it cannot be", "", map[string]string{"main.go": strings.Replace(goPlugin, "mine", "My Plugin", 1)}, "", "no legal name"},
		{"a name that is given and cannot be", "", map[string]string{"main.go": goPlugin}, "../x", "no name of a plugin"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Detect(filepath.Join(tree(t, r.files), r.path), r.given)
			if err == nil || !strings.Contains(err.Error(), r.says) {
				t.Errorf("error %v, want one with %q", err, r.says)
			}
		})
	}
}
