package kernel_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"lab/core/fault"
	"lab/core/kernel"
	"lab/core/script"
	"lab/core/script/cells"
)

const key = "secret"

// freePorts returns n ports of the loopback interface that were free a moment ago.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

func connection(t *testing.T) kernel.Connection {
	p := freePorts(t, 5)
	return kernel.Connection{Transport: "tcp", IP: "127.0.0.1", Shell: p[0], IOPub: p[1], Stdin: p[2], Control: p[3], Heartbeat: p[4], Key: key, Scheme: "hmac-sha256"}
}

// client is a small client of the protocol, written from its description.
type client struct {
	t       *testing.T
	sockets map[string]zmq4.Socket
	iopub   chan reply
	answers chan reply
	early   map[string]reply // answers that came before they were waited for
	sent    int
}

type reply struct {
	Type, Parent string
	Content      map[string]any
}

func sign(parts ...string) string {
	mac := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		mac.Write([]byte(p))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

func start(t *testing.T) (*client, kernel.Connection, func() error) {
	t.Helper()
	session, err := cells.New(cells.Config{Modules: []script.Module{{Name: "kit", Doc: "For tests.", Members: []script.Member{
		{Name: "wait", Doc: "Waits for the interrupt.", Func: func(c *script.Call) (any, error) {
			return nil, c.Blocking(func() error { <-c.Context().Done(); return c.Context().Err() })
		}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	at := connection(t)
	k, err := kernel.New(kernel.Config{Connection: at, Cells: session, Version: "test", Language: map[string]any{"name": "tengo"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- k.Serve(ctx) }()
	t.Cleanup(cancel)
	c := &client{t: t, sockets: map[string]zmq4.Socket{}, early: map[string]reply{}, iopub: make(chan reply, 1000), answers: make(chan reply, 1000)}
	quiet := zmq4.WithLogger(log.New(io.Discard, "", 0))
	for name, s := range map[string]struct {
		zmq4.Socket
		port int
	}{"shell": {zmq4.NewDealer(ctx, quiet), at.Shell}, "control": {zmq4.NewDealer(ctx, quiet), at.Control}, "iopub": {zmq4.NewSub(ctx, quiet), at.IOPub}} {
		if err := s.Dial(fmt.Sprintf("tcp://127.0.0.1:%d", s.port)); err != nil {
			t.Fatal(err)
		}
		c.sockets[name] = s.Socket
		if name == "iopub" {
			if err := s.SetOption(zmq4.OptionSubscribe, ""); err != nil {
				t.Fatal(err)
			}
			go c.receive(s.Socket, c.iopub)
		} else {
			go c.receive(s.Socket, c.answers)
		}
	}
	c.settle()
	return c, at, func() error {
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Second):
			t.Fatal("the kernel does not end")
			return nil
		}
	}
}

// settle waits until what the kernel publishes arrives: a subscription takes a
// moment.
func (c *client) settle() {
	for range 100 {
		id := c.send("shell", "kernel_info_request", "{}")
		c.answer(id)
		select {
		case <-c.iopub:
			time.Sleep(20 * time.Millisecond)
			for len(c.iopub) > 0 {
				<-c.iopub
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	c.t.Fatal("nothing is published")
}

func (c *client) receive(s zmq4.Socket, to chan<- reply) {
	for {
		m, err := s.Recv()
		if err != nil {
			return
		}
		n := len(m.Frames)
		if n < 6 {
			c.t.Errorf("a message of %d frames", n)
			return
		}
		parts := make([]string, 4)
		for i := range parts {
			parts[i] = string(m.Frames[n-4+i])
		}
		if got := string(m.Frames[n-5]); got != sign(parts...) {
			c.t.Errorf("signature %s of a %s", got, parts[0])
		}
		var h, p struct {
			ID      string `json:"msg_id"`
			Type    string `json:"msg_type"`
			Version string `json:"version"`
			Date    string `json:"date"`
		}
		r := reply{}
		if json.Unmarshal([]byte(parts[0]), &h) != nil || json.Unmarshal([]byte(parts[1]), &p) != nil || json.Unmarshal([]byte(parts[3]), &r.Content) != nil {
			c.t.Errorf("parts %q", parts)
		}
		if _, err := time.Parse(time.RFC3339, h.Date); err != nil || h.ID == "" || h.Version == "" {
			c.t.Errorf("header %s", parts[0])
		}
		r.Type, r.Parent = h.Type, p.ID
		to <- r
	}
}

func (c *client) send(socket, kind, content string) (id string) {
	c.sent++
	id = fmt.Sprintf("m%d", c.sent)
	parts := []string{fmt.Sprintf(`{"msg_id": %q, "session": "s", "username": "u", "date": "2020-01-01T00:00:00Z", "msg_type": %q, "version": "5.3"}`, id, kind), "{}", "{}", content}
	c.raw(socket, append([]string{"<IDS|MSG>", sign(parts...)}, parts...)...)
	return id
}

func (c *client) raw(socket string, frames ...string) {
	c.t.Helper()
	list := make([][]byte, len(frames))
	for i, f := range frames {
		list[i] = []byte(f)
	}
	if err := c.sockets[socket].SendMulti(zmq4.NewMsgFrom(list...)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) answer(id string) reply {
	c.t.Helper()
	for {
		if r, ok := c.early[id]; ok {
			return r
		}
		select {
		case r := <-c.answers:
			c.early[r.Parent] = r
		case <-time.After(10 * time.Second):
			c.t.Fatalf("no answer to %s", id)
		}
	}
}

// published returns what was published for a request, until idle.
func (c *client) published(id string) []reply {
	c.t.Helper()
	var out []reply
	for {
		select {
		case r := <-c.iopub:
			if r.Parent != id {
				continue
			}
			out = append(out, r)
			if r.Content["execution_state"] == "idle" {
				return out
			}
		case <-time.After(10 * time.Second):
			c.t.Fatalf("no idle after %s, only %v", id, out)
		}
	}
}

// begun waits until a cell is said to run: from then on it can be interrupted.
func (c *client) begun(id string) {
	c.t.Helper()
	for {
		select {
		case r := <-c.iopub:
			if r.Parent == id && r.Type == "execute_input" {
				return
			}
		case <-time.After(10 * time.Second):
			c.t.Fatalf("%s does not begin", id)
		}
	}
}

func code(src string) string {
	data, _ := json.Marshal(map[string]any{"code": src}) // of strings cannot fail
	return string(data)
}

func types(list []reply) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Type)
	}
	return strings.Join(out, " ")
}

func TestACellOverTheWire(t *testing.T) {
	c, _, ended := start(t)
	id := c.send("shell", "execute_request", code(`print("a"); show(1); 2`))
	if r := c.answer(id); r.Type != "execute_reply" || r.Content["status"] != "ok" || r.Content["execution_count"] != 1.0 {
		t.Errorf("%+v", r)
	}
	got := c.published(id)
	if types(got) != "status execute_input stream display_data execute_result status" {
		t.Errorf("published %s", types(got))
	}
	if text := got[2].Content; text["name"] != "stdout" || text["text"] != "a\n" {
		t.Errorf("stream %v", text)
	}
	id = c.send("shell", "execute_request", code("nope"))
	if r := c.answer(id); r.Content["status"] != "error" || !strings.Contains(fmt.Sprint(r.Content["traceback"]), "cell 2:1:1") {
		t.Errorf("%+v", r)
	}
	for kind, want := range map[string]string{"no_such_request": "status status", "comm_open": "status comm_close status"} {
		id := c.send("shell", kind, `{"comm_id": "x"}`)
		if got := types(c.published(id)); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
	id = c.send("control", "shutdown_request", `{"restart": true}`)
	if r := c.answer(id); r.Content["restart"] != true {
		t.Errorf("%+v", r)
	}
	if err := ended(); err != nil {
		t.Error(err)
	}
}

func TestControlIsServedWhileACellRuns(t *testing.T) {
	c, _, ended := start(t)
	for _, src := range []string{"for {}", `import("kit").wait()`} {
		id := c.send("shell", "execute_request", code(src))
		c.begun(id)
		if r := c.answer(c.send("control", "kernel_info_request", "{}")); r.Type != "kernel_info_reply" {
			t.Errorf("%+v", r)
		}
		if r := c.answer(c.send("control", "interrupt_request", "{}")); r.Content["status"] != "ok" {
			t.Errorf("%+v", r)
		}
		if r := c.answer(id); r.Content["ename"] != "interrupted" {
			t.Errorf("%s: %+v", src, r)
		}
	}
	c.begun(c.send("shell", "execute_request", code("for {}")))
	c.send("control", "shutdown_request", "{}")
	if err := ended(); err != nil {
		t.Error(err)
	}
}

func TestBadMessagesAreDropped(t *testing.T) {
	c, at, _ := start(t)
	header := `{"msg_id": "bad", "session": "s", "username": "u", "date": "", "msg_type": "execute_request", "version": "5.3"}`
	body := code("x := 1")
	good := []string{header, "{}", "{}", body}
	for _, frames := range [][]string{
		{"hello"}, {"<IDS|MSG>"}, {"<IDS|MSG>", sign()}, {"<IDS|MSG>", "", header, "{}", "{}"},
		append([]string{"<IDS|MSG>", ""}, good...),
		append([]string{"<IDS|MSG>", strings.Repeat("0", 64)}, good...),
		{"<IDS|MSG>", sign("[]", "{}", "{}", body), "[]", "{}", "{}", body},
		{"<IDS|MSG>", sign(header, "{}", "{}", "{"), header, "{}", "{}", "{"},
		{"<IDS|MSG>", sign("{}", "{}", "{}", body), "{}", "{}", "{}", body},
	} {
		c.raw("shell", frames...)
	}
	for _, content := range []string{`[]`, `{"code": 1}`, `null`} {
		c.answer(c.send("shell", "execute_request", content))
		c.answer(c.send("shell", "complete_request", content))
		c.answer(c.send("shell", "history_request", content))
	}
	if r := c.answer(c.send("shell", "execute_request", code("x"))); r.Content["status"] != "error" {
		t.Errorf("a message that should have been dropped was run: %+v", r)
	}
	// Sizes that no message has, before and after the introduction.
	for name, port := range map[string]int{"DEALER": at.Shell, "SUB": at.IOPub, "REQ": at.Heartbeat} {
		ready := "\x05READY\x0bSocket-Type\x00\x00\x00" + string(rune(len(name))) + name
		for _, tail := range []string{"", "\x04" + string(rune(len(ready))) + ready} {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Fatal(err)
			}
			greeting := "\xff" + strings.Repeat("\x00", 8) + "\x7f\x03\x00NULL" + strings.Repeat("\x00", 48)
			fmt.Fprint(conn, greeting[:64]+tail+"\x02\x3f\xff\xff\xff\xff\xff\xff\xff"+strings.Repeat("x", 1000))
			_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s, %q: the connection stays open: %v", name, tail, err)
			}
			conn.Close()
		}
	}
	if r := c.answer(c.send("shell", "execute_request", code("1"))); r.Content["status"] != "ok" {
		t.Errorf("%+v", r)
	}
}

func TestConnectionFilesThatAreRefused(t *testing.T) {
	good := connection(t)
	for _, c := range []struct {
		name string
		edit func(*kernel.Connection)
		want string
	}{
		{"another interface", func(c *kernel.Connection) { c.IP = "0.0.0.0" }, `ip "0.0.0.0" is not a loopback address`},
		{"no address", func(c *kernel.Connection) { c.IP = "*" }, "is not a loopback address"},
		{"another transport", func(c *kernel.Connection) { c.Transport = "ipc" }, `transport "ipc" is not tcp`},
		{"another signature", func(c *kernel.Connection) { c.Scheme = "hmac-md5" }, "is not hmac-sha256"},
		{"no port", func(c *kernel.Connection) { c.Control = 0 }, "control_port = 0 is outside 1 to 65535"},
		{"one port twice", func(c *kernel.Connection) { c.Stdin = c.Shell }, "is that of another socket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := good
			c.edit(&bad)
			data, err := json.Marshal(bad)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "connection.json")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := kernel.ReadConnection(path); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	for name, text := range map[string]string{"nothing": "", "a list": "[]", "cut off": `{"ip": "127`, "large": strings.Repeat(" ", 1<<17)} {
		path := filepath.Join(t.TempDir(), "connection.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := kernel.ReadConnection(path); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", good.Shell))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := kernel.New(kernel.Config{Connection: good}); err == nil || !strings.Contains(err.Error(), "shell socket") {
		t.Errorf("a port that is taken: %v", err)
	}
}

func TestInstall(t *testing.T) {
	folder := kernel.PrefixFolder(t.TempDir())
	for range 2 { // a second one takes the place of the first
		path, err := kernel.Install(folder, kernel.Spec{Name: "lab", DisplayName: "lab (Tengo)", Language: "tengo", Argv: []string{"/bin/lab", "{connection_file}"}})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var spec struct {
			Argv      []string
			Language  string
			Interrupt string `json:"interrupt_mode"`
		}
		if err := json.Unmarshal(data, &spec); err != nil || len(spec.Argv) != 2 || spec.Interrupt != "message" || spec.Language != "tengo" {
			t.Errorf("%s: %v", data, err)
		}
	}
	list, err := os.ReadDir(filepath.Join(folder, "kernels", "lab"))
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
