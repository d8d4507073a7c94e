package script_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

func TestImports(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string // main.tengo is run
		want  string            // printed
		err   string            // or the whole message
	}{
		{"relative to the importing file", map[string]string{
			"main.tengo":  `a := import("./lib/a"); print(a.name, a.b.name)`,
			"lib/a.tengo": `export {name: "a", b: import("./deep/b")}`,
			"lib/deep/b.tengo": `c := import("../../c")
export {name: "b" + c.x}`,
			"c.tengo": `export {x: 1}`,
		}, "a b1\n", ""},
		{"with the extension, and without ./", map[string]string{
			"main.tengo": `print(import("a.tengo"), import("b"))`, "a.tengo": `export 1`, "b.tengo": `export func() {}`,
		}, "1 <function>\n", ""},
		{"our functions are there in imported files", map[string]string{
			"main.tengo": `import("./a").go()`,
			"a.tengo":    `export {go: func() { assert(near(1, 1.5, 0.6)); say("{:.1f}", 2); print(is_error(try(func() { fail("x") }))) }}`,
		}, "2.0\ntrue\n", ""},
		{"variables of the importer are not", map[string]string{
			"main.tengo": "secret := 1\nimport(\"./a\")", "a.tengo": `export secret`,
		}, "", `script: a.tengo:1:8: unknown name "secret"; define it first: secret := …`},
		{"each import runs the file", map[string]string{
			"main.tengo": `a := import("./a"); b := import("./a"); a.inc(); a.inc(); print(a.inc(), b.inc())`,
			"a.tengo":    `n := 0; export {inc: func() { n += 1; return n }}`,
		}, "3 1\n", ""},
		{"export ends the file", map[string]string{
			"main.tengo": `print(import("./a"))`, "a.tengo": "if true {\n  export 1\n}\nexport 2",
		}, "1\n", ""},
		{"a list is immutable", map[string]string{
			"main.tengo": `a := import("./a"); a[0] = 2`, "a.tengo": `export [1]`,
		}, "", `script: main.tengo:1:21: not index-assignable: immutable-array; it cannot be changed: make and return a new value`},
		{"a misspelt member", map[string]string{
			"main.tengo": `a := import("./lib/a"); a.comput()`, "lib/a.tengo": `export {compute: func() {}, other: 1}`,
		}, "", `script: main.tengo:1:27: module lib/a.tengo: unknown member "comput"; did you mean "compute"?`},
		{"loop over what a file exports", map[string]string{
			"main.tengo": `a := import("./a"); for k, v in a { print(k, v) }; print(len(a))`, "a.tengo": `export {y: 2, x: 1}`,
		}, "x 1\ny 2\n2\n", ""},
		{"one file by two ways", map[string]string{
			"main.tengo": `print(import("./a"), import("./b"))`, "a.tengo": `export import("./c")`, "b.tengo": `export import("./c")`, "c.tengo": `export "c"`,
		}, "c c\n", ""},
		{"missing file", map[string]string{
			"main.tengo": "x := 1\ny := import(\"./lib/nope\")",
		}, "", `script: main.tengo:2:6: import "./lib/nope": there is no file lib/nope.tengo`},
		{"missing in an imported file", map[string]string{
			"main.tengo": `import("./a")`, "a.tengo": "\n\nimport(\"./nope\")",
		}, "", `script: a.tengo:3:1: import "./nope": there is no file nope.tengo`},
		{"misspelt module", map[string]string{"main.tengo": `import("mat")`},
			"", `script: main.tengo:1:1: unknown module "mat", and there is no file mat.tengo; did you mean "math"?`},
		{"up and out", map[string]string{"main.tengo": `import("../x")`}, "", `script: main.tengo:1:1: import "../x" leaves the script's folder`},
		{"down, up and out", map[string]string{"main.tengo": `import("./a/../../x")`}, "", `script: main.tengo:1:1: import "./a/../../x" leaves the script's folder`},
		{"out of an imported file", map[string]string{
			"main.tengo": `import("./lib/a")`, "lib/a.tengo": `import("../../x")`,
		}, "", `script: lib/a.tengo:1:1: import "../../x" leaves the script's folder`},
		{"absolute", map[string]string{"main.tengo": `import("/etc/passwd")`}, "", `script: main.tengo:1:1: import "/etc/passwd": not a path relative to this file, with slashes`},
		{"backslashes", map[string]string{"main.tengo": `import("..\\x")`}, "", `script: main.tengo:1:1: import "..\\x": not a path relative to this file, with slashes`},
		{"nothing", map[string]string{"main.tengo": `import("")`}, "", `script: main.tengo:1:1: import of nothing`},
		{"a folder", map[string]string{"main.tengo": `import("./lib")`, "lib.tengo/x": ""}, "", `script: main.tengo:1:1: import of lib.tengo: it is a folder`},
		{"itself", map[string]string{"main.tengo": `import("./main")`}, "", `script: main.tengo:1:1: import cycle: main.tengo → main.tengo`},
		{"a cycle", map[string]string{
			"main.tengo": `import("./a")`, "a.tengo": `import("./b")`, "b.tengo": "1\nimport(\"./a\")",
		}, "", `script: b.tengo:2:1: import cycle: a.tengo → b.tengo → a.tengo`},
		{"the system", map[string]string{"main.tengo": `os := import("os")`}, "", `script: main.tengo:1:7: module "os" is not offered to scripts; scripts have no access to the system; results and figures are written by the functions that make them`},
		{"the clock", map[string]string{"main.tengo": `import("times")`}, "", `script: main.tengo:1:1: module "times" is not offered to scripts; a script gives the same output whenever it runs; the record of a run holds its times`},
		{"chance", map[string]string{"main.tengo": `import("rand")`}, "", `script: main.tengo:1:1: module "rand" is not offered to scripts; randomness comes from a seed: pass the option seed to the function that draws`},
		{"export in a function", map[string]string{"main.tengo": `import("./a")`, "a.tengo": `f := func() { export 1 }`},
			"", `script: a.tengo:1:15: export is not allowed inside a function`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := scripttest.RunFiles(t, "main.tengo", r.files)
			if r.err == "" {
				got.Printed(t, r.want)
				return
			}
			if got.Err == nil || got.Err.Error() != r.err {
				t.Errorf("got  %v\nwant %s", got.Err, r.err)
			}
			if k := fault.KindOf(got.Err); k != fault.Script {
				t.Errorf("kind %v, want script", k)
			}
		})
	}
}

