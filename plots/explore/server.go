package explore

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"lab/core/dist"
	"lab/core/fault"
)

// Source returns the model's scores after the prompt and some tokens, for any
// number of callers at once. The context ends with the server, not with the one
// who asked: a reader who leaves does not stop a model in the middle of a step.
type Source func(ctx context.Context, path []int32) (dist.Scores, error)

const (
	// mostAsked is how many bytes a question may have: 131,072 tokens of 7 digits
	// and a comma fit.
	mostAsked = 1 << 20
	// patience is how long a client may take to send what it sends.
	patience = 10 * time.Second
	// farewell is how long answers under way may take once the server is to end.
	farewell = time.Second / 2
)

// Serve gives the page, which carries no scores but those of p, to browsers of
// this machine until the context ends, which is no error. It answers under one
// address only: that of the listener, which must be a loopback one, with a path
// of 128 random bits. ready is called with that address once it answers.
//
// Other pages that the same browser has open get nothing: requests must name the
// listener as their host (which stops names that were rebound to this machine),
// come from the page itself or from no page, and know the path.
func Serve(ctx context.Context, l net.Listener, p *Page, source Source, ready func(url string)) error {
	defer func() { _ = l.Close() }() // the server has closed it, but for an error before
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return fault.New(fault.Usage, op, l.Addr().String(), "it is not an address of this machine alone").Fix("listen on 127.0.0.1")
	}
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return fault.Wrap(err, fault.Internal, op, "random numbers")
	}
	h, err := newHandler(ctx, at.String(), hex.EncodeToString(secret[:]), p, source)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: patience, ReadTimeout: patience, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 14, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	ready("http://" + h.host + h.base)
	select {
	case err := <-ended:
		return fault.Wrap(err, fault.Internal, op, h.host)
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer stop()
	if err := server.Shutdown(last); err != nil {
		_ = server.Close() // it ends with the process at the latest
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fault.Wrap(err, fault.Internal, op, h.host)
	}
	return nil
}

// handler answers a browser.
type handler struct {
	ctx    context.Context // of the server
	host   string          // address and port
	base   string          // path with the secret: "/…/"
	p      *Page
	page   []byte
	source Source
}

func newHandler(ctx context.Context, host, secret string, p *Page, source Source) (*handler, error) {
	page, err := render(p, true)
	if err != nil {
		return nil, err
	}
	return &handler{ctx: ctx, host: host, base: "/" + secret + "/", p: p, page: page, source: source}, nil
}

// ServeHTTP answers "/SECRET/" with the page and "/SECRET/row" with scores.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	for name, value := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY",
	} {
		head.Set(name, value)
	}
	if reason := h.foreign(r); reason != "" {
		refuse(w, http.StatusForbidden, reason)
		return
	}
	name, ok := h.within(r.URL.Path)
	switch {
	case !ok || name != "" && name != "row":
		refuse(w, http.StatusNotFound, "there is nothing here; use the whole address that lab explore printed")
	case name == "" && r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "the page is read only")
	case name == "":
		head.Set("Content-Type", "text/html; charset=utf-8")
		head.Set("Content-Length", strconv.Itoa(len(h.page)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(h.page) // a browser that went away has no use for an error
		}
	case r.Method != http.MethodPost:
		head.Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "scores are asked for with POST")
	default:
		h.row(w, r)
	}
}

// foreign says why a request is not from this machine's reader, or nothing.
func (h *handler) foreign(r *http.Request) string {
	if r.Host != h.host {
		return "this is not the address that lab explore printed"
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+h.host {
		return "another page asks"
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "another site asks"
	}
	return ""
}

// within returns what follows the secret in a path. It takes as long for any
// wrong one of its length.
func (h *handler) within(path string) (name string, ok bool) {
	if len(path) < len(h.base) {
		return "", false
	}
	return path[len(h.base):], subtle.ConstantTimeCompare([]byte(path[:len(h.base)]), []byte(h.base)) == 1
}

type question struct {
	Path *[]int32 `json:"path"`
}

// answer is a context's scores, with the texts of tokens that not every row lists.
type answer struct {
	Node   nodeData          `json:"node"`
	Tokens map[string]string `json:"tokens"`
}

// row answers a question for the scores of one context.
func (h *handler) row(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "a question is application/json")
		return
	}
	path, status, problem := h.read(http.MaxBytesReader(w, r.Body, mostAsked))
	if problem != "" {
		refuse(w, status, problem)
		return
	}
	scores, err := h.source(h.ctx, path)
	n := Node{Path: path, Row: scores}
	if err == nil {
		err = h.p.checkNode(n)
	}
	if err != nil {
		status := http.StatusUnprocessableEntity
		if k := fault.KindOf(err); k != fault.Usage && k != fault.Limit && k != fault.Data {
			status = http.StatusInternalServerError
		}
		refuse(w, status, err.Error())
		return
	}
	a := answer{Node: newNodeData(n), Tokens: map[string]string{}}
	if scores.IDs != nil { // the page knows the tokens of a whole row
		h.p.addTokens(a.Tokens, n)
	}
	send(w, http.StatusOK, a)
}

// read returns the path that is asked for, or what is wrong with the question.
func (h *handler) read(body io.Reader) (path []int32, status int, problem string) {
	var q question
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(&q)
	if err == nil && q.Path == nil {
		err = errors.New("it has no path")
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows it")
		}
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, fmt.Sprintf("the question has more than %d bytes", mostAsked)
	case err != nil:
		return nil, http.StatusBadRequest, `the question is not {"path": [token, …]}: ` + strings.ToValidUTF8(err.Error(), "\uFFFD")
	}
	for i, id := range *q.Path {
		if id < 0 || int(id) >= len(h.p.Pieces) {
			return nil, http.StatusBadRequest, fmt.Sprintf("token %d of the path is %d, outside the vocabulary of %d", i, id, len(h.p.Pieces))
		}
		if slices.Contains(h.p.End, id) {
			return nil, http.StatusUnprocessableEntity, fmt.Sprintf("token %d of the path ends the text", i)
		}
	}
	return *q.Path, 0, ""
}

func refuse(w http.ResponseWriter, status int, reason string) {
	send(w, status, map[string]string{"error": reason})
}

func send(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a browser that went away has no use for an error
}
