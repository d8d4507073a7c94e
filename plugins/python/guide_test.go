//go:build python

package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The section on Python of the author's guide works as it stands, from an empty
// folder to the effect of the sampler in a figure.
func TestGuideCommands(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Ten minutes in Python\n")
	section, _, _ = strings.Cut(section, "\n## ")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	env := append(os.Environ(), "PATH="+filepath.Dir(built)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_DATA_HOME="+filepath.Join(work, "data"), "LAB_PLUGIN_PATH=")
	n := 0
	printed, code := "", false
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		command, shown := strings.CutPrefix(line, "    ")
		if code || !shown {
			continue
		}
		// The interpreter that the tests were given stands for the one on PATH.
		command = strings.Replace(command, "python3 ", "'"+os.Getenv("LAB_TEST_PYTHON")+"' ", 1)
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, " scripts/", " '"+root+"'/scripts/"))
		cmd.Dir, cmd.Env = work, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		printed += string(out)
		n++
	}
	if !found || n < 3 || n > 5 {
		t.Errorf("the guide shows %d commands for Python, want 3 to 5", n)
	}
	if !regexp.MustCompile(`(?m)^keen +1312 +18 +0\.7704 `).MatchString(printed) {
		t.Errorf("the effect is not in the table:\n%s", printed)
	}
	if figures, _ := filepath.Glob(filepath.Join(work, "runs", "*", "effect.svg")); len(figures) != 1 {
		t.Errorf("%d figures", len(figures))
	}
}
