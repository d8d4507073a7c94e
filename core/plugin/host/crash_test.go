//go:build unix

package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// quick gives a plugin that never answers one second. Where every call is
// answered the usual deadlines hold, so that no machine is too slow for the test.
func quick(o *host.Options, how string) {
	if strings.Contains(how, "hang") || strings.Contains(how, "stop") {
		o.Deadlines = host.Deadlines{Call: time.Second, Forward: time.Second}
	}
}

func killPlugin(t *testing.T, pid []byte) {
	t.Helper()
	n, err := strconv.Atoi(string(pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the plugin is dead", func() bool { return !alive(n) })
}

// A plugin that dies in mid-call, with half of its rows spoilt, is started
// again, and the call's result is that of an undisturbed one.
func TestCrashedSamplerCallIsRepeated(t *testing.T) {
	for _, how := range []string{"kill", "exit", "stop", "hang", "fatal"} {
		for transport, change := range map[string]func(*host.Options){"plane": nil, "inline": inline} {
			t.Run(how+" "+transport, func(t *testing.T) {
				t.Parallel()
				f := newHost(t, func(o *host.Options) {
					quick(o, how)
					if change != nil {
						change(o)
					}
				}, "good")
				ctx := context.Background()
				m, err := f.OpenModel(ctx, "chatter", nil)
				if err != nil {
					t.Fatal(err)
				}
				rows := m.Rows(3)
				call := &sampler.Call{Stages: stages("crash", "keep"), Ledger: true}
				var want []dist.Scores
				for i := range rows {
					fill(&rows[i])
					if i == 2 {
						rows[i].Keep(func(k int) bool { return k%2 == 0 }, nil)
					}
					call.Items = append(call.Items, &sampler.Item{Scores: rows[i]})
					w := rows[i].Clone()
					for k := range w.Values {
						w.Values[k] /= 2
					}
					w.Keep(func(k int) bool { return k%3 == 0 }, nil)
					want = append(want, w)
				}
				f.arm(how)
				if err := f.Runner("good").Run(ctx, call); err != nil {
					t.Fatal(err)
				}
				for i := range want {
					mustEqual(t, fmt.Sprintf("row %d", i), &want[i], &call.Items[i].Scores)
				}
				if info, err := f.Plugin(ctx, "good"); err != nil || info.Restarts < 1 {
					t.Errorf("restarts %d, %v", info.Restarts, err)
				}
			})
		}
	}
}

// A stage that fails is an answer: nothing is started again.
func TestErrorsAndPanicsAreAnswers(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	f.arm("panic")
	run := func(stage string) (*sampler.Item, error) {
		it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
		return it, f.Runner("good").Run(ctx, &sampler.Call{Stages: stages(stage), Items: []*sampler.Item{it}})
	}
	first, err := run("report")
	if err != nil {
		t.Fatal(err)
	}
	_, err = run("crash")
	if err == nil || !strings.Contains(err.Error(), "a stage panicked") || fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
	if second, err := run("report"); err != nil || string(second.States[0]) != string(first.States[0]) {
		t.Errorf("the process changed: %s, %s, %v", first.States[0], second.States[0], err)
	}
}

// The error of a plugin that keeps dying says how it ended and what it said
// last; other plugins go on.
func TestRestartLimit(t *testing.T) {
	for how, says := range map[string]string{"kill": "signal: killed", "exit": "exit status 7", "hang": "did not answer within 1s"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := newHost(t, func(o *host.Options) { quick(o, how) }, "good", "other")
			f.arm(how + "-always")
			ctx := context.Background()
			call := func() *sampler.Call {
				return &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{{Scores: dist.NewDense([]float32{1, 2, 3, 4})}}}
			}
			err := f.Runner("good").Run(ctx, call())
			if err == nil {
				t.Fatal("it succeeded")
			}
			for _, s := range []string{`plugin "good"`, "3 attempts", says, "about to " + how} {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error lacks %q: %v", s, err)
				}
			}
			if fault.KindOf(err) != fault.Plugin {
				t.Errorf("kind %v", fault.KindOf(err))
			}
			it := &sampler.Item{Scores: dist.NewDense([]float32{1, 2})}
			if err := f.Runner("other").Run(ctx, &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}}); err != nil {
				t.Errorf("the other plugin is affected: %v", err)
			}
			// The plugin can be used again as soon as it behaves.
			if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("halve"), Items: []*sampler.Item{it}}); err != nil {
				t.Errorf("it stays broken: %v", err)
			}
		})
	}
}

func TestRestartsCanBeForbidden(t *testing.T) {
	f := newHost(t, func(o *host.Options) { o.Restarts = -1 }, "good")
	f.arm("kill")
	err := f.Runner("good").Run(context.Background(), &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{{Scores: dist.NewDense([]float32{1, 2})}}})
	if err == nil || strings.Contains(err.Error(), "attempts") || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("error: %v", err)
	}
}

// A panic in a goroutine of the plugin ends the process; its first line is in
// the error although the trace is longer than what is kept.
func TestPanicsOfGoroutinesAreQuoted(t *testing.T) {
	f := newHost(t, nil, "good")
	f.arm("fatal-always")
	err := f.Runner("good").Run(context.Background(), &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{{Scores: dist.NewDense([]float32{1, 2})}}})
	if err == nil || !strings.Contains(err.Error(), "panic: in a goroutine of its own") || !strings.Contains(err.Error(), "exit status 2") {
		t.Errorf("error: %v", err)
	}
}

