package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guideSection is a section of plugins/README.md with the commands it shows.
type guideSection struct {
	title    string
	commands []string
}

// guide reads the sections that show commands. An indented line is a command,
// and nothing else is indented by four blanks outside code.
func guide(t *testing.T) []guideSection {
	t.Helper()
	page, err := os.ReadFile("../../plugins/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []guideSection
	code := false
	title := ""
	for _, line := range strings.Split(string(page), "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if next, ok := strings.CutPrefix(line, "## "); ok {
			title = next
		}
		command, indented := strings.CutPrefix(line, "    ")
		if code || !indented {
			continue
		}
		command, _, _ = strings.Cut(command, " #")
		if !strings.HasPrefix(command, "lab ") && !strings.HasPrefix(command, "python3 ") {
			t.Errorf("plugins/README.md shows %q, which no test knows how to run", command)
		}
		if len(out) == 0 || out[len(out)-1].title != title {
			out = append(out, guideSection{title: title})
		}
		out[len(out)-1].commands = append(out[len(out)-1].commands, strings.TrimSpace(command))
	}
	return out
}

// The author's guide works as it stands, but for the section on Python, which
// plugins/python runs: from an empty folder, in order.
func TestGuideCommands(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, work := t.TempDir(), t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "lab")); err != nil { // the test binary is the command under this name
		t.Fatal(err)
	}
	n := 0
	for _, s := range guide(t) {
		if strings.Contains(s.title, "Python") {
			continue
		}
		var printed strings.Builder
		for _, c := range s.commands {
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(c, " scripts/", " '"+root+"'/scripts/"))
			cmd.Dir = work
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
				"XDG_DATA_HOME="+filepath.Join(work, "data"), "LAB_PLUGIN_PATH=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %s: %v\n%s", s.title, c, err, out)
			}
			printed.Write(out)
			n++
		}
		guideEffect(t, s, work, printed.String())
	}
	if n < 12 {
		t.Errorf("the guide shows %d commands, want at least 12", n)
	}
}

// guideEffect checks the promise of a section that makes a sampler: five
// commands at most lead to its effect, which is in the table and in a figure.
func guideEffect(t *testing.T, s guideSection, work, printed string) {
	t.Helper()
	if !strings.HasPrefix(s.title, "Ten minutes") {
		return
	}
	if len(s.commands) > 5 {
		t.Errorf("%s takes %d commands, more than 5", s.title, len(s.commands))
	}
	if !regexp.MustCompile(`(?m)^sharper +1312 +18 +0\.7704 `).MatchString(printed) {
		t.Errorf("%s: the effect is not in the table:\n%s", s.title, printed)
	}
	figures, _ := filepath.Glob(filepath.Join(work, "runs", "*", "effect.svg"))
	if len(figures) != 1 {
		t.Fatalf("%s: %d figures", s.title, len(figures))
	}
	svg, err := os.ReadFile(figures[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(svg), "sharper") {
		t.Errorf("%s: the figure does not name the sampler", s.title)
	}
}

// The Python section keeps the same promise; plugins/python runs it.
func TestGuideShowsBothLanguages(t *testing.T) {
	python := 0
	for _, s := range guide(t) {
		if strings.Contains(s.title, "Python") {
			python++
			if len(s.commands) > 5 || !strings.Contains(s.commands[len(s.commands)-1], "effect.tengo") {
				t.Errorf("%s: five commands at most, and the last one shows the effect: %q", s.title, s.commands)
			}
		}
	}
	if python != 1 {
		t.Errorf("%d sections on Python", python)
	}
}
