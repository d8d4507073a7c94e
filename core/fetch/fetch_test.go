package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lab/core/fault"
)

func content(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	copy(b, "GGUF")
	return b
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// quick are options that do not wait.
func quick() Options {
	return Options{Begins: "GGUF", pause: func(context.Context, time.Duration) {}}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/model.gguf"
}

// whole is a server as it should be: net/http answers ranges and If-Range.
func whole(data func() []byte, etag func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag())
		http.ServeContent(w, r, "model.gguf", time.Time{}, bytes.NewReader(data()))
	}
}

// cut ends the connection after n bytes of body.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b[:min(len(b), c.left)])
	c.left -= n
	if err == nil && c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

func TestAFileIsFetchedWhole(t *testing.T) {
	data := content(700_001, 1)
	url := serve(t, whole(func() []byte { return data }, func() string { return `"a"` }))
	part := filepath.Join(t.TempDir(), "p")
	opt := quick()
	last, total := int64(0), int64(0)
	opt.Progress = func(done, all int64) {
		if done < last {
			t.Errorf("progress goes back from %d to %d", last, done)
		}
		last, total = done, all
	}
	got, err := File(t.Context(), url, part, opt)
	if err != nil || got != (Result{Bytes: int64(len(data)), SHA256: sum(data)}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if stored, err := os.ReadFile(part); err != nil || !bytes.Equal(stored, data) || last != int64(len(data)) || total != last {
		t.Errorf("%d bytes stored, %v, progress to %d of %d", len(stored), err, last, total)
	}
	if info, err := os.Stat(part); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Connections that break at any byte, and calls that are interrupted at any
// byte, change nothing of what arrives in the end.
func TestInterruptionsLeaveTheSameBytes(t *testing.T) {
	for _, how := range []string{"etag", "date", "ignores ranges now and then"} {
		t.Run(how, func(t *testing.T) {
			data := content(3_000_000, 2)
			r := rand.New(rand.NewPCG(3, uint64(len(how))))
			broken, ranges := 0, 0
			url := serve(t, func(w http.ResponseWriter, req *http.Request) {
				modified := time.Time{}
				if how == "date" {
					modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
				} else {
					w.Header().Set("ETag", `"one"`)
				}
				if req.Header.Get("Range") != "" {
					ranges++
				}
				if strings.HasPrefix(how, "ignores") && r.IntN(6) == 0 {
					req.Header.Del("Range")
				}
				var out http.ResponseWriter = w
				if broken < 40 {
					broken++
					out = &cut{w, r.IntN(400_000)}
				}
				http.ServeContent(out, req, "m", modified, bytes.NewReader(data))
			})
			part := filepath.Join(t.TempDir(), "p")
			calls := 0
			var got Result
			for {
				if calls++; calls > 200 {
					t.Fatal("it does not come to an end")
				}
				ctx, cancel := context.WithCancel(t.Context())
				opt, until := quick(), int64(r.IntN(500_000))+Left(part)
				opt.Progress = func(done, _ int64) {
					if calls < 25 && done > until {
						cancel()
					}
				}
				var err error
				got, err = File(ctx, url, part, opt)
				cancel()
				if err == nil {
					break
				}
				if k := fault.KindOf(err); k != fault.Interrupted && k != fault.Model {
					t.Fatalf("call %d: %v", calls, err)
				}
			}
			if broken+calls < 21 || ranges == 0 {
				t.Errorf("only %d connections broke, %d calls, %d ranges", broken, calls, ranges)
			}
			if got.SHA256 != sum(data) || got.Bytes != int64(len(data)) {
				t.Errorf("after %d broken connections and %d calls: %+v", broken, calls, got)
			}
			if stored, err := os.ReadFile(part); err != nil || !bytes.Equal(stored, data) {
				t.Errorf("other bytes are stored, %v", err)
			}
		})
	}
}

func TestOnlyTheRestIsFetched(t *testing.T) {
	data := content(500_000, 4)
	var asked atomic.Value
	first := true
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Range") + " " + r.Header.Get("If-Range"))
		w.Header().Set("ETag", `"x"`)
		var out http.ResponseWriter = w
		if first {
			first = false
			out = &cut{w, 200_000}
		}
		http.ServeContent(out, r, "m", time.Time{}, bytes.NewReader(data))
	})
	got, err := File(t.Context(), url, filepath.Join(t.TempDir(), "p"), quick())
	if err != nil || got.SHA256 != sum(data) {
		t.Fatalf("%+v, %v", got, err)
	}
	if asked.Load() != `bytes=200000- "x"` {
		t.Errorf("the second request asked for %q", asked.Load())
	}
}

