package fetch

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
)

const secret = "tk_1234567890"

// gate is a server that wants the token.
type gate struct {
	*httptest.Server
	shown []string // by request: host, path and what it was shown
}

// newGate serves data to those who show the token; moves are paths that redirect.
func newGate(t *testing.T, data []byte, moves map[string]string) *gate {
	t.Helper()
	g := &gate{}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.shown = append(g.shown, r.Host+r.URL.Path+" "+r.Header.Get("Authorization"))
		switch {
		case moves[r.URL.Path] != "":
			http.Redirect(w, r, moves[r.URL.Path], http.StatusFound)
		case r.URL.Path == "/forbidden.gguf":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path != "/open.gguf" && r.Header.Get("Authorization") != "Bearer "+secret:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("ETag", `"a"`)
			http.ServeContent(w, r, "m", time.Time{}, bytes.NewReader(data))
		}
	}))
	t.Cleanup(g.Close)
	return g
}

// options lead every name to this server, or to that of the port in the address.
func (g *gate) options(token string) Options {
	opt := quick()
	own := g.Client().Transport.(*http.Transport).Clone()
	own.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(addr)
		if port == "443" {
			_, port, _ = net.SplitHostPort(g.Listener.Addr().String())
		}
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	own.TLSClientConfig.InsecureSkipVerify = true // the test's certificate has few names
	opt.Transport, opt.Token = own, token
	return opt
}

func TestATokenIsShownToItsServerAlone(t *testing.T) {
	data := content(10_000, 20)
	other := newGate(t, data, nil)
	port := func(g *gate) string { _, p, _ := net.SplitHostPort(g.Listener.Addr().String()); return p }
	var g *gate
	moves := map[string]string{"/within.gguf": "/file.gguf"}
	g = newGate(t, data, moves)
	moves["/port.gguf"] = "https://example.com:" + port(other) + "/open.gguf"
	moves["/sub.gguf"] = "https://cdn.example.com/open.gguf"
	moves["/away.gguf"] = "https://example.org/open.gguf"
	moves["/back.gguf"] = "https://example.org/return.gguf"
	moves["/return.gguf"] = "https://example.com/open.gguf"
	moves["/letters.gguf"] = "https://EXAMPLE.com:443/file.gguf"
	want := "Bearer " + secret
	for _, r := range []struct {
		path  string
		shown []string // by host
	}{
		{"/file.gguf", []string{"example.com " + want}},
		{"/within.gguf", []string{"example.com " + want, "example.com " + want}},
		{"/letters.gguf", []string{"example.com " + want, "example.com " + want}},
		{"/port.gguf", []string{"example.com " + want, "example.com "}},
		{"/sub.gguf", []string{"example.com " + want, "cdn.example.com "}},
		{"/away.gguf", []string{"example.com " + want, "example.org "}},
		{"/back.gguf", []string{"example.com " + want, "example.org ", "example.com "}},
	} {
		t.Run(r.path, func(t *testing.T) {
			g.shown, other.shown = nil, nil
			dir := t.TempDir()
			if _, err := File(t.Context(), "https://example.com"+r.path, filepath.Join(dir, "p"), g.options(secret)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range append(g.shown, other.shown...) {
				address, token, _ := strings.Cut(s, " ")
				host, _, _ := strings.Cut(address, "/")
				host, _, _ = strings.Cut(host, ":")
				got = append(got, strings.ToLower(host)+" "+token)
			}
			if strings.Join(got, "\n") != strings.Join(r.shown, "\n") {
				t.Errorf("servers were shown %q, want %q", got, r.shown)
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) == 0 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			for _, f := range files {
				if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || bytes.Contains(text, []byte(secret)) {
					t.Errorf("%s holds the token, %v", f.Name(), err)
				}
			}
		})
	}
}

// A transfer that breaks off is gone on with under the token.
func TestATokenIsShownAgain(t *testing.T) {
	data, broken, asked := content(300_000, 21), false, 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("ETag", `"a"`)
		var out http.ResponseWriter = w
		if !broken {
			broken = true
			out = &cut{w, 100_000}
		}
		http.ServeContent(out, r, "m", time.Time{}, bytes.NewReader(data))
	}))
	defer s.Close()
	opt := quick()
	opt.Transport, opt.Token = s.Client().Transport, secret
	got, err := File(t.Context(), s.URL+"/m.gguf", filepath.Join(t.TempDir(), "p"), opt)
	if err != nil || got.SHA256 != sum(data) || asked != 2 {
		t.Errorf("%+v after %d requests, %v", got, asked, err)
	}
}

func TestWhoIsNotLetInIsToldWhatToDo(t *testing.T) {
	moves := map[string]string{"/moved.gguf": "https://example.org/file.gguf"}
	g := newGate(t, content(1000, 22), moves)
	for _, r := range []struct {
		name, address, token string
		says                 []string
	}{
		{"no token", "https://example.com/file.gguf", "", []string{"401", "--token-env", "by its path"}},
		{"another token", "https://example.com/file.gguf", "wrong", []string{"401 unauthorized to the access token", "has not expired"}},
		{"no access", "https://example.com/forbidden.gguf", secret, []string{"403 forbidden to the access token", "accept the terms"}},
		{"no access without a token", "https://example.com/forbidden.gguf", "", []string{"403", "--token-env"}},
		{"another server wants it", "https://example.com/moved.gguf", secret, []string{"401", `"example.org"`, "is not shown the access token"}},
		{"http", "http://example.com/file.gguf", secret, []string{"by https only, not by http"}},
		{"http on this machine", "http://127.0.0.1/file.gguf", secret, []string{"by https only"}},
		{"a user as well", "https://me:pw@example.com/file.gguf", secret, []string{"has a user", "use one of them"}},
		{"a line in it", "https://example.com/file.gguf", secret + "\r\nX: y", []string{"has a blank or a character"}},
		{"a blank around it", "https://example.com/file.gguf", " " + secret, []string{"has a blank"}},
		{"no ASCII", "https://example.com/file.gguf", secret + "é", []string{"a character that none has"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			g.shown = nil
			opt := g.options(r.token)
			opt.Plain = true
			_, err := File(t.Context(), r.address, filepath.Join(t.TempDir(), "p"), opt)
			if fault.KindOf(err) != fault.Usage {
				t.Fatalf("kind %v: %v", fault.KindOf(err), err)
			}
			for _, w := range r.says {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in: %v", w, err)
				}
			}
			if r.token != "" && strings.Contains(err.Error(), r.token) || strings.Contains(err.Error(), "pw") {
				t.Errorf("a secret is in the message: %v", err)
			}
			if strings.HasPrefix(r.address, "http:") && len(g.shown) > 0 {
				t.Errorf("the server was asked: %q", g.shown)
			}
		})
	}
}
