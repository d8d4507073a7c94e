package shelf

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"lab/core/fault"
)

// Checked is what became of one file since it was added.
type Checked struct {
	Name   string // of the model
	Path   string
	Status string // "same", "changed", "missing" or "unreadable"
	Want   string // recorded digest
	Got    string // digest now; empty when it could not be read
	Why    string // why it could not be read
}

// Verify reads the files of a model again and compares their digests with the
// recorded ones. A difference is no error: it is in what comes back. progress is
// told the bytes of file i of n.
func (s *Shelf) Verify(ctx context.Context, e Entry, progress func(i, n int, done, total int64)) ([]Checked, error) {
	var out []Checked
	for i, path := range s.Paths(e) {
		c := Checked{Name: e.Name, Path: path, Status: "same", Want: e.Files[i].SHA256}
		sum, err := fileDigest(ctx, path, func(done int64) { progress(i, len(e.Files), done, e.Files[i].Bytes) })
		switch {
		case ctx.Err() != nil:
			return out, reading(ctx, err, path)
		case errors.Is(err, fs.ErrNotExist):
			c.Status, c.Why = "missing", "there is no such file"
		case err != nil:
			c.Status, c.Why = "unreadable", err.Error()
		case sum != c.Want:
			c.Status = "changed"
		}
		c.Got = sum
		out = append(out, c)
	}
	return out, nil
}

func fileDigest(ctx context.Context, path string, progress func(done int64)) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fault.New(fault.Data, "model", fault.Quote(path, 200), "it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest(ctx, f, nil, info.Size(), progress)
}