func TestAnotherFileBeginsAnew(t *testing.T) {
	old, now := content(400_000, 5), content(410_000, 6)
	for _, honest := range []bool{true, false} {
		data, tag, calls := old, `"old"`, 0
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("ETag", tag)
			if !honest { // it answers the range whatever If-Range says
				r.Header.Del("If-Range")
			}
			var out http.ResponseWriter = w
			if calls == 1 {
				out = &cut{w, 100_000}
			}
			http.ServeContent(out, r, "m", time.Time{}, bytes.NewReader(data))
		})
		opt := quick()
		opt.pause = func(context.Context, time.Duration) { data, tag = now, `"new"` }
		got, err := File(t.Context(), url, filepath.Join(t.TempDir(), "p"), opt)
		if err != nil || got.SHA256 != sum(now) {
			t.Errorf("honest %v: %+v, %v", honest, got, err)
		}
	}
}

// A state that cannot be gone on with is not.
func TestAPartOfAnotherAddressIsNotGoneOnWith(t *testing.T) {
	data := content(100_000, 7)
	url := serve(t, whole(func() []byte { return data }, func() string { return `"a"` }))
	for name, text := range map[string]string{
		"another address": `{"schema":"lab/fetch/1","address_sha256":"00","etag":"\"a\"","bytes":100000}`,
		"no validator":    fmt.Sprintf(`{"schema":"lab/fetch/1","address_sha256":%q,"bytes":100000}`, sum([]byte(url))),
		"weak validator":  fmt.Sprintf(`{"schema":"lab/fetch/1","address_sha256":%q,"etag":"W/\"a\"","bytes":100000}`, sum([]byte(url))),
		"shorter":         fmt.Sprintf(`{"schema":"lab/fetch/1","address_sha256":%q,"etag":"\"a\"","bytes":10}`, sum([]byte(url))),
		"garbage":         `{"sch`,
		"none":            "",
	} {
		t.Run(name, func(t *testing.T) {
			part := filepath.Join(t.TempDir(), "p")
			if err := os.WriteFile(part, bytes.Repeat([]byte("x"), 5000), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(part+".json", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := File(t.Context(), url, part, quick())
			if err != nil || got.SHA256 != sum(data) || got.Resumed != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestServersThatBreakTheirWord(t *testing.T) {
	data, changes := content(50_000, 8), 0
	rows := []struct {
		name   string
		second http.HandlerFunc // the first answer breaks off after 20000 bytes
		first  http.HandlerFunc
		kind   fault.Kind
		says   string
	}{
		{name: "a range that was not asked for", kind: fault.Data, says: "range", first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-9/10")
			w.WriteHeader(http.StatusPartialContent)
		}},
		{name: "another range", kind: fault.Data, says: "from 20000 on", second: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 100-49999/50000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[100:])
		}},
		{name: "no range at all", kind: fault.Data, says: `range ""`, second: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[20000:])
		}},
		{name: "a range that runs backwards", kind: fault.Data, says: "range", second: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 20000-10/50000")
			w.WriteHeader(http.StatusPartialContent)
		}},
		{name: "a range beyond all numbers", kind: fault.Data, says: "range", second: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 20000-99999999999999999999/99999999999999999999")
			w.WriteHeader(http.StatusPartialContent)
		}},
		{name: "more than the range", kind: fault.Data, says: "more than", second: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 20000-29999/50000")
			w.WriteHeader(http.StatusPartialContent)
			_ = http.NewResponseController(w).Flush() // chunked: no length of its own
			_, _ = w.Write(data[20000:])
		}},
		{name: "a huge length", kind: fault.Limit, says: "9.22 EB", first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9223372036854775807")
			_, _ = w.Write(data)
		}},
		{name: "always shorter than it says", kind: fault.Model, says: "broke off", first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "50000")
			_, _ = w.Write(data[:20000])
		}},
		{name: "a web page", kind: fault.Data, says: "web page", first: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><p>Sign in")
		}},
		{name: "an encoding", kind: fault.Data, says: `"gzip"`, first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(data)
		}},
		{name: "nothing", kind: fault.Data, says: `begins with ""`, first: func(http.ResponseWriter, *http.Request) {}},
		{name: "not there", kind: fault.Usage, says: "404", first: http.NotFound},
		{name: "not allowed", kind: fault.Usage, says: "403", first: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }},
		{name: "always busy", kind: fault.Model, says: "503", first: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		}},
		{name: "a new file each time", kind: fault.Data, says: "again and again", first: func(w http.ResponseWriter, r *http.Request) {
			changes++
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, changes))
			http.ServeContent(&cut{w, 1000 * changes}, r, "m", time.Time{}, bytes.NewReader(data))
		}},
		{name: "redirections without end", kind: fault.Model, says: "redirections", first: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/again", http.StatusFound)
		}},
		{name: "a redirection to a file of this machine", kind: fault.Usage, says: `by "file"`, first: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}},
		{name: "a redirection to another machine by http", kind: fault.Usage, says: "on its way", first: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.invalid/x", http.StatusFound)
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			calls := 0
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				switch {
				case row.first != nil:
					row.first(w, r)
				case calls == 1:
					w.Header().Set("ETag", `"a"`)
					http.ServeContent(&cut{w, 20_000}, r, "m", time.Time{}, bytes.NewReader(data))
				default:
					row.second(w, r)
				}
			})
			waited := time.Duration(0)
			opt := quick()
			opt.pause = func(_ context.Context, d time.Duration) { waited = max(waited, d) }
			secret := strings.Replace(url, "http://", "http://me:hidden@", 1) + "?token=hidden"
			_, err := File(t.Context(), secret, filepath.Join(t.TempDir(), "p"), opt)
			if err == nil || fault.KindOf(err) != row.kind || !strings.Contains(err.Error(), row.says) {
				t.Fatalf("kind %v: %v", fault.KindOf(err), err)
			}
			if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "token=") {
				t.Errorf("a secret is in the message: %v", err)
			}
			if calls > 2*mostRestarts+mostFailures || waited > mostWait {
				t.Errorf("%d requests, a pause of %v", calls, waited)
			}
		})
	}
}

