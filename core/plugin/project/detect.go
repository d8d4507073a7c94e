package project

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
	"lab/core/plugin"
)

// prefix begins the name of every plugin's executable.
const prefix = "lab-plugin-"

// Form is what a path turned out to be.
type Form uint8

const (
	GoPackage     Form = iota + 1 // a folder with a Go program
	PythonProject                 // a folder with a Python file that serves a plugin
	Program                       // an executable, with its folder if there is one
)

// String returns the form as messages name it.
func (f Form) String() string {
	switch f {
	case GoPackage:
		return "Go package"
	case PythonProject:
		return "Python project"
	case Program:
		return "program"
	}
	return "nothing known"
}

// Source is what a plugin is made from.
type Source struct {
	Form Form
	Path string // as it was given
	Dir  string // absolute, links followed but for a program: the folder of the package, the project or the program
	File string // absolute: the Python file that serves, or the program; empty for Go
	Name string // of the plugin
}

// longestSource bounds a source file that is read for the plugin's name.
const longestSource = 4 << 20

// Detect says what lies at a path: a folder with a Go program, a folder with a
// Python file that calls lab_plugin's serve (or that file itself), or an
// executable. The name of the plugin is the given one or, when that is empty,
// what the source calls it, or else what the folder or executable is called,
// less "lab-plugin-". Everything else is a usage error that says what was found.
func Detect(path, name string) (Source, error) {
	if name != "" && !plugin.IsName(name) {
		return Source{}, badName(name)
	}
	if path == "" {
		return Source{}, notPlugin(path, "it is no path")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return Source{}, fault.Wrap(err, fault.Usage, "plugin", fault.Quote(path, 120))
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Source{}, notPlugin(path, "it is not there").
			Fix("give the folder of a Go package or a Python project, or an executable")
	case err != nil:
		return Source{}, fault.Wrap(err, fault.Usage, "plugin", fault.Quote(path, 120))
	}
	// A link to a project is the project where it lies, as Python takes it, too; an
	// executable's files are beside the link that it is started by.
	real := abs
	if info.IsDir() || filepath.Ext(abs) == ".py" {
		if real, err = filepath.EvalSymlinks(abs); err != nil {
			return Source{}, fault.Wrap(err, fault.Usage, "plugin", fault.Quote(path, 120))
		}
	}
	src := Source{Path: path, Dir: real}
	called := filepath.Base(abs)
	if info.IsDir() {
		err = src.folder()
	} else {
		src.Dir, src.File = filepath.Dir(real), real
		called = filepath.Base(src.Dir)
		err = src.file(info)
	}
	if err != nil {
		return Source{}, err
	}
	switch {
	case name != "":
		src.Name = name
	case src.Name == "":
		src.Name = strings.TrimPrefix(called, prefix)
	}
	if !plugin.IsName(src.Name) {
		return Source{}, notPlugin(path, "%s, as it would be called, is no legal name of a plugin", fault.Quote(src.Name, 64)).
			Fix("a name is a-z, 0-9, '_' and '-', starting with a letter; write it as a literal in the source, or rename the file or folder")
	}
	return src, nil
}

func notPlugin(path, problem string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "plugin", fault.Quote(path, 120), problem, args...)
}

func badName(name string) error {
	return fault.New(fault.Usage, "plugin", "", "%s is no name of a plugin", fault.Quote(name, 64)).
		Fix("use a-z, 0-9, '_' and '-', starting with a letter, at most 64 of them")
}

// folder decides for a folder. Go goes first: a Go project may hold scripts.
func (s *Source) folder() error {
	isGo, err := s.goPackage()
	if isGo || err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(escape(s.Dir), "*.py"))
	if err != nil {
		return fault.Wrap(err, fault.Internal, "plugin", fault.Quote(s.Path, 120))
	}
	serving := map[string]string{}
	var names []string
	for _, f := range files {
		base := filepath.Base(f)
		if strings.HasPrefix(base, "test_") || base == "conftest.py" || base == "setup.py" {
			continue
		}
		if name, serves := servedName(f); serves {
			serving[f] = name
			names = append(names, base)
		}
	}
	switch len(serving) {
	case 0:
		return notPlugin(s.Path, "the folder holds neither a Go program nor a Python file that calls lab_plugin's serve").
			Fix("start with: lab plugin new NAME --lang go|python")
	case 1:
		for f, name := range serving {
			s.python(f, name)
		}
		return nil
	}
	slices.Sort(names)
	return notPlugin(s.Path, "%d of its Python files serve a plugin: %s", len(serving), strings.Join(names, ", ")).
		Fix("give the path of one of them")
}

// escape makes a path stand for itself in a glob pattern.
func escape(path string) string {
	if runtime.GOOS == "windows" {
		return path // has no escapes, nor these characters in most paths
	}
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(path, `\$0`)
}