func TestASyntaxErrorInAnImportedFileNamesBothFiles(t *testing.T) {
	r := scripttest.RunFiles(t, "main.tengo", map[string]string{
		"main.tengo": "x := 1\nimport(\"./lib/a\")", "lib/a.tengo": "a := 1\nb := (2 +\n",
	})
	r.Failed(t, "script: lib/a.tengo:2:11: expected operand")
	at := script.Positions(r.Err)
	if len(at) != 2 || at[1].String() != "main.tengo:2:1" {
		t.Errorf("positions %v", at)
	}
	want := "\n  2 | b := (2 +\n    |          ^\n  from main.tengo:2:1  import(\"./lib/a\")"
	if d := script.Detail(r.Err); !strings.HasSuffix(d, want) {
		t.Errorf("detail\n%s\ndoes not end with%s", d, want)
	}
}

func TestSymbolicLinksCannotLeaveTheFolder(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(old, name string) {
		t.Helper()
		if err := os.Symlink(old, name); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(out, "secret.tengo"), `export "secret"`)
	write(filepath.Join(dir, "good.tengo"), `export "good"`)
	link(filepath.Join(out, "secret.tengo"), filepath.Join(dir, "file.tengo"))
	link(out, filepath.Join(dir, "folder"))
	link("good.tengo", filepath.Join(dir, "alias.tengo"))
	link(".", filepath.Join(dir, "loop"))
	run := func(src string) (any, error) {
		s := session(t, script.Config{Folder: dir})
		return s.Run(context.Background(), "x", src)
	}
	for _, name := range []string{"./file", "./folder/secret"} {
		_, err := run(`import("` + name + `")`)
		if err == nil || !strings.Contains(err.Error(), "out of the script's folder through a symbolic link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"./alias", "./loop/loop/good"} {
		if v, err := run(`import("` + name + `")`); err != nil || v != "good" {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	// A script that is itself reached by a link belongs to its real folder.
	write(filepath.Join(out, "main.tengo"), `import("./secret")`)
	link(filepath.Join(out, "main.tengo"), filepath.Join(dir, "main.tengo"))
	if v, err := session(t, script.Config{}).RunFile(context.Background(), filepath.Join(dir, "main.tengo")); err != nil || v != "secret" {
		t.Errorf("a linked script: %v, %v", v, err)
	}
}

func TestSourcesAreWhatWasCompiled(t *testing.T) {
	files := map[string]string{
		"main.tengo": "#!/usr/bin/env lab\nimport(\"./lib/a\"); import(\"./lib/a\"); import(\"enum\")", "lib/a.tengo": `export import("./b")`, "lib/b.tengo": `export 1`,
	}
	r := scripttest.RunFiles(t, "main.tengo", files)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{"main.tengo", "lib/a.tengo", "lib/b.tengo"}
	if len(r.Sources) != len(want) {
		t.Fatalf("sources %v", r.Sources)
	}
	for i, s := range r.Sources {
		sum := sha256.Sum256([]byte(files[want[i]]))
		if s.Path != want[i] || s.SHA256 != hex.EncodeToString(sum[:]) || s.Bytes != len(files[want[i]]) {
			t.Errorf("source %d is %+v, want %s", i, s, want[i])
		}
	}
}

func TestAnImportThatExportsNothingIsWarnedAbout(t *testing.T) {
	r := scripttest.RunFiles(t, "main.tengo", map[string]string{"main.tengo": `import("./a")`, "a.tengo": `x := 1`})
	if r.Err != nil || len(r.Warnings) != 1 || r.Warnings[0].At.File != "a.tengo" {
		t.Errorf("warnings %v, error %v", r.Warnings, r.Err)
	}
}

func TestChangedImportsAreSeenByTheNextRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := session(t, script.Config{Folder: dir})
	write("a.tengo", `export import("./b")`)
	for _, want := range []string{"one", "two"} {
		write("b.tengo", `export "`+want+`"`)
		if v, err := s.Run(context.Background(), "cell", `import("./a")`); err != nil || v != want {
			t.Errorf("got %v, %v; want %s", v, err, want)
		}
	}
	if n := len(s.Sources()); n != 4 { // the cell, a, and both b
		t.Errorf("%d sources: %v", n, s.Sources())
	}
}

func TestTooManyImports(t *testing.T) {
	files := map[string]string{"main.tengo": "x := 0\n"}
	for i := range 300 {
		name := "f" + strings.Repeat("x", i)
		if len(name) > 200 {
			name = "g" + strings.Repeat("x", i-150)
		}
		files[name+".tengo"] = "export 1"
		files["main.tengo"] += `x += import("./` + name + `")` + "\n"
	}
	scripttest.RunFiles(t, "main.tengo", files).Failed(t, "imports more than 256 files")
}

func TestUnreadableScripts(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.tengo")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "nope.tengo"): "no such file",
		dir:                              "it is a folder",
		big:                              "2097152 bytes long",
		os.DevNull:                       "it is not a regular file",
	} {
		_, err := session(t, script.Config{}).RunFile(context.Background(), name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	_, err := session(t, script.Config{Folder: filepath.Join(dir, "nope")}).Run(context.Background(), "x", "1")
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("a missing folder: %v", err)
	}
	_, err = session(t, script.Config{}).Run(context.Background(), "x", `import("./a")`)
	if err == nil || !strings.Contains(err.Error(), "no folder to import files from") {
		t.Errorf("an import without a folder: %v", err)
	}
}
