package python

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is laid into a project is the whole package: every source file of the
// folder and nothing else.
func TestEverySourceFileIsEmbedded(t *testing.T) {
	embedded, err := fs.Glob(Files(), "lab_plugin/*")
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := filepath.Glob("lab_plugin/*.py")
	if err != nil {
		t.Fatal(err)
	}
	if len(onDisk) < 10 || strings.Join(embedded, " ") != strings.Join(onDisk, " ") {
		t.Errorf("embedded %v, on disk %v", embedded, onDisk)
	}
}

// The requirements that a project gets are those that the package declares.
func TestRequirementsAreThoseOfTheProject(t *testing.T) {
	project, err := os.ReadFile("pyproject.toml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(Requirements)
	want := `dependencies = ["` + strings.Join(lines, `", "`) + `"]`
	if !strings.Contains(string(project), want) {
		t.Errorf("pyproject.toml does not contain %s", want)
	}
}
