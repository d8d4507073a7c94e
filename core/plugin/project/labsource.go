package project

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"lab/core/fault"
)

// FindLab returns the folder with the source of lab, which a Go plugin is built
// against: the given one, or else where this program was built from when it
// still lies there, or else what encloses the working folder. When there is none
// it is a usage error.
func FindLab(given, cwd string) (string, error) {
	if given != "" {
		abs, err := filepath.Abs(given)
		if err != nil {
			return "", fault.Wrap(err, fault.Usage, "plugin new", "lab source")
		}
		if !isLab(abs) {
			return "", fault.New(fault.Usage, "plugin new", "", "%s is no checkout of lab: it lacks a go.mod of the module lab, or core/plugin", fault.Quote(given, 120))
		}
		return abs, nil
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		// From core/plugin/project/labsource.go to the root.
		root := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.FromSlash(file)))))
		if isLab(root) {
			return root, nil
		}
	}
	for dir := cwd; dir != ""; dir = filepath.Dir(dir) {
		if isLab(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", fault.New(fault.Usage, "plugin new", "", "a Go plugin is built against the source of lab, which is not where this program was built").
		Fix("say where its checkout is with --lab-source")
}

func isLab(dir string) bool {
	m, err := readModule(dir)
	if err != nil || m.path != "lab" {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "core", "plugin", "serve.go"))
	return err == nil
}

// module is what a go.mod says.
type module struct {
	path, goVersion string
	requires        []string // "path version", sorted
}

// readModule reads the parts of a go.mod that a plugin's own repeats.
func readModule(dir string) (module, error) {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return module{}, err
	}
	defer f.Close()
	var m module
	block := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case block == "require" && len(words) == 2:
			m.requires = append(m.requires, words[0]+" "+words[1])
		case block != "":
		case words[0] == "require" && len(words) == 3:
			m.requires = append(m.requires, words[1]+" "+words[2])
		case words[0] == "module" && len(words) == 2:
			m.path = strings.Trim(words[1], `"`)
		case words[0] == "go" && len(words) == 2:
			m.goVersion = words[1]
		}
	}
	slices.Sort(m.requires)
	return m, lines.Err()
}

// goMod returns the go.mod of a plugin in a folder, against lab at another. What
// lab requires is listed too, at the same versions, so that the plugin builds
// from the modules that lab was built from, without a network.
func goMod(name, folder, lab string) (string, error) {
	m, err := readModule(lab)
	if err != nil {
		return "", fault.Wrap(err, fault.Usage, "plugin new", "lab source")
	}
	requires := make([]string, len(m.requires))
	for i, r := range m.requires {
		requires[i] = "\t" + r + " // indirect"
	}
	return fill(template("go.mod.tmpl"), map[string]string{
		"NAME": name, "GO": m.goVersion, "LAB": modulePath(folder, lab), "REQUIRES": strings.Join(requires, "\n"),
	}), nil
}

// modulePath writes where lab lies: relative for a plugin within its checkout,
// so that the two can move together, and absolute otherwise.
func modulePath(folder, lab string) string {
	path := filepath.ToSlash(lab)
	if rel, err := filepath.Rel(folder, lab); err == nil && strings.HasPrefix(folder, lab+string(filepath.Separator)) {
		path = filepath.ToSlash(rel)
	}
	if strings.ContainsAny(path, " \t\"'`(),[]") || strings.Contains(path, "//") {
		return strconv.Quote(path)
	}
	return path
}
