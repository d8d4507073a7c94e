package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lab/core/plugin"
)

// tempPrefix begins the name of a file that is being written.
const tempPrefix = ".lab.lock-"

// document is the form of the file.
type document struct {
	Schema  string                     `json:"schema"`
	Plugins map[string]json.RawMessage `json:"plugins"`
}

// decode reads the file strictly. A key that is not known, or one that is there
// twice as a merge may leave it, is an error: dropping either would change what
// is trusted.
func decode(text []byte) (map[string]Entry, error) {
	var form struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, err
	}
	if form.Schema != Schema { // before a key that this form lacks
		return nil, fmt.Errorf("its schema is %.40q, this lab reads %q", form.Schema, Schema)
	}
	if err := uniqueKeys(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return nil, err
	}
	var doc document
	if err := strict(text, &doc); err != nil {
		return nil, err
	}
	if doc.Plugins == nil {
		return nil, errors.New("it lacks the object \"plugins\"")
	}
	entries := map[string]Entry{}
	for _, name := range slices.Sorted(maps.Keys(doc.Plugins)) {
		var e Entry
		if err := strict(doc.Plugins[name], &e); err != nil {
			return nil, fmt.Errorf("plugin %q: %w", name, err)
		}
		if err := check(name, e); err != nil {
			return nil, err
		}
		entries[name] = e
	}
	return entries, nil
}

// uniqueKeys reads one value and returns an error when one of its objects has a
// key twice, or one that this file cannot have: capitals, which would be taken
// for the key in lower case.
func uniqueKeys(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := t.(string)
			switch {
			case seen[key]:
				return fmt.Errorf("%.64q is listed twice", key)
			case !plugin.IsName(key):
				return fmt.Errorf("%.64q is no name of a plugin", key)
			}
			seen[key] = true
		}
		if err := uniqueKeys(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
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
