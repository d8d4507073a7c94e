package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lab/core/store"
)

// TestMain makes the test binary the command itself, and a plugin of itself
// when the host starts it as one.
func TestMain(m *testing.M) {
	serveBuiltin(os.Args)
	serveSlow(os.Args)
	testscript.Main(m, map[string]func(){
		"lab": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
		},
	})
}

// TestCommands runs the command as a user does, one scenario per file. The
// repository's scripts folder is at $SCRIPTS, this binary at $SELF.
func TestCommands(t *testing.T) {
	scripts, err := filepath.Abs("../../scripts")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Split(strings.TrimSpace(string(caches)), "\n")
	examples := readmeExamples(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCRIPTS", scripts)
			env.Setenv("SELF", self)
			// Go plugins are built as their authors do, from the modules that are here.
			env.Setenv("GOCACHE", folders[0])
			env.Setenv("GOMODCACHE", folders[1])
			env.Setenv("GOPROXY", "off")
			env.Setenv("GOFLAGS", "")
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			return os.WriteFile(filepath.Join(env.WorkDir, "readme.sh"), []byte(examples), 0o600)
		},
	})
}

// readmeExamples returns the lab commands that the README shows, as a shell
// script.
func readmeExamples(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("set -e\n")
	n := 0
	for _, line := range strings.Split(string(page), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.Replace(strings.TrimPrefix(line, "    "), "go run ./cmd/lab", "lab", 1)
		if strings.HasPrefix(line, "lab ") {
			out.WriteString(strings.NewReplacer(" scripts/", " $SCRIPTS/", " plugins/", " $SCRIPTS/../plugins/", " notebooks/", " $SCRIPTS/../notebooks/", " core/", " $SCRIPTS/../core/").Replace(line) + "\n")
			n++
		}
	}
	if n < 4 {
		t.Fatalf("the README shows %d commands of lab, want at least 4", n)
	}
	return out.String()
}

// Every field of every JSON object that the command prints is in docs/json.md.
func TestEveryJSONFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for _, v := range []any{nextReport{}, generateReport{}, searchReport{}, scoreReport{}, perplexityReport{}, throughputReport{}, calibrateReport{}, gridReport{}, importReport{}, explainReport{}, verifyReport{}, detectReport{}, trustReport{}, pluginNewReport{}, pluginInstallReport{}, pluginInfoReport{}, pluginRemoveReport{}, runRecord{}, conformReport{}, benchReport{}, samplerJSON{}, backendJSON{}, pluginJSON{}, modelJSON{}, modelListReport{}, modelAddReport{}, modelRemoveReport{}, modelVerifyReport{}, quantizeReport{}, sweepReport{}, planReport{}, runReport{}, sampleJSON{}, diffReport{}, rerunReport{}, compareReport{}, replayReport{}, store.Entry{}, costHardwareReport{}, costModelsReport{}, costPricesReport{}, costVerifyReport{}, costEstimateReport{}, costBreakevenReport{}, costFrontierReport{}, costFitReport{}, yieldReport{}, checkReport{}} {
		jsonFields(reflect.TypeOf(v), fields, map[reflect.Type]bool{})
	}
	if len(fields) < 60 {
		t.Fatalf("only %d fields were found; is the walk broken?", len(fields))
	}
	for name := range fields {
		if name != "-" && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/json.md does not mention `%s`", name)
		}
	}
}

func jsonFields(t reflect.Type, out map[string]bool, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		jsonFields(t.Elem(), out, seen)
	case reflect.Struct:
		if seen[t] || t.PkgPath() == "time" {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" {
				out[name] = true
			}
			jsonFields(f.Type, out, seen)
		}
	}
}
