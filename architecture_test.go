// Package lab_test enforces who may import whom, by reading the imports of
// every file. The rules are the architecture; change them here first.
package lab_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "lab/"

// allowed lists, for each package of the core and each family outside it, what
// it may import besides the standard library and core/fault. A trailing /...
// covers the packages below. Tests may import more: see testOnly.
var allowed = []struct {
	pkg     string
	imports []string
}{
	{"core/fault", nil},
	{"core/seed", nil},
	{"core/fetch", nil},
	{"core/shelf", []string{"core/fetch", "golang.org/x/sys/..."}},
	{"core/dist", []string{"core/dist/vec"}},
	{"core/plugin/param", nil},
	{"core/plugin/sampler", []string{"core/dist", "core/plugin/param"}},
	{"core/plugin/model", []string{"core/dist", "core/plugin/param"}},
	{"core/plugin/plane", []string{"core/dist", "golang.org/x/sys/..."}},
	{"core/plugin/internal/wire", []string{"core/dist", "core/plugin/param", "core/plugin/sampler", "core/plugin/model",
		"core/plugin/plane", "google.golang.org/...", "github.com/hashicorp/go-plugin/...", "github.com/hashicorp/go-hclog"}},
	{"core/plugin/internal/private", nil},
	{"core/plugin/internal/child", []string{"golang.org/x/sys/..."}},
	{"core/plugin/internal/testplugin", []string{"core/dist", "core/plugin/..."}},
	{"core/plugin", []string{"core/dist", "core/plugin/...", "google.golang.org/...", "github.com/hashicorp/...", "golang.org/x/sys/..."}},
	{"core/plugin/lock", []string{"core/plugin", "golang.org/x/sys/..."}},
	{"core/plugin/conform/...", []string{"core/dist", "core/plugin/..."}},
	{"core/plugin/bench", []string{"core/dist", "core/plugin/..."}},
	{"core/plugin/project", []string{"core/plugin", "core/plugin/lock", "core/plugin/internal/private"}},
	{"core/plugin/host", []string{"core/dist", "core/plugin/...", "google.golang.org/...", "github.com/hashicorp/...", "golang.org/x/sys/..."}},
	{"core/bandwidth", []string{"golang.org/x/sys/..."}},
	{"core/machine", []string{"core/bandwidth", "golang.org/x/sys/..."}},
	{"core/cost/steptime", []string{"gonum.org/v1/gonum/..."}},
	{"core/profile", []string{"core/cost/steptime", "core/machine", "core/plugin/bench", "core/plugin/host", "core/plugin/model"}},
	{"core/trace", []string{"core/dist"}},
	{"core/chain", []string{"core/dist", "core/seed", "core/plugin/param", "core/plugin/sampler"}},
	{"core/generate", []string{"core/chain", "core/dist", "core/seed", "core/trace", "core/plugin/model"}},
	{"core/search", []string{"core/generate", "core/chain", "core/dist", "core/seed", "core/trace", "core/plugin/model", "core/plugin/param"}},
	{"core/golden", []string{"core/dist", "core/plugin/param", "core/plugin/sampler"}},
	{"core/watermark", nil},
	{"core/dist/vec", []string{"core/dist/vec/...", "golang.org/x/sys/..."}},
	{"core/systems", []string{"core/chain", "core/plugin/param"}},
	{"core/experiment", []string{"core/generate", "core/chain", "core/dist", "core/seed", "core/trace",
		"core/plugin/host", "core/plugin/model", "core/plugin/sampler", "core/plugin/param"}},
	{"core/store", []string{"core/dist", "core/trace", "github.com/parquet-go/parquet-go", "golang.org/x/sync/errgroup", "golang.org/x/sys/..."}},
	{"core/sweep", []string{"core/experiment", "core/table", "core/generate", "core/search", "core/store", "core/chain", "core/dist", "core/seed", "core/trace",
		"core/plugin/model", "core/plugin/param", "core/plugin/sampler"}},
	{"core/cost", []string{"core/seed", "gonum.org/v1/gonum/..."}},
	{"core/cost/check", []string{"core/cost"}},
	{"core/cost/costmod", []string{"core/cost", "core/cost/scenario", "core/cost/steptime", "core/cost/tables", "core/cost/yield", "core/machine", "core/plugin/bench",
		"core/profile", "core/script", "core/script/std", "core/store", "core/table", "core/table/tablemod"}},
	{"core/cost/scenario", []string{"core/cost", "core/cost/tables"}},
	{"core/measure", []string{"core/dist", "core/seed", "core/trace", "gonum.org/v1/gonum/..."}},
	{"core/measure/statsmod", []string{"core/measure", "core/dist", "core/trace", "core/script", "core/script/std"}},
	{"core/table", []string{"core/seed", "github.com/parquet-go/...", "github.com/mattn/go-runewidth"}},
	{"core/table/tablemod", []string{"core/table", "core/measure", "core/measure/statsmod", "core/script"}},
	{"core/results", []string{"core/experiment", "core/sweep", "core/store", "core/table", "core/measure", "core/trace"}},
	{"core/cost/tables", []string{"core/cost"}},
	{"core/cost/yield", []string{"core/cost", "core/cost/scenario", "core/cost/tables", "core/measure", "core/results", "core/store", "core/table", "core/trace", "gonum.org/v1/gonum/..."}},
	{"core/script", []string{"github.com/d5/tengo/v2/..."}},
	{"core/script/format", []string{"core/script", "github.com/d5/tengo/v2/..."}},
	{"core/script/cells", []string{"core/script", "github.com/d5/tengo/v2/..."}},
	{"core/script/lint", []string{"core/script", "github.com/d5/tengo/v2/..."}},
	{"core/notebook", []string{"core/script/cells", "core/script/format", "github.com/yuin/goldmark/...", "github.com/alecthomas/chroma/v2/...", "github.com/microcosm-cc/bluemonday", "core/script", "golang.org/x/net/html"}}, // the last two: tests
	{"core/kernel", []string{"core/script", "core/script/cells", "github.com/go-zeromq/zmq4/..."}},
	{"core/script/scripttest", []string{"core/script", "github.com/d5/tengo/v2/..."}},
	{"core/script/std", []string{"core/script", "core/experiment", "core/sweep", "core/store", "core/results", "core/table", "core/measure", "core/generate", "core/search", "core/watermark", "core/systems", "core/chain", "core/dist", "core/seed",
		"core/trace", "core/plugin/param", "core/plugin/model", "core/plugin/sampler"}},
	{"plugins/samplers/...", []string{"core/dist/...", "core/watermark", "core/seed", "github.com/santhosh-tekuri/jsonschema/v6", "core/plugin", "core/plugin/param", "core/plugin/sampler", "plugins/samplers/..."}},
	{"plugins/python", []string{"core/plugin", "core/plugin/host"}}, // its tests; the package itself holds Python
	{"plugins/models/...", []string{"core/dist", "core/trace", "core/plugin", "core/plugin/param", "core/plugin/model",
		"plugins/models/...", "golang.org/x/sys/...", "github.com/dlclark/regexp2/v2", "github.com/ardanlabs/jinja"}},
	{"plots/canvas", []string{"plots/canvas/...", "gonum.org/v1/...", "codeberg.org/go-fonts/...", "codeberg.org/go-pdf/...",
		"golang.org/x/image/...", "github.com/go-fonts/...", "git.sr.ht/~sbinet/..."}},
	{"plots/mark", []string{"plots/canvas", "gonum.org/v1/..."}},
	{"plots/vega", nil},
	{"plots", []string{"plots/canvas", "plots/mark", "plots/vega", "core/measure", "gonum.org/v1/...", "github.com/mattn/go-runewidth"}},
	{"plots/explore", []string{"plots/canvas", "core/dist", "core/plugin/param", "core/plugin/sampler"}},
	{"plots/source", []string{"plots", "core/dist", "core/trace", "core/generate", "core/measure", "core/store", "core/results", "core/table"}},
	{"plots/report", []string{"plots", "plots/canvas", "plots/source", "core/experiment", "core/sweep", "core/store", "core/results", "core/table", "core/measure", "core/trace", "github.com/yuin/goldmark/...", "golang.org/x/net/html"}}, // the last two: tests
	{"plots/plotmod", []string{"plots", "plots/source", "core/table", "core/table/tablemod", "core/script", "core/script/std", "core/dist", "core/chain", "core/experiment", "core/trace"}},
	{"scripts", nil},
	{"cmd/lab", []string{"plugins/python", "core/...", "plugins/samplers", "plugins/models", "plugins/models/weights", "plots/...", "scripts",
		"github.com/goccy/go-yaml", "github.com/spf13/...", "github.com/vbauerster/mpb/v8/...", "golang.org/x/term", "github.com/mattn/go-runewidth", "github.com/peterh/liner", "github.com/rogpeppe/go-internal/diff"}},
}