func TestEncryptionIsNotLeft(t *testing.T) {
	plain := httptest.NewServer(whole(func() []byte { return content(1000, 9) }, func() string { return `"a"` }))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, plain.URL, http.StatusFound)
			return
		}
		_, _ = w.Write(content(1000, 9))
	}))
	defer secure.Close()
	part := filepath.Join(t.TempDir(), "p")
	opt := quick()
	opt.Transport = secure.Client().Transport
	if _, err := File(t.Context(), secure.URL+"/up", part, opt); err != nil {
		t.Errorf("https: %v", err)
	}
	if _, err := File(t.Context(), secure.URL+"/down", part, opt); err == nil || !strings.Contains(err.Error(), "redirects from https") {
		t.Errorf("from https to http: %v", err)
	}
	opt.Transport = nil // which does not know the test's certificate
	_, err := File(t.Context(), secure.URL+"/up", part, opt)
	if err == nil || !strings.Contains(err.Error(), "not proven") {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestSecretsStayOutOfTheState(t *testing.T) {
	data := content(100_000, 10)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		http.ServeContent(&cut{w, 20_000}, r, "m", time.Time{}, bytes.NewReader(data))
	})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	opt := quick()
	opt.Progress = func(int64, int64) { cancel() }
	_, err := File(ctx, strings.Replace(url, "http://", "http://me:hidden@", 1)+"?token=hidden", filepath.Join(dir, "p"), opt)
	if fault.KindOf(err) != fault.Interrupted || !strings.Contains(err.Error(), "goes on from there") {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "p.json"))
	if err != nil || strings.Contains(string(text), "hidden") || strings.Contains(string(text), "token") {
		t.Errorf("state %s, %v", text, err)
	}
}

