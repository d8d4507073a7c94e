package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"lab/core/fault"
)

// mostFile bounds a record when it is read, in bytes.
const mostFile = 1 << 20

// Folder returns where records are kept: machines in the user's data folder,
// $XDG_DATA_HOME/lab or ~/.local/share/lab.
func Folder() (string, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.Usage, op, "", "there is no home folder (%v)", err).Fix("set HOME or XDG_DATA_HOME")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "lab", "machines"), nil
}

// Name returns the name of this machine's record: processor, architecture and
// cores, so that machines which share a home folder each have their own.
func Name() string {
	var b strings.Builder
	dash := false
	for _, c := range strings.ToLower(CPU()) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(c)
		} else {
			dash = true
		}
		if b.Len() > 80 {
			break
		}
	}
	return fmt.Sprintf("%s-%s-%d.json", b.String(), runtime.GOARCH, runtime.NumCPU())
}

// Find returns this machine's rates and the file that they are in; nil when they
// were not measured yet.
func Find() (*Rates, string, error) {
	dir, err := Folder()
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, Name())
	r, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	return r, path, err
}

// Read returns the rates of a file. One that is not there is fs.ErrNotExist; one
// that is damaged is a data error.
func Read(path string) (*Rates, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err != nil {
		return nil, fault.Wrap(err, fault.Data, op, path)
	}
	r := &Rates{}
	damaged := func(format string, args ...any) (*Rates, error) {
		return nil, fault.New(fault.Data, op, path, format, args...).Fix("measure again: lab cost calibrate --again")
	}
	if err := json.Unmarshal(data, r); err != nil {
		return damaged("it is damaged: %v", err)
	}
	if r.Schema != Schema {
		return damaged("its schema is %s, not %s", fault.Quote(r.Schema, 40), Schema)
	}
	if len(r.Memory) == 0 || len(r.Memory) > 100 || r.Measured.IsZero() || r.Threads < 1 {
		return damaged("it lacks a rate, the day or the threads")
	}
	for i, m := range r.Memory {
		if m.Buffer < 1 || i > 0 && m.Buffer <= r.Memory[i-1].Buffer || !m.PerSecond.sound() {
			return damaged("rate %d of memory is damaged", i+1)
		}
	}
	if !r.Float32.PerSecond.sound() || r.Int8 != nil && !r.Int8.PerSecond.sound() {
		return damaged("a rate of arithmetic is damaged")
	}
	return r, nil
}

// sound reports whether a spread is of positive numbers in order.
func (s Spread) sound() bool {
	return s.Least > 0 && s.Least <= s.Median && s.Median <= s.Most && !math.IsInf(s.Most, 0)
}

// Save writes the rates to a file, folders included; it is there whole or not.
func (r *Rates) Save(path string) (err error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fault.Wrap(err, fault.Internal, op, path)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Data, op, path)
	}
	f, err := os.CreateTemp(dir, ".machine-*")
	if err != nil {
		return fault.Wrap(err, fault.Data, op, path)
	}
	_, err = f.Write(append(data, '\n'))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fault.Wrap(err, fault.Data, op, path)
	}
	return nil
}
