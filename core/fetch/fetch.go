// Package fetch brings one file over HTTP to a path, and goes on where an
// interrupted call stopped.
//
// A server is not believed: what it promises (a length, a range, a validator) is
// checked against what arrives, redirections are few and never lead away from
// encryption, and what may be secret in an address, its user and its query, is
// in no message and no file; nor is an access token, which goes to one server. Certificates are verified as the system does.
//
// Not here: what the bytes mean, checksums of a publisher (the caller compares
// [Result.SHA256]), several connections at once. Start with [File].
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"time"

	"lab/core/fault"
)

// Options say how a file is fetched. The zero value does for https.
type Options struct {
	// Plain allows http also to machines other than this one.
	Plain bool
	// Token is shown to the server of the address as a bearer token (RFC 6750), by
	// https alone, and to no other that it redirects to; empty for none. It is in no
	// message and no file.
	Token string
	// Begins are the bytes that the file must begin with; anything else ends the
	// transfer at once.
	Begins string
	// Most is the largest length in bytes that is accepted; 0 is 1 TiB.
	Most int64
	// Room returns how many bytes the folder of the file has left; nil: it is not asked.
	Room func() (int64, error)
	// Progress is told the bytes that are there, of how many; total is -1 when the
	// server does not say. It is called from the calling goroutine.
	Progress func(done, total int64)
	// Note is told in a sentence when a connection was lost and is tried again.
	Note func(text string)
	// Transport carries the requests; nil: the standard one with deadlines.
	Transport http.RoundTripper

	pause func(ctx context.Context, wait time.Duration) // tests do not wait
	stall time.Duration
}

// Result is what a transfer came to.
type Result struct {
	Bytes   int64
	SHA256  string // of the whole file, lower-case hexadecimal
	Resumed int64  // bytes that were there before the call
}

const (
	mostBytes    = 1 << 40
	mostFailures = 5                // attempts in a row that bring no byte
	mostAttempts = 1000             // of one call
	mostRestarts = 8                // of a file that changes while it is fetched
	mostHops     = 5                // redirections
	mostWait     = 60 * time.Second // between two attempts, whatever a server asks for
	patience     = 60 * time.Second // without a byte
)

// File fetches the file at an address to the path part, whose folder must exist,
// and returns its length and digest. A connection that is lost is taken up again
// a few times. When the call fails for good, part stays together with a small
// file beside it (part with .json), and the next call with the same address
// fetches only what is missing, provided the server says that the file is the
// same and can send a piece; otherwise it starts again.
//
// Errors: usage for an address that is refused or leads nowhere, a token that
// cannot be sent and a server that wants another one; model for a
// server or network that fails; data for a server that breaks its promises or a
// file that begins otherwise; limit for one that is too large; interrupted when
// ctx ends.
func File(ctx context.Context, address, part string, opt Options) (Result, error) {
	from, err := parse(address, opt.Plain)
	if err != nil {
		return Result{}, err
	}
	if err := checkToken(from, opt.Token); err != nil {
		return Result{}, err
	}
	t := &transfer{from: from, name: fault.Quote(Redact(address), 200), opt: opt, sum: sha256.New()}
	t.defaults()
	if err := t.open(part); err != nil {
		return Result{}, err
	}
	defer t.file.Close()
	if err := t.takeUp(ctx); err != nil {
		return Result{}, err
	}
	resumed := t.have
	if err := t.run(ctx); err != nil {
		return Result{}, err
	}
	if err := t.file.Sync(); err != nil {
		return Result{}, t.written(err)
	}
	return Result{Bytes: t.have, SHA256: hex.EncodeToString(t.sum.Sum(nil)), Resumed: min(resumed, t.kept)}, nil
}

func (t *transfer) defaults() {
	if t.opt.Most == 0 {
		t.opt.Most = mostBytes
	}
	if t.opt.Progress == nil {
		t.opt.Progress = func(int64, int64) {}
	}
	if t.opt.Note == nil {
		t.opt.Note = func(string) {}
	}
	if t.opt.pause == nil {
		t.opt.pause = wait
	}
	if t.opt.stall == 0 {
		t.opt.stall = patience
	}
	if t.opt.Transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.ResponseHeaderTimeout = patience
		own.DisableCompression = true
		t.opt.Transport = own
		t.idle = own.CloseIdleConnections
	}
	t.client = &http.Client{Transport: t.opt.Transport, CheckRedirect: t.hop}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Redact returns an address without what may be secret in it: user, password,
// query and fragment. What is no address comes back as "an address".
func Redact(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address"
	}
	if u.Opaque != "" {
		return u.Scheme + ":…"
	}
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return clean.String()
}

// Left returns how many bytes an interrupted call has left at part; 0: none.
func Left(part string) int64 {
	if info, err := os.Stat(part); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}
