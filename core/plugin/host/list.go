package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/lock"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// PluginInfo describes a plugin. When it could not be started, Err says why and
// what only the plugin knows is missing.
type PluginInfo struct {
	Name     string
	Path     string // of the executable
	Builtin  bool
	Argv     []string
	SHA256   string // of its files, as lock.Digest returns it
	Version  string
	Protocol int
	Language string
	Plane    bool // it can use shared memory
	// Environment names the variables that the plugin declares to need.
	Environment []string
	Restarts    int // processes started in place of a dead one
	Err         error
}

// Sampler is a sampler and the plugin that offers it.
type Sampler struct {
	sampler.Declaration
	Plugin  string
	Builtin bool
}

// Backend is a model backend and the plugin that offers it.
type Backend struct {
	model.Declaration
	Plugin  string
	Builtin bool
}

// Qualified returns "plugin/name", which names the sampler whatever else is
// installed.
func (s Sampler) Qualified() string { return s.Plugin + "/" + s.Name }

// Qualified returns "plugin/name", which names the backend whatever else is
// installed.
func (b Backend) Qualified() string { return b.Plugin + "/" + b.Name }

// Plugin starts a plugin when it is not running and describes it.
func (h *Host) Plugin(ctx context.Context, name string) (PluginInfo, error) {
	p, err := h.named(name)
	if err != nil {
		return PluginInfo{}, err
	}
	info := p.info(ctx)
	return info, info.Err
}

// Plugins starts every plugin, all at once, and describes them: built-in ones
// first, then in the order of the search.
func (h *Host) Plugins(ctx context.Context) []PluginInfo {
	out := make([]PluginInfo, len(h.plugs))
	var wg sync.WaitGroup
	for i, p := range h.plugs {
		wg.Go(func() { out[i] = p.info(ctx) })
	}
	wg.Wait()
	return out
}

func (p *plug) info(ctx context.Context) PluginInfo {
	info := PluginInfo{Name: p.cmd.Name, Path: p.path, Builtin: p.builtin, Argv: slices.Clone(p.cmd.Argv)}
	if p.path == "/proc/self/exe" {
		if exe, err := os.Executable(); err == nil {
			info.Path = exe
		}
	}
	i, err := p.instance(ctx)
	if err == nil {
		info.Version, info.Language, info.Plane, info.Protocol = i.about.version, i.about.language, i.about.plane, wire.Protocol
		info.Environment = slices.Clone(i.about.environment)
	}
	info.Err = err
	if sum, err := p.digest(); err == nil {
		info.SHA256 = sum
	} else if info.Err == nil {
		info.Err = err
	}
	p.mu.Lock()
	info.Restarts = p.restarts
	p.mu.Unlock()
	return info
}

// digest returns the digest of the plugin's files as they were when first asked.
func (p *plug) digest() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sum != "" {
		return p.sum, nil
	}
	path := p.path
	if !filepath.IsAbs(path) {
		if found, err := exec.LookPath(path); err == nil {
			path = found
		}
	}
	sum, err := lock.Digest(path)
	if err != nil {
		return "", fault.Wrap(err, fault.Plugin, p.name(), "digest")
	}
	p.sum = sum
	return sum, nil
}

// group is built-in plugins or strangers'.
func (h *Host) group(builtin bool) []*plug {
	var out []*plug
	for _, p := range h.plugs {
		if p.builtin == builtin {
			out = append(out, p)
		}
	}
	return out
}

// offers starts plugins all at once and returns what they say of themselves,
// nil for one that failed, with its error beside.
func offers(ctx context.Context, plugs []*plug) ([]*about, []error) {
	out, errs := make([]*about, len(plugs)), make([]error, len(plugs))
	var wg sync.WaitGroup
	for i, p := range plugs {
		wg.Go(func() {
			inst, err := p.instance(ctx)
			if err != nil {
				errs[i] = err
				return
			}
			out[i] = inst.about
		})
	}
	wg.Wait()
	return out, errs
}

// Samplers lists what every plugin offers: built-in ones first, then in the
// order of the search. A plugin that cannot be started is left out; [Host.Plugins]
// says why.
func (h *Host) Samplers(ctx context.Context) []Sampler {
	var out []Sampler
	all, _ := offers(ctx, h.plugs)
	for i, a := range all {
		out = append(out, samplersOf(h.plugs[i], a)...)
	}
	return out
}

