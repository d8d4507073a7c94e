package script

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/d5/tengo/v2"
	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

// Config is what a session offers to its scripts. The zero value offers the
// language and the safe standard modules, and throws the output away.
type Config struct {
	Modules []Module          // what import can name, besides the standard modules
	Out     io.Writer         // what print and say write to
	Warn    func(Warning)     // is called for each warning, one at a time
	Show    func(Shown) error // what show(…) hands values to, without the interpreter lock; nil: it prints them
	Folder  string            // what file imports of Run are confined to; RunFile uses the script's own folder
	Limits  Limits
}

// Warning is something the user should know that is no error.
type Warning struct {
	At   Position
	Text string
}

// Limits bound what a script may use. They are guard rails against mistakes,
// not a border against attackers: one call of a built-in function can allocate
// much before the next check.
type Limits struct {
	// HeapBytes is how much the heap of the process may grow during a run; 0
	// is 2 GiB, less than 0 is no limit. Work of host functions counts too.
	HeapBytes int64
	// Allocs is how many objects the script itself may make, alive or not, in
	// each run and in each call from Go; 0 is no limit. Every arithmetic
	// operation makes one, so it also bounds work, the same on every machine.
	Allocs int64
}

const (
	defaultHeap = 2 << 30
	maxText     = 64 << 20 // bytes of one string or bytes value
)

// lowerTextLimits bounds strings and bytes. Tengo holds the bounds in variables
// of the process and reads them without a lock, so they are set once, before
// the first script runs, and are never raised.
var lowerTextLimits = sync.OnceFunc(func() {
	tengo.MaxStringLen = min(tengo.MaxStringLen, maxText)
	tengo.MaxBytesLen = min(tengo.MaxBytesLen, maxText)
})

// Session runs scripts one after the other. The variables of one run are there
// for the next, as cells of a notebook need it. All methods are safe for
// concurrent use; runs wait for each other.
type Session struct {
	config  Config
	runs    chan struct{} // held by the run at work
	sem     chan struct{} // the interpreter lock
	running atomic.Pointer[thread]

	// Under the interpreter lock.
	globals     []tengo.Object
	slots       []slot
	constants   []tengo.Object
	epoch       int // of constants
	files       *parser.SourceFileSet
	compiled    map[string][sha256.Size]byte
	trampolines []*trampoline
	finish      tengo.Object
	host        map[string]bool // names of slots that New made
	hostSlots   []tengo.Object

	classMu  sync.Mutex
	classes  map[reflect.Type]*classOf
	recordMu sync.Mutex // of sources and texts
	sources  []Source
	texts    map[string]string // of files by name, replaced on change
	warnMu   sync.Mutex
}

// New returns a session, or an error of kind internal when the declaration of a
// module is wrong.
func New(config Config) (*Session, error) {
	lowerTextLimits()
	if config.Out == nil {
		config.Out = io.Discard
	}
	if config.Limits.HeapBytes == 0 {
		config.Limits.HeapBytes = defaultHeap
	}
	s := &Session{
		config:   config,
		runs:     make(chan struct{}, 1),
		sem:      make(chan struct{}, 1),
		globals:  make([]tengo.Object, maxSymbols),
		files:    parser.NewFileSet(),
		texts:    map[string]string{},
		compiled: map[string][sha256.Size]byte{},
		host:     map[string]bool{},
		classes:  map[reflect.Type]*classOf{},
	}
	for i := range s.globals {
		s.globals[i] = tengo.UndefinedValue
	}
	if err := s.install(); err != nil {
		return nil, err
	}
	s.hostSlots = slices.Clone(s.globals[:len(s.slots)])
	return s, nil
}

