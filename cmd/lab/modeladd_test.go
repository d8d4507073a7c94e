package main

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// lab runs the command in a process of its own and returns what it printed and
// its exit code. onStart is called while it runs.
func lab(t *testing.T, models string, onStart func(*os.Process), args ...string) (out, errOut string, code int) {
	t.Helper()
	path, err := exec.LookPath("lab") // the test binary under that name, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "LAB_MODELS="+models)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if onStart != nil {
		onStart(cmd.Process)
	}
	_ = cmd.Wait() // the code says it
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// A download that Ctrl-C ends is gone on with by the same command.
func TestAnInterruptedDownloadIsGoneOnWith(t *testing.T) {
	data, err := os.ReadFile("../../plugins/models/transformer/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	var ranges atomic.Int32
	sent := make(chan bool, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Header.Get("Range") != "" {
			ranges.Add(1)
			http.ServeContent(w, r, "m", time.Time{}, bytes.NewReader(data))
			return
		}
		w.Header().Set("Content-Length", "2186400")
		_, _ = w.Write(data[:1_000_000])
		_ = http.NewResponseController(w).Flush()
		sent <- true
		<-r.Context().Done()
	}))
	defer web.Close()
	models := filepath.Join(t.TempDir(), "models")
	address := strings.Replace(web.URL, "http://", "http://me:hidden@", 1) + "/far.gguf?token=hidden"
	out, errOut, code := lab(t, models, func(p *os.Process) {
		<-sent
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if info, err := os.Stat(filepath.Join(models, ".part-far", "far.gguf")); err == nil && info.Size() >= 500_000 {
				break
			}
		}
		_ = p.Signal(os.Interrupt)
	}, "model", "add", address)
	if code != 130 || out != "" || !strings.Contains(errOut, "the same command goes on from there") || strings.Contains(errOut, "hidden") {
		t.Fatalf("code %d, %s%s", code, out, errOut)
	}
	if _, errOut, code := lab(t, models, nil, "model", "list"); code != 0 || !strings.Contains(errOut, `the transfer of "far" was interrupted`) {
		t.Errorf("list: code %d, %s", code, errOut)
	}
	out, errOut, code = lab(t, models, nil, "model", "add", address)
	if code != 0 || errOut != "" || ranges.Load() != 1 || !strings.Contains(out, "added far: llama") {
		t.Fatalf("code %d, %d ranges, %s%s", code, ranges.Load(), out, errOut)
	}
	if stored, err := os.ReadFile(filepath.Join(models, "far.gguf")); err != nil || !bytes.Equal(stored, data) {
		t.Errorf("other bytes are stored, %v", err)
	}
	if record, err := os.ReadFile(filepath.Join(models, "far.json")); err != nil || strings.Contains(string(record), "hidden") {
		t.Errorf("the record holds a secret: %s, %v", record, err)
	}
	if left, err := os.ReadDir(models); err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A file behind a gate comes with the token that the environment holds, and nothing
// that lab writes holds it.
func TestAGatedDownloadShowsTheTokenOfTheEnvironment(t *testing.T) {
	data, err := os.ReadFile("../../plugins/models/transformer/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeContent(w, r, "m", time.Time{}, bytes.NewReader(data))
	}))
	defer web.Close()
	root := filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", root)
	t.Setenv("SITE_TOKEN", "sesame")
	models := filepath.Join(t.TempDir(), "models")
	address := web.URL + "/far.gguf"
	for _, r := range []struct {
		args []string
		says string
	}{
		{[]string{address}, "--token-env"},
		{[]string{address, "--token-env", "NO_SUCH_TOKEN"}, "is not there or empty"},
		{[]string{address, "--token-env", ""}, "is not there or empty"},
		{[]string{strings.Replace(address, "https:", "http:", 1), "--token-env", "SITE_TOKEN"}, "by https only"},
		{[]string{"../../plugins/models/transformer/tiny.gguf", "--name", "far", "--token-env", "SITE_TOKEN"}, "for addresses"},
	} {
		if out, errOut, code := lab(t, models, nil, append([]string{"model", "add"}, r.args...)...); code != 2 || out != "" || !strings.Contains(errOut, r.says) {
			t.Errorf("%q: code %d, %s%s", r.args, code, out, errOut)
		}
	}
	out, errOut, code := lab(t, models, nil, "model", "add", address, "--token-env", "SITE_TOKEN")
	if code != 0 || !strings.Contains(out, "added far: llama") {
		t.Fatalf("code %d, %s%s", code, out, errOut)
	}
	files, err := os.ReadDir(models)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(models, f.Name())); err != nil || bytes.Contains(text, []byte("sesame")) {
			t.Errorf("%s holds the token, %v", f.Name(), err)
		}
	}
}
