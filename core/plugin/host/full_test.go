//go:build unix

package host_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lab/core/dist"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// beFullHost is a host for which every file system is full: no file of it may
// grow beyond room bytes. It prints what a model and a sampler make of it, and
// its warnings.
func beFullHost(dir string, room uint64) {
	signal.Ignore(syscall.SIGXFSZ) // the write fails instead
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: room, Max: room}); err != nil {
		panic(err)
	}
	h, err := host.New(host.Options{SocketDir: dir, Builtins: []host.Command{{Name: "good", Argv: host.Self(serveWord, "good")}}})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	row := sampleOnce(h)
	fmt.Printf("%x\n", packed(row.Values))
	fmt.Println(strings.Join(h.Warnings(), "\n"))
	_ = h.Close()
	os.Exit(0)
}

// sampleOnce returns the row that a model and a stage leave, in ever larger pieces
// of shared memory.
func sampleOnce(h *host.Host) dist.Scores {
	ctx := context.Background()
	m, err := h.OpenModel(ctx, "chatter", nil)
	if err != nil {
		panic(err)
	}
	var row dist.Scores
	for i := range 3 {
		rows := m.Rows(20 * (i + 1))
		if _, err := m.Forward(ctx, []model.Input{{Seq: uint64(i), Tokens: []int32{1, 2}, Want: model.Last, Scores: rows[:1]}}); err != nil {
			panic(err)
		}
		it := &sampler.Item{Scores: rows[0]}
		if err := h.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}}); err != nil {
			panic(err)
		}
		row = it.Scores.Clone()
	}
	return row
}

// With /dev/shm full and the folder for temporary files too, from the start or
// from the middle of a run on, rows travel as bytes: the same numbers, and one
// warning.
func TestFullSharedMemoryMeansBytes(t *testing.T) {
	for word, where := range map[string]string{"be-full-host": "from the start", "be-filling-host": "in the middle"} {
		t.Run(where, func(t *testing.T) {
			dir := shortDir(t)
			argv := host.Self(word, dir)
			out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			row := sampleOnce(newHost(t, nil, "good").Host)
			if want := fmt.Sprintf("%x", packed(row.Values)); lines[0] != want {
				t.Errorf("the row is %s, want %s", lines[0], want)
			}
			if len(lines) != 2 || !strings.Contains(lines[1], "rows travel as bytes") || !strings.Contains(lines[1], "too large") {
				t.Errorf("warnings: %q", lines[1:])
			}
			if left := remains(t, dir); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Every page of shared memory is there before a row of it is handed out: one
// that the system cannot find later ends the process that touches it.
func TestSharedMemoryIsThereBeforeItIsUsed(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // where the blocks of a file say something else
	}
	for _, parent := range []string{"/dev/shm", t.TempDir()} {
		dir, err := os.MkdirTemp(parent, "lt")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		f := newHost(t, func(o *host.Options) { o.PlaneDir = dir })
		f.Rows(1<<17, 3)
		paths, err := filepath.Glob(filepath.Join(dir, "*", "plane-*"))
		if err != nil || len(paths) != 1 {
			t.Fatalf("planes: %v %v", paths, err)
		}
		var info unix.Stat_t
		if err := unix.Stat(paths[0], &info); err != nil {
			t.Fatal(err)
		}
		if info.Size < 3<<20 || info.Blocks*512 < info.Size {
			t.Errorf("%s: %d blocks of 512 bytes for %d bytes", parent, info.Blocks, info.Size)
		}
	}
}
