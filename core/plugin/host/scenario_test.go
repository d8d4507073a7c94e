//go:build unix

package host_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"lab/core/dist"
	"lab/core/plugin/host"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// serveScenario is a plugin that is difficult in the way its role says.
func serveScenario(role string) bool {
	switch role {
	case "partial": // and then nothing, not even the end of the line
		fmt.Print("1|1|unix|/tmp")
		note("printed", "")
		select {}
	case "partial-line":
		fmt.Println("1|1|unix")
		select {}
	case "partial-exit":
		fmt.Print("1|1|unix|")
		os.Exit(5)
	case "empty-line":
		fmt.Println()
		select {}
	case "ancient":
		fmt.Println("1|0|unix|/nowhere|grpc|")
		select {}
	case "elsewhere": // its socket is outside the folder it was given
		dir := os.Getenv("LAB_TEST_DIR")
		if err := os.Chdir(dir); err != nil { // whose path may be too long for a socket
			panic(err)
		}
		_ = listenAndIgnore("s")
		fmt.Printf("1|1|unix|%s|grpc|\n", filepath.Join(dir, "s"))
		select {}
	case "no-socket":
		path := filepath.Join(os.Getenv(wire.SocketDirEnv), "s")
		_ = os.WriteFile(path, nil, 0o600)
		fmt.Printf("1|1|unix|%s|grpc|\n", path)
		select {}
	case "bilingual": // speaks protocol 1 and a later one, and picks what the host does
		if os.Getenv("PLUGIN_PROTOCOL_VERSIONS") == "1" {
			serveAs("good")
		}
		fmt.Println("1|2|unix|/nowhere|grpc|")
		select {}
	case "slow-start":
		time.Sleep(1500 * time.Millisecond)
		serveAs("good")
	case "escaped": // leaves a grandchild outside its group that holds its output open
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		note("grandchild", strconv.Itoa(cmd.Process.Pid))
		serveAs("good")
	default:
		return false
	}
	return true
}

// A start that takes its time is waited for.
func TestSlowStartIsWaitedFor(t *testing.T) {
	f := newHost(t, func(o *host.Options) { o.Deadlines.Start = time.Minute }, "slow-start")
	if err := use(f, "slow-start"); err != nil {
		t.Error(err)
	}
}

// A plugin of tomorrow that still speaks the protocol of today learns from the
// host that it is the one to speak; what it says beyond that is passed over.
func TestLaterPluginsThatSpeakTodaysProtocolWork(t *testing.T) {
	for _, role := range []string{"bilingual", "hostile-later"} {
		f := newHost(t, nil, role, "good")
		stage := "halve"
		if role == "hostile-later" {
			stage = "lie"
		}
		for _, row := range []dist.Scores{dist.NewDense([]float32{1, 2}), f.Rows(50, 1)[0]} {
			fill(&row)
			want := row.Clone()
			for k := range want.Values {
				if stage == "halve" {
					want.Values[k] /= 2
				}
			}
			it := &sampler.Item{Scores: row}
			if err := f.Runner(role).Run(context.Background(), &sampler.Call{Stages: stages(stage), Items: []*sampler.Item{it}}); err != nil {
				t.Errorf("%s: %v", role, err)
			}
			mustEqual(t, role, &want, &it.Scores)
		}
	}
}

