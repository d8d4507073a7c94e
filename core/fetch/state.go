package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"lab/core/fault"
)

// state is what is known of a file that is partly there, beside it on disk. The
// address is kept as a digest: it may hold a secret.
type state struct {
	Schema       string `json:"schema"`
	Address      string `json:"address_sha256"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	Bytes        int64  `json:"bytes"` // of the whole file; -1: the server does not say
}

const (
	stateSchema = "lab/fetch/1"
	stateSuffix = ".json"
	mostState   = 64 << 10 // bytes
)

func (t *transfer) address() string {
	sum := sha256.Sum256([]byte(t.from.String()))
	return hex.EncodeToString(sum[:])
}

// validator returns what proves to a server that a piece belongs to the same
// file, for If-Range: a strong entity tag, or else a date.
func (s state) validator() string {
	if s.ETag != "" && !strings.HasPrefix(s.ETag, "W/") {
		return s.ETag
	}
	return s.LastModified
}

// of returns the state that an answer with the whole file begins.
func (t *transfer) of(resp *http.Response) state {
	return state{Schema: stateSchema, Address: t.address(), ETag: short(resp.Header.Get("ETag")),
		LastModified: short(resp.Header.Get("Last-Modified")), Bytes: resp.ContentLength}
}

// short drops a validator that is too long to be kept.
func short(s string) string {
	if len(s) > 1024 {
		return ""
	}
	return s
}

// open opens the part for reading and writing, by this user alone.
func (t *transfer) open(part string) error {
	if info, err := os.Lstat(part); err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Data, "fetch", fault.Quote(part, 200), "there is something that is no file")
	}
	file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return t.written(err)
	}
	t.part, t.file = part, file
	return nil
}

// takeUp reads the state, and the bytes that are there into the digest. A part
// that cannot be gone on with is emptied.
func (t *transfer) takeUp(ctx context.Context) error {
	size, err := t.file.Seek(0, io.SeekEnd)
	if err != nil {
		return t.written(err)
	}
	t.state = state{Bytes: -1}
	var kept state
	if text, err := readSmall(t.part + stateSuffix); err == nil && json.Unmarshal(text, &kept) == nil {
		known := kept.Schema == stateSchema && kept.Address == t.address() && kept.validator() != ""
		if known && size > 0 && (kept.Bytes < 0 || size <= kept.Bytes) {
			t.state = kept
		}
	}
	if t.state.Schema == "" {
		return t.restart()
	}
	buffer := make([]byte, pieceBytes)
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return t.written(err)
	}
	for t.have < size {
		if ctx.Err() != nil {
			t.have = size
			return t.interrupted(ctx)
		}
		n, err := t.file.Read(buffer[:min(int64(len(buffer)), size-t.have)])
		t.sum.Write(buffer[:n])
		t.have += int64(n)
		if err != nil && t.have < size {
			return t.written(err)
		}
	}
	t.kept = t.have
	t.opt.Progress(t.have, t.state.Bytes)
	return nil
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostState+1))
	if err == nil && len(text) > mostState {
		err = errors.New("too long")
	}
	return text, err
}

// restart empties the part.
func (t *transfer) restart() error {
	if err := os.Remove(t.part + stateSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return t.written(err)
	}
	if err := t.file.Truncate(0); err != nil {
		return t.written(err)
	}
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return t.written(err)
	}
	t.sum.Reset()
	t.have, t.kept, t.state = 0, 0, state{Bytes: -1}
	return nil
}

// save writes the state through a file of another name, so that it is never half
// there.
func (t *transfer) save() error {
	text, err := json.Marshal(t.state)
	if err != nil {
		return t.written(err)
	}
	path := t.part + stateSuffix
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return t.written(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return t.written(err)
	}
	return nil
}