func TestRoomIsAskedBeforeAByteIsStored(t *testing.T) {
	data := content(100_000, 11)
	url := serve(t, whole(func() []byte { return data }, func() string { return `"a"` }))
	part := filepath.Join(t.TempDir(), "p")
	opt := quick()
	opt.Room = func() (int64, error) { return 99_999, nil }
	_, err := File(t.Context(), url, part, opt)
	if fault.KindOf(err) != fault.Limit || Left(part) != 0 {
		t.Errorf("%v, %d bytes", err, Left(part))
	}
	opt.Room = func() (int64, error) { return 100_000, nil }
	if _, err := File(t.Context(), url, part, opt); err != nil {
		t.Error(err)
	}
	opt.Most = 99_999
	if _, err := File(t.Context(), url, filepath.Join(t.TempDir(), "q"), opt); fault.KindOf(err) != fault.Limit {
		t.Errorf("beyond the bound: %v", err)
	}
}

func TestAServerThatFallsSilentIsAskedAgain(t *testing.T) {
	data := content(100_000, 12)
	calls := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if calls++; calls == 1 {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(data[:30_000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		http.ServeContent(w, r, "m", time.Time{}, bytes.NewReader(data))
	})
	opt := quick()
	opt.stall = 50 * time.Millisecond
	note := ""
	opt.Note = func(text string) { note = text }
	got, err := File(t.Context(), url, filepath.Join(t.TempDir(), "p"), opt)
	if err != nil || got.SHA256 != sum(data) || !strings.Contains(note, "nothing has arrived for 50ms") {
		t.Errorf("%+v, %v, %q", got, err, note)
	}
}

// A server that announces no length sends chunks, whose end is marked.
func TestALengthNeedNotBeAnnounced(t *testing.T) {
	data := content(300_000, 13)
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(data)
	})
	got, err := File(t.Context(), url, filepath.Join(t.TempDir(), "p"), quick())
	if err != nil || got.SHA256 != sum(data) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "x", "https://", "https:///x", "ftp://host/x", "http://example.org/x", "http://127.0.0.1.example.org/x",
		"https:host/x", "https://host", "https://host/", "https://ho st/x", "https://host/%zz", "mailto:a@b"} {
		err := Check(bad, false)
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"https://host/x.gguf", "http://localhost:1/x", "http://127.0.0.1/x", "http://[::1]:8/x", "https://me:pw@host/x?y#z"} {
		if err := Check(good, false); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if err := Check("http://example.org/x", true); err != nil {
		t.Error(err)
	}
	if got := Redact("https://me:pw@host/x/y?token=z#f"); got != "https://host/x/y" {
		t.Error(got)
	}
}

func TestNothingListens(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	opt := quick()
	opt.pause = func(context.Context, time.Duration) { t.Error("it is tried again") }
	part := filepath.Join(t.TempDir(), "p")
	_, err := File(t.Context(), s.URL+"/x", part, opt)
	var e *fault.Error
	if !errors.As(err, &e) || e.Kind != fault.Model || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestSizesForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 1500: "1.5 kB", 999_999: "1 MB", 4_370_000_000: "4.37 GB", 1 << 62: "4.61 EB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
