package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"lab/core/fault"
)

// pieceBytes is how much is read at a time.
const pieceBytes = 256 << 10

// transfer is one call of [File].
type transfer struct {
	from   *url.URL
	name   string // for messages, without secrets
	opt    Options
	client *http.Client
	idle   func()

	part     string
	file     *os.File // written at its end
	sum      hash.Hash
	have     int64 // bytes in the file and in the sum
	kept     int64 // of these, from earlier calls
	state    state
	restarts int
	asked    time.Duration // the pause that the server asked for
	begun    bool          // the first bytes were compared
}

// again marks a failure after which the same request may do.
type again struct{ err error }

func (a again) Error() string { return a.err.Error() }
func (a again) Unwrap() error { return a.err }

// run makes attempts until the file is there.
func (t *transfer) run(ctx context.Context) error {
	if t.idle != nil {
		defer t.idle()
	}
	failures := 0
	for attempt := 0; ; attempt++ {
		if t.have > 0 && t.have == t.state.Bytes {
			return nil // only the move into its place was missing
		}
		before := t.have
		t.asked = 0
		done, err := t.attempt(ctx)
		if ctx.Err() != nil {
			return t.interrupted(ctx)
		}
		var retry again
		if err != nil && !errors.As(err, &retry) {
			return err
		}
		if done {
			return nil
		}
		if failures++; t.have > before {
			failures = 0
		}
		if err == nil {
			continue // a piece arrived as promised, and there is more
		}
		if failures >= mostFailures || attempt >= mostAttempts {
			return retry.err
		}
		pause := min(max(time.Second<<failures/2, t.asked), mostWait)
		t.opt.Note(fmt.Sprintf("%v; trying again in %v", retry.err, pause))
		t.opt.pause(ctx, pause)
		if ctx.Err() != nil {
			return t.interrupted(ctx)
		}
	}
}

// attempt makes one request and stores what arrives; done says that the file is
// complete.
func (t *transfer) attempt(ctx context.Context) (done bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.from.String(), nil)
	if err != nil {
		return false, fault.New(fault.Usage, "fetch", t.name, "no request can be made of this address")
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "lab")
	if t.opt.Token != "" {
		req.Header.Set(tokenHeader, tokenScheme+t.opt.Token)
	}
	if t.have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.have))
		req.Header.Set("If-Range", t.state.validator())
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return false, t.network(err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is read from it
	end, err := t.answer(resp)
	if err != nil {
		return false, err
	}
	return t.receive(ctx, resp.Body, end, cancel)
}

// answer judges the head of an answer. It returns where in the file the bytes
// end that follow, -1 when that is not said.
func (t *transfer) answer(resp *http.Response) (end int64, err error) {
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" && resp.StatusCode/100 == 2 {
		return 0, t.broken("it sends the file encoded as %s, which was not asked for", fault.Quote(e, 40))
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return t.whole(resp)
	case http.StatusPartialContent:
		return t.piece(resp)
	case http.StatusRequestedRangeNotSatisfiable:
		if t.have == 0 {
			return 0, t.broken("it refuses a range, and none was asked for")
		}
		return 0, t.changed()
	}
	return 0, t.status(resp)
}

// whole begins a file anew.
func (t *transfer) whole(resp *http.Response) (int64, error) {
	if t.have > 0 {
		if t.restarts++; t.restarts > mostRestarts {
			return 0, t.broken("the file changes again and again while it is fetched")
		}
	}
	if err := t.restart(); err != nil {
		return 0, err
	}
	t.state = t.of(resp)
	if err := t.fits(t.state.Bytes); err != nil {
		return 0, err
	}
	return t.state.Bytes, t.save()
}

