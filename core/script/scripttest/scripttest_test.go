package scripttest_test

import (
	"fmt"
	"strings"
	"testing"

	"lab/core/script"
	"lab/core/script/scripttest"
)

// recorder stands for the test that a helper fails.
type recorder struct {
	testing.TB
	messages []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.messages = append(r.messages, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatal(a ...any)            { r.messages = append(r.messages, fmt.Sprint(a...)); panic(r) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }

// failure returns what check reports.
func failure(check func(t testing.TB)) (message string) {
	r := &recorder{}
	defer func() {
		recover() // Fatal
		message = strings.Join(r.messages, "\n")
	}()
	check(r)
	return
}

func TestChecksFailWhenTheyShould(t *testing.T) {
	good := scripttest.Run(t, `print("a"); 1 + 1`)
	bad := scripttest.Run(t, `fail("oops")`)
	rows := []struct {
		name  string
		check func(t testing.TB)
		want  string // in the message; "" is a pass
	}{
		{"printed", func(t testing.TB) { good.Printed(t, "a\n") }, ""},
		{"printed something else", func(t testing.TB) { good.Printed(t, "b\n") }, `printed "a\n", want "b\n"`},
		{"printed before an error", func(t testing.TB) { bad.Printed(t, "") }, "test.tengo:1:1: oops"},
		{"returned", func(t testing.TB) { good.Returned(t, int64(2)) }, ""},
		{"returned another type", func(t testing.TB) { good.Returned(t, 2) }, "returned 2 (int64), want 2 (int)"},
		{"returned nothing", func(t testing.TB) { bad.Returned(t, nil) }, "oops"},
		{"failed", func(t testing.TB) { bad.Failed(t, "oops", "1:1") }, ""},
		{"failed otherwise", func(t testing.TB) { bad.Failed(t, "other") }, `does not contain "other"`},
		{"did not fail", func(t testing.TB) { good.Failed(t) }, "no error"},
		{"a wrong module", func(t testing.TB) { scripttest.Run(t, "1", script.Module{}) }, "snake_case"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got := failure(r.check)
			if (r.want == "") != (got == "") || !strings.Contains(got, r.want) {
				t.Errorf("got %q, want %q", got, r.want)
			}
		})
	}
}

func TestFilesAreRunInAFolderOfTheirOwn(t *testing.T) {
	r := scripttest.RunFiles(t, "main.tengo", map[string]string{"main.tengo": `print(import("./lib/x"))`, "lib/x.tengo": `export 7`})
	r.Printed(t, "7\n")
	if len(r.Sources) != 2 {
		t.Errorf("sources %v", r.Sources)
	}
}
