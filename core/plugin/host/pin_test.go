//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/lock"
	"lab/core/plugin/sampler"
)

// project is a folder with a lock and a plugin called mine.
type project struct {
	lock      *lock.Lock
	dir, exe  string
	t         *testing.T
	otherwise func(*host.Options)
	alsoBuilt []string
}

func newProject(t *testing.T) *project {
	dir := t.TempDir()
	return &project{t: t, lock: lock.At(t.TempDir()), dir: dir, exe: script(t, dir, "mine", "good")}
}

// host is one run of lab in the project.
func (p *project) host() *fixture {
	p.t.Helper()
	return newHost(p.t, func(o *host.Options) {
		o.Dirs, o.Lock = []string{p.dir}, p.lock
		if p.otherwise != nil {
			p.otherwise(o)
		}
	}, p.alsoBuilt...)
}

func (p *project) change(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o755)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) digest() string {
	p.t.Helper()
	sum, err := lock.Digest(p.exe)
	if err != nil {
		p.t.Fatal(err)
	}
	return sum
}

// use makes one call of the plugin.
func use(f *fixture, plugin string) error {
	it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
	return f.Runner(plugin).Run(context.Background(), &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}})
}

const notice = "first use of this plugin"

// A stranger is recorded at its first start, with one notice, and started from
// then on without a word.
func TestFirstUseIsRecordedOnce(t *testing.T) {
	p := newProject(t)
	for run := range 2 {
		f := p.host()
		for range 2 {
			if err := use(f, "mine"); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := f.logs.count(notice), 1-run; got != want {
			t.Errorf("run %d: %d notices, want %d", run, got, want)
		}
		if r, ok := f.logs.find(notice); ok && (r.Level.String() != "WARN" || attr(r, "plugin") != "mine" || attr(r, "sha256") != p.digest()) {
			t.Errorf("the notice: %v %s %s", r.Level, attr(r, "plugin"), attr(r, "sha256"))
		}
		e, ok, err := p.lock.Find("mine")
		if err != nil || !ok || e.SHA256 != p.digest() || e.Version != "1.2.3" || e.Path != p.exe {
			t.Errorf("recorded: %+v %t %v", e, ok, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A stranger whose files changed is refused with both digests, before anything
// of it runs, until the user trusts it; built-in plugins and the other strangers
// go on.
func TestChangedPluginIsRefusedUntilTrusted(t *testing.T) {
	for name, change := range map[string]func(*project){
		"the executable":       func(p *project) { p.change(p.exe, "# changed\n") },
		"a file of its folder": func(p *project) { p.change(p.exe+".d/more.py", "changed") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.alsoBuilt = []string{"good"}
			script(t, p.dir, "yours", "other")
			p.change(p.exe+".d/more.py", "text")
			if err := use(p.host(), "mine"); err != nil {
				t.Fatal(err)
			}
			before := p.digest()
			change(p)
			f := p.host()
			err := use(f, "mine")
			if err == nil || fault.KindOf(err) != fault.Plugin || fault.KindOf(err).ExitCode() != 4 {
				t.Fatalf("error: %v", err)
			}
			for _, s := range []string{before, p.digest(), p.lock.Path(), "lab plugin trust mine", p.exe} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error lacks %q: %v", s, err)
				}
			}
			if _, ok := f.logs.find("plugin started"); ok {
				t.Error("it was started all the same")
			}
			for _, other := range []string{"good", "yours"} {
				if err := use(f, other); err != nil {
					t.Errorf("%s: %v", other, err)
				}
			}
			if infos := f.Plugins(context.Background()); len(infos) != 3 || infos[1].Err == nil && infos[2].Err == nil {
				t.Errorf("the listing does not show it: %+v", infos)
			}
			info, old, err := f.Trust(context.Background(), "mine")
			if err != nil || old.SHA256 != before || info.SHA256 != p.digest() || info.Version != "1.2.3" {
				t.Fatalf("trust: %+v %+v %v", info, old, err)
			}
			if err := use(f, "mine"); err != nil {
				t.Errorf("in the same host: %v", err)
			}
			g := p.host()
			if err := use(g, "mine"); err != nil {
				t.Errorf("in the next: %v", err)
			}
			if g.logs.count(notice) != 0 {
				t.Error("what the user trusted is noticed as new")
			}
		})
	}
}

// What the user has just built, and what is built in, is neither recorded nor
// refused.
func TestExemptPlugins(t *testing.T) {
	p := newProject(t)
	p.alsoBuilt = []string{"good"}
	p.otherwise = func(o *host.Options) { o.Unpinned = []string{p.dir + "/."} }
	for range 2 {
		f := p.host()
		for _, name := range []string{"mine", "good"} {
			if err := use(f, name); err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.Trust(context.Background(), name); fault.KindOf(err) != fault.Usage {
				t.Errorf("trust %s: %v", name, err)
			}
		}
		if f.logs.count(notice) != 0 {
			t.Error("it was noticed")
		}
		p.change(p.exe, "# changed\n")
	}
	if e, err := p.lock.Entries(); err != nil || len(e) != 0 {
		t.Errorf("recorded: %v %v", e, err)
	}
	if _, err := os.Stat(p.lock.Path()); !os.IsNotExist(err) {
		t.Errorf("a lock was written: %v", err)
	}
}

// A lock that says nothing intelligible must not be taken for one that trusts
// all, and must not stop what it has no say about.
func TestUnreadableLockRefusesStrangersOnly(t *testing.T) {
	p := newProject(t)
	p.alsoBuilt = []string{"good"}
	p.change(p.lock.Path(), "<<<<<<< ours")
	f := p.host()
	if err := use(f, "mine"); err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), p.lock.Path()) {
		t.Errorf("error: %v", err)
	}
	if err := use(f, "good"); err != nil {
		t.Errorf("the built-in one: %v", err)
	}
	if _, _, err := f.Trust(context.Background(), "mine"); fault.KindOf(err) != fault.Data {
		t.Errorf("trust: %v", err)
	}
}

