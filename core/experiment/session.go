// Package experiment is the one door to a running lab: plugins, open models,
// chains and the record of what was used.
//
// Commands and script modules go through a [Session]; it starts plugins when
// they are first needed, opens each model once, and at the end verifies that no
// model's weights changed. It knows nothing of scripts, flags or figures.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"lab/core/chain"
	"lab/core/dist"
	"lab/core/fault"
	"lab/core/generate"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/core/seed"
)

// DefaultModel is opened when nobody names one.
const DefaultModel = "tiny"

// Session is a host with its open models. Safe for concurrent use.
type Session struct {
	host  *host.Host
	names Names           // nil: only backends have names
	given []param.Setting // of models that are opened without any

	mu       sync.Mutex
	models   map[string]*Model
	order    []*Model
	runners  map[string]sampler.Runner
	scripted map[string]chain.Offer // samplers that a script defined
	chains   []ChainRecord
	warnings []string
}

// Model is an open model and the engine that generates from it.
type Model struct {
	*generate.Engine
	Ref    string
	plugin string
	handle *host.Model
}

// Open returns a session over a new host. Nothing is started yet.
func Open(opt host.Options) (*Session, error) {
	h, err := host.New(opt)
	if err != nil {
		return nil, err
	}
	return &Session{host: h, models: map[string]*Model{}, runners: map[string]sampler.Runner{}, scripted: map[string]chain.Offer{}}, nil
}

// UseModelSettings sets the settings of models that are opened without any of
// their own. It must be called before the first model is opened.
func (s *Session) UseModelSettings(given []param.Setting) { s.given = given }

// Host returns the plugin host, for listings.
func (s *Session) Host() *host.Host { return s.host }

// Model returns the open model for a reference (a backend's name, a path, which
// may begin with ~/, or one of the names of [Session.UseNames]), opening it at
// the first call. Asking again with other settings is a usage error, since one
// reference stands for one model throughout a session.
func (s *Session) Model(ctx context.Context, ref string, given []param.Setting) (*Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.models[ref]; ok {
		if len(given) > 0 {
			return nil, fault.New(fault.Usage, "model", fault.Quote(ref, 60), "it is open already, with other settings").
				Fix("give the settings where it is first opened")
		}
		return m, nil
	}
	at, err := s.locate(ctx, ref)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		given = s.given
	}
	handle, err := s.host.OpenModel(ctx, at.path, given)
	if err != nil {
		return nil, s.nearName(err, ref)
	}
	if now := handle.Info().Digest; at.digest != "" && now != at.digest {
		changed := fault.New(fault.Model, "model", fault.Quote(ref, 80), "its file %s has changed since it was added: sha256 %s then, %s now",
			fault.Quote(at.path, 200), at.digest, now).Fix("add it again, or open the file by its path")
		return nil, errors.Join(changed, handle.Close())
	}
	engine, err := generate.New(ctx, handle)
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	m := &Model{Engine: engine, Ref: ref, plugin: handle.Backend().Plugin, handle: handle}
	s.models[ref] = m
	s.order = append(s.order, m)
	return m, nil
}

// Handle returns the model as the host has it, for what is measured of its calls.
// Sequences that the engine did not make must be freed before it is used again.
func (m *Model) Handle() *host.Model { return m.handle }

// Chain parses and builds a chain; origin is recorded with what it sets.
func (s *Session) Chain(ctx context.Context, text, origin string) (*chain.Chain, error) {
	requests, err := chain.Parse(text, origin)
	if err != nil {
		return nil, err
	}
	return s.Build(ctx, requests)
}

// Build checks the stages against the samplers of every plugin and records the
// effective chain with the session.
func (s *Session) Build(ctx context.Context, requests []chain.Request) (*chain.Chain, error) {
	c, err := chain.Build(requests, catalog{ctx, s})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.chains {
		if r.Chain == c.String() {
			return c, nil
		}
	}
	s.chains = append(s.chains, ChainRecord{Chain: c.String(), Stages: c.Effective()})
	return c, nil
}

// Catalog returns the samplers that chains of this session can name.
func (s *Session) Catalog(ctx context.Context) chain.Catalog { return catalog{ctx, s} }

// catalog shows the host's samplers to package chain.
type catalog struct {
	ctx     context.Context
	session *Session
}

func (c catalog) Sampler(name string) (chain.Offer, error) {
	if o, ok := c.session.scriptSampler(name); ok {
		return o, nil
	}
	found, err := c.session.host.Sampler(c.ctx, name)
	if err != nil {
		return chain.Offer{}, err
	}
	return chain.Offer{Plugin: found.Plugin, Declaration: found.Declaration, Runner: c.session.runner(found.Plugin)}, nil
}

// runner returns the one runner of a plugin, so that consecutive stages of it
// are recognised as one call.
func (s *Session) runner(plugin string) sampler.Runner {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.runners[plugin]
	if !ok {
		r = s.host.Runner(plugin)
		s.runners[plugin] = r
	}
	return r
}

// Warn records a warning with the session, once.
func (s *Session) Warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.warnings {
		if w == text {
			return
		}
	}
	s.warnings = append(s.warnings, text)
}

// Draw fixes the random numbers of one reshaping: the run seed, the sample's
// index and its step.
type Draw struct {
	Seed   uint64
	Sample uint64
	Step   int
	Passes []generate.Pass // further model passes, for chains that want them
}

