package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"lab/core/fault"
	"lab/core/plugin/lock"
)

// pinned reports whether the lock has a say about the plugin: strangers have to
// be what it lists, built-in plugins are this program, and what the user has
// just built is exempt.
func (p *plug) pinned() bool { return p.host.opt.Lock != nil && !p.builtin && !p.unpinned }

// sameFiles refuses to start a stranger's plugin again from other files than
// before: a run must not be finished by other code than began it. A built-in
// plugin is this very program.
func (p *plug) sameFiles() error {
	if p.builtin {
		return nil
	}
	now, err := lock.Digest(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return p.cannotExecute(err)
	case err != nil:
		return fault.Wrap(err, fault.Plugin, p.name(), "start")
	}
	p.mu.Lock()
	if p.sum == "" {
		p.sum = now
	}
	first := p.sum
	p.mu.Unlock()
	if now != first {
		return p.fault("start", "its files changed while it was in use: SHA-256 %s, now %s", first, now).
			Fix("run the whole command again")
	}
	return nil
}

// trusted returns an error unless the plugin is what the lock lists, and reports
// whether the lock does not know it yet.
func (p *plug) trusted() (first bool, err error) {
	p.mu.Lock()
	sum, asked := p.sum, p.trusting
	p.mu.Unlock()
	if !p.pinned() || asked {
		return false, nil
	}
	e, known, err := p.host.opt.Lock.Find(p.cmd.Name)
	if err != nil {
		return false, fault.Wrap(err, fault.Data, p.name(), "start")
	}
	if known && e.SHA256 != sum {
		return false, p.changed(e, sum)
	}
	return !known, nil
}

func (p *plug) changed(e lock.Entry, sum string) error {
	return p.fault("start", "%s is not what %s trusts since %s: SHA-256 %s, now %s", p.path, p.host.opt.Lock.Path(), e.Trusted, e.SHA256, sum).
		Fix("if the change is meant: lab plugin trust %s", p.cmd.Name)
}

// firstUse records a plugin that the lock did not know when it was started. It
// fails when another process has recorded other files meanwhile.
func (p *plug) firstUse(a *about) error {
	if err := p.sameFiles(); err != nil { // it may have been built anew while it started
		return err
	}
	p.mu.Lock()
	sum := p.sum
	p.mu.Unlock()
	l := p.host.opt.Lock
	e, recorded, err := l.FirstUse(p.cmd.Name, lock.Entry{SHA256: sum, Version: a.version, Path: p.path})
	switch {
	case errors.Is(err, lock.ErrNotWritten):
		p.host.warn("plugin %q is not pinned: %v", p.cmd.Name, err)
	case err != nil:
		return fault.Wrap(err, fault.Data, p.name(), "start")
	case e.SHA256 != sum:
		return p.changed(e, sum)
	case recorded:
		p.log.Warn("first use of this plugin: it is trusted from now on, and refused when its files change", "sha256", sum,
			"path", p.path, "recorded", l.Path())
	}
	return nil
}

// Trust records a plugin in the lock as it is now, whatever the lock says of it,
// and returns what was recorded before; the zero Entry when nothing was. The
// plugin is started, since what cannot be started cannot be trusted to be the
// one that was meant. Usage errors: no such plugin, one that the lock has no say
// about, or a host without a lock; data errors for a lock that cannot be read or
// written.
func (h *Host) Trust(ctx context.Context, name string) (PluginInfo, lock.Entry, error) {
	p, err := h.named(name)
	if err != nil {
		return PluginInfo{}, lock.Entry{}, err
	}
	if !p.pinned() {
		why := "the host has no lock"
		if p.builtin {
			why = "it is built in, and trusted as this program is"
		} else if p.unpinned {
			why = "it comes from a folder whose plugins are not pinned"
		}
		return PluginInfo{}, lock.Entry{}, fault.New(fault.Usage, "trust", fmt.Sprintf("plugin %q", name), "%s", why)
	}
	p.mu.Lock()
	p.trusting = true
	p.mu.Unlock()
	info := p.info(ctx)
	if info.Err != nil {
		return info, lock.Entry{}, info.Err
	}
	before, err := h.opt.Lock.Trust(name, lock.Entry{SHA256: info.SHA256, Version: info.Version, Path: info.Path})
	return info, before, err
}

// isUnpinned reports whether plugins of a folder are exempt from the lock.
func (h *Host) isUnpinned(dir string) bool {
	abs := func(path string) string {
		if a, err := filepath.Abs(path); err == nil {
			return a
		}
		return path
	}
	return slices.ContainsFunc(h.opt.Unpinned, func(d string) bool { return abs(d) == abs(dir) })
}