func (s *Source) python(file, name string) {
	s.Form, s.File, s.Name = PythonProject, file, name
}

// file decides for a file.
func (s *Source) file(info os.FileInfo) error {
	base := filepath.Base(s.File)
	switch filepath.Ext(base) {
	case ".py":
		name, serves := servedName(s.File)
		if !serves {
			return notPlugin(s.Path, "the file does not call lab_plugin's serve")
		}
		s.python(s.File, name)
		return nil
	case ".go":
		return notPlugin(s.Path, "it is one file of a Go package").Fix("give the folder: %s", filepath.Dir(s.Path))
	}
	if !info.Mode().IsRegular() {
		return notPlugin(s.Path, "it is neither a file nor a folder (%v)", info.Mode().Type())
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		return notPlugin(s.Path, "it is a file that cannot be executed").Fix("chmod +x it, if it is a plugin")
	}
	s.Form, s.Name = Program, strings.TrimSuffix(strings.TrimPrefix(base, prefix), ".exe")
	return nil
}

// goPackage reports whether the folder holds a Go program, and finds its name.
// A Go package that is no program is an error.
func (s *Source) goPackage() (bool, error) {
	pkg, err := build.ImportDir(s.Dir, 0)
	var none *build.NoGoError
	var many *build.MultiplePackageError
	switch {
	case errors.As(err, &none):
		if _, err := os.Stat(filepath.Join(s.Dir, "go.mod")); err == nil {
			return false, notPlugin(s.Path, "there is a Go module but no Go program in this folder itself").
				Fix("give the folder of the main package, for instance %s", filepath.Join(s.Path, "cmd", "NAME"))
		}
		return false, nil
	case errors.As(err, &many):
		return false, notPlugin(s.Path, "its files belong to the packages %s", strings.Join(many.Packages, " and "))
	case pkg == nil || pkg.Name == "" && err != nil:
		return false, notPlugin(s.Path, "its Go files cannot be read: %v", err)
	case pkg.Name == "":
		return false, nil
	case pkg.Name != "main":
		return false, notPlugin(s.Path, "it is the Go package %q, a plugin is a program", pkg.Name).
			Fix("give the folder of the main package that calls plugin.Serve")
	}
	s.Form = GoPackage
	s.Name = goName(s.Dir, append(slices.Clone(pkg.GoFiles), pkg.CgoFiles...))
	return true, nil
}

// goName returns the literal, or the constant, in plugin.Plugin{Name: …}; "" when
// there is none or the files do not parse, which the compiler will say better.
func goName(dir string, files []string) string {
	fset := token.NewFileSet()
	consts := map[string]string{}
	var parsed []*ast.File
	for _, name := range files {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if f == nil || err != nil {
			continue
		}
		parsed = append(parsed, f)
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				v := spec.(*ast.ValueSpec)
				for i := range min(len(v.Names), len(v.Values)) {
					if text, ok := literal(v.Values[i], nil); ok {
						consts[v.Names[i].Name] = text
					}
				}
			}
		}
	}
	for _, f := range parsed {
		if name := pluginLiteral(f, consts); name != "" {
			return name
		}
	}
	return ""
}

func pluginLiteral(f *ast.File, consts map[string]string) (name string) {
	local := ""
	for _, i := range f.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p == "lab/core/plugin" {
			if local = "plugin"; i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || local == "" || name != "" {
			return name == ""
		}
		sel, ok := lit.Type.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Plugin" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != local {
			return true
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Name" {
					name, _ = literal(kv.Value, consts)
				}
			}
		}
		return true
	})
	return name
}

func literal(e ast.Expr, consts map[string]string) (string, bool) {
	switch v := e.(type) {
	case *ast.BasicLit:
		if v.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(v.Value)
		return text, err == nil
	case *ast.Ident:
		text, ok := consts[v.Name]
		return text, ok
	}
	return "", false
}

var (
	importsPackage = regexp.MustCompile(`(?m)^\s*(from|import)\s+lab_plugin\b`)
	callsServe     = regexp.MustCompile(`(?m)^[^#\n]*\bserve\s*\(`)
	serveLiteral   = regexp.MustCompile(`(?m)^[^#\n]*\bserve\s*\(\s*(?:name\s*=\s*)?["']([^"'\n]*)["']`)
)

// servedName reports whether a Python file serves a plugin, and its name when
// that is written as a literal.
func servedName(path string) (name string, serves bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestSource))
	if err != nil || !importsPackage.Match(text) || !callsServe.Match(text) {
		return "", false
	}
	if m := serveLiteral.FindSubmatch(text); m != nil {
		name = string(m[1])
	}
	return name, true
}
