//go:build python

package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lab builds the command and returns how to run it in a folder, with the Python
// of LAB_TEST_PYTHON first on PATH.
func lab(t *testing.T) (run func(dir string, args ...string) string, env []string) {
	t.Helper()
	python := os.Getenv("LAB_TEST_PYTHON")
	if python == "" {
		t.Fatal("LAB_TEST_PYTHON does not name a Python with grpcio and protobuf; run .ci/python")
	}
	command := filepath.Join(t.TempDir(), "lab")
	build := exec.Command("go", "build", "-o", command, "lab/cmd/lab")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env = append(os.Environ(), "PATH="+filepath.Dir(python)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"LAB="+command, "XDG_DATA_HOME="+t.TempDir())
	return func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command(command, args...)
		cmd.Dir, cmd.Env = dir, env
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("lab %s: %v\n%s%s", strings.Join(args, " "), err, out, errOut.String())
		}
		return string(out)
	}, env
}

// A new project passes its own tests, among them the laws of a sound plugin.
func TestPythonScaffoldsPassTheirTests(t *testing.T) {
	run, env := lab(t)
	for _, kind := range []string{"sampler", "model"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			run(dir, "plugin", "new", "mine", "--lang", "python", "--kind", kind)
			cmd := exec.Command(os.Getenv("LAB_TEST_PYTHON"), "-B", "-W", "error", "-m", "unittest", "-v")
			cmd.Dir, cmd.Env = filepath.Join(dir, "mine"), env
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "test_every_law_of_a_plugin (test_plugin.Conformance") {
				t.Errorf("%v\n%s", err, out)
			}
			run(dir, "run", "mine/show.tengo", "--plugin", "mine", "--out", "figure")
			if _, err := os.Stat(filepath.Join(dir, "figure", "show.svg")); err != nil {
				t.Error(err)
			}
		})
	}
}

// The scaffolds of both languages hold the same method, so that they give the same
// numbers: from the project, and installed. They are compared as they are printed,
// since the two ledgers may add up in another order.
func TestScaffoldsOfBothLanguagesAgree(t *testing.T) {
	run, _ := lab(t)
	dir := t.TempDir()
	answers := map[string][2]string{}
	for _, language := range []string{"go", "python"} {
		cut, bi := "cut-"+language[:2], "bi-"+language[:2] // of one length, for the columns
		run(dir, "plugin", "new", cut, "--lang", language)
		run(dir, "plugin", "new", bi, "--lang", language, "--kind", "model")
		names := strings.NewReplacer(cut, "cut", bi, "bi", "cut_"+language[:2], "cut", "bi_"+language[:2], "bi")
		next := []string{"next", "The weather today is", "--chain", cut + "/" + "cut_" + language[:2] + ":0.2"}
		write := []string{"generate", "the river", "--model", bi + "/" + "bi_" + language[:2], "--samples", "8", "--seed", "3"}
		got := [2]string{names.Replace(run(dir, append(next, "--plugin", cut)...)), names.Replace(run(dir, append(write, "--plugin", bi)...))}
		answers[language] = got

		run(dir, "plugin", "install", cut)
		run(dir, "plugin", "install", bi)
		if again := [2]string{names.Replace(run(dir, next...)), names.Replace(run(dir, write...))}; again != got {
			t.Errorf("%s: installed, the answers are others", language)
		}
		run(dir, "plugin", "remove", cut)
		run(dir, "plugin", "remove", bi)
		for _, left := range []string{".lab", "lab.lock"} {
			if _, err := os.Stat(filepath.Join(dir, left)); err == nil {
				t.Errorf("%s: %s is left", language, left)
			}
		}
	}
	if answers["go"] != answers["python"] {
		t.Errorf("go:\n%s\n%s\npython:\n%s\n%s", answers["go"][0], answers["go"][1], answers["python"][0], answers["python"][1])
	}
}