// Reshaping is a chain applied to one row: the row after every stage, the
// ledger, and the token that was drawn.
type Reshaping struct {
	Chain    *chain.Chain
	After    []dist.Scores // by stage
	Ledger   chain.Ledger
	Sampling dist.Sampling
	Chosen   int32
}

// Reshape applies a chain to a copy of a row of this model's scores. prompt and
// history belong to the context the row was computed for.
func (m *Model) Reshape(ctx context.Context, row *dist.Scores, prompt []byte, history []int32, c *chain.Chain, d Draw) (*Reshaping, error) {
	r := &chain.Row{Scores: row.Clone(), History: history, Prompt: len(history) - d.Step, Step: d.Step,
		Stream: seed.New(d.Seed, prompt), Sample: d.Sample}
	if err := m.CheckPasses(c, d.Passes); err != nil {
		return nil, err
	}
	var err error
	if r.Passes, err = m.PassRows(ctx, prompt, history[r.Prompt:], d.Passes); err != nil {
		return nil, err
	}
	opt := chain.Options{Ledger: true, Rows: true, Vocabulary: m.VocabularyKey(),
		EndOfText: m.Info().EndOfText}
	if err := c.Apply(ctx, []*chain.Row{r}, opt); err != nil {
		return nil, err
	}
	q, err := dist.NewSampling(&r.Scores)
	if err != nil {
		return nil, err
	}
	return &Reshaping{Chain: c, After: r.After, Ledger: r.Ledger, Sampling: q, Chosen: r.Chosen}, nil
}

// Close verifies the weights of every open model, closes the models and stops
// the plugins. It returns the record of the session even when it fails; a
// digest that changed is a model error.
func (s *Session) Close(ctx context.Context) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record := Record{Chains: s.chains, Warnings: s.warnings, Models: []ModelRecord{}}
	var failure error
	for _, m := range s.order {
		r, err := m.verify(ctx)
		record.Models = append(record.Models, r)
		if closeErr := m.handle.Close(); err == nil {
			err = closeErr
		}
		if failure == nil {
			failure = err
		}
	}
	record.Plugins = s.plugins(ctx)
	record.Warnings = append(record.Warnings, s.host.Warnings()...)
	s.models, s.order = map[string]*Model{}, nil
	if err := s.host.Close(); failure == nil {
		failure = err
	}
	return record, failure
}

// Uses returns the record of what some models and chains use, as it is known
// before they run: without the digests of the end and without restarts.
func (s *Session) Uses(ctx context.Context, models []*Model, chains []*chain.Chain) Record {
	r := Record{Models: []ModelRecord{}, Chains: []ChainRecord{}}
	used := map[string]bool{}
	for _, m := range models {
		r.Models = append(r.Models, m.record())
		used[m.plugin] = true
	}
	for _, c := range chains {
		r.Chains = append(r.Chains, ChainRecord{Chain: c.String(), Stages: c.Effective()})
		for _, stage := range c.Stages {
			used[stage.Plugin] = true
		}
	}
	r.Plugins = s.pluginRecords(ctx, used)
	for i := range r.Plugins {
		r.Plugins[i].Restarts = 0
	}
	return r
}

// plugins lists the plugins that a model or a chain of this session used.
func (s *Session) plugins(ctx context.Context) []PluginRecord {
	used := map[string]bool{}
	for _, m := range s.order {
		used[m.plugin] = true
	}
	for name := range s.runners {
		used[name] = true
	}
	return s.pluginRecords(ctx, used)
}

func (s *Session) pluginRecords(ctx context.Context, used map[string]bool) []PluginRecord {
	out := []PluginRecord{}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		p, err := s.host.Plugin(ctx, name)
		if err != nil {
			continue // it died and stayed dead; the error that the run ended with says so
		}
		out = append(out, PluginRecord{Name: p.Name, Version: p.Version, SHA256: p.SHA256, Builtin: p.Builtin, Restarts: p.Restarts})
	}
	return out
}

// Verify computes the digest of a model's weights now and compares it with the
// one at open.
func (m *Model) Verify(ctx context.Context) (string, error) {
	r, err := m.verify(ctx)
	return r.DigestEnd, err
}

// record describes the model as it was opened.
func (m *Model) record() ModelRecord {
	info := m.Info()
	r := ModelRecord{Ref: m.Ref, Plugin: m.plugin, Name: info.Name, Architecture: info.Architecture,
		Parameters: info.Parameters, WeightBytes: info.WeightBytes, Deterministic: info.Deterministic, DigestOpen: info.Digest}
	for _, v := range m.handle.Settings() {
		if v.Origin != param.DefaultOrigin {
			r.Settings = append(r.Settings, v.Name+"="+param.Format(v.Value))
		}
	}
	return r
}

func (m *Model) verify(ctx context.Context) (ModelRecord, error) {
	r := m.record()
	now, err := m.handle.Verify(ctx)
	if err != nil {
		return r, err
	}
	r.DigestEnd = now
	if now != r.DigestOpen {
		return r, fault.New(fault.Model, "verify", fmt.Sprintf("model %q", m.Ref),
			"its weights changed during the run: %s at open, %s now", r.DigestOpen, now).
			Fix("the results of this run are not those of one frozen model; find what writes to the file and run again")
	}
	return r, nil
}

var _ model.Model = (*host.Model)(nil)
