package project

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lab/core/fault"
	"lab/core/plugin"
)

//go:embed templates
var templates embed.FS

// template returns a file under templates. One that is missing is a defect that
// the package's tests find.
func template(name string) string {
	text, err := templates.ReadFile(path.Join("templates", name))
	if err != nil {
		panic(fmt.Sprintf("project: %v", err))
	}
	return string(text)
}

// fill puts values in the place of {{KEY}}.
func fill(text string, values map[string]string) string {
	var pairs []string
	for key, value := range values {
		pairs = append(pairs, "{{"+key+"}}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Languages and kinds of a new project.
var (
	languages = []string{"go", "python"}
	kinds     = []string{"sampler", "model"}
)

// Languages returns the languages that [New] knows.
func Languages() []string { return slices.Clone(languages) }

// Kinds returns the kinds of plugin that [New] knows.
func Kinds() []string { return slices.Clone(kinds) }

// Plan says what project is to be made.
type Plan struct {
	Name     string // of the plugin; its sampler or model is called the same, with '_' for '-'
	Language string // one of [Languages]
	Kind     string // one of [Kinds]
	Dir      string // of the project; empty: a folder of the plugin's name. It must not exist, or be empty.

	Lab          string // Go: the folder with the source of lab, see [FindLab]
	Package      fs.FS  // Python: holds the folder lab_plugin
	Requirements string // Python: what lab_plugin needs, as a requirements file
}

// Created is a new project.
type Created struct {
	Dir   string
	Files []string // relative to Dir, sorted, with slashes
	// Commands build, test and try the plugin, in this order, from within Dir.
	Commands [3]string
}

// New makes a project: a plugin that builds, a test of it and a README with the
// commands. It appears in one step, and nothing is overwritten: a folder that
// holds anything is refused. Errors: usage for a name, language, kind or folder
// that cannot be.
func New(p Plan) (Created, error) {
	if err := p.check(); err != nil {
		return Created{}, err
	}
	if p.Dir == "" {
		p.Dir = p.Name
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return Created{}, fault.Wrap(err, fault.Usage, "plugin new", "folder")
	}
	files, err := p.files(dir)
	if err != nil {
		return Created{}, err
	}
	if err := place(dir, files); err != nil {
		return Created{}, err
	}
	return Created{Dir: p.Dir, Files: slices.Sorted(maps.Keys(files)), Commands: p.commands()}, nil
}

// commands are what the README shows, too. The sampler or model is named with
// its plugin, so that no other of its name is meant.
func (p Plan) commands() [3]string {
	item := p.Name + "/" + ident(p.Name)
	try := `lab next "The weather today is" --plugin . --chain ` + item + ":0.2"
	if p.Kind == "model" {
		try = `lab generate "the river" --plugin . --model ` + item + " --samples 3"
	}
	if p.Language == "python" {
		return [3]string{"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt", "lab plugin test .", try}
	}
	return [3]string{"go build .", "go test .", try}
}

// shown are the commands as a block of the README.
func (p Plan) shown() string {
	commands := p.commands()
	width := 0
	for _, c := range commands {
		width = max(width, len(c))
	}
	var lines []string
	for i, what := range []string{"build", "test", "try"} {
		lines = append(lines, fmt.Sprintf("    %-*s  # %s", width, commands[i], what))
	}
	return strings.Join(lines, "\n")
}

func (p Plan) check() error {
	if !plugin.IsName(p.Name) {
		return badName(p.Name)
	}
	if !slices.Contains(languages, p.Language) {
		return fault.Unknown("plugin new", "language", p.Language, languages)
	}
	if !slices.Contains(kinds, p.Kind) {
		return fault.Unknown("plugin new", "kind", p.Kind, kinds)
	}
	if p.Language == "python" && p.Package == nil {
		return fault.New(fault.Internal, "plugin new", "", "the package %s was not handed over", Package)
	}
	return nil
}

// ident is a plugin's name as the name of a sampler or model.
func ident(name string) string { return strings.ReplaceAll(name, "-", "_") }

// files returns the contents of a project by path.
func (p Plan) files(dir string) (map[string]string, error) {
	values := map[string]string{"NAME": p.Name, "IDENT": ident(p.Name), "COMMANDS": p.shown()}
	folder := p.Language + "-" + p.Kind
	out := map[string]string{".gitignore": template(p.Language + ".gitignore")}
	entries, err := templates.ReadDir(path.Join("templates", folder))
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "plugin new", "templates")
	}
	for _, e := range entries {
		out[strings.TrimSuffix(e.Name(), ".tmpl")] = fill(template(path.Join(folder, e.Name())), values)
	}
	out["show.tengo"] = fill(template(p.Kind+".tengo.tmpl"), values)
	if p.Kind == "model" {
		out["corpus.txt"] = template("corpus.txt")
	}
	if p.Language == "python" {
		out["requirements.txt"] = p.Requirements + "numpy>=1.24\n"
		return out, p.addPackage(out)
	}
	if out["go.mod"], err = goMod(p.Name, dir, p.Lab); err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(p.Lab, "go.sum"))
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "plugin new", "lab source")
	}
	out["go.sum"] = string(sums)
	return out, nil
}

