package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"lab/core/fault"
	"lab/core/plugin/host"
)

// Names are names of models besides those of backends: the model folder's.
type Names interface {
	// Path returns the path that a name stands for, and the digest of the weights
	// that it had, "" when that is not known.
	Path(name string) (path, digest string, found bool, err error)
	// Names returns all of them.
	Names() []string
}

// UseNames makes names known to Model and Backend. It must be called before
// these are.
func (s *Session) UseNames(n Names) { s.names = n }

// Backend returns the backend that opens a reference, as Model takes it.
func (s *Session) Backend(ctx context.Context, ref string) (host.Backend, error) {
	at, err := s.locate(ctx, ref)
	if err != nil {
		return host.Backend{}, err
	}
	b, err := s.host.Backend(ctx, at.path)
	return b, s.nearName(err, ref)
}

// located is what a reference stands for.
type located struct{ path, digest string }

// locate turns a reference into what the host opens. A name that both a plugin
// and the folder have is refused: whichever won, the same command would mean
// another model elsewhere.
func (s *Session) locate(ctx context.Context, ref string) (located, error) {
	if rest, ok := strings.CutPrefix(ref, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return located{}, fault.New(fault.Usage, "model", fault.Quote(ref, 200), "there is no home folder (%v)", err).Fix("give the whole path")
		}
		return located{path: filepath.Join(home, rest)}, nil
	}
	if s.names == nil {
		return located{path: ref}, nil
	}
	path, digest, found, err := s.names.Path(ref)
	if err != nil {
		return located{}, err
	}
	if !found {
		return located{path: ref}, nil
	}
	if b, err := s.host.Backend(ctx, ref); err == nil && b.Name == ref {
		return located{}, fault.New(fault.Usage, "model", fault.Quote(ref, 80), "a model of the plugin %q and one of the model folder have this name", b.Plugin).
			Fix("write %s for the one, and the path %s for the other", b.Qualified(), fault.Quote(path, 200))
	} else if ctx.Err() != nil {
		return located{}, err
	}
	return located{path, digest}, nil
}

// nearName adds to the error for an unknown model the nearest of our names, when
// no backend's is near.
func (s *Session) nearName(err error, ref string) error {
	var unknown *fault.Error
	if s.names == nil || !errors.As(err, &unknown) || unknown.Kind != fault.Usage || !strings.HasPrefix(unknown.Problem, "unknown model ") ||
		strings.HasPrefix(unknown.Cure, "did you mean") {
		return err
	}
	names := s.names.Names()
	if near := fault.Suggest(ref, names); near != "" {
		return unknown.Fix("did you mean %q?", near)
	}
	if len(names) > 0 {
		unknown.Cure += "; in the model folder: " + strings.Join(names[:min(len(names), mostNamed)], ", ")
	}
	return unknown
}

// mostNamed is how many names of the folder an error lists.
const mostNamed = 12
