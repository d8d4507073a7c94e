package plugin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/plane"
)

// exitByHand is the exit code of a plugin that a person started: a usage error.
const exitByHand = 2

// closing is how long open models get to close when the host says goodbye.
const closing = 500 * time.Millisecond

// Serve serves the plugin and never returns. The process exits with 0 when the
// host is done with it, with 2 and a message when a person started it by hand,
// and with 4 and one line on standard error when a declaration is wrong. Call
// it first thing in main: what is printed to standard output before it breaks
// the handshake.
//
// While it serves, os.Stdout is standard error, whose lines become log records
// of the host, and slog's default logger writes records that keep their level
// and attributes there.
func Serve(p Plugin) {
	os.Exit(serve(p))
}

func serve(p Plugin) int {
	if os.Getenv(wire.CookieEnv) != wire.CookieValue {
		byHand(os.Stderr, p)
		return exitByHand
	}
	planes := &plane.Table{}
	watchLifeline(planes)
	greet, err := divertStdout()
	if err != nil {
		fmt.Fprintf(os.Stderr, "plugin %s: standard output cannot be protected: %v\n", p.Name, err)
		return fault.Internal.ExitCode()
	}
	stderr := os.Stderr
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	slog.SetDefault(log)
	o, err := p.check()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return fault.KindOf(err).ExitCode()
	}
	texts := &vocabularies{}
	models := newModelServer(o.backends, planes)
	var served atomic.Bool
	services := wire.Services{
		Plugin:  &describer{offer: o, planes: planes, texts: texts},
		Log:     log,
		LogFile: stderr,
		// go-plugin puts pipes of its own in place of the standard files. They end
		// with the process before the host has read them; standard error does not.
		Ready: func() {
			os.Stdout, os.Stderr = stderr, stderr
			served.Store(true)
		},
	}
	if len(p.Samplers) > 0 {
		services.Sampler = &samplerServer{set: o.set.WithTexts(texts.lookup), planes: planes}
	}
	if len(p.Models) > 0 {
		services.Model = models
	}
	os.Stdout = greet
	wire.Serve(services)
	models.closeAll(closing)
	if !served.Load() {
		return fault.Internal.ExitCode() // go-plugin has said why on standard error
	}
	return 0
}

// byHand tells a person who started the program what it is.
func byHand(w io.Writer, p Plugin) {
	fmt.Fprintf(w, "%s %s is a plugin of lab, with %d sampler(s) and %d model backend(s); lab starts it when it is needed.\n",
		p.Name, p.Version, len(p.Samplers), len(p.Models))
	fmt.Fprintf(w, "Name the executable lab-plugin-%s, put it into .lab/plugins of your project or a folder given with\n", p.Name)
	fmt.Fprintln(w, "--plugin-dir or LAB_PLUGIN_PATH, and see it with: lab plugin list")
}

// describer answers what every plugin is asked.
type describer struct {
	wire.UnimplementedPluginServer
	offer  *offer
	planes *plane.Table
	texts  *vocabularies
}

// Describe implements the call of lab.proto.
func (d *describer) Describe(_ context.Context, req *wire.DescribeRequest) (*wire.DescribeResponse, error) {
	if req.GetProtocol() != wire.Protocol {
		return nil, fault.New(fault.Plugin, "describe", fmt.Sprintf("plugin %q", d.offer.name),
			"the host speaks protocol %d, this plugin %d", req.GetProtocol(), wire.Protocol)
	}
	out := &wire.DescribeResponse{
		Protocol: wire.Protocol, Name: d.offer.name, Version: d.offer.version,
		Language: "go " + runtime.Version()[len("go"):], Plane: true, Environment: d.offer.environment,
	}
	for _, decl := range d.offer.set.Declarations() {
		out.Samplers = append(out.Samplers, wire.PutSampler(decl))
	}
	for _, b := range d.offer.backends {
		out.Backends = append(out.Backends, wire.PutBackend(b.decl))
	}
	return out, nil
}

// Attach implements the call of lab.proto.
func (d *describer) Attach(_ context.Context, req *wire.AttachRequest) (*wire.AttachResponse, error) {
	var err error
	switch thing := req.GetThing().(type) {
	case *wire.AttachRequest_Plane:
		err = attachPlane(d.planes, thing.Plane)
	case *wire.AttachRequest_Vocabulary:
		err = d.texts.put(thing.Vocabulary)
	default:
		err = fault.New(fault.Plugin, "attach", "", "there is nothing this plugin knows how to attach").
			Fix("rebuild it against core/plugin of the host's release")
	}
	if err != nil {
		return nil, err
	}
	return &wire.AttachResponse{}, nil
}

func attachPlane(planes *plane.Table, m *wire.Plane) error {
	vocab, slots := int(m.GetVocab()), int(m.GetSlots())
	same := func() (attached, equal bool) {
		old, ok := planes.Get(m.GetId())
		return ok, ok && old.Path() == m.GetPath() && old.Vocab() == vocab && old.Slots() == slots
	}
	if attached, equal := same(); attached {
		if equal {
			return nil
		}
		return fault.New(fault.Plugin, "attach plane", m.GetPath(), "number %d is another plane already", m.GetId())
	}
	p, err := plane.Open(m.GetPath(), m.GetId(), vocab, slots)
	if err != nil {
		return err
	}
	if planes.Add(p) {
		return nil
	}
	_ = p.Close()
	if _, equal := same(); equal {
		return nil // another call attached it meanwhile
	}
	return fault.New(fault.Plugin, "attach plane", m.GetPath(), "number %d is another plane already", m.GetId())
}
