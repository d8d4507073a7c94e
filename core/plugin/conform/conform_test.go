//go:build unix

package conform_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/conform"
	"lab/core/plugin/conform/conformtest"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// soundFacts make the laws strict for the sound samplers.
func soundFacts() map[string]conform.Facts {
	return map[string]conform.Facts{
		"top_few": {Off: []any{"k", 0}},
		"tally":   {Off: []any{"by", 0}, ByID: "it acts on the tokens of the context"},
		"lot":     {Off: []any{}},
		"mend":    {Off: []any{}},
	}
}

// A sound plugin keeps every law, and there is none that was not asked of it.
func TestASoundPluginKeepsEveryLaw(t *testing.T) {
	last, total := 0, 0
	r := ask(t, "sound", conform.Options{Facts: soundFacts(), SecondHost: newHost(t, "sound"),
		Progress: func(done, of int, _ string) {
			if done < last || done >= of {
				t.Errorf("%d of %d after %d", done, of, last)
			}
			last, total = done, of
		}})
	conformtest.Show(t, r)
	if len(r.Checks) != total {
		t.Errorf("%d checks were announced and %d made", total, len(r.Checks))
	}
	for _, l := range conform.Laws() {
		if !slices.ContainsFunc(r.Checks, func(c conform.Check) bool { return c.Law == l.Name && c.Outcome == conform.Pass }) {
			t.Errorf("the law %q was asked of nobody", l.Name)
		}
	}
	if n := r.Count(conform.Note) + r.Count(conform.Fail); n > 0 || r.Err() != nil {
		t.Errorf("%d checks do not hold: %v", n, r.Err())
	}
}

// breach is how a subject of a role breaks a law.
type breach struct{ law, role, subject, got string }

// kind says what the subject is.
func (b breach) kind() string {
	switch {
	case b.subject == "talk" || strings.HasPrefix(b.subject, "model_"):
		return "model"
	case b.subject == b.role:
		return "plugin"
	}
	return "sampler"
}

// subjects are those to ask about; all for a law of the plugin.
func (b breach) subjects() []string {
	if b.kind() == "plugin" {
		return nil
	}
	return []string{b.subject}
}

