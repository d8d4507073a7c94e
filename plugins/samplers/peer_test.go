package samplers

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A peer times another system's samplers over the rows of BenchmarkCatalogue.
// Its zero value knows nothing.
type peer struct {
	python string
	folder string
	known  map[[2]int]map[string]peerTime
}

// peerTime is what one step took, in microseconds.
type peerTime struct {
	Step float64 `json:"step_us"` // filling its candidates, applying, accepting
	Fill float64 `json:"fill_us"` // filling its candidates
}

func newPeer(b *testing.B) *peer {
	return &peer{python: os.Getenv("LAB_PEER_PYTHON"), folder: b.TempDir(), known: map[[2]int]map[string]peerTime{}}
}

// times returns what the chain of a speed case takes there.
func (p *peer) times(b *testing.B, name string, kind, n int) (peerTime, bool) {
	if p.python == "" {
		return peerTime{}, false
	}
	key := [2]int{kind, n}
	if p.known[key] == nil {
		row, history := filepath.Join(p.folder, "row"), filepath.Join(p.folder, "history")
		for path, values := range map[string]any{row: speedRow(kind, n), history: speedHistory(n)} {
			data, err := binary.Append(nil, binary.LittleEndian, values)
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		cmd := exec.Command(p.python, "testdata/peer/llama_cpp_times.py", row, history)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("%s: %v", p.python, err)
		}
		times := map[string]peerTime{}
		if err := json.Unmarshal(out, &times); err != nil {
			b.Fatal(err)
		}
		p.known[key] = times
	}
	t, ok := p.known[key][name]
	return t, ok
}