// Many calls at once share one plugin and one restart.
func TestConcurrentCallsSurviveAKill(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := m.Rows(8)
	f.arm("kill")
	var wg sync.WaitGroup
	for i := range rows {
		fill(&rows[i])
		want := rows[i].Clone()
		for k := range want.Values {
			for range 5 {
				want.Values[k] /= 2
			}
		}
		wg.Go(func() {
			it := &sampler.Item{Scores: rows[i]}
			for range 5 {
				if err := f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{it}}); err != nil {
					t.Error(err)
					return
				}
			}
			mustEqual(t, fmt.Sprintf("row %d", i), &want, &it.Scores)
		})
	}
	wg.Wait()
}

func TestModelIsReplayedAfterACrash(t *testing.T) {
	undisturbed := newHost(t, nil, "good")
	m, err := undisturbed.OpenModel(context.Background(), "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := drive(t, m, func(int) {})
	for _, how := range []string{"model-kill", "model-exit", "model-hang", "edit-kill", "from outside", "and again while it is fed anew"} {
		for transport, change := range map[string]func(*host.Options){"plane": nil, "inline": inline} {
			t.Run(how+" "+transport, func(t *testing.T) {
				t.Parallel()
				f := newHost(t, func(o *host.Options) {
					quick(o, how)
					if change != nil {
						change(o)
					}
				}, "good")
				m, err := f.OpenModel(context.Background(), "chatter", nil)
				if err != nil {
					t.Fatal(err)
				}
				got := drive(t, m, func(step int) {
					switch {
					case how == "from outside":
						killPlugin(t, []byte(f.await("opened")))
					case strings.HasPrefix(how, "and again"):
						f.arm("model-kill")
						f.arm("second-kill")
					case strings.HasPrefix(how, "edit") == (step == 1 || step == 3):
						f.arm(how)
					}
				})
				if len(got) != len(want) {
					t.Fatalf("%d rows, want %d", len(got), len(want))
				}
				for i := range want {
					mustEqual(t, fmt.Sprintf("row %d", i), &want[i], &got[i])
				}
				least := 3
				if strings.HasPrefix(how, "edit") {
					least = 2
				}
				if m.Restarts() < least {
					t.Errorf("%d restarts, want at least %d", m.Restarts(), least)
				}
			})
		}
	}
}

// A model whose process keeps dying is given up like any plugin, and its
// sequences are as they were before the call.
func TestModelThatKeepsDyingIsGivenUp(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	forward := func(start int, tokens ...int32) error {
		_, err := m.Forward(ctx, []model.Input{{Seq: 1, Start: start, Tokens: tokens, Want: model.Last, Scores: m.Rows(1)}})
		return err
	}
	if err := forward(0, 1, 2); err != nil {
		t.Fatal(err)
	}
	f.arm("model-exit-always")
	err = forward(2, 3)
	for _, s := range []string{`plugin "good"`, "3 attempts", "exit status 7", "about to exit"} {
		if err == nil || !strings.Contains(err.Error(), s) || fault.KindOf(err) != fault.Plugin {
			t.Errorf("the error lacks %q: %v", s, err)
		}
	}
	if err := os.Remove(filepath.Join(f.dir, "model-exit-always")); err != nil {
		t.Fatal(err)
	}
	if err := forward(2, 3); err != nil {
		t.Errorf("it stays broken: %v", err)
	}
}

// A handler that panics has answered, but its process is not trusted further.
func TestPanickingModelIsReplaced(t *testing.T) {
	f := newHost(t, nil, "good")
	ctx := context.Background()
	m, err := f.OpenModel(ctx, "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	forward := func() error {
		_, err := m.Forward(ctx, []model.Input{{Seq: 1, Tokens: []int32{1, 2}, Want: model.Last, Scores: m.Rows(1)}})
		return err
	}
	f.arm("model-panic")
	if err := forward(); err == nil || !strings.Contains(err.Error(), "a model panicked") || fault.KindOf(err) != fault.Plugin {
		t.Errorf("error: %v", err)
	}
	if err := forward(); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if m.Restarts() != 1 {
		t.Errorf("%d restarts", m.Restarts())
	}
}

func TestOtherWeightsAfterACrashAreRefused(t *testing.T) {
	f := newHost(t, nil, "good")
	m, err := f.OpenModel(context.Background(), "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.arm("other-weights")
	f.arm("model-kill")
	_, err = m.Forward(context.Background(), []model.Input{{Seq: 1, Tokens: []int32{1}}})
	if fault.KindOf(err) != fault.Model || !strings.Contains(err.Error(), "sha256:something-else") || !strings.Contains(err.Error(), "sha256:chatter") {
		t.Errorf("error: %v", err)
	}
}

// A caller that gives up gets its error soon, and what it abandoned does not
// write into its rows afterwards: its process is gone.
func TestAbandonedCallLeavesRowsAlone(t *testing.T) {
	f := newHost(t, nil, "good")
	m, err := f.OpenModel(context.Background(), "chatter", nil)
	if err != nil {
		t.Fatal(err)
	}
	row := m.Rows(1)[0]
	fill(&row)
	run := func(ctx context.Context) error {
		return f.Runner("good").Run(ctx, &sampler.Call{Stages: stages("crash"), Items: []*sampler.Item{{Scores: row}}})
	}
	f.arm("hang")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- run(ctx) }()
	pid, err := strconv.Atoi(f.await("about to hang"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; fault.KindOf(err) != fault.Interrupted {
		t.Errorf("cancelled: %v", err)
	}
	if alive(pid) {
		t.Error("what was abandoned goes on")
	}
	if err := run(ctx); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("cancelled before: %v", err)
	}
	late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	f.arm("hang")
	if err := run(late); fault.KindOf(err) != fault.Limit {
		t.Errorf("deadline: %v", err)
	}
}
