package plugin

import (
	"fmt"
	"path"

	"lab/core/fault"
	"lab/core/plugin/internal/wire"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// Protocol is the version of the contract between host and plugins.
const Protocol = wire.Protocol

// Plugin is what one process offers.
type Plugin struct {
	Name     string // a-z, 0-9, '_' and '-', starting with a letter, at most 64 bytes
	Version  string // free text, not empty
	Samplers []sampler.Sampler
	Models   []model.Backend

	// Environment names the environment variables the plugin wants to see, such
	// as "MY_API_KEY". It is given those of them that are set, and otherwise only
	// what every program needs: PATH, HOME, USER, LOGNAME, SHELL, TMPDIR, LANG,
	// LC_…, TZ, TERM, SSL_CERT_FILE and SSL_CERT_DIR. They can be read once Serve
	// runs, in Apply or Open; on its first start a process may not have them yet.
	Environment []string
}

// offer is a Plugin that was found sound.
type offer struct {
	name, version string
	set           *sampler.Set
	backends      []backend
	environment   []string
}

type backend struct {
	decl model.Declaration
	open model.Backend
}

// check returns what a plugin offers, or a plugin error naming the declaration
// that is wrong. Declarations are asked for once, here.
func (p Plugin) check() (*offer, error) {
	if !IsName(p.Name) {
		return nil, fault.New(fault.Plugin, "declaration", "", "plugin name %s is not of the form a-z, 0-9, '_', '-' with a letter first",
			fault.Quote(p.Name, 64))
	}
	subject := fmt.Sprintf("plugin %q", p.Name)
	if p.Version == "" {
		return nil, fault.New(fault.Plugin, "declaration", subject, "it has no version")
	}
	if len(p.Samplers) == 0 && len(p.Models) == 0 {
		return nil, fault.New(fault.Plugin, "declaration", subject, "it offers neither samplers nor models")
	}
	set, err := sampler.NewSet(p.Samplers...)
	if err != nil {
		return nil, fault.Wrap(err, fault.Plugin, "", subject)
	}
	if err := wire.CheckEnvironment(p.Environment); err != nil {
		return nil, fault.Wrap(err, fault.Plugin, "declaration", subject)
	}
	o := &offer{name: p.Name, version: p.Version, set: set, environment: p.Environment}
	seen := map[string]bool{}
	for i, b := range p.Models {
		d, err := declared(b, i)
		if err != nil {
			return nil, fault.Wrap(err, fault.Plugin, "", subject)
		}
		if seen[d.Name] {
			return nil, fault.New(fault.Plugin, "declaration", subject, "backend %q is declared twice", d.Name)
		}
		seen[d.Name] = true
		o.backends = append(o.backends, backend{decl: d, open: b})
	}
	return o, nil
}

// declared asks a backend for its declaration and checks it.
func declared(b model.Backend, index int) (d model.Declaration, err error) {
	subject := fmt.Sprintf("backend %d", index+1)
	if b == nil {
		return d, fault.New(fault.Plugin, "declaration", subject, "it is nil")
	}
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Plugin, "declaration", subject, "Declare panicked: %v", r)
		}
	}()
	d = b.Declare()
	if err := d.Validate(); err != nil {
		return d, err
	}
	for _, pattern := range d.Patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			return d, fault.New(fault.Plugin, "declaration", fmt.Sprintf("backend %q", d.Name), "pattern %q is malformed", pattern)
		}
	}
	return d, nil
}

// IsName reports whether s may name a plugin: a name as of settings and
// samplers, in which '-' is allowed too.
func IsName(s string) bool {
	b := []byte(s)
	for i := 1; i < len(b); i++ {
		if b[i] == '-' {
			b[i] = '_'
		}
	}
	return param.IsName(string(b))
}
