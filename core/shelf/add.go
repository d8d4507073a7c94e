package shelf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lab/core/fault"
	"lab/core/fetch"
)

// stagePrefix begins the name of the folder in which the files of a model are
// collected before they are put into their places beside it.
const stagePrefix = ".part-"

func (s *Shelf) stage(name string) string { return filepath.Join(s.Dir, stagePrefix+name) }

// AddOptions say how a model is added. The zero value copies or fetches it under
// the name of its file.
type AddOptions struct {
	Name   string
	SHA256 []string // expected, one of each part; nil: none is
	Link   bool     // keep the path of a file instead of a copy
	Plain  bool     // fetch by http from other machines
	Token  string   // shown to the server of an address; see fetch.Options
	// Progress is told the bytes of part i of n that are there; total is -1 when it
	// is not known.
	Progress  func(i, n int, done, total int64)
	Note      func(text string)
	Transport http.RoundTripper // for fetch; nil: the standard one
}

// Add puts a model into the folder: the file at a path, or what an address
// leads to; of a split model all parts, whichever is named. An interrupted
// transfer stays, and the same call goes on with it.
//
// Errors: usage for a name that is taken or cannot be, a path that leads nowhere
// and a wrong option; data for a file that is no model or not that of the
// digest; limit when the disk has no room; those of package fetch.
func (s *Shelf) Add(ctx context.Context, source string, opt AddOptions) (Entry, error) {
	if opt.Progress == nil {
		opt.Progress = func(int, int, int64, int64) {}
	}
	e := Entry{Schema: recordSchema, Name: opt.Name, Source: source, Linked: opt.Link, Added: time.Now().UTC().Format(time.DateOnly)}
	if IsAddress(source) {
		e.Source = fetch.Redact(source)
	}
	if e.Name == "" {
		e.Name = NameOf(e.Source)
	}
	if err := CheckName(e.Name); err != nil {
		return Entry{}, err
	}
	parts, err := partsOf(source)
	if err != nil {
		return Entry{}, err
	}
	sums, err := digests(opt.SHA256, len(parts))
	if err != nil {
		return Entry{}, err
	}
	if opt.Link && IsAddress(source) {
		return Entry{}, fault.New(fault.Usage, "lab model add", "", "--link is for files on this machine")
	}
	if opt.Token != "" && !IsAddress(source) {
		return Entry{}, fault.New(fault.Usage, "lab model add", "", "an access token is for addresses, not for files on this machine")
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Entry{}, fault.Wrap(err, fault.Usage, "model folder", fault.Quote(s.Dir, 200)).Fix("choose another with LAB_MODELS")
	}
	unlock, err := s.lock(e.Name)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	if err := s.free(e.Name); err != nil {
		return Entry{}, err
	}
	if opt.Link {
		return s.link(ctx, e, parts, sums, opt)
	}
	return s.bring(ctx, e, parts, sums, opt)
}

// digests returns the expected digests, "" for a part without one.
func digests(given []string, parts int) ([]string, error) {
	out := make([]string, parts)
	if len(given) == 0 {
		return out, nil
	}
	if len(given) != parts {
		return nil, fault.New(fault.Usage, "lab model add", "", "--sha256 is given %d times, and the model has %d files", len(given), parts).
			Fix("give one of each part, in order")
	}
	for i, sum := range given {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
			return nil, fault.New(fault.Usage, "lab model add", "", "--sha256 %s is not 64 hexadecimal digits", fault.Quote(sum, 80))
		}
		out[i] = strings.ToLower(sum)
	}
	return out, nil
}

// free refuses a name that is in use, also in other letters: some file systems
// make no difference.
func (s *Shelf) free(name string) error {
	for _, other := range s.Names() {
		if strings.EqualFold(other, name) {
			return fault.New(fault.Usage, "lab model add", fault.Quote(name, 80), "there is a model called %q in %s", other, fault.Quote(s.Dir, 200)).
				Fix("choose another with --name, or remove that one: lab model rm %s", other)
		}
	}
	return nil
}

