package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lab/core/fault"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// Run asks a plugin of a host, in its own process, every law that applies to
// what it offers. A plugin that cannot be started fails the law "declaration".
// Errors: usage for a plugin or law that is not known, interrupted or limit when
// ctx ends, with what was found so far; a broken law is no error but a failed check.
func Run(ctx context.Context, h *host.Host, plugin string, opt Options) (*Report, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	r := &run{Report: &Report{Plugin: plugin, Seed: opt.Seed}, ctx: ctx, opt: opt}
	about, err := h.Plugin(ctx, plugin)
	switch {
	case err != nil && (fault.KindOf(err) == fault.Usage || ctx.Err() != nil):
		return nil, err
	case err != nil:
		r.Checks = append(r.Checks, Check{Law: "declaration", Kind: "plugin", Subject: plugin, Outcome: Fail, Asked: 1,
			Input: "starting it", Got: err.Error(), Want: samplerLaws()[0].Says})
		return r.Report, nil
	}
	r.Version = about.Version
	r.deaths = func() int {
		info, err := h.Plugin(ctx, plugin)
		if err != nil {
			return lost
		}
		return info.Restarts
	}
	var declarations []sampler.Declaration
	for _, s := range h.Samplers(ctx) {
		if s.Plugin == plugin {
			declarations = append(declarations, s.Declaration)
		}
	}
	var backends []host.Backend
	for _, b := range h.Backends(ctx) {
		if b.Plugin == plugin {
			backends = append(backends, b)
		}
	}
	names := slices.Clone(opt.Open)
	for _, d := range declarations {
		names = append(names, d.Name)
	}
	for _, b := range backends {
		names = append(names, b.Name)
	}
	if err := opt.known(names); err != nil {
		return nil, err
	}
	if len(declarations) > 0 {
		for _, h := range []*host.Host{h, opt.SecondHost} {
			if h == nil {
				continue
			}
			if err := texts(h); err != nil {
				return nil, err
			}
		}
	}
	models := r.references(backends)
	r.plan(declarations, len(models))
	if opt.Shared == nil && len(declarations) > 0 {
		r.opt.Shared = shared(ctx, h, backends)
	}
	if len(declarations) > 0 {
		b := newBench(ctx, h.Runner(plugin), declarations, r.opt)
		if opt.SecondHost != nil {
			b.again = opt.SecondHost.Runner(plugin)
		}
		r.samplers(b)
	}
	for _, ref := range models {
		r.model(ref.name, ref.needsFile, func(ctx context.Context) (model.Model, error) { return opened(ctx, h, ref) })
	}
	return r.Report, r.ended()
}

// Samplers asks the samplers of a set in this process, whose texts it replaces
// by its own.
func Samplers(ctx context.Context, set *sampler.Set, opt Options) (*Report, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	r := &run{Report: &Report{Seed: opt.Seed}, ctx: ctx, opt: opt}
	b := ForSet(ctx, set, opt)
	var names []string
	for _, d := range b.Declarations {
		names = append(names, d.Name)
	}
	if err := opt.known(names); err != nil {
		return nil, err
	}
	r.plan(b.Declarations, 0)
	r.samplers(b)
	return r.Report, r.ended()
}

// Model asks a model that open opens, in this process or in another.
func Model(ctx context.Context, name string, open Opener, opt Options) (*Report, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	r := &run{Report: &Report{Seed: opt.Seed}, ctx: ctx, opt: opt}
	r.plan(nil, 1)
	r.model(name, false, open)
	return r.Report, r.ended()
}

// lost is more deaths than are counted: the plugin does not start any more.
const lost = 1 << 30

// run fills a report.
type run struct {
	*Report
	ctx    context.Context
	opt    Options
	deaths func() int
	done   int
	total  int
}

// ended returns why the questions stopped early, nil when they did not.
func (r *run) ended() error {
	switch {
	case r.ctx.Err() == nil:
		return nil
	case errors.Is(r.ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Limit, "plugin test", "", "the deadline passed after %d of %d checks", r.done, r.total)
	}
	return fault.New(fault.Interrupted, "plugin test", "", "it was stopped after %d of %d checks", r.done, r.total)
}

// plan counts the checks to come.
func (r *run) plan(declarations []sampler.Declaration, models int) {
	count := func(names []Law) (n int) {
		for _, l := range names {
			if r.opt.wants(l.Name) {
				n++
			}
		}
		return n
	}
	var ofSampler, ofPlugin, ofModel []Law
	for _, l := range Laws() {
		switch l.Of {
		case "sampler":
			ofSampler = append(ofSampler, l)
		case "plugin":
			ofPlugin = append(ofPlugin, l)
		default:
			ofModel = append(ofModel, l)
		}
	}
	for _, d := range declarations {
		if r.opt.about(d.Name) {
			r.total += count(ofSampler)
		}
	}
	if len(declarations) > 0 {
		r.total += count(ofPlugin)
	}
	r.total += models * count(ofModel)
}

// add records a check. It returns false when no more is to be asked of the
// subject.
func (r *run) add(c Check, deaths int) bool {
	if r.ctx.Err() != nil {
		return false // what was found then means nothing
	}
	r.Checks = append(r.Checks, c)
	r.done++
	return r.died()-deaths < mostDeaths
}

// mostDeaths is how many processes one law may cost before the other laws of
// its subject are left out.
const mostDeaths = 3

func (r *run) died() int {
	if r.deaths == nil {
		return 0
	}
	return r.deaths()
}

func (r *run) tell(next string) {
	if r.opt.Progress != nil {
		r.opt.Progress(r.done, r.total, next)
	}
}