// Backends lists what every plugin offers, as Samplers does.
func (h *Host) Backends(ctx context.Context) []Backend {
	var out []Backend
	all, _ := offers(ctx, h.plugs)
	for i, a := range all {
		out = append(out, backendsOf(h.plugs[i], a)...)
	}
	return out
}

func samplersOf(p *plug, a *about) []Sampler {
	var out []Sampler
	if a != nil {
		for _, d := range a.samplers {
			out = append(out, Sampler{Declaration: d, Plugin: p.cmd.Name, Builtin: p.builtin})
		}
	}
	return out
}

func backendsOf(p *plug, a *about) []Backend {
	var out []Backend
	if a != nil {
		for _, d := range a.backends {
			out = append(out, Backend{Declaration: d, Plugin: p.cmd.Name, Builtin: p.builtin})
		}
	}
	return out
}

// Sampler finds a sampler by its name, an alias or "plugin/name". Built-in
// plugins are asked first, and strangers' are started only when none of them
// has it; among strangers the first of the search wins. An unknown name is a
// usage error with the nearest one, which also tells which plugins could not be
// asked.
func (h *Host) Sampler(ctx context.Context, name string) (Sampler, error) {
	return look(ctx, h, "sampler", name, samplersOf, func(s Sampler) []string { return append([]string{s.Name}, s.Aliases...) }, nil)
}

// Backend finds the backend that opens ref: a backend's name, "plugin/name", or
// a path whose base name matches one of its patterns. The order is that of
// [Host.Sampler].
func (h *Host) Backend(ctx context.Context, ref string) (Backend, error) {
	base := strings.ToLower(filepath.Base(ref))
	return look(ctx, h, "model", ref, backendsOf, func(b Backend) []string { return []string{b.Name} }, func(b Backend) bool {
		for _, pattern := range b.Patterns {
			if ok, _ := path.Match(pattern, base); ok {
				return true
			}
		}
		return false
	})
}

// look finds what is called name, or else what fits it, first among the
// built-in plugins and then among the others. The first of names is the proper
// one and goes before aliases.
func look[T any](ctx context.Context, h *Host, what, name string, of func(*plug, *about) []T, names func(T) []string, fits func(T) bool) (T, error) {
	var none T
	var qualified *fault.Error
	if owner, own, ok := strings.Cut(name, "/"); ok {
		if p := h.find(owner); p != nil {
			i, err := p.instance(ctx)
			if err != nil {
				return none, err
			}
			found, known, ok := pick(of(p, i.about), own, names, nil)
			if ok {
				return found, nil
			}
			qualified = fault.Unknown(what, what, own, known)
			qualified.Subject = p.name()
			if fits == nil {
				return none, qualified
			} // else it may be a path whose first folder is called like a plugin
		}
	}
	var known []string
	var silent []error
	for _, builtin := range []bool{true, false} {
		plugs := h.group(builtin)
		all, errs := offers(ctx, plugs)
		var group []T
		for i, a := range all {
			if errs[i] == nil {
				group = append(group, of(plugs[i], a)...)
				continue
			}
			if ctx.Err() != nil {
				return none, errs[i]
			}
			silent = append(silent, errs[i])
		}
		found, these, ok := pick(group, name, names, fits)
		if ok {
			return found, nil
		}
		if builtin && len(silent) > 0 {
			return none, silent[0] // ours must run; without it the name proves nothing
		}
		known = append(known, these...)
	}
	if qualified != nil {
		return none, qualified
	}
	e := fault.Unknown(what, what, name, known)
	if len(known) > mostListed && fault.Suggest(name, known) == "" {
		e = e.Fix("lab %s list shows the %d names there are", what, len(known))
	}
	if len(silent) > 0 {
		e.Problem += fmt.Sprintf(" (%d plugin(s) could not be asked: %v)", len(silent), errors.Join(silent...))
		e.Problem = strings.ReplaceAll(e.Problem, "\n", "; ")
	}
	return none, e
}

// mostListed is how many names an error lists before it says where to see them.
const mostListed = 24

func pick[T any](all []T, name string, names func(T) []string, fits func(T) bool) (found T, known []string, ok bool) {
	for _, proper := range []bool{true, false} {
		for _, x := range all {
			these := names(x)
			if proper && these[0] == name || !proper && slices.Contains(these, name) {
				return x, nil, true
			}
			if proper {
				known = append(known, these...)
			}
		}
	}
	if fits != nil {
		for _, x := range all {
			if fits(x) {
				return x, nil, true
			}
		}
	}
	return found, known, false
}
