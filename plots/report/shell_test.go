package report

import (
	"os/exec"
	"testing"
)

// What a reader copies into a shell reaches the command as it was.
func TestCommandsSurviveAShell(t *testing.T) {
	for _, arg := range []string{"runs/grid", "", "a b", "it's", `a"b`, "$(reboot)", "`id`", "a;b|c&d", "-n", "*?[x]", "~", "#x", "!x", "a\\nb", "name=Ada, M.", "é"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shell(arg)).Output()
		if err != nil || string(out) != arg {
			t.Errorf("%q is written %s and arrives as %q, %v", arg, shell(arg), out, err)
		}
	}
	if shell("runs/grid-2") != "runs/grid-2" {
		t.Error("a plain name is quoted")
	}
}