func (r *run) samplers(b *Bench) {
	b.deaths = r.deaths
	late := 0
	for _, d := range b.Declarations {
		if !r.opt.about(d.Name) {
			b.left[d.Name] = true
			continue
		}
		dead := ""
		if late >= mostLate {
			dead = fmt.Sprintf("not asked: %d samplers of the plugin did not answer", late)
			b.left[d.Name] = true
		}
		for _, l := range samplerLaws() {
			if !r.opt.wants(l.Name) || r.ctx.Err() != nil {
				continue
			}
			r.tell(d.Name + ": " + l.Name)
			if dead != "" {
				r.add(Check{Law: l.Name, Kind: "sampler", Subject: d.Name, Outcome: NotApplicable, Reason: dead}, 0)
				continue
			}
			before := r.died()
			switch alive := r.add(b.check(l, d), before); {
			case b.late:
				dead = fmt.Sprintf("not asked: it did not answer a question of the law %q", l.Name)
				late++
			case !alive:
				dead = fmt.Sprintf("not asked: the plugin's process ended %d times or more over the law %q", mostDeaths, l.Name)
			}
			b.left[d.Name], b.late = dead != "", false
		}
	}
	for _, l := range pluginLaws() {
		if !r.opt.wants(l.Name) || r.ctx.Err() != nil {
			continue
		}
		r.tell(l.Name)
		before := b.asked
		f := l.ask(b)
		r.add(found(l.Law, "plugin", r.Plugin, f, b.asked-before), r.died())
	}
}

func found(l Law, kind, subject string, f finding, asked int) Check {
	c := Check{Law: l.Name, Kind: kind, Subject: subject, Outcome: f.outcome, Asked: asked, Reason: f.reason}
	if f.outcome == Fail || f.outcome == Note {
		c.Input, c.Got, c.Want = shortened(f.input), shortened(f.got), l.Says
	}
	return c
}

// longest is how many bytes of an input or an answer are shown: a plugin that
// fails at everything, at length, must not bury what it breaks.
const longest = 1000

// shortened leaves out the middle of a long text, on one line.
func shortened(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) <= longest {
		return text
	}
	const half = longest / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}

// model opens a model and asks every law of it. One that may need a file to open
// is excused when it says so.
func (r *run) model(name string, needsFile bool, open Opener) {
	var s *speaker
	m, err := guarded(func() (model.Model, error) { return open(r.ctx) })
	if err == nil {
		s = newSpeaker(r.ctx, m, open, r.opt)
		defer func() { _ = m.Close() }() // the law "info" closes one and looks
	}
	dead := ""
	for _, l := range modelLaws() {
		if !r.opt.wants(l.Name) || r.ctx.Err() != nil {
			continue
		}
		r.tell(name + ": " + l.Name)
		switch {
		case dead != "":
			r.add(Check{Law: l.Name, Kind: "model", Subject: name, Outcome: NotApplicable, Reason: dead}, r.died())
		case err != nil:
			dead = "it does not open: " + err.Error()
			f := fail("opening "+name, err.Error())
			if kind := fault.KindOf(err); needsFile && (kind == fault.Usage || kind == fault.Model) {
				f = skip("%s", dead)
			}
			r.add(found(l.Law, "model", name, f, 1), r.died())
		default:
			before, deaths := s.asked, r.died()
			f, panicked := guarded(func() (finding, error) { return l.ask(s), nil })
			if panicked != nil {
				f = fail("a question of this law", panicked.Error())
			}
			if !r.add(found(l.Law, "model", name, f, s.asked-before), deaths) || panicked != nil || s.late {
				dead = fmt.Sprintf("not asked: the model came to its end over the law %q", l.Name)
			}
		}
	}
}

// guarded turns a panic of a model in this process into an error.
func guarded[T any](call func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Plugin, "plugin test", "", "it panicked: %v", p)
		}
	}()
	return call()
}

// texts makes the vocabularies of the questions known to a host, when a sampler
// may read them.
func texts(h *host.Host) error {
	for key, text := range map[string]func(int32) []byte{vocabularyKey: textOf, otherKey: moved} {
		all := make([][]byte, mostTokens)
		for id := range all {
			all[id] = text(int32(id))
		}
		if err := h.AddVocabulary(key, all); err != nil {
			return err
		}
	}
	return nil
}

// reference is a model to open: by a backend's own name, or by another.
type reference struct {
	name, ref string
	needsFile bool // it is a backend's own name, and the backend opens files
}

// references returns what to open with the plugin's backends.
func (r *run) references(backends []host.Backend) []reference {
	var out []reference
	for _, b := range backends {
		if r.opt.about(b.Name) {
			out = append(out, reference{b.Name, b.Qualified(), len(b.Patterns) > 0})
		}
	}
	for _, ref := range r.opt.Open {
		if len(backends) > 0 && !slices.ContainsFunc(out, func(o reference) bool { return o.name == ref }) {
			out = append(out, reference{ref, ref, false})
		}
	}
	return out
}

func opened(ctx context.Context, h *host.Host, r reference) (model.Model, error) {
	m, err := h.OpenModel(ctx, r.ref, nil)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// sharedTime is how long opening a model for its rows may take.
const sharedTime = 20 * time.Second

// shared opens the first model of the plugin that opens, for its rows. It is
// closed with the host.
func shared(ctx context.Context, h *host.Host, backends []host.Backend) RowSource {
	ctx, cancel := context.WithTimeout(ctx, sharedTime)
	defer cancel()
	for _, b := range backends {
		if m, err := h.OpenModel(ctx, b.Qualified(), nil); err == nil {
			return m
		}
	}
	return nil
}
