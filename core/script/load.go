package script

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/d5/tengo/v2/parser"

	"lab/core/fault"
)

// Bounds on a script and all it imports.
const (
	maxFiles     = 256
	maxAllSource = 8 << 20
)

// Source is one file that a session read, for the record of a run.
type Source struct {
	Path   string // relative to the script's folder, with slashes
	SHA256 string // lower-case hexadecimal, of the bytes that were compiled
	Bytes  int
}

// loader reads the files of one run. What it hashes is what is compiled: each
// file is read once.
type loader struct {
	s      *Session
	folder *os.Root // nil: there are no files to import
	dir    string   // of folder, symbolic links resolved
	stack  []string // paths being compiled, for cycles
	seen   map[string]bool
	files  int
	bytes  int
}

func (s *Session) newLoader(folder string) (*loader, error) {
	ld := &loader{s: s, seen: map[string]bool{}}
	if folder == "" {
		return ld, nil
	}
	dir, err := filepath.Abs(folder)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		ld.folder, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "script", "", "folder %q cannot be opened: %v", folder, reason(err))
	}
	ld.dir = dir
	return ld, nil
}

func (ld *loader) close() {
	if ld.folder != nil {
		_ = ld.folder.Close() // was only read from
	}
}

// reason is the part of a file error that does not repeat the path.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// admit counts a file against the bounds and records it.
func (ld *loader) admit(name string, src []byte) error {
	ld.files++
	ld.bytes += len(src)
	switch {
	case len(src) > MaxSource:
		return fault.New(fault.Limit, "script", name, "%d bytes long, more than %d", len(src), MaxSource)
	case ld.files > maxFiles:
		return fault.New(fault.Limit, "script", name, "imports more than %d files", maxFiles)
	case ld.bytes > maxAllSource:
		return fault.New(fault.Limit, "script", name, "imports more than %d bytes", maxAllSource)
	}
	sum := sha256.Sum256(src)
	entry := Source{Path: name, SHA256: hex.EncodeToString(sum[:]), Bytes: len(src)}
	ld.s.recordMu.Lock()
	defer ld.s.recordMu.Unlock()
	if !contains(ld.s.sources, func(o Source) bool { return o == entry }) {
		ld.s.sources = append(ld.s.sources, entry)
	}
	return nil
}

// imported returns what takes the place of an import expression in the file at
// importer.
func (ld *loader) imported(importer string, e *parser.ImportExpr) (parser.Expr, error) {
	name := e.ModuleName
	if hidden := modulePrefix + name; ld.s.host[hidden] {
		return &parser.Ident{Name: hidden, NamePos: e.Pos()}, nil
	}
	if why := refusal(name); why != "" {
		return nil, fault.New(fault.Script, "", "", "module %q is not offered to scripts", name).Fix("%s", why)
	}
	if src := stockSource(name); src != "" {
		if !ld.seen[name] {
			if err := ld.compileModule(name, []byte(src)); err != nil {
				return nil, err
			}
		}
		return call(filePrefix+name, e.Pos()), nil
	}
	file, err := ld.find(importer, name)
	if err != nil {
		return nil, err
	}
	for i, p := range ld.stack {
		if p == file {
			return nil, fault.New(fault.Script, "", "", "import cycle: %s", strings.Join(append(ld.stack[i:], file), " → "))
		}
	}
	if !ld.seen[file] {
		src, err := ld.read(file)
		if err != nil {
			return nil, err
		}
		if err := ld.admit(file, src); err != nil {
			return nil, err
		}
		if err := ld.compileModule(file, src); err != nil {
			return nil, err
		}
	}
	return call(filePrefix+file, e.Pos()), nil
}

// find returns the path, relative to the folder and without symbolic links, of
// the file that importer means by name.
func (ld *loader) find(importer, name string) (string, error) {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Script, "", "", format, args...)
	}
	switch {
	case name == "":
		return "", wrong("import of nothing")
	case strings.ContainsAny(name, "\\\x00") || filepath.IsAbs(name) || path.IsAbs(name) || filepath.VolumeName(name) != "":
		return "", wrong("import %q: not a path relative to this file, with slashes", name)
	case ld.folder == nil:
		return "", ld.unknown(name, "this script has no folder to import files from")
	}
	file := name
	if !strings.HasSuffix(file, ".tengo") {
		file += ".tengo"
	}
	rel := path.Join(path.Dir(importer), file)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", wrong("import %q leaves the script's folder", name)
	}
	actual, err := filepath.EvalSymlinks(filepath.Join(ld.dir, filepath.FromSlash(rel)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ld.unknown(name, "there is no file "+rel)
	}
	if err != nil {
		return "", wrong("import %q: %v", name, reason(err))
	}
	inside, err := filepath.Rel(ld.dir, actual)
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return "", wrong("import %q leads out of the script's folder through a symbolic link", name)
	}
	return filepath.ToSlash(inside), nil
}

