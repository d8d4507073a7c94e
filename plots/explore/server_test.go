package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/core/dist"
	"lab/core/fault"
)

const (
	testHost   = "127.0.0.1:4321"
	testSecret = "5ec2e75ec2e75ec2e75ec2e75ec2e75e"
)

func serverPage(t *testing.T) *Page {
	p := example(t)
	p.Pieces = [][]byte{[]byte("a"), []byte("b"), []byte("</s>"), []byte("<i>")}
	p.Nodes = []Node{{Row: dist.NewDense([]float32{1, 2, 3, 4})}}
	p.End = []int32{2}
	return p
}

// lengths is a source that answers with the length of the path.
func lengths(_ context.Context, path []int32) (dist.Scores, error) {
	switch len(path) {
	case 7:
		return dist.Scores{}, fault.New(fault.Limit, "model", "", "the context is full").Fix("stop")
	case 8:
		return dist.Scores{}, errors.New("the model <died>")
	case 9:
		return dist.NewDense([]float32{1}), nil // a wrong row
	case 3:
		return dist.Scores{Vocab: 4, IDs: []int32{1, 3}, Values: []float32{-1, -2}, Unlisted: 0.5}, nil
	}
	return dist.NewDense([]float32{float32(len(path)), 0, 0, 0}), nil
}

func newTestHandler(t *testing.T) *handler {
	t.Helper()
	h, err := newHandler(t.Context(), testHost, testSecret, serverPage(t), lengths)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends one request and returns the answer; change spoils it.
func ask(h http.Handler, method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+testHost+path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "http://"+testHost)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestThePageItselfIsServed(t *testing.T) {
	h := newTestHandler(t)
	w := ask(h, "GET", "/"+testSecret+"/", "", nil)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(w.Body.String(), "connect-src 'self'") {
		t.Fatalf("%d %v %.100s", w.Code, w.Header(), w.Body)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY", "Content-Security-Policy": "frame-ancestors 'none'"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if d := dataOf(t, w.Body.String()); !d.Served || len(d.Nodes) != 1 {
		t.Errorf("the data are %+v", d)
	}
	if w := ask(h, "HEAD", "/"+testSecret+"/", "", nil); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("HEAD gives %d and %d bytes", w.Code, w.Body.Len())
	}
}

func TestScoresAreThoseOfTheSource(t *testing.T) {
	h := newTestHandler(t)
	for _, path := range [][]int32{{}, {1}, {0, 1, 3}} {
		body, _ := json.Marshal(map[string]any{"path": path})
		w := ask(h, "POST", "/"+testSecret+"/row", string(body), nil)
		var a answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 {
			t.Fatalf("%v: %d %s", path, w.Code, w.Body)
		}
		row, _ := lengths(t.Context(), path)
		want := newNodeData(Node{Path: path, Row: row})
		if fmt.Sprint(a.Node) != fmt.Sprint(want) {
			t.Errorf("%v: %+v, want %+v", path, a.Node, want)
		}
		if row.IDs != nil && (a.Tokens["3"] != "<i>" || len(a.Tokens) != 2) {
			t.Errorf("the texts are %v", a.Tokens)
		}
	}
}