// testOnly is what the test files of any package may import in addition: the
// package under test's own neighbours stay bound by the rules above.
var testOnly = []string{"github.com/rogpeppe/go-internal/...", "gonum.org/v1/...", "core/plugin/param", "core/plugin/sampler",
	"core/plugin/model", "core/dist", "core/seed", "core/trace", "core/fault", "core/golden", "core/plugin/conform/...",
	"core/script/scripttest"}

// testsOf is what the test files of one package may import besides.
var testsOf = map[string][]string{
	"plots/explore": {"core/chain", "core/dist/vec", "plugins/samplers", "github.com/dop251/goja"}, // the page's script against the core
}

func covers(pattern, imported string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return imported == base || strings.HasPrefix(imported, base+"/")
	}
	return imported == pattern
}

func rule(pkg string) (imports []string, ok bool) {
	best := -1
	for _, r := range allowed {
		if covers(r.pkg, pkg) && len(r.pkg) > best {
			best, imports, ok = len(r.pkg), r.imports, true
		}
	}
	return imports, ok
}

// goFiles calls visit for every Go file that belongs to the main module.
func goFiles(t *testing.T, visit func(pkg, file string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			nested, _ := filepath.Glob(filepath.Join(p, "go.mod"))
			if p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "runs" || len(nested) > 0) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || path.Dir(filepath.ToSlash(p)) == "." {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range f.Imports {
			s, _ := strconv.Unquote(i.Path.Value)
			imports = append(imports, s)
		}
		visit(path.Dir(filepath.ToSlash(p)), p, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsFollowTheRules(t *testing.T) {
	files := 0
	goFiles(t, func(pkg, file string, imports []string) {
		files++
		patterns, ok := rule(pkg)
		if !ok {
			t.Errorf("%s: package %s has no rule; add one to architecture_test.go", file, pkg)
			return
		}
		for _, imported := range imports {
			inside, own := strings.CutPrefix(imported, module)
			if !own && !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				continue // the standard library
			}
			if inside == "core/fault" || inside == pkg {
				continue
			}
			list := patterns
			if strings.HasSuffix(file, "_test.go") {
				list = slices.Concat(patterns, testOnly, testsOf[pkg])
			}
			legal := false
			for _, p := range list {
				legal = legal || covers(p, inside)
			}
			if !legal {
				t.Errorf("%s: %s may not import %s", file, pkg, inside)
			}
		}
	})
	if files < 30 {
		t.Errorf("only %d files were read; is the walk broken?", files)
	}
}

// The sweeping rules of the layout hold whatever the table above says.
func TestTheTableItselfObeysTheLayout(t *testing.T) {
	for _, r := range allowed {
		for _, imported := range r.imports {
			switch {
			case strings.HasPrefix(r.pkg, "core/") && (strings.HasPrefix(imported, "plugins") || strings.HasPrefix(imported, "plots") || strings.HasPrefix(imported, "cmd")):
				t.Errorf("the core package %s may not import %s", r.pkg, imported)
			case !strings.HasPrefix(r.pkg, "core/plugin") && (strings.HasPrefix(imported, "google.golang.org") || strings.HasPrefix(imported, "github.com/hashicorp")):
				t.Errorf("%s may not see the transport %s", r.pkg, imported)
			case strings.HasPrefix(r.pkg, "plugins/samplers") && strings.HasPrefix(imported, "plugins/models"):
				t.Errorf("samplers may not import models")
			case strings.HasPrefix(r.pkg, "plugins/") && (strings.HasPrefix(imported, "core/chain") || strings.HasPrefix(imported, "core/generate") ||
				strings.HasPrefix(imported, "core/store") || strings.HasPrefix(imported, "core/script") || strings.HasPrefix(imported, "plots")):
				t.Errorf("%s may not import %s", r.pkg, imported)
			}
		}
	}
}

func TestNoPackageIsADrawerForOddments(t *testing.T) {
	bad := map[string]bool{"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "base": true, "types": true}
	seen := map[string]bool{}
	goFiles(t, func(pkg, _ string, _ []string) { seen[pkg] = true })
	var names []string
	for pkg := range seen {
		names = append(names, pkg)
	}
	sort.Strings(names)
	for _, pkg := range names {
		for _, part := range strings.Split(pkg, "/") {
			if bad[part] {
				t.Errorf("package %s: %q says nothing about what it owns", pkg, part)
			}
		}
	}
}

// TestTheMapNamesEveryFolder holds README's table to the tree: a package of the
// first two levels is named there, or belongs to one that is.
func TestTheMapNamesEveryFolder(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, pattern := range []string{"core/*", "plugins/*", "cmd/*"} {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue
			}
			checked++
			if !strings.Contains(string(readme), "`"+filepath.ToSlash(folder)+"`") {
				t.Errorf("README's map lacks %s", folder)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d folders were found", checked)
	}
}