// Where nothing can be written the plugin works, and the user is told.
func TestUnwritableLockIsAWarning(t *testing.T) {
	p := newProject(t)
	p.lock = lock.At(filepath.Join(t.TempDir(), "absent"))
	f := p.host()
	if err := use(f, "mine"); err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(f.Warnings(), "\n"); strings.Count(w, `plugin "mine" is not pinned`) != 1 {
		t.Errorf("warnings: %s", w)
	}
	if _, _, err := f.Trust(context.Background(), "mine"); err == nil || !strings.Contains(err.Error(), "not written") {
		t.Errorf("trust, which is for nothing else, succeeds: %v", err)
	}
}

// Of two first uses at the same time, with the same files, one records.
func TestTwoFirstUsesAtOnce(t *testing.T) {
	p := newProject(t)
	hosts := []*fixture{p.host(), p.host(), p.host()}
	var wg sync.WaitGroup
	for _, f := range hosts {
		wg.Go(func() {
			if err := use(f, "mine"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	notices := 0
	for _, f := range hosts {
		notices += f.logs.count(notice)
	}
	if notices != 1 {
		t.Errorf("%d notices", notices)
	}
}

// What is exchanged while a plugin is started is not started after it: neither
// when it must be started a second time, for the environment it declares, nor
// when it was to be recorded.
func TestExchangedDuringTheStart(t *testing.T) {
	for name, known := range map[string]bool{"trusted": true, "new": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LAB_TEST_DECLARED", "secret")
			p := newProject(t)
			role := "needy"
			if !known {
				role = "good"
			}
			p.exe = script(t, p.dir, "mine", role)
			text, err := os.ReadFile(p.exe)
			if err != nil {
				t.Fatal(err)
			}
			// It exchanges itself, in one step, for something that does the same.
			text = []byte(strings.Replace(string(text), "\n", "\n(cat \"$0\"; echo '#') >\"$0.new\" && chmod +x \"$0.new\" && mv \"$0.new\" \"$0\"\n", 1))
			if err := os.WriteFile(p.exe, text, 0o755); err != nil {
				t.Fatal(err)
			}
			if known {
				if _, err := p.lock.Trust("mine", lock.Entry{SHA256: p.digest()}); err != nil {
					t.Fatal(err)
				}
			}
			before := p.digest()
			err = use(p.host(), "mine")
			if err == nil || !strings.Contains(err.Error(), "its files changed while it was in use: SHA-256 "+before+", now "+p.digest()) {
				t.Errorf("error: %v", err)
			}
			if e, ok, err := p.lock.Find("mine"); err != nil || ok != known || known && e.SHA256 != before {
				t.Errorf("recorded: %+v %t %v", e, ok, err)
			}
		})
	}
}

// A plugin that cannot be started is not recorded, by use or by trust.
func TestBrokenPluginIsNotRecorded(t *testing.T) {
	p := newProject(t)
	script(t, p.dir, "broken", "exits")
	f := p.host()
	if err := use(f, "broken"); err == nil {
		t.Error("it started")
	}
	if _, _, err := f.Trust(context.Background(), "broken"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("trust: %v", err)
	}
	if _, _, err := f.Trust(context.Background(), "mien"); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), `did you mean "mine"`) {
		t.Errorf("trust of an unknown one: %v", err)
	}
	if e, err := p.lock.Entries(); err != nil || len(e) != 0 {
		t.Errorf("recorded: %v %v", e, err)
	}
}

// A folder that cannot be pinned is refused by name.
func TestLinkInThePluginsFolderIsRefused(t *testing.T) {
	p := newProject(t)
	if err := os.MkdirAll(p.exe+".d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", p.exe+".d/x"); err != nil {
		t.Fatal(err)
	}
	if err := use(p.host(), "mine"); err == nil || !strings.Contains(err.Error(), "symbolic link") || fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
}
