package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// explorer is a lab explore --serve in a process of its own.
type explorer struct {
	cmd *exec.Cmd
	url string
	err bytes.Buffer
}

func startExplorer(t *testing.T, args ...string) *explorer {
	t.Helper()
	path, err := exec.LookPath("lab") // the test binary under that name, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	x := &explorer{cmd: exec.Command(path, append([]string{"explore", "The weather today is", "--serve"}, args...)...)}
	x.cmd.Stderr = &x.err
	out, err := x.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("it prints %q (%v), and %s", line, err, &x.err)
	}
	go io.Copy(io.Discard, lines)
	x.url = strings.TrimSpace(line)
	return x
}

// row asks for the scores after some tokens.
func (x *explorer) row(t *testing.T, path []int32) []float32 {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"path": append([]int32{}, path...)})
	answer, err := http.Post(x.url+"row", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Error string
		Node  struct{ Scores string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %s (%v)", answer.StatusCode, got.Error, err)
	}
	data, err := base64.StdEncoding.DecodeString(got.Node.Scores)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float32, len(data)/4)
	for i := range row {
		row[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return row
}

// interrupt is Ctrl-C; it returns the exit code.
func (x *explorer) interrupt(t *testing.T) int {
	t.Helper()
	if err := x.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- x.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return x.cmd.ProcessState.ExitCode()
}

func best(row []float32) int32 {
	at := 0
	for i, v := range row {
		if v > row[at] {
			at = i
		}
	}
	return int32(at)
}

// The scores that are served are those that lab generate samples from, whoever
// else asks and whatever was asked before. Ctrl-C is the right end.
func TestExploreServesTheModel(t *testing.T) {
	out, err := exec.Command("lab", "generate", "The weather today is", "--chain", "greedy", "--max-tokens", "6", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Samples []struct{ Tokens []int32 } }
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	tokens := want.Samples[0].Tokens
	x := startExplorer(t)
	rows := map[string][]float32{}
	for n := range tokens {
		row := x.row(t, tokens[:n])
		if got := best(row); got != tokens[n] {
			t.Fatalf("step %d: the likeliest is token %d, lab generate takes %d", n, got, tokens[n])
		}
		rows[fmt.Sprint(tokens[:n])] = row
	}
	var clients sync.WaitGroup
	for client := range 2 {
		clients.Go(func() {
			for i := range int32(14) { // more contexts than are kept
				x.row(t, []int32{tokens[0], 20 + i, int32(client)})
				n := int(i) % len(tokens)
				if got := x.row(t, tokens[:n]); !reflect.DeepEqual(got, rows[fmt.Sprint(tokens[:n])]) {
					t.Errorf("client %d: the scores after %d tokens have changed", client, n)
				}
			}
		})
	}
	clients.Wait()
	if code := x.interrupt(t); code != 0 || x.err.Len() > 0 {
		t.Errorf("it ends with %d, saying %s", code, &x.err)
	}
	if answer, err := http.Get(x.url); err == nil {
		answer.Body.Close()
		t.Error("it still answers")
	}
}

// A context that is full is said to be, and the server goes on.
func TestExploreSaysWhereTheContextEnds(t *testing.T) {
	x := startExplorer(t, "--model", "grammar")
	body, _ := json.Marshal(map[string]any{"path": make([]int32, 100000)})
	answer, err := http.Post(x.url+"row", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(text), "context") && !strings.Contains(string(text), "ends the text") {
		t.Errorf("%d %.200s", answer.StatusCode, text)
	}
	if len(x.row(t, nil)) == 0 {
		t.Error("no scores after the prompt")
	}
	if code := x.interrupt(t); code != 0 {
		t.Errorf("it ends with %d, saying %s", code, &x.err)
	}
}