// unknown is the error of an import that is neither a module nor a file.
func (ld *loader) unknown(name, why string) error {
	if strings.ContainsAny(name, "./") {
		return fault.New(fault.Script, "", "", "import %q: %s", name, why)
	}
	e := fault.Unknown("", "module", name, ld.s.ModuleNames())
	e.Kind = fault.Script
	e.Problem += ", and " + why
	return e
}

// read reads a file through the opened folder, so that a link swapped in
// between cannot lead out of it.
func (ld *loader) read(file string) ([]byte, error) {
	wrong := func(err error) error {
		return fault.New(fault.Script, "", "", "import of %s: %v", file, reason(err))
	}
	info, err := ld.folder.Stat(filepath.FromSlash(file))
	if err != nil {
		return nil, wrong(err)
	}
	if err := checkFile(info); err != nil {
		return nil, wrong(err)
	}
	src, err := ld.folder.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return nil, wrong(err)
	}
	return src, nil
}

// checkFile refuses what must not be opened: reading a pipe would hang.
func checkFile(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Size() > MaxSource:
		return fault.New(fault.Limit, "", "", "it is %d bytes long, more than %d", info.Size(), MaxSource)
	}
	return nil
}

// compileModule compiles a file that is imported into the global of its path,
// unless the session has compiled the same content before. Its own imports are
// looked at in any case: they may have changed.
func (ld *loader) compileModule(name string, src []byte) error {
	ld.seen[name] = true
	ld.stack = append(ld.stack, name)
	defer func() { ld.stack = ld.stack[:len(ld.stack)-1] }()
	tree, r, err := ld.parse(name, name, src, true)
	sum := sha256.Sum256(src)
	if err != nil || ld.s.compiled[name] == sum {
		return err
	}
	if !r.exports {
		ld.s.warn(Position{File: name, Line: 1, Column: 1}, "this file is imported but exports nothing")
	}
	at := parser.Pos(tree.InputFile.Base)
	fn := &parser.FuncLit{
		Type: &parser.FuncType{FuncPos: at, Params: &parser.IdentList{LParen: at, RParen: at}},
		Body: &parser.BlockStmt{Stmts: tree.Stmts, LBrace: at, RBrace: at},
	}
	return ld.s.compileFile(name, fn, r, sum)
}

// parse checks, parses and rewrites one file, and compiles what it imports.
// Imports are relative to the folder of importer, a path within ld's folder.
func (ld *loader) parse(name, importer string, src []byte, module bool) (*parser.File, *rewriter, error) {
	s := ld.s
	src = plain(src)
	s.keepText(name, string(src))
	tree, err := s.parse(s.files, name, src)
	if err != nil {
		return nil, nil, err
	}
	r := &rewriter{
		module:   module,
		names:    map[string]bool{},
		reserved: s.reserved,
		imported: func(e *parser.ImportExpr) (parser.Expr, error) { return ld.imported(importer, e) },
		warn:     func(p parser.Pos, text string) { s.warn(s.position(p), text) },
	}
	r.stmts(tree.Stmts)
	if r.err != nil {
		return nil, nil, s.locate(r.err, r.at)
	}
	return tree, r, nil
}

// plain returns a copy of src with a "#!" at its start made a comment, which is
// as long, so that positions stay.
func plain(src []byte) []byte {
	src = append([]byte(nil), src...)
	if strings.HasPrefix(string(src), "#!") {
		copy(src, "//")
	}
	return src
}

// locate gives an error of the front end its place in the script; one that has
// a place already, inside an imported file, gets this one as the caller.
func (s *Session) locate(err error, at parser.Pos) error {
	kind := fault.Script
	var f *fault.Error
	if errors.As(err, &f) {
		kind = f.Kind
	}
	frames := []Position{s.position(at)}
	var inner *trace
	if errors.As(err, &inner) {
		inner.frames = append(inner.frames, frames...)
		return err
	}
	return s.failure(kind, err.Error(), frames, err)
}

// parseFile parses without letting a panic of the parser through.
func parseFile(file *parser.SourceFile, src []byte) (tree *parser.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &machinePanic{p}
		}
	}()
	return parser.NewParser(file, src, nil).ParseFile()
}
