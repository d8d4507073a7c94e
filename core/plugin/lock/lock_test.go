//go:build unix

package lock

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/core/fault"
)

// TestMain makes this binary the other processes of its tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "record" {
		os.Exit(record(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func sum(n int) string { return fmt.Sprintf("%064x", n+1) }

// at returns the lock of a new project, on a day that does not change.
func at(t *testing.T) *Lock {
	l := At(t.TempDir())
	l.today = func() time.Time { return time.Date(2026, 12, 2, 23, 59, 0, 0, time.FixedZone("west", -3600)) }
	return l
}

func entries(t *testing.T, l *Lock) map[string]Entry {
	t.Helper()
	e, err := l.Entries()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func trust(t *testing.T, l *Lock, name string, e Entry) Entry {
	t.Helper()
	before, err := l.Trust(name, e)
	if err != nil {
		t.Fatal(err)
	}
	return before
}

func TestRecordsAreFoundAgain(t *testing.T) {
	l := at(t)
	if e := entries(t, l); len(e) != 0 {
		t.Errorf("a lock without a file lists %v", e)
	}
	first := Entry{SHA256: sum(1), Version: "1.0", Path: "/p/lab-plugin-mine"}
	now, recorded, err := l.FirstUse("mine", first)
	first.Trusted = "2026-12-03" // in UTC it is the next day
	if err != nil || !recorded || now != first {
		t.Fatalf("first use: %+v %t %v", now, recorded, err)
	}
	now, recorded, err = l.FirstUse("mine", Entry{SHA256: sum(2)})
	if err != nil || recorded || now != first {
		t.Errorf("a later use is told %+v %t %v", now, recorded, err)
	}
	if e, ok, err := l.Find("mine"); !ok || err != nil || e != first {
		t.Errorf("found %+v %t %v", e, ok, err)
	}
	if _, ok, err := l.Find("yours"); ok || err != nil {
		t.Errorf("found what is not there: %t %v", ok, err)
	}
	if before := trust(t, l, "mine", Entry{SHA256: sum(3), Version: "2.0"}); before != first {
		t.Errorf("before: %+v", before)
	}
	if was, err := l.Forget("mine"); !was || err != nil {
		t.Errorf("forget: %t %v", was, err)
	}
	if was, err := l.Forget("mine"); was || err != nil {
		t.Errorf("forget again: %t %v", was, err)
	}
	if e := entries(t, l); len(e) != 0 {
		t.Errorf("left: %v", e)
	}
}

// Equal contents are equal files, in whatever order they came, and a change that
// changes nothing does not touch the file.
func TestTheFileIsStable(t *testing.T) {
	a, b := at(t), at(t)
	for i, name := range []string{"zeta", "alpha", "mid-dle"} {
		trust(t, a, name, Entry{SHA256: sum(i), Version: "<1>", Path: "/p/ä"})
	}
	for i, name := range []string{"alpha", "mid-dle", "zeta"} {
		trust(t, b, name, Entry{SHA256: sum((i + 1) % 3), Version: "<1>", Path: "/p/ä"})
	}
	text := func(l *Lock) []byte {
		x, err := os.ReadFile(l.Path())
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	if !bytes.Equal(text(a), text(b)) {
		t.Errorf("the files differ:\n%s\n%s", text(a), text(b))
	}
	want := fmt.Sprintf(`{
  "schema": "lab/lock/1",
  "plugins": {
    "alpha": {
      "sha256": "%s",
      "version": "<1>",
      "path": "/p/ä",
      "trusted": "2026-12-03"
    },`, sum(1))
	if !strings.HasPrefix(string(text(a)), want) {
		t.Errorf("the file is\n%s", text(a))
	}
	old, err := os.Stat(a.Path())
	if err != nil {
		t.Fatal(err)
	}
	a.today = func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }
	trust(t, a, "alpha", Entry{SHA256: sum(1), Version: "<1>", Path: "/p/ä"})
	if now, err := os.Stat(a.Path()); err != nil || !os.SameFile(old, now) {
		t.Errorf("a file of the same content was written (%v)", err)
	}
}

func TestModesAndLinksStay(t *testing.T) {
	l := at(t)
	mode := func() os.FileMode {
		info, err := os.Stat(l.Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	trust(t, l, "a", Entry{SHA256: sum(1)})
	if mode() != 0o644 {
		t.Errorf("a new file has mode %v", mode())
	}
	if err := os.Chmod(l.Path(), 0o640); err != nil {
		t.Fatal(err)
	}
	trust(t, l, "b", Entry{SHA256: sum(2)})
	if mode() != 0o640 {
		t.Errorf("the mode became %v", mode())
	}
	linked := At(t.TempDir())
	link(t, l.Path(), linked.Path())
	trust(t, linked, "c", Entry{SHA256: sum(3)})
	if info, err := os.Lstat(linked.Path()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced (%v)", err)
	}
	if e := entries(t, l); len(e) != 3 {
		t.Errorf("what the link leads to lists %v", e)
	}
	lost := At(t.TempDir())
	link(t, filepath.Join(t.TempDir(), "absent"), lost.Path())
	if _, err := lost.Trust("d", Entry{SHA256: sum(4)}); !errors.Is(err, ErrNotWritten) || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if info, err := os.Lstat(lost.Path()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("it was replaced (%v)", err)
	}
}

// A file that is not understood in full is an error, never an empty lock, and is
// not written over.
func TestMalformedFilesAreRefused(t *testing.T) {
	good := fmt.Sprintf(`{"sha256": %q, "trusted": "2026-12-02"}`, sum(1))
	for _, tt := range []struct{ name, text, says string }{
		{"empty", "", "unexpected end"},
		{"not JSON", "trust me", "invalid character"},
		{"cut short", `{"schema": "lab/lock/1", "plugins": {"a": ` + good, "unexpected end"},
		{"no schema", `{"plugins": {}}`, `its schema is ""`},
		{"a later schema", `{"schema": "lab/lock/2", "plugins": {}}`, `"lab/lock/2"`},
		{"a later schema with a key of its own", `{"schema": "lab/lock/2", "plugins": {}, "keys": {}}`, `"lab/lock/2"`},
		{"no plugins", `{"schema": "lab/lock/1"}`, `lacks the object`},
		{"a list of plugins", `{"schema": "lab/lock/1", "plugins": []}`, `cannot unmarshal array`},
		{"null", `{"schema": "lab/lock/1", "plugins": null}`, `lacks the object`},
		{"an unknown key", `{"schema": "lab/lock/1", "plugins": {}, "extra": 1}`, `unknown field "extra"`},
		{"an unknown key of a plugin", `{"schema": "lab/lock/1", "plugins": {"a": {"sha512": "x"}}}`, `unknown field "sha512"`},
		{"twice, as a merge leaves it", `{"schema": "lab/lock/1", "plugins": {"a": ` + good + `, "a": ` + good + `}}`, "listed twice"},
		{"two digests of one plugin, as a merge leaves them", `{"schema": "lab/lock/1", "plugins": {"a": {"sha256": "` + sum(1) + `", "sha256": "` + sum(2) + `", "trusted": "2026-12-02"}}}`, "listed twice"},
		{"two lists", `{"schema": "lab/lock/1", "plugins": {"a": ` + good + `}, "plugins": {}}`, "listed twice"},
		{"a key in capitals", `{"schema": "lab/lock/1", "plugins": {"a": {"sha256": "` + sum(1) + `", "SHA256": "` + sum(2) + `", "trusted": "2026-12-02"}}}`, `"SHA256" is no name`},
		{"a bad name", `{"schema": "lab/lock/1", "plugins": {"../a": ` + good + `}}`, "no name of a plugin"},
		{"a short digest", `{"schema": "lab/lock/1", "plugins": {"a": {"sha256": "ab", "trusted": "2026-12-02"}}}`, "no SHA-256"},
		{"capitals", `{"schema": "lab/lock/1", "plugins": {"a": {"sha256": "` + strings.Repeat("AB", 32) + `", "trusted": "2026-12-02"}}}`, "no SHA-256"},
		{"no day", `{"schema": "lab/lock/1", "plugins": {"a": {"sha256": "` + sum(1) + `"}}}`, "no day"},
		{"a tail", `{"schema": "lab/lock/1", "plugins": {}} {}`, "after top-level value"},
		{"a merge conflict", "<<<<<<< ours\n{}\n", "invalid character"},
		{"huge", strings.Repeat(" ", longest+1), "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := at(t)
			write(t, l.Path(), tt.text)
			check := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), tt.says) || fault.KindOf(err) != fault.Data || errors.Is(err, ErrNotWritten) {
					t.Errorf("%s: error is %v, want a data error that says %q", what, err, tt.says)
				}
			}
			_, err := l.Entries()
			check("entries", err)
			_, _, err = l.FirstUse("mine", Entry{SHA256: sum(1)})
			check("first use", err)
			_, err = l.Trust("mine", Entry{SHA256: sum(1)})
			check("trust", err)
			if text, err := os.ReadFile(l.Path()); err != nil || string(text) != tt.text {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
	l := at(t)
	pipe(t, l.Path())
	if _, err := l.Entries(); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

func TestFoldersThatCannotBeWrittenToAreTold(t *testing.T) {
	folders := map[string]string{"absent": filepath.Join(t.TempDir(), "absent")}
	if os.Getuid() != 0 { // who may do everything is not kept out
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		folders["read-only"] = dir
	}
	if _, err := os.Stat("/proc/self"); err == nil { // not even for root
		folders["a system's own"] = "/proc"
	}
	for name, dir := range folders {
		l := At(dir)
		if e, err := l.Entries(); err != nil || len(e) != 0 {
			t.Errorf("%s: reading: %v %v", name, e, err)
		}
		if _, _, err := l.FirstUse("mine", Entry{SHA256: sum(1)}); !errors.Is(err, ErrNotWritten) {
			t.Errorf("%s: first use: %v", name, err)
		}
		if _, err := l.Trust("mine", Entry{SHA256: sum(1)}); !errors.Is(err, ErrNotWritten) {
			t.Errorf("%s: trust: %v", name, err)
		}
		if was, err := l.Forget("mine"); was {
			t.Errorf("%s: forget: %t %v", name, was, err)
		}
	}
}

func TestOnlySoundEntriesAreRecorded(t *testing.T) {
	l := at(t)
	for name, e := range map[string]Entry{"Mine": {SHA256: sum(1)}, "mine": {SHA256: "abc"}, "": {SHA256: sum(1)}} {
		if _, err := l.Trust(name, e); fault.KindOf(err) != fault.Internal || err == nil {
			t.Errorf("%q %+v: %v", name, e, err)
		}
	}
	if _, err := os.Stat(l.Path()); !os.IsNotExist(err) {
		t.Errorf("a file was written (%v)", err)
	}
}

// What a writer that was killed left is removed by the next one; the file itself
// is whole all the time.
func TestHalfWrittenFilesAreRemoved(t *testing.T) {
	l := at(t)
	trust(t, l, "a", Entry{SHA256: sum(1)})
	half := filepath.Join(filepath.Dir(l.Path()), tempPrefix+"123")
	write(t, half, `{"schema":`)
	if e := entries(t, l); len(e) != 1 {
		t.Errorf("entries: %v", e)
	}
	trust(t, l, "b", Entry{SHA256: sum(2)})
	left, err := os.ReadDir(filepath.Dir(l.Path()))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v)", left, err)
	}
}

const perProcess = 12

// record is another process: it records plugins of its own, and one that every
// process wants to be the first to record.
func record(dir, process string) int {
	l := At(dir)
	n, err := strconv.Atoi(process)
	if err != nil {
		return 3
	}
	for i := range perProcess {
		if _, _, err := l.FirstUse(fmt.Sprintf("p%d-%d", n, i), Entry{SHA256: sum(n*100 + i)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	now, recorded, err := l.FirstUse("shared", Entry{SHA256: sum(n)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(now.SHA256, recorded)
	return 0
}

// Processes that record at the same time lose nothing, never see half a file,
// and agree on who was first.
func TestManyProcessesRecordAtOnce(t *testing.T) {
	l := At(t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const processes = 6
	var wg sync.WaitGroup
	out := make([]string, processes)
	for i := range processes {
		wg.Go(func() {
			b, err := exec.Command(self, "record", filepath.Dir(l.Path()), strconv.Itoa(i)).CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, b)
			}
			out[i] = strings.TrimSpace(string(b))
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
			if _, err := l.Entries(); err != nil {
				t.Errorf("a reader: %v", err)
			}
		}
	}
	e := entries(t, l)
	if len(e) != processes*perProcess+1 {
		t.Errorf("%d entries, want %d", len(e), processes*perProcess+1)
	}
	for i := range processes {
		for k := range perProcess {
			if got := e[fmt.Sprintf("p%d-%d", i, k)].SHA256; got != sum(i*100+k) {
				t.Errorf("plugin %d of process %d: %q", k, i, got)
			}
		}
	}
	firsts := 0
	for i, line := range out {
		told, recorded, _ := strings.Cut(line, " ")
		if told != e["shared"].SHA256 {
			t.Errorf("process %d was told %q", i, told)
		}
		if recorded == "true" {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d processes were the first", firsts)
	}
}

// The goroutines of one process take turns too.
func TestGoroutinesRecordAtOnce(t *testing.T) {
	l := at(t)
	var wg sync.WaitGroup
	want := map[string]Entry{}
	for i := range 16 {
		name := fmt.Sprintf("p%d", i)
		want[name] = Entry{SHA256: sum(i), Trusted: "2026-12-03"}
		wg.Go(func() {
			if _, err := l.Trust(name, Entry{SHA256: sum(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := entries(t, l); !maps.Equal(got, want) {
		t.Errorf("entries: %v", got)
	}
}

// Whatever is read is written back to what reads the same.
func FuzzDecode(f *testing.F) {
	good := `{"schema": "lab/lock/1", "plugins": {"a-b": {"sha256": "` + sum(1) + `", "version": "ü\u0000", "trusted": "2026-12-02"}}}`
	f.Add([]byte(good))
	f.Add([]byte(`{"schema": "lab/lock/1", "plugins": {}}`))
	f.Add([]byte(`{"schema": "lab/lock/1", "plugins": {"a": {}, "a": {}}}`))
	f.Add([]byte(`{"plugins": {`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decode(text)
		if err != nil {
			return
		}
		once, err := encode(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(once)
		if err != nil || !maps.Equal(e, again) {
			t.Errorf("%v became %v (%v)", e, again, err)
		}
	})
}