// Every law finds the plugin that breaks it, in a process of its own, and says
// what broke it, what came of it, and what would be right.
func TestEveryLawCanBeBroken(t *testing.T) {
	rows := []breach{
		{"declaration", "broken", "declaration", "not one line"},
		{"declaration", "silent", "silent", "exit status 3"},
		{"defaults", "broken", "defaults", "not today"},
		{"distribution", "broken", "distribution", "which an earlier stage removed"},
		{"distribution", "broken", "probabilities", "in place of scores"},
		{"defaults", "broken", "refuses", "gain must be another"},
		{"ledger", "raw-ledger", "plain", "the entropy after"},
		{"magnitudes", "broken", "magnitudes", "Inf"},
		{"one_token", "broken", "one_token", "Inf"},
		{"large_vocabulary", "broken", "large_vocabulary", "panicked"},
		{"lowest_id", "broken", "lowest_id", "removes its equal"},
		{"lowest_id", "broken", "greedy", "not its equal"},
		{"min_keep", "broken", "min_keep", "1 tokens left"},
		{"deterministic", "broken", "deterministic", "asked again"},
		{"batch", "broken", "batch", "of a batch of 7"},
		{"state", "broken", "state", "at step 1 in turns"},
		{"state", "broken", "hoarder", "a state of 66000 bytes"},
		{"chain", "broken", "chain", "in one call"},
		{"chain", "broken", "scribbler_of_passes", "in one call"},
		{"chain", "raw-chain", "plain", "in one call"},
		{"sparse", "broken", "sparse", "for the sparse one"},
		{"shift", "broken", "shift", "added to every score"},
		{"off", "broken", "off", "left"},
		{"unlisted", "broken", "unlisted", "unlisted mass"},
		{"unlisted", "broken", "tail", "when the model lists all"},
		{"broken_rows", "broken", "broken_rows", "repairs such rows"},
		{"broken_rows", "raw-broken_rows", "plain", "an error of kind plugin"},
		{"settings", "raw-settings", "plain", "it is accepted"},
		{"systems", "broken", "systems", "panicked"},
		{"needs", "raw-needs", "plain", "one row of a further pass more"},
		{"draws", "broken", "draws", "degrees of freedom"},
		{"transport", "raw-transport", "plain", "in shared memory"},
		{"later", "later", "later", "later: tokens"},
		{"large_batch", "raw-large_batch", "raw-large_batch", "of 64 rows"},
		{"info", "broken", "model_info", "Parameters:5"},
		{"info", "broken", "model_shared", "in the second of two open models"},
		{"info", "broken", "model_shut", "there are no weights"},
		{"digest", "broken", "model_digest", "sha256:talkb"},
		{"pieces", "broken", "model_pieces", "</s>"},
		{"tokenizer", "broken", "model_tokenizer", "decode to"},
		{"tokenizer", "broken", "model_shown", "whose pieces make"},
		{"special", "broken", "model_special", "control token"},
		{"special", "broken", "model_chat", "control token"},
		{"rows", "broken", "model_rows", "6 tokens are listed"},
		{"rows", "broken", "model_nan", "NaN"},
		{"rows", "broken", "model_probabilities", "in place of scores"},
		{"prefix", "broken", "model_prefix", "in pieces of"},
		{"fork", "broken", "model_fork", "instead of"},
		{"fork", "broken", "model_cache", "instead of"},
		{"fork", "broken", "model_crowd", "in fork"},
		{"truncate", "broken", "model_truncate", "cut from 24"},
		{"batch", "broken", "model_batch", "of a batch of 6"},
		{"refusals", "raw-refusals", "talk", "it is accepted"},
		{"refusals", "broken", "model_early", "more tokens than the context has"},
		{"contexts", "broken", "model_contexts", "internal"},
		{"context_length", "broken", "model_context_length", "they are accepted"},
		{"usage", "broken", "model_usage", "0 tokens of prefill"},
		{"hidden", "broken", "model_hidden", "are 0"},
		{"transport", "raw-model", "talk", "rows in shared memory"},
		{"large_batch", "broken", "model_large_batch", "as row"},
		{"large_batch", "broken", "model_clock", "as row"},
	}
	// Two of them are reasoned, and fail for a sampler whose facts give no reason;
	// one needs facts to be asked at all.
	facts := map[string]conform.Facts{"lowest_id": {}, "shift": {}, "off": {Off: []any{"gain", 1}}}
	seen := map[string]bool{}
	for _, row := range rows {
		t.Run(row.law+"/"+row.role+"/"+row.subject, func(t *testing.T) {
			r := ask(t, row.role, conform.Options{Only: []string{row.law}, Subjects: row.subjects(), Facts: facts})
			c := find(t, r, row.law, row.subject)
			if c.Outcome != conform.Fail || !strings.Contains(c.Got, row.got) || c.Input == "" || c.Want == "" {
				t.Errorf("%s\nwant a failure that says %q", c.String(), row.got)
			}
			if err := r.Err(); fault.KindOf(err) != fault.Plugin || !strings.Contains(err.Error(), row.law) {
				t.Errorf("%v, want a plugin error that names the law", err)
			}
		})
		seen[row.law+row.kind()] = true
	}
	for _, l := range conform.Laws() {
		if !seen[l.Name+l.Of] {
			t.Errorf("no plugin breaks the law %q of a %s", l.Name, l.Of)
		}
	}
}

// A law that a sound sampler may have a reason to break yields a note, unless
// the sampler's facts give none, or it can have none.
func TestReasonedLawsAreNotes(t *testing.T) {
	for law, subject := range map[string]string{"lowest_id": "even_ids", "shift": "shift", "off": "moved", "large_vocabulary": "slow"} {
		r := ask(t, "broken", conform.Options{Only: []string{law}, Subjects: []string{subject}, Patience: 2 * time.Second})
		if c := find(t, r, law, subject); c.Outcome != conform.Note || c.Input == "" || r.Err() != nil {
			t.Errorf("%s\nwant a note and no error, got %v", c.String(), r.Err())
		}
	}
	for _, subject := range []string{"lowest_id", "greedy"} {
		r := ask(t, "broken", conform.Options{Only: []string{"lowest_id"}, Subjects: []string{subject}})
		if c := find(t, r, "lowest_id", subject); c.Outcome != conform.Fail {
			t.Errorf("%s\nwant a failure: it goes by the scores alone", c.String())
		}
	}
	r := ask(t, "broken", conform.Options{Only: []string{"needs"}, Subjects: []string{"idle"}})
	if c := find(t, r, "needs", "idle"); c.Outcome != conform.Note || !strings.Contains(c.Got, "uniform numbers") {
		t.Errorf("%s\nwant a note about uniform numbers", c.String())
	}
}