// piece goes on with the file, when the piece is the one that was asked for.
func (t *transfer) piece(resp *http.Response) (int64, error) {
	said := resp.Header.Get("Content-Range")
	first, last, total, ok := contentRange(said)
	if !ok || t.have == 0 || first != t.have || resp.ContentLength >= 0 && resp.ContentLength != last-first+1 {
		return 0, t.broken("it was asked for the bytes from %d on and answers with the range %s of %d bytes", t.have, fault.Quote(said, 60), resp.ContentLength)
	}
	tag, date := resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	if total < 0 || t.state.Bytes >= 0 && total != t.state.Bytes ||
		t.state.ETag != "" && tag != "" && tag != t.state.ETag || t.state.ETag == "" && date != "" && date != t.state.LastModified {
		return 0, t.changed()
	}
	if t.state.Bytes < 0 {
		t.state.Bytes = total
		if err := t.fits(total); err != nil {
			return 0, err
		}
		if err := t.save(); err != nil {
			return 0, err
		}
	}
	return last + 1, nil
}

// changed empties the part: what the server has now is another file.
func (t *transfer) changed() error {
	if t.restarts++; t.restarts > mostRestarts {
		return t.broken("the file changes again and again while it is fetched")
	}
	if err := t.restart(); err != nil {
		return err
	}
	return again{fault.New(fault.Model, "fetch", t.name, "the file has changed since the first part of it was fetched, and is fetched anew")}
}

// contentRange reads "bytes 5-9/20"; total is -1 for *.
func contentRange(s string) (first, last, total int64, ok bool) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, size, both := strings.Cut(rest, "/")
	from, to, dash := strings.Cut(span, "-")
	if !ok || !both || !dash {
		return 0, 0, 0, false
	}
	first, last, total = number(from), number(to), number(size)
	if size == "*" {
		return first, last, -1, first >= 0 && last >= first
	}
	return first, last, total, first >= 0 && last >= first && total > last
}

// number reads digits; -1 is none. An uint62 leaves room for adding one.
func number(s string) int64 {
	n, err := strconv.ParseUint(s, 10, 62)
	if err != nil {
		return -1
	}
	return int64(n)
}

// status is the error of an answer without a file.
func (t *transfer) status(resp *http.Response) error {
	code := resp.StatusCode
	what := fmt.Sprintf("the server answers %d %s", code, strings.ToLower(http.StatusText(code)))
	switch {
	case code == http.StatusNotFound || code == http.StatusGone:
		return fault.New(fault.Usage, "fetch", t.name, "%s", what).Fix("check the address")
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return t.gated(resp, what)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		if seconds := number(resp.Header.Get("Retry-After")); seconds > 0 {
			t.asked = time.Duration(min(seconds, int64(mostWait/time.Second))) * time.Second
		}
		return again{fault.New(fault.Model, "fetch", t.name, "%s", what)}
	}
	return fault.New(fault.Model, "fetch", t.name, "%s", what)
}

// fits refuses a length that is beyond the bound or the room on disk.
func (t *transfer) fits(total int64) error {
	if total > t.opt.Most {
		return fault.New(fault.Limit, "fetch", t.name, "the server announces %s; more than %s is refused", Size(total), Size(t.opt.Most))
	}
	if t.opt.Room == nil || total < 0 {
		return nil
	}
	room, err := t.opt.Room()
	if err != nil {
		return t.written(err)
	}
	if need := total - t.have; need > room {
		return fault.New(fault.Limit, "fetch", t.name, "it needs %s, and the disk has %s left", Size(need), Size(room)).
			Fix("make room, or put the model folder elsewhere with LAB_MODELS")
	}
	return nil
}

// receive stores the body of an answer, up to end.
func (t *transfer) receive(ctx context.Context, body io.Reader, end int64, cancel func()) (done bool, err error) {
	var stalled atomic.Bool
	watch := time.AfterFunc(t.opt.stall, func() { stalled.Store(true); cancel() })
	defer watch.Stop()
	buffer := make([]byte, pieceBytes)
	for {
		n, readErr := body.Read(buffer)
		watch.Reset(t.opt.stall)
		if err := t.store(buffer[:n], end); err != nil {
			return false, err
		}
		switch {
		case readErr == io.EOF && t.state.Bytes < 0, readErr == io.EOF && t.have == t.state.Bytes:
			return true, t.begins(true)
		case readErr == io.EOF && end >= 0 && t.have == end:
			return false, nil
		case readErr == io.EOF:
			readErr = io.ErrUnexpectedEOF
		case readErr == nil:
			readErr = ctx.Err()
		}
		if readErr != nil {
			if stalled.Load() {
				readErr = fmt.Errorf("nothing has arrived for %v", t.opt.stall)
			}
			return false, t.lost(readErr)
		}
	}
}

