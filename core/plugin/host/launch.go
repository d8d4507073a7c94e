package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"lab/core/fault"
	"lab/core/plugin/internal/child"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// about is what a plugin said of itself.
type about struct {
	name, version, language string
	plane                   bool
	environment             []string
	samplers                []sampler.Declaration
	backends                []model.Declaration
}

// launch starts the plugin if the lock trusts it, a second time when it declares
// variables of the environment that it was started without. The gate must be
// held. When it fails no process is left.
func (p *plug) launch(ctx context.Context) (*instance, error) {
	if err := p.sameFiles(); err != nil {
		return nil, err
	}
	first, err := p.trusted()
	if err != nil {
		return nil, err
	}
	i, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	if more := p.unmet(i.about.environment); len(more) > 0 {
		p.log.Debug("the plugin is started once more, with the environment it declares", "variables", strings.Join(more, " "))
		p.kill(i)
		p.granted = i.about.environment
		if err := p.sameFiles(); err != nil {
			return nil, err
		}
		if i, err = p.start(ctx); err != nil {
			return nil, err
		}
	}
	if first {
		if err := p.firstUse(i.about); err != nil {
			p.kill(i)
			return nil, err
		}
	}
	return i, nil
}

// start starts a process, waits for its handshake and asks what it offers. When
// it fails the process is gone.
func (p *plug) start(ctx context.Context) (*instance, error) {
	folder, keeper, err := p.host.sockets.next()
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, p.name(), "start")
	}
	limit := p.host.opt.Deadlines.Start
	deadline := time.Now().Add(limit)
	caller, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.host.stopping, cancel)()
	ctx, release := context.WithDeadline(caller, deadline)
	defer release()
	var proc *child.Process
	var failed error
	conn, err := wire.Dial(ctx, wire.DialOptions{
		Start: func(env []string) (wire.Child, error) {
			proc, failed = child.Start(child.Config{
				Argv:   p.cmd.Argv,
				Env:    append(p.environment(), env...),
				Line:   forward(p.log, &p.crashes),
				Keeper: keeper,
			})
			if failed != nil {
				return nil, failed
			}
			return proc, nil
		},
		SocketDir: folder, Timeout: limit, TLS: p.host.opt.TLS, Log: p.log,
	})
	if failed != nil {
		return nil, p.cannotExecute(failed)
	}
	if err != nil {
		return nil, p.explain(ctx, caller, proc, err)
	}
	i := &instance{conn: conn, proc: proc, folder: folder, planes: map[uint32]bool{}, texts: map[string]bool{}}
	i.watch = newWatch(i.giveUp, cancelGrace)
	if i.about, err = p.describe(caller, i, time.Until(deadline)); err != nil {
		return nil, err
	}
	p.log.Debug("plugin started", "pid", proc.PID(), "version", i.about.version)
	return i, nil
}

func (p *plug) cannotExecute(err error) error {
	subject := "start"
	_, missing := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && missing == nil:
		return p.fault(subject, "%q names an interpreter that is not there", p.path).Fix("correct its #! line, or install the interpreter")
	case errors.Is(err, fs.ErrNotExist):
		return p.fault(subject, "%q does not exist", p.path).Fix("build or install it there, or remove it from the plugin folders")
	case errors.Is(err, fs.ErrPermission):
		return p.fault(subject, "%q is not executable", p.path).Fix("chmod +x it")
	case notExecutable(err):
		return p.fault(subject, "%q is no program for this machine", p.path).Fix("build it for this system; a script needs a #! line")
	}
	return p.fault(subject, "%q cannot be executed: %v", p.path, err)
}

// explain says why a process that was started did not become a plugin. ctx is the
// caller's with the deadline of a start.
func (p *plug) explain(ctx, caller context.Context, proc *child.Process, err error) error {
	if proc == nil {
		if ctx.Err() != nil {
			return p.late(caller, nil, "nothing was started")
		}
		return p.fault("start", "%v", err)
	}
	if waited := proc.KillAndWait(deathLimit); waited != nil {
		p.log.Error("a plugin cannot be killed", "error", waited)
	}
	line, printed := proc.FirstLine()
	greeting := wire.ParseGreeting(line)
	switch {
	case printed && !greeting.Sound:
		return p.fault("start", "it printed %s to standard output before the handshake; %s", fault.Quote(line, 160), words(proc)).
			Fix("make it print to standard error, and serve first thing in main")
	case printed && greeting.Version != wire.Protocol:
		return p.fault("start", "protocol %d, this host speaks %d", greeting.Version, wire.Protocol).
			Fix("rebuild it against core/plugin of this release")
	case printed && (greeting.Network != "unix" || greeting.Protocol != "grpc"):
		return p.fault("start", "it offers %s over %s", fault.Quote(greeting.Protocol, 40), fault.Quote(greeting.Network, 40)).
			Fix("serve grpc on a unix socket")
	case ctx.Err() != nil && !printed:
		return p.late(caller, proc, "there was no handshake")
	case ctx.Err() != nil:
		return p.late(caller, proc, "there was a handshake and then no answer")
	case !printed:
		return p.fault("start", "it ended before the handshake (%s); %s", proc.Ending(), words(proc))
	}
	return p.fault("start", "it cannot be reached after its handshake (%s): %s; %s",
		proc.Ending(), fault.Quote(err.Error(), 200), words(proc))
}