// A sampler that refuses everything does not pass, and strictly it fails.
func TestToRefuseEverythingIsNotToHold(t *testing.T) {
	opt := conform.Options{Only: []string{"distribution", "batch", "state", "sparse"}, Subjects: []string{"refuses"}}
	for _, c := range ask(t, "broken", opt).Checks {
		if c.Outcome != conform.NotApplicable || !strings.Contains(c.Reason, "refuse") {
			t.Errorf("%s", c.String())
		}
	}
	// A backend that opens files may need one; another has to open.
	for subject, want := range map[string]conform.Outcome{"model_file": conform.NotApplicable, "model_shut": conform.Fail} {
		r := ask(t, "broken", conform.Options{Only: []string{"info", "digest"}, Subjects: []string{subject}})
		if c := find(t, r, "info", subject); c.Outcome != want {
			t.Errorf("%s\nwant %v", c.String(), want)
		}
		if c := find(t, r, "digest", subject); c.Outcome != conform.NotApplicable || !strings.Contains(c.Reason, "does not open") {
			t.Errorf("%s\nwant it said once that it does not open", c.String())
		}
	}
	opt.Facts = map[string]conform.Facts{"refuses": {}}
	opt.Only = []string{"distribution", "batch", "sparse"}
	for _, c := range ask(t, "broken", opt).Checks {
		if c.Outcome != conform.Fail {
			t.Errorf("%s", c.String())
		}
	}
}

// The question shown is small: here one token, settings at their defaults.
func TestTheInputIsShrunk(t *testing.T) {
	c := find(t, ask(t, "broken", conform.Options{Only: []string{"distribution"}, Subjects: []string{"shrinks"}}), "distribution", "shrinks")
	if c.Outcome != conform.Fail || !strings.Contains(c.Input, "of 1 tokens") || !strings.Contains(c.Input, "gain=1,k=3") {
		t.Errorf("%s\nwant one token and default settings", c.String())
	}
}

// What a plugin says at length is shown in brief.
func TestALongAnswerIsCut(t *testing.T) {
	c := find(t, ask(t, "broken", conform.Options{Only: []string{"distribution"}, Subjects: []string{"wordy"}}), "distribution", "wordy")
	if c.Outcome != conform.Fail || len(c.Got) > 1100 || strings.Contains(c.Got, "\n") || !strings.Contains(c.Got, "panicked") {
		t.Errorf("%d bytes: %s", len(c.Got), c.String())
	}
}

// A plugin whose process ends at every question is not asked all of them.
func TestAPluginThatDiesIsLeftAlone(t *testing.T) {
	r := ask(t, "broken", conform.Options{Subjects: []string{"crash"}, Only: []string{"distribution", "sparse", "batch", "state"}})
	if failed := r.Failed(); len(failed) != 1 || failed[0].Law != "distribution" || !strings.Contains(failed[0].Got, "exit status 7") {
		t.Errorf("%v, want one failure that says how the process ended", failed)
	}
	for _, law := range []string{"sparse", "batch", "state"} {
		if c := find(t, r, law, "crash"); c.Outcome != conform.NotApplicable || !strings.Contains(c.Reason, "distribution") {
			t.Errorf("%s\nwant it left out, with the reason", c.String())
		}
	}
}