// install defines everything a script finds ready.
func (s *Session) install() error {
	put := func(name string, o tengo.Object) error {
		if s.host[name] {
			return declared("%q is declared twice", name)
		}
		s.host[name] = true
		return s.addSlot(name, o)
	}
	for _, h := range s.helpers() {
		if h.Name == helperFinish {
			s.finish = h
		}
		if err := put(h.Name, h); err != nil {
			return err
		}
	}
	globals := Globals()
	if err := validateMembers("global", globals); err != nil {
		return err
	}
	for i := range globals {
		if err := put(globals[i].Name, &bound{s: s, member: &globals[i]}); err != nil {
			return err
		}
	}
	for _, m := range s.stock() {
		if err := put(modulePrefix+m.name[len("module "):], m); err != nil {
			return err
		}
	}
	for _, m := range slices.Concat(StandardModules(), s.config.Modules) {
		if err := m.Validate(); err != nil {
			return err
		}
		if err := put(modulePrefix+m.Name, s.namespace(m)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) namespace(m Module) *namespace {
	n := &namespace{s: s, name: "module " + m.Name, members: map[string]tengo.Object{}}
	for i := range m.Members {
		n.members[m.Members[i].Name] = &bound{s: s, owner: m.Name, member: &m.Members[i]}
	}
	return n
}

// ModuleNames returns what import can name besides files, sorted.
func (s *Session) ModuleNames() []string {
	out := []string{}
	for name := range s.host {
		if len(name) > len(modulePrefix) && name[:len(modulePrefix)] == modulePrefix {
			out = append(out, name[len(modulePrefix):])
		}
	}
	out = append(out, "enum")
	sort.Strings(out)
	return out
}

func (s *Session) maxAllocs() int64 {
	if s.config.Limits.Allocs <= 0 {
		return -1
	}
	return s.config.Limits.Allocs
}

func (s *Session) warn(at Position, text string) {
	if s.config.Warn == nil {
		return
	}
	s.warnMu.Lock()
	defer s.warnMu.Unlock()
	s.config.Warn(Warning{At: at, Text: text})
}

// RunFile runs the script at path until it ends, fails or ctx ends. Its
// imports are confined to its folder, symbolic links resolved. The result and
// the error are those of [Session.Run].
func (s *Session) RunFile(ctx context.Context, path string) (any, error) {
	unusable := func(err error) error {
		return fault.New(fault.Usage, "script", "", "%q cannot be read: %v", path, reason(err))
	}
	actual, err := filepath.Abs(path)
	if err == nil {
		actual, err = filepath.EvalSymlinks(actual)
	}
	if err != nil {
		return nil, unusable(err)
	}
	info, err := os.Stat(actual)
	if err == nil {
		err = checkFile(info)
	}
	if err != nil {
		return nil, unusable(err)
	}
	src, err := os.ReadFile(actual)
	if err != nil {
		return nil, unusable(err)
	}
	return s.run(ctx, filepath.Dir(actual), filepath.Base(actual), src)
}

// Run runs the source of a script under a name, which messages use, until it
// ends, fails or ctx ends. It returns the value of the last statement when
// that is an expression, as [Call.Any] describes, and else nil.
//
// An error is a *fault.Error with the position in the script; [Detail] shows
// the line. Its kind is script; that of the host function's error, when one
// failed; interrupted when ctx was cancelled; limit when its deadline passed
// or memory ran out. The session stays usable after any error.
func (s *Session) Run(ctx context.Context, name, src string) (any, error) {
	return s.run(ctx, s.config.Folder, name, []byte(src))
}

func (s *Session) run(ctx context.Context, folder, name string, src []byte) (any, error) {
	return s.runThen(ctx, folder, name, src, func(tengo.Object) {})
}

// runThen runs a script and hands its last value to look, under the interpreter
// lock, when the script succeeded.
func (s *Session) runThen(ctx context.Context, folder, name string, src []byte, look func(tengo.Object)) (any, error) {
	if s.liveCall(ctx) != nil {
		return nil, fault.New(fault.Internal, "script", name, "a host function of a session cannot run a script in it")
	}
	select {
	case s.runs <- struct{}{}:
	case <-ctx.Done():
		return nil, s.raise(&thread{scope: &scope{ctx: ctx}}, nil, ctx.Err())
	}
	defer func() { <-s.runs }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit := s.config.Limits.HeapBytes; limit > 0 {
		defer watchHeap(limit, cancel)()
	}
	th := &thread{scope: newScope(ctx), ctx: ctx}
	defer th.scope.unhook()
	select {
	case s.sem <- struct{}{}:
	case <-ctx.Done():
		return nil, s.raise(th, nil, ctx.Err())
	}
	defer s.unlock()
	s.running.Store(th)
	defer s.running.Store(nil)

	bc, err := s.build(folder, name, src)
	if err != nil {
		return nil, err
	}
	copy(s.globals, s.hostSlots) // undo assignments to our functions
	if err := s.execute(th, tengo.NewVM(bc, s.globals, s.maxAllocs())); err != nil {
		return nil, err
	}
	look(th.result)
	v, err := s.toGo(th.result)
	if err != nil { // a module, or a list that contains itself
		return brief(th.result), nil
	}
	return v, nil
}

// build reads, checks and compiles a script and everything it imports.
func (s *Session) build(folder, name string, src []byte) (*tengo.Bytecode, error) {
	ld, err := s.newLoader(folder)
	if err != nil {
		return nil, err
	}
	defer ld.close()
	name = s.freshName(name, string(plain(src)))
	if err := ld.admit(name, src); err != nil {
		return nil, err
	}
	ld.stack = []string{name}
	tree, r, err := ld.parse(name, "main", src, false)
	if err != nil {
		return nil, err
	}
	return s.compileMain(tree.Stmts, r)
}

// keepText keeps the text of a file for messages.
func (s *Session) keepText(name, text string) {
	s.recordMu.Lock()
	defer s.recordMu.Unlock()
	s.texts = maps.Clone(s.texts) // errors hold the earlier one
	s.texts[name] = text
}

// freshName tells two scripts of one name apart, so that an error in a function
// of the first shows the first's lines.
func (s *Session) freshName(name, src string) string {
	fresh := name
	for n := 2; ; n++ {
		if text, taken := s.texts[fresh]; !taken || text == src {
			return fresh
		}
		fresh = fmt.Sprintf("%s (%d)", name, n)
	}
}

// Sources returns the files that the session compiled, the script first, then
// its imports in the order in which they were met.
func (s *Session) Sources() []Source {
	s.recordMu.Lock()
	defer s.recordMu.Unlock()
	return slices.Clone(s.sources)
}

// Modules returns the declarations of all modules that scripts can import,
// except those of the Tengo standard library.
func (s *Session) Modules() []Module {
	return slices.Concat(StandardModules(), s.config.Modules)
}