// What a plugin of today answers to a host of tomorrow: it says which version it
// speaks, in its handshake and in words, and does not pretend.
func TestPluginTellsALaterHostItsVersion(t *testing.T) {
	dir, err := os.MkdirTemp("", "lt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	argv := host.Self(serveWord, "good")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), wire.CookieEnv+"="+wire.CookieValue, "PLUGIN_PROTOCOL_VERSIONS=2,3", wire.SocketDirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := make([]byte, 1000)
	n, err := out.Read(line)
	greeting := wire.ParseGreeting(string(line[:n]))
	if err != nil || !greeting.Sound || greeting.Version != wire.Protocol {
		t.Fatalf("the handshake is %q (%v)", line[:n], err)
	}
	conn, err := grpc.NewClient("unix:"+greeting.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = wire.NewPluginClient(conn).Describe(context.Background(), &wire.DescribeRequest{Protocol: 2, Host: "lab of tomorrow"})
	err, verdict := wire.FromStatus(err)
	if verdict != wire.Answered || err == nil || !strings.Contains(err.Error(), "the host speaks protocol 2, this plugin 1") {
		t.Errorf("it answers %v", err)
	}
}

// The hang of a plugin ends with it and with every child it has.
func TestHangEndsTheWholeGroup(t *testing.T) {
	f := newHost(t, func(o *host.Options) { quick(o, "hang") }, "family")
	if _, err := f.Plugin(context.Background(), "family"); err != nil {
		t.Fatal(err)
	}
	first, err := strconv.Atoi(f.await("grandchild"))
	if err != nil || !alive(first) {
		t.Fatalf("grandchild %d: %v", first, err)
	}
	f.arm("hang")
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := f.Runner("family").Run(context.Background(), &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{it}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child of the one that hung is gone", func() bool { return !alive(first) })
}

// A grandchild that left the group and holds the output open for an hour keeps
// neither a restart nor the end waiting. It survives: a session of its own is
// out of the host's reach.
func TestEscapedGrandchildHoldsNobodyUp(t *testing.T) {
	f := newHost(t, nil, "escaped")
	var pids []int
	t.Cleanup(func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	f.arm("kill")
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	if err := f.Runner("escaped").Run(context.Background(), &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{it}}); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(f.await("grandchild"))
	if err != nil {
		t.Fatal(err)
	}
	pids = append(pids, pid)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if !alive(pid) {
		t.Error("the grandchild has ended, and proves nothing")
	}
}

// Sixty-four plugins start, work and end together, all with shared memory.
func TestSixtyFourPluginsAtOnce(t *testing.T) {
	const many = 64
	f := newHost(t, func(o *host.Options) {
		o.Deadlines.Start, o.Deadlines.Call = 5*time.Minute, 5*time.Minute // the machine may have few cores
		for i := range many {
			o.Builtins = append(o.Builtins, host.Command{Name: fmt.Sprintf("p%d", i), Argv: host.Self(serveWord, "good")})
		}
	})
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "p0/chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(many)
	for i := range rows {
		fill(&rows[i])
	}
	want := rows[0].Clone()
	for k := range want.Values {
		want.Values[k] /= 2
	}
	pids := make([]string, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			it := &sampler.Item{Scores: rows[i]}
			if err := f.Runner(fmt.Sprintf("p%d", i)).Run(ctx, &sampler.Call{Stages: stages("halve", "report"), Items: []*sampler.Item{it}}); err != nil {
				t.Error(err)
				return
			}
			mustEqual(t, fmt.Sprintf("plugin %d", i), &want, &it.Scores)
			pids[i] = string(it.States[1])
		})
	}
	wg.Wait()
	slices.Sort(pids)
	if n := len(slices.Compact(slices.Clone(pids))); n != many {
		t.Fatalf("%d processes did the work of %d", n, many)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for _, text := range pids {
		if pid, err := strconv.Atoi(text); err != nil || alive(pid) {
			t.Errorf("process %s survives", text)
		}
	}
}

// Nothing that is needed lies in the home folder: without one that can be
// written to, or any, everything works but the record of a first use.
func TestReadOnlyHome(t *testing.T) {
	home := t.TempDir()
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // whom a mode does not keep out
		home = "/proc"
	}
	for name, set := range map[string]func(){
		"read-only": func() { t.Setenv("HOME", home) },
		"absent":    func() { t.Setenv("HOME", filepath.Join(home, "absent")) },
		"none":      func() { t.Setenv("HOME", ""); _ = os.Unsetenv("HOME") }, // put back at the end
	} {
		set()
		t.Setenv("XDG_DATA_HOME", "")
		f := newHost(t, func(o *host.Options) { o.Dirs = host.SearchPath(nil, home) }, "good")
		m, err := f.OpenModel(context.Background(), "chatter", nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := drive(t, m, func(int) {}); len(got) != 8 {
			t.Errorf("%s: %d rows", name, len(got))
		}
		if w := f.Warnings(); len(w) != 0 {
			t.Errorf("%s: warnings: %q", name, w)
		}
	}
}

// Sockets, shared memory and their folders are their owner's alone, under names
// that two hosts do not share.
func TestSocketsAndMemoryArePrivate(t *testing.T) {
	old := syscall.Umask(0) // as open as a user may have it
	t.Cleanup(func() { syscall.Umask(old) })
	dir := t.TempDir()
	names := map[string]bool{}
	for range 2 {
		f := newHost(t, func(o *host.Options) { o.SocketDir, o.PlaneDir = dir, dir }, "good", "fossil-"+firstForm)
		m, err := f.OpenModel(context.Background(), "good/chatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Rows(1)
		if _, err := f.Plugin(context.Background(), "fossil-"+firstForm); err != nil {
			t.Fatal(err)
		}
	}
	sockets, planes := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode, want := info.Mode(), fs.FileMode(0o600)
		switch {
		case e.IsDir():
			want = 0o700
			if filepath.Dir(path) == dir {
				names[e.Name()] = true
			}
		case mode&fs.ModeSocket != 0:
			sockets++
		default:
			planes++
		}
		if mode.Perm() != want {
			t.Errorf("%s has mode %v", path, mode)
		}
		return nil
	})
	if err != nil || sockets != 4 || planes != 2 || len(names) != 4 {
		t.Errorf("%d sockets, %d planes, folders %v, %v", sockets, planes, names, err)
	}
}

// Where no folder has room for shared memory, or there is none, rows travel as
// bytes: the results are the same to the bit, and the user is told once.
func TestWithoutSharedMemoryRowsTravelAsBytes(t *testing.T) {
	ctx := context.Background()
	settings := []param.Setting{{Name: "vocab", Value: 600}}
	run := func(f *fixture) []dist.Scores {
		m, err := f.OpenModel(ctx, "chatter", settings)
		if err != nil {
			t.Fatal(err)
		}
		out := drive(t, m, func(int) {})
		for range 3 {
			rows := m.Rows(2)
			if _, err := m.Forward(ctx, []model.Input{{Seq: 50, Tokens: []int32{1, 2}, Want: model.All, Scores: rows}}); err != nil {
				t.Fatal(err)
			}
			it := &sampler.Item{Scores: rows[1]}
			if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve", "keep"), Items: []*sampler.Item{it}}); err != nil {
				t.Fatal(err)
			}
			out = append(out, it.Scores.Clone())
			if err := m.Edit(ctx, []model.Edit{{Op: model.Free, Seq: 50}}); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	want := run(newHost(t, nil, "good"))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"missing": filepath.Join(t.TempDir(), "shm"), "a file": file} {
		f := newHost(t, func(o *host.Options) { o.PlaneDir = dir }, "good")
		got := run(f)
		for i := range want {
			mustEqual(t, fmt.Sprintf("%s, row %d", name, i), &want[i], &got[i])
		}
		if w := f.Warnings(); len(w) != 1 || !strings.Contains(w[0], "rows travel as bytes") || f.logs.count("rows travel as bytes") != 1 {
			t.Errorf("%s: warnings %q", name, w)
		}
	}
}