// A plugin that hangs is given up after one call, and after three samplers.
func TestAPluginThatHangsIsLeftAlone(t *testing.T) {
	r := ask(t, "stuck", conform.Options{Only: []string{"defaults", "sparse", "later", "large_batch"}, Patience: 300 * time.Millisecond})
	if failed := r.Failed(); len(failed) != 3 || failed[0].Law != "defaults" || !strings.Contains(failed[0].Got, "did not answer within 300ms") {
		t.Errorf("%v, want three failures that say how long was waited", failed)
	}
	for subject, reason := range map[string]string{"stuck_a": `the law "defaults"`, "stuck_d": "3 samplers of the plugin"} {
		if c := find(t, r, "sparse", subject); c.Outcome != conform.NotApplicable || !strings.Contains(c.Reason, reason) {
			t.Errorf("%s\nwant it left out because of %s", c.String(), reason)
		}
	}
	if c := find(t, r, "large_batch", "stuck"); c.Outcome != conform.NotApplicable {
		t.Errorf("%s\nwant no sampler asked", c.String())
	}
}

// One seed gives one report, another one other questions.
func TestTheSeedDecidesEverything(t *testing.T) {
	input := func(seed uint64) string {
		r := ask(t, "broken", conform.Options{Only: []string{"min_keep"}, Subjects: []string{"min_keep"}, Seed: seed})
		return fmt.Sprint(r.Checks)
	}
	first := input(1)
	if again := input(1); again != first {
		t.Errorf("one seed, two reports:\n%s\n%s", first, again)
	}
	if other := input(2); other == first {
		t.Errorf("two seeds, one report: %s", first)
	}
}

func TestUnknownNamesAndAnEarlyEndAreErrors(t *testing.T) {
	h := newHost(t, "sound")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	rows := []struct {
		name, plugin, law string
		ctx               context.Context
		kind              fault.Kind
		says              string
	}{
		{"a law that does not exist", "sound", "sparce", t.Context(), fault.Usage, `did you mean "sparse"`},
		{"a plugin that does not exist", "sond", "sparse", t.Context(), fault.Usage, `did you mean "sound"`},
		{"a cancelled call", "sound", "sparse", cancelled, fault.Interrupted, "plugin"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := conform.Run(r.ctx, h, r.plugin, conform.Options{Only: []string{r.law}})
			if fault.KindOf(err) != r.kind || !strings.Contains(err.Error(), r.says) {
				t.Errorf("%v, want kind %v and %q", err, r.kind, r.says)
			}
		})
	}
}