// store writes bytes that have arrived, when they are within what was promised.
func (t *transfer) store(b []byte, end int64) error {
	if len(b) == 0 {
		return nil
	}
	if end >= 0 && t.have+int64(len(b)) > end {
		return t.broken("it sends more than the %d bytes that it announced", end)
	}
	if t.have+int64(len(b)) > t.opt.Most {
		return fault.New(fault.Limit, "fetch", t.name, "it is larger than %s, and more is refused", Size(t.opt.Most))
	}
	n, err := t.file.Write(b)
	t.sum.Write(b[:n])
	t.have += int64(n)
	if err != nil {
		return t.written(err)
	}
	t.opt.Progress(t.have, t.state.Bytes)
	return t.begins(false)
}

// begins compares the first bytes once they are there; at the end of the file
// they must be.
func (t *transfer) begins(end bool) error {
	want := t.opt.Begins
	if t.begun || want == "" || !end && t.have < int64(len(want)) {
		return nil
	}
	head := make([]byte, min(int64(len(want)), t.have))
	if _, err := t.file.ReadAt(head, 0); err != nil {
		return t.written(err)
	}
	t.begun = true
	if string(head) == want {
		return nil
	}
	err := fault.New(fault.Data, "fetch", t.name, "it begins with %s, the file should with %q", fault.Quote(string(head), 16), want)
	if len(head) > 0 && head[0] == '<' {
		err = err.Fix("that looks like a web page: give the address of the file itself")
	}
	if cleared := t.restart(); cleared != nil {
		return cleared
	}
	return err
}

// network is the error of a request that brought no answer.
func (t *transfer) network(err error) error {
	var ours *fault.Error
	if errors.As(err, &ours) {
		return ours // a redirection that was refused
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // its text holds the address
	}
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	var lookup *net.DNSError
	failed := fault.New(fault.Model, "fetch", t.name, "%v", err)
	switch {
	case errors.As(err, &certificate):
		return failed.Fix("the server is not proven to be the one that it says it is")
	case errors.As(err, &lookup) && lookup.IsNotFound, errors.As(err, &dial) && dial.Op == "dial" && t.have == t.kept:
		return failed // nothing has worked so far: say so at once
	}
	return again{failed}
}

// lost is the error of an answer that broke off.
func (t *transfer) lost(err error) error {
	return again{fault.New(fault.Model, "fetch", t.name, "the connection broke off after %s (%v)", t.soFar(), err).
		Fix("the same command goes on from there")}
}

func (t *transfer) soFar() string {
	if t.state.Bytes < 0 {
		return Size(t.have)
	}
	return fmt.Sprintf("%s of %s", Size(t.have), Size(t.state.Bytes))
}

func (t *transfer) broken(problem string, args ...any) error {
	return fault.New(fault.Data, "fetch", t.name, "the server is not to be relied on: "+problem, args...)
}

func (t *transfer) interrupted(ctx context.Context) error {
	kind, what := fault.Interrupted, "interrupted"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind, what = fault.Limit, "the time is up"
	}
	e := fault.New(kind, "fetch", t.name, "%s after %s", what, t.soFar())
	if t.have > 0 && t.state.validator() != "" {
		return e.Fix("the same command goes on from there")
	}
	return e
}

// written is the error of the disk.
func (t *transfer) written(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.Limit, "fetch", t.name, "the disk is full after %s", t.soFar()).
			Fix("make room and give the same command again, which goes on from there")
	}
	return fault.Wrap(err, fault.Data, "fetch", t.name)
}

// Size returns a number of bytes for people, in powers of 1000: "4.37 GB".
func Size(n int64) string {
	units := []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	if n < 1000 && n > -1000 {
		return fmt.Sprintf("%d B", n)
	}
	x, u := float64(n)/1000, 0
	for x >= 999.5 && u < len(units)-1 {
		x /= 1000
		u++
	}
	return fmt.Sprintf("%.3g %s", x, units[u])
}
