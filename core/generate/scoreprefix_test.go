package generate

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"lab/core/fault"
	"lab/core/plugin/model"
)

// read returns how many tokens the model was given so far.
func (m *toy) read() int {
	n := 0
	for _, call := range m.calls {
		for _, tokens := range call {
			n += tokens
		}
	}
	return n
}

func scoreAll(t *testing.T, e *Engine, prompt string, texts []string, opt ScoreOptions) ([]*Scoring, model.Usage) {
	t.Helper()
	raw := make([][]byte, len(texts))
	for i, s := range texts {
		raw[i] = []byte(s)
	}
	out, usage, err := e.Score(t.Context(), []byte(prompt), raw, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out, usage
}

// A prompt that was read for a scoring or a run is not read again for a scoring,
// nor for a run after it, and what comes out is the same, to the bit.
func TestScoringsKeepAndFindPrompts(t *testing.T) {
	prompt := strings.Repeat("A dog. ", 20)
	texts := []string{" barks", " barked", "x", " barks at the moon"}
	c := build(t, "flat", nil)
	for _, opt := range []ScoreOptions{{Top: 2}, {Sums: true}} {
		cold := newToy(t)
		cold.random = true // keeps nothing
		want, usage := scoreAll(t, engine(t, cold), prompt, texts, opt)
		if usage.CachedTokens != 0 || len(cold.seqs) != 0 {
			t.Errorf("a model that promises nothing: %d tokens are cached, %d sequences left", usage.CachedTokens, len(cold.seqs))
		}
		for _, r := range []struct {
			name   string
			first  func(e *Engine) error
			cached int
		}{
			{"nothing before", func(*Engine) error { return nil }, 0},
			{"a scoring before", func(e *Engine) error { scoreAll(t, e, prompt, []string{"y"}, opt); return nil }, len(prompt)},
			{"a scoring of a longer prompt before", func(e *Engine) error { scoreAll(t, e, prompt+"And a cat.", []string{"y"}, opt); return nil }, len(prompt) - 1},
			{"a scoring of a prompt that begins alike before", func(e *Engine) error { scoreAll(t, e, prompt[:100]+"!", []string{"y"}, opt); return nil }, 100},
			{"a short prompt before", func(e *Engine) error { scoreAll(t, e, "A dog", []string{"y"}, opt); return nil }, 0},
			{"a run before", func(e *Engine) error {
				_, err := e.Run(t.Context(), jobsFor(c, []string{prompt}, 2), Options{})
				return err
			}, len(prompt)},
		} {
			t.Run(fmt.Sprintf("%s, sums %v", r.name, opt.Sums), func(t *testing.T) {
				m := newToy(t)
				e := engine(t, m)
				if err := r.first(e); err != nil {
					t.Fatal(err)
				}
				before, counted := m.read(), e.Usage()
				got, usage := scoreAll(t, e, prompt, texts, opt)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, want %+v", got[0], want[0])
				}
				if usage.CachedTokens != int64(r.cached) || e.Usage().CachedTokens-counted.CachedTokens != int64(r.cached) {
					t.Errorf("%d tokens are cached, the engine counts %d more; want %d", usage.CachedTokens, e.Usage().CachedTokens-counted.CachedTokens, r.cached)
				}
				// The tokens of the texts but the last of each, and those of the prompt.
				const news = len(" barks at the moon") - 1 + len("ed") - 1
				if n := m.read() - before; n != len(prompt)-r.cached+news || usage.DecodeTokens != int64(n) {
					t.Errorf("%d tokens were read, %d are counted; want %d", n, usage.DecodeTokens, len(prompt)-r.cached+news)
				}
				before = m.read()
				if _, err := e.Run(t.Context(), []Job{{Prompt: []byte(prompt), Chain: c, MaxTokens: 1}}, Options{}); err != nil {
					t.Fatal(err)
				}
				if n := m.read() - before; n != 0 {
					t.Errorf("a run after the scoring has read %d tokens", n)
				}
				if n := m.left(); n != 0 {
					t.Errorf("%d sequences were left behind", n)
				}
			})
		}
	}
}

// A kept prompt makes room where a scoring needs it.
func TestAKeptPromptMakesRoomForTheTexts(t *testing.T) {
	m := newToy(t)
	m.full = 2
	e := engine(t, m)
	prompt := strings.Repeat("A dog. ", 20)
	alone := newToy(t)
	alone.random = true
	want, _ := scoreAll(t, engine(t, alone), prompt, []string{" barks"}, ScoreOptions{})
	for range 3 {
		if got, _ := scoreAll(t, e, prompt, []string{" barks"}, ScoreOptions{}); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got[0], want[0])
		}
		scoreAll(t, e, prompt[1:], []string{" barks"}, ScoreOptions{})
	}
	if n := m.left(); n != 0 {
		t.Errorf("%d sequences were left behind", n)
	}
}

// Failures at any call leave no sequence and no pin, and the engine goes on.
func TestFailedScoringsLeaveNothing(t *testing.T) {
	prompt := strings.Repeat("A dog. ", 20)
	for at := 1; at <= 3; at++ {
		m := newToy(t)
		m.failAt = at
		e := engine(t, m)
		_, _, err := e.Score(t.Context(), []byte(prompt), [][]byte{[]byte(" barks"), []byte("x"), []byte(" barked")}, ScoreOptions{})
		if (err != nil) != (at <= len(m.calls)) {
			t.Errorf("call %d of %d fails: %v", at, len(m.calls), err)
		}
		if n := m.left(); n != 0 {
			t.Errorf("call %d: %d sequences were left behind", at, n)
		}
	}
	m := newToy(t)
	m.never = 'b'
	got, _ := scoreAll(t, engine(t, m), prompt, []string{"barks", "cat"}, ScoreOptions{})
	if got[0].Count != 1 || got[1].Count != 3 || m.left() != 0 {
		t.Errorf("an impossible first token: %d tokens and %d, %d sequences", got[0].Count, got[1].Count, m.left())
	}
	m = newToy(t)
	m.context = len(prompt) - 1
	if _, _, err := engine(t, m).Score(t.Context(), []byte(prompt), [][]byte{[]byte("y")}, ScoreOptions{}); fault.KindOf(err) != fault.Limit {
		t.Errorf("a prompt beyond the context: %v", err)
	}
}