// The laws are the same for a set and a model in this process.
func TestInThisProcess(t *testing.T) {
	t.Run("sound", func(t *testing.T) {
		conformtest.Samplers(t, soundSamplers(), conform.Options{Facts: soundFacts()})
		var quick []string // 64 MB of rows are asked of the plugin in its own process
		for _, l := range conform.Laws() {
			if l.Of == "model" && l.Name != "large_batch" {
				quick = append(quick, l.Name)
			}
		}
		for name, b := range map[string]*talker{
			"plain":          {name: "talk"},
			"the best only":  {name: "best", top: 5},
			"no begin token": {name: "bare", change: func(m *talk) { m.info.Begin = -1 }},
			"not the same bits": {name: "loose", change: func(m *talk) {
				m.info.Deterministic = false
				m.row = m.noisy(1e-4)
			}},
		} {
			t.Run(name, func(t *testing.T) { conformtest.Backend(t, b, b.name, conform.Options{Only: quick}) })
		}
	})
	t.Run("a model whose bits differ", func(t *testing.T) {
		for name, b := range map[string]*talker{
			"although it promises that they do not": {name: "noisy", change: func(m *talk) { m.row = m.noisy(1e-4) }},
			"by more than rounding": {name: "noisy", change: func(m *talk) {
				m.info.Deterministic = false
				m.row = m.noisy(2)
			}},
		} {
			r, err := conform.Model(t.Context(), name, func(ctx context.Context) (model.Model, error) { return b.Open(ctx, "", nil) },
				conform.Options{Only: []string{"prefix"}})
			if err != nil {
				t.Fatal(err)
			}
			if c := find(t, r, "prefix", name); c.Outcome != conform.Fail {
				t.Errorf("%s: %s", name, c.String())
			}
		}
	})
	set, err := sampler.NewSet(brokenSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range []string{"distribution", "batch", "state", "sparse", "draws"} {
		r, err := conform.Samplers(t.Context(), set, conform.Options{Only: []string{law}, Subjects: []string{law}})
		if err != nil {
			t.Fatal(err)
		}
		if c := find(t, r, law, law); c.Outcome != conform.Fail {
			t.Errorf("%s\nwant a failure", c.String())
		}
	}
	t.Run("what is remembered of another row", func(t *testing.T) {
		fresh, err := sampler.NewSet(brokenSamplers()...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := conform.Samplers(t.Context(), set, conform.Options{Only: []string{"deterministic"}, Subjects: []string{"memo"}, SecondSet: fresh})
		if err != nil {
			t.Fatal(err)
		}
		if c := find(t, r, "deterministic", "memo"); c.Outcome != conform.Fail || !strings.Contains(c.Got, "in another process") {
			t.Errorf("%s\nwant a failure", c.String())
		}
	})
	t.Run("what is read only", func(t *testing.T) {
		for subject, what := range map[string]string{"scribbler": "the context", "scribbler_of_passes": "row 0 of a further pass"} {
			r, err := conform.Samplers(t.Context(), set, conform.Options{Only: []string{"distribution"}, Subjects: []string{subject}})
			if err != nil {
				t.Fatal(err)
			}
			if c := find(t, r, "distribution", subject); c.Outcome != conform.Fail || !strings.Contains(c.Got, what) {
				t.Errorf("%s\nwant a failure that names %s", c.String(), what)
			}
		}
	})
	t.Run("rows that are under way together", func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		r, err := conform.Samplers(t.Context(), set, conform.Options{Only: []string{"batch"}, Subjects: []string{"together"}})
		if err != nil {
			t.Fatal(err)
		}
		if c := find(t, r, "batch", "together"); c.Outcome != conform.Fail {
			t.Errorf("%s\nwant a failure", c.String())
		}
	})
	t.Run("a model that makes impossible edits", func(t *testing.T) {
		lax := &talker{name: "lax", change: func(m *talk) {
			m.lax = true
			m.fork = func(tokens []int32, length int) []int32 {
				return slices.Clone(tokens[:min(max(length, 0), len(tokens))])
			}
			m.cut = m.fork
		}}
		r, err := conform.Model(t.Context(), "lax", func(ctx context.Context) (model.Model, error) { return lax.Open(ctx, "", nil) },
			conform.Options{Only: []string{"refusals"}})
		if err != nil {
			t.Fatal(err)
		}
		if c := find(t, r, "refusals", "lax"); c.Outcome != conform.Fail || !strings.Contains(c.Input, "a cut to more") {
			t.Errorf("%s\nwant an edit that is accepted", c.String())
		}
	})
	t.Run("a model that grows before it has checked", func(t *testing.T) {
		early := &talker{name: "early", change: func(m *talk) { m.early = true }}
		r, err := conform.Model(t.Context(), "early", func(ctx context.Context) (model.Model, error) { return early.Open(ctx, "", nil) },
			conform.Options{Only: []string{"refusals"}})
		if err != nil {
			t.Fatal(err)
		}
		if c := find(t, r, "refusals", "early"); c.Outcome != conform.Fail || !strings.Contains(c.Got, "after a batch with a token outside") {
			t.Errorf("%s\nwant a sequence that has changed", c.String())
		}
	})
	t.Run("a model that panics", func(t *testing.T) {
		wild := &talker{name: "wild", change: func(m *talk) { m.row = func(*dist.Scores, []int32) { panic("out of cheese") } }}
		r, err := conform.Model(t.Context(), "wild", func(ctx context.Context) (model.Model, error) { return wild.Open(ctx, "", nil) }, conform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if failed := r.Failed(); len(failed) != 1 || !strings.Contains(failed[0].Got, "out of cheese") {
			t.Errorf("%v, want one failure that tells of the panic", failed)
		}
	})
}

// A plugin is found by the path of its executable, and asked in its own process.
func TestAnExecutableIsAsked(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lab-plugin-sound")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s sound\n", self, serveWord)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := conformtest.Executable(t, path, conform.Options{Only: []string{"deterministic", "fork", "transport"}})
	if r.Version != "1" || len(r.Checks) != 2*len(soundSamplers())+2 {
		t.Errorf("version %q, %d checks", r.Version, len(r.Checks))
	}
}
