//go:build python

// The tests of this file and its neighbours start Python plugins through the
// real host. They need an interpreter that has what lab_plugin needs, named by
// LAB_TEST_PYTHON; .ci/python makes one and runs them.
package python

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/dist"
	"lab/core/plugin"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// serveWord makes this test binary a plugin of its own, to compare with.
const serveWord = "plugin-serve"

// built is the lab command, built once for all tests.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serveWord {
		plugin.Serve(plugin.Plugin{Name: "go", Version: "1", Samplers: []sampler.Sampler{touch{}}})
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("LAB_TEST_PYTHON") == "" {
		fmt.Fprintln(os.Stderr, "LAB_TEST_PYTHON names no interpreter with grpcio and protobuf; .ci/python makes one and runs these tests")
		return 1
	}
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "lab")
	build := exec.Command("go", "build", "-o", built, "lab/cmd/lab")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building lab:", err)
		return 1
	}
	return m.Run()
}

// touch is the sampler of testdata/touch.py in Go.
type touch struct{}

func (touch) Declare() sampler.Declaration {
	return sampler.Declaration{Name: "touch", Kind: sampler.Reshape, Summary: "Adds to one score.", Source: "none"}
}

func (touch) Apply(row *sampler.Row, _ param.Values) error {
	row.Scores.Values[0]++
	return nil
}

// layOut makes a folder with the plugin NAME: a launcher, and beside it the files
// of a project and the lab_plugin of this tree. main is the file that serves.
func layOut(t testing.TB, name, project, main string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	target := filepath.Join(dir, "lab-plugin-"+name)
	copyTree(t, os.DirFS(project), target+".d")
	copyTree(t, Files(), target+".d")
	text := fmt.Sprintf("#!/bin/sh\nexec %q -B \"$0.d/%s\"\n", os.Getenv("LAB_TEST_PYTHON"), main)
	if err := os.WriteFile(target, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyTree(t testing.TB, from fs.FS, to string) {
	t.Helper()
	err := fs.WalkDir(from, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "__pycache__" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, path), 0o700)
		}
		text, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lab runs the command in a folder of its own and returns what it printed.
func lab(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.Command(built, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// mustLab is lab for a command that has to succeed.
func mustLab(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, code := lab(t, args...)
	if code != 0 {
		t.Fatalf("lab %s: exit code %d: %s", strings.Join(args, " "), code, errOut)
	}
	return out
}

// ramp is a row without ties whose probabilities are all above 0.
func ramp(vocab int) dist.Scores {
	values := make([]float32, vocab)
	for i := range values {
		values[i] = float32(i%97) / 8
	}
	return dist.NewDense(values)
}