// What is not the page's own request is refused, and the source is not asked.
func TestForeignAndHostileRequestsAreRefused(t *testing.T) {
	asked := 0
	h, err := newHandler(t.Context(), testHost, testSecret, serverPage(t), func(ctx context.Context, path []int32) (dist.Scores, error) {
		asked++
		return lengths(ctx, path)
	})
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"path":[1]}`
	row := "/" + testSecret + "/row"
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	rows := []struct {
		name, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		{"another host", "POST", row, good, host("evil.example"), 403},
		{"a name that was rebound", "GET", "/" + testSecret + "/", "", host("evil.example:4321"), 403},
		{"the name of this machine", "GET", "/" + testSecret + "/", "", host("localhost:4321"), 403},
		{"another port", "POST", row, good, host("127.0.0.1:4322"), 403},
		{"no host", "POST", row, good, host(""), 403},
		{"another origin", "POST", row, good, header("Origin", "http://evil.example"), 403},
		{"an origin that begins alike", "POST", row, good, header("Origin", "http://"+testHost+".evil.example"), 403},
		{"the origin of a sandbox", "POST", row, good, header("Origin", "null"), 403},
		{"an empty origin", "POST", row, good, header("Origin", ""), 403},
		{"https", "POST", row, good, header("Origin", "https://"+testHost), 403},
		{"two origins", "POST", row, good, func(r *http.Request) { r.Header.Add("Origin", "http://evil.example") }, 403},
		{"another site", "GET", "/" + testSecret + "/", "", header("Sec-Fetch-Site", "cross-site"), 403},
		{"another port of this machine", "POST", row, good, header("Sec-Fetch-Site", "same-site"), 403},
		{"no secret", "GET", "/", "", nil, 404},
		{"half a secret", "GET", "/" + testSecret[:16] + "/", "", nil, 404},
		{"a wrong secret", "POST", "/" + strings.Repeat("0", len(testSecret)) + "/row", good, nil, 404},
		{"a longer secret", "GET", "/" + testSecret + "0/", "", nil, 404},
		{"another file", "GET", "/" + testSecret + "/../../etc/passwd", "", nil, 404},
		{"reading scores", "GET", row, "", nil, 405},
		{"writing the page", "POST", "/" + testSecret + "/", good, nil, 405},
		{"a form", "POST", row, good, header("Content-Type", "text/plain"), 415},
		{"no type", "POST", row, good, header("Content-Type", ""), 415},
		{"no JSON", "POST", row, "{", nil, 400},
		{"nothing", "POST", row, "", nil, 400},
		{"no path", "POST", row, `{}`, nil, 400},
		{"another key", "POST", row, `{"path":[1],"model":"x"}`, nil, 400},
		{"two questions", "POST", row, good + good, nil, 400},
		{"a fraction", "POST", row, `{"path":[1.5]}`, nil, 400},
		{"a large number", "POST", row, `{"path":[4294967297]}`, nil, 400},
		{"a negative token", "POST", row, `{"path":[-1]}`, nil, 400},
		{"a token beyond the vocabulary", "POST", row, `{"path":[4]}`, nil, 400},
		{"after the end", "POST", row, `{"path":[2,1]}`, nil, 422},
		{"at the end", "POST", row, `{"path":[2]}`, nil, 422},
		{"deep nesting", "POST", row, `{"path":` + strings.Repeat("[", 20000), nil, 400},
		{"too long", "POST", row, `{"path":[` + strings.Repeat("1,", mostAsked/2) + `1]}`, nil, 413},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			w := ask(h, r.method, r.path, r.body, r.change)
			var reason map[string]string
			if err := json.Unmarshal(w.Body.Bytes(), &reason); w.Code != r.want || err != nil || reason["error"] == "" {
				t.Errorf("%d %s, want %d and a reason", w.Code, w.Body, r.want)
			}
			if strings.Contains(w.Body.String(), testSecret) {
				t.Error("the answer tells the secret")
			}
		})
	}
	if asked != 0 {
		t.Errorf("the source was asked %d times", asked)
	}
	if w := ask(h, "POST", row, good, nil); w.Code != 200 || asked != 1 {
		t.Errorf("a good question gives %d", w.Code)
	}
}

func TestTroubleOfTheModelIsTold(t *testing.T) {
	h := newTestHandler(t)
	for _, r := range []struct{ n, status int }{{7, 422}, {8, 500}, {9, 422}} {
		body, _ := json.Marshal(map[string]any{"path": make([]int32, r.n)})
		w := ask(h, "POST", "/"+testSecret+"/row", string(body), nil)
		if w.Code != r.status || strings.Contains(w.Body.String(), "<") { // JSON escapes it
			t.Errorf("%d tokens: %d %s, want %d", r.n, w.Code, w.Body, r.status)
		}
	}
}

// Clients are answered side by side, and the server ends with its context, also
// while a client is connected.
func TestServerAnswersManyAndEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- Serve(ctx, l, serverPage(t), lengths, func(url string) { address <- url }) }()
	url := <-address
	if want := "http://" + l.Addr().String() + "/"; !strings.HasPrefix(url, want) || len(url) != len(want)+33 {
		t.Fatalf("the address is %q", url)
	}
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for step := range 3 {
				body, _ := json.Marshal(map[string]any{"path": make([]int32, (client+step)%3)})
				got, err := http.Post(url+"row", "application/json", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				var a answer
				if err := json.NewDecoder(got.Body).Decode(&a); err != nil || len(a.Node.Path) != (client+step)%3 {
					t.Errorf("%v: %+v", err, a)
				}
				got.Body.Close()
			}
		})
	}
	clients.Wait()
	idle, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server did not end")
	}
	if answer, err := http.Get(url); err == nil {
		answer.Body.Close()
		t.Error("it still answers")
	}
}

// Only an address of this machine will do.
func TestOtherMachinesAreNotServed(t *testing.T) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = Serve(ctx, l, serverPage(t), lengths, func(string) { t.Error("it answers"); stop() })
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

// A question may hold anything.
func FuzzQuestions(f *testing.F) {
	for _, s := range []string{`{"path":[]}`, `{"path":[1,0]}`, `{"path":null}`, `[]`, `{"path":[1e3]}`, "\xff", `{"PATH":[1]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p := &Page{Pieces: make([][]byte, 4), End: []int32{2}}
		path, status, problem := (&handler{p: p}).read(io.NopCloser(bytes.NewReader(body)))
		if (problem == "") != (status == 0) || problem != "" && path != nil {
			t.Fatalf("%v %d %q", path, status, problem)
		}
		for _, id := range path {
			if id < 0 || id >= 4 || id == 2 {
				t.Fatalf("path %v", path)
			}
		}
	})
}
