package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lab/core/plugin"
)

// tempPrefix begins the name of a file that is being written.
const tempPrefix = ".lab.lock-"

// document is the form of the file.
type document struct {
	Schema  string          `json:"schema"`
	Plugins json.RawMessage `json:"plugins"`
}

// decode reads the file strictly. A key that is not known, or a plugin listed
// twice as a merge may leave it, is an error: dropping either would change what
// is trusted.
func decode(text []byte) (map[string]Entry, error) {
	var doc document
	if err := strict(text, &doc); err != nil {
		return nil, err
	}
	if doc.Schema != Schema {
		return nil, fmt.Errorf("its schema is %.40q, this lab reads %q", doc.Schema, Schema)
	}
	entries := map[string]Entry{}
	d := json.NewDecoder(bytes.NewReader(doc.Plugins))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it lacks the object \"plugins\"")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		var e Entry
		if err := strict(raw, &e); err != nil {
			return nil, fmt.Errorf("plugin %.64q: %w", name, err)
		}
		if err := check(name, e); err != nil {
			return nil, err
		}
		if _, twice := entries[name]; twice {
			return nil, fmt.Errorf("plugin %q is listed twice", name)
		}
		entries[name] = e
	}
	return entries, nil
}

func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

func check(name string, e Entry) error {
	if !plugin.IsName(name) {
		return fmt.Errorf("%.64q is no name of a plugin", name)
	}
	if !isDigest(e.SHA256) {
		return fmt.Errorf("plugin %q: %.80q is no SHA-256 in lower-case hex", name, e.SHA256)
	}
	if _, err := time.Parse(time.DateOnly, e.Trusted); err != nil {
		return fmt.Errorf("plugin %q: %.40q is no day of the form YYYY-MM-DD", name, e.Trusted)
	}
	return nil
}

// encode writes entries in the order of their names, so that equal contents are
// equal files.
func encode(entries map[string]Entry) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(struct {
		Schema  string           `json:"schema"`
		Plugins map[string]Entry `json:"plugins"` // sorted by the encoder
	}{Schema, entries})
	return b.Bytes(), err
}

// replace puts text in the place of a file, in one step, with the mode the file
// had or 0644. The folder must be locked: temporary files found in it were left
// by writers that died.
func replace(path string, text []byte) (err error) {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), tempPrefix) {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(folder, tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