// late is the error of a start that its deadline, its caller or the end of the
// host has cut short.
func (p *plug) late(caller context.Context, proc *child.Process, what string) error {
	if p.host.isClosed() {
		return p.fault("start", "the host was closed meanwhile")
	}
	if caller.Err() != nil {
		return gaveUp(caller, p.name(), "start")
	}
	last := ""
	if proc != nil {
		last = "; " + words(proc)
	}
	return p.fault("start", "%s within %v%s", what, p.host.opt.Deadlines.Start, last)
}

// describe makes the first call and checks the answer.
func (p *plug) describe(ctx context.Context, i *instance, limit time.Duration) (*about, error) {
	var answer *wire.DescribeResponse
	_, err := p.ask(ctx, i, "describe", limit, func(ctx context.Context) (err error) {
		answer, err = i.conn.Plugin.Describe(ctx, &wire.DescribeRequest{Protocol: wire.Protocol, Host: "lab"}, describeLimit)
		return err
	})
	var a *about
	if err == nil {
		a, err = p.read(answer)
	}
	if err != nil {
		p.kill(i)
		return nil, err
	}
	return a, nil
}

func (p *plug) read(m *wire.DescribeResponse) (*about, error) {
	if m.GetProtocol() != wire.Protocol {
		return nil, p.fault("describe", "protocol %d, this host speaks %d", m.GetProtocol(), wire.Protocol).
			Fix("rebuild it against core/plugin of this release")
	}
	const most = 4096
	if len(m.GetSamplers()) > most || len(m.GetBackends()) > most {
		return nil, p.fault("describe", "it declares %d samplers and %d backends, more than %d", len(m.GetSamplers()), len(m.GetBackends()), most)
	}
	if m.GetVersion() == "" || len(m.GetVersion()) > 256 || len(m.GetLanguage()) > 256 {
		return nil, p.fault("describe", "its version or language is missing or too long")
	}
	if m.GetName() != p.cmd.Name {
		p.host.warn("plugin %q calls itself %s; it is known here by the name of its executable", p.cmd.Name, fault.Quote(m.GetName(), 64))
	}
	if err := wire.CheckEnvironment(m.GetEnvironment()); err != nil {
		return nil, fault.Wrap(err, fault.Plugin, p.name(), "describe")
	}
	a := &about{name: m.GetName(), version: m.GetVersion(), language: m.GetLanguage(), plane: m.GetPlane(), environment: m.GetEnvironment()}
	taken := map[string]bool{}
	for _, s := range m.GetSamplers() {
		d, err := wire.GetSampler(s)
		if err != nil {
			return nil, fault.Wrap(err, fault.Plugin, p.name(), "describe")
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if taken[name] {
				return nil, p.fault("describe", "it declares two samplers called %q", name)
			}
			taken[name] = true
		}
		a.samplers = append(a.samplers, d)
	}
	taken = map[string]bool{}
	for _, b := range m.GetBackends() {
		d, err := wire.GetBackend(b)
		if err != nil {
			return nil, fault.Wrap(err, fault.Plugin, p.name(), "describe")
		}
		if taken[d.Name] {
			return nil, p.fault("describe", "it declares two backends called %q", d.Name)
		}
		for _, pattern := range d.Patterns {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, p.fault("describe", "backend %q has the malformed pattern %s", d.Name, fault.Quote(pattern, 64))
			}
		}
		taken[d.Name] = true
		a.backends = append(a.backends, d)
	}
	return a, nil
}

// sampler returns the declaration of a sampler by name or alias.
func (a *about) sampler(name string) (sampler.Declaration, bool) {
	for _, d := range a.samplers {
		if d.Name == name || slices.Contains(d.Aliases, name) {
			return d, true
		}
	}
	return sampler.Declaration{}, false
}

func (a *about) samplerNames() []string {
	var out []string
	for _, d := range a.samplers {
		out = append(append(out, d.Name), d.Aliases...)
	}
	return out
}
