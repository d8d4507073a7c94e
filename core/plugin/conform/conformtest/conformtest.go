// Package conformtest runs the laws of package conform in a Go test, each as a
// subtest of its own:
//
//	func TestConformance(t *testing.T) {
//		conformtest.Samplers(t, []sampler.Sampler{mySampler{}}, conform.Options{})
//	}
//
// [Samplers] and [Backend] ask in this process, which is quick and reaches a
// debugger; [Executable] asks a built plugin in a process of its own, whatever
// it is written in, as lab does.
package conformtest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/plugin/conform"
	"lab/core/plugin/host"
	"lab/core/plugin/model"
	"lab/core/plugin/sampler"
)

// Samplers asks samplers in this process every law, twice: as one set, and
// against another one of the same samplers.
func Samplers(t *testing.T, samplers []sampler.Sampler, opt conform.Options) *conform.Report {
	t.Helper()
	set, err := sampler.NewSet(samplers...)
	if err != nil {
		t.Fatal(err)
	}
	if opt.SecondSet == nil {
		if opt.SecondSet, err = sampler.NewSet(samplers...); err != nil {
			t.Fatal(err)
		}
	}
	r, err := conform.Samplers(t.Context(), set, opt)
	if err != nil {
		t.Fatal(err)
	}
	Show(t, r)
	return r
}

// Backend asks the model that a backend opens for ref, at its default options,
// every law.
func Backend(t *testing.T, b model.Backend, ref string, opt conform.Options) *conform.Report {
	t.Helper()
	d := b.Declare()
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	set, err := d.Params.Resolve("model", d.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(ctx context.Context) (model.Model, error) { return b.Open(ctx, ref, set) }
	r, err := conform.Model(t.Context(), ref, open, opt)
	if err != nil {
		t.Fatal(err)
	}
	Show(t, r)
	return r
}

// Executable asks the plugin lab-plugin-NAME at path, in processes of its own.
func Executable(t *testing.T, path string, opt conform.Options) *conform.Report {
	t.Helper()
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".exe"), "lab-plugin-")
	if !ok {
		t.Fatalf("%s: the executable of a plugin is called lab-plugin-NAME", path)
	}
	open := func() *host.Host {
		h, err := host.New(host.Options{Dirs: []string{filepath.Dir(path)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Errorf("closing the host: %v", err)
			}
		})
		return h
	}
	if opt.SecondHost == nil {
		opt.SecondHost = open()
	}
	r, err := conform.Run(t.Context(), open(), name, opt)
	if err != nil {
		t.Fatal(err)
	}
	Show(t, r)
	return r
}

// Show reports every check as a subtest: law, then subject. A broken law fails
// it; a note is only logged.
func Show(t *testing.T, r *conform.Report) {
	t.Helper()
	if len(r.Checks) == 0 {
		t.Error("no law was asked")
	}
	for _, c := range r.Checks {
		t.Run(c.Law+"/"+c.Subject, func(t *testing.T) {
			switch c.Outcome {
			case conform.Fail:
				t.Error(c.String())
			case conform.Note, conform.NotApplicable:
				t.Log(c.String())
			}
		})
	}
}