// link records files where they are.
func (s *Shelf) link(ctx context.Context, e Entry, parts, sums []string, opt AddOptions) (_ Entry, err error) {
	for i, part := range parts {
		path, err := filepath.Abs(part)
		if err != nil {
			return Entry{}, fault.Wrap(err, fault.Usage, "lab model add", fault.Quote(part, 200))
		}
		f, info, err := openWeights(path)
		if err != nil {
			return Entry{}, err
		}
		sum, err := digest(ctx, f, nil, info.Size(), func(done int64) { opt.Progress(i, len(parts), done, info.Size()) })
		_ = f.Close()
		if err != nil {
			return Entry{}, reading(ctx, err, path)
		}
		if err := compare(sum, sums[i], part); err != nil {
			return Entry{}, err
		}
		e.Files = append(e.Files, File{Path: path, Bytes: info.Size(), SHA256: sum})
	}
	e.Source = e.Files[0].Path
	if e.Header, err = s.Inspect(ctx, s.Paths(e)); err != nil {
		return Entry{}, err
	}
	return e, s.write(e)
}

// bring copies or fetches files into the stage and from there into their places.
func (s *Shelf) bring(ctx context.Context, e Entry, parts, sums []string, opt AddOptions) (_ Entry, err error) {
	stage := s.stage(e.Name)
	if err := os.Mkdir(stage, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Entry{}, fault.Wrap(err, fault.Data, "model folder", fault.Quote(stage, 200))
	}
	remote := IsAddress(parts[0])
	defer func() {
		if err != nil && remote {
			_ = os.Remove(stage) // when nothing is in it to go on with
			return
		}
		_ = os.RemoveAll(stage)
	}()
	for i, part := range parts {
		f := File{Path: fileName(e.Name, i, len(parts))}
		to := filepath.Join(stage, f.Path)
		if remote {
			f, err = s.fetched(ctx, part, to, f, i, len(parts), opt)
		} else {
			f, err = s.copied(ctx, part, to, f, func(done, total int64) { opt.Progress(i, len(parts), done, total) })
		}
		if err != nil {
			return Entry{}, err
		}
		if err := compare(f.SHA256, sums[i], part); err != nil {
			_ = os.RemoveAll(stage) // going on with other bytes would not help
			return Entry{}, err
		}
		e.Files = append(e.Files, f)
	}
	if !remote {
		if e.Source, err = filepath.Abs(parts[0]); err != nil {
			return Entry{}, fault.Wrap(err, fault.Usage, "lab model add", fault.Quote(parts[0], 200))
		}
	}
	staged := make([]string, len(e.Files))
	for i, f := range e.Files {
		staged[i] = filepath.Join(stage, f.Path)
	}
	if e.Header, err = s.Inspect(ctx, staged); err != nil {
		if ctx.Err() == nil {
			_ = os.RemoveAll(stage)
		}
		return Entry{}, err
	}
	for i, f := range e.Files {
		if err := os.Rename(staged[i], filepath.Join(s.Dir, f.Path)); err != nil {
			return Entry{}, fault.Wrap(err, fault.Data, "model folder", fault.Quote(s.Dir, 200))
		}
	}
	if err := s.write(e); err != nil {
		return Entry{}, err
	}
	_ = os.RemoveAll(stage)
	return e, nil
}

// fetched brings one part over the network to the path to.
func (s *Shelf) fetched(ctx context.Context, address, to string, f File, i, n int, opt AddOptions) (File, error) {
	done, err := fetch.File(ctx, address, to, fetch.Options{Plain: opt.Plain, Token: opt.Token, Begins: "GGUF", Note: opt.Note, Transport: opt.Transport,
		Room:     func() (int64, error) { return room(s.Dir) },
		Progress: func(done, total int64) { opt.Progress(i, n, done, total) }})
	if err != nil {
		if fetch.Left(to) == 0 { // nothing to go on with
			_ = os.Remove(to)
			_ = os.Remove(to + recordSuffix)
		}
		return f, err
	}
	f.Bytes, f.SHA256 = done.Bytes, done.SHA256
	return f, nil
}