func (p Plan) addPackage(out map[string]string) error {
	return fs.WalkDir(p.Package, Package, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return fault.Wrap(err, fault.Internal, "plugin new", Package)
		}
		if e.IsDir() {
			return nil
		}
		text, err := fs.ReadFile(p.Package, name)
		out[name] = string(text)
		return err
	})
}

// place writes files into a folder that does not exist or is empty.
func place(dir string, files map[string]string) error {
	refused := func(problem string, args ...any) error {
		return fault.New(fault.Usage, "plugin new", fault.Quote(dir, 160), problem, args...).
			Fix("nothing is overwritten: choose another name, or another folder with --dir")
	}
	entries, err := os.ReadDir(dir)
	exists := err == nil
	switch {
	case exists && len(entries) > 0:
		return refused("the folder is there and not empty")
	case !exists && !errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return refused("a file of that name is there")
		}
		return fault.Wrap(err, fault.Usage, "plugin new", "folder")
	}
	parent := dir
	if !exists {
		parent = filepath.Dir(dir)
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return fault.Wrap(err, fault.Usage, "plugin new", "folder")
		}
	}
	staged, err := os.MkdirTemp(parent, ".lab-new-")
	if err != nil {
		return fault.Wrap(err, fault.Usage, "plugin new", "folder")
	}
	defer os.RemoveAll(staged)
	if err := writeAll(staged, files); err != nil {
		return fault.Wrap(err, fault.Usage, "plugin new", "write")
	}
	if exists {
		return moveEntries(staged, dir)
	}
	if err := os.Rename(staged, dir); err != nil {
		if _, there := os.Lstat(dir); there == nil {
			return refused("something of that name is there")
		}
		return fault.Wrap(err, fault.Usage, "plugin new", "folder")
	}
	return nil
}

func writeAll(dir string, files map[string]string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moveEntries moves what is staged into its folder, and takes back what was
// moved when something is in the way.
func moveEntries(staged, dir string) (err error) {
	entries, err := os.ReadDir(staged)
	if err != nil {
		return fault.Wrap(err, fault.Usage, "plugin new", "folder")
	}
	var moved []string
	defer func() {
		if err != nil {
			for _, path := range moved {
				_ = os.RemoveAll(path)
			}
			err = fault.Wrap(err, fault.Usage, "plugin new", "folder")
		}
	}()
	for _, e := range entries {
		target := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(target); err == nil {
			return fmt.Errorf("%s came meanwhile: %w", target, fs.ErrExist)
		}
		if err := os.Rename(filepath.Join(staged, e.Name()), target); err != nil {
			return err
		}
		moved = append(moved, target)
	}
	return nil
}