// copied copies one part to the path to, and its digest is that of what was
// written.
func (s *Shelf) copied(ctx context.Context, from, to string, f File, progress func(done, total int64)) (File, error) {
	in, info, err := openWeights(from)
	if err != nil {
		return f, err
	}
	defer in.Close()
	if left, err := room(s.Dir); err == nil && info.Size() > left {
		return f, fault.New(fault.Limit, "lab model add", fault.Quote(from, 200), "a copy needs %s, and the disk has %s left", fetch.Size(info.Size()), fetch.Size(left)).
			Fix("make room, or use the file where it is with --link")
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f, fault.Wrap(err, fault.Data, "model folder", fault.Quote(to, 200))
	}
	f.Bytes = info.Size()
	f.SHA256, err = digest(ctx, in, out, info.Size(), func(done int64) { progress(done, info.Size()) })
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return f, reading(ctx, err, from)
	}
	return f, nil
}

// openWeights opens a regular file that begins like a model. It looks before it
// opens: opening a named pipe would wait for a writer.
func openWeights(path string) (*os.File, fs.FileInfo, error) {
	subject := fault.Quote(path, 200)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil, fault.New(fault.Usage, "lab model add", subject, "it is not a regular file").Fix("give the path of a .gguf file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, nil, fault.New(fault.Usage, "lab model add", subject, "%v", err).Fix("check the path and its permissions")
	}
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	if string(head[:n]) != "GGUF" {
		_ = f.Close()
		return nil, nil, fault.New(fault.Data, "lab model add", subject, "it begins with %s, a model with \"GGUF\"", fault.Quote(string(head[:n]), 16)).
			Fix("give the path of a .gguf file")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, nil, fault.Wrap(err, fault.Data, "lab model add", subject)
	}
	return f, info, nil
}

// digest reads a file of size bytes, writes it to out when there is one, and
// returns its digest.
func digest(ctx context.Context, in io.Reader, out io.Writer, size int64, progress func(done int64)) (string, error) {
	sum := sha256.New()
	to := io.Writer(sum)
	if out != nil {
		to = io.MultiWriter(sum, out)
	}
	const piece = 4 << 20
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := io.CopyN(to, in, piece)
		done += n
		progress(done)
		switch {
		case err == io.EOF && done != size:
			return "", errors.New("its length changed while it was read")
		case err == io.EOF:
			return hex.EncodeToString(sum.Sum(nil)), nil
		case err != nil:
			return "", err
		}
	}
}

// reading is the error of a file that could not be read or copied.
func reading(ctx context.Context, err error, path string) error {
	subject := fault.Quote(path, 200)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Limit, "lab model", subject, "the time is up; nothing was changed")
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "lab model", subject, "interrupted; nothing was changed")
	case errors.Is(err, syscall.ENOSPC):
		return fault.New(fault.Limit, "lab model", subject, "the disk is full").Fix("make room, or use the file where it is with --link")
	}
	return fault.Wrap(err, fault.Data, "lab model", subject)
}

func compare(got, want, source string) error {
	if want == "" || got == want {
		return nil
	}
	if IsAddress(source) {
		source = fetch.Redact(source)
	}
	return fault.New(fault.Data, "lab model add", fault.Quote(source, 200), "its sha256 is %s, not %s; it was not added", got, want).
		Fix("the file is another one, or was changed on its way")
}

// write puts a record into its place at once.
func (s *Shelf) write(e Entry) error {
	files := e.Files
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil || len(files) == 0 {
		return fault.New(fault.Internal, "model folder", e.Name, "no record can be made of %d files (%v)", len(files), err)
	}
	temporary, err := os.CreateTemp(s.Dir, ".record-")
	if err != nil {
		return fault.Wrap(err, fault.Data, "model folder", fault.Quote(s.Dir, 200))
	}
	_, err = temporary.Write(append(text, '\n'))
	if err == nil {
		err = temporary.Sync()
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), s.record(e.Name))
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fault.Wrap(err, fault.Data, "model folder", fault.Quote(s.Dir, 200))
	}
	return nil
}
