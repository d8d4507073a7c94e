package transformer

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/plugin/model"
	"lab/plugins/models/internal/kernel"
)

// peer is what transformers says of a small random model; see
// testdata/peer/README.md.
type peer struct {
	Tokens []int32 `json:"tokens"`
	Greedy []int32 `json:"greedy"`
	Rows   []struct {
		Position int    `json:"position"`
		Scores   string `json:"scores_f32_base64"`
	} `json:"rows"`
}

// peerNames are the models in testdata/peer.
func peerNames(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/peer/*.gguf")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".gguf")
	}
	return paths
}

func peerPath(name string) string { return "testdata/peer/" + name + ".gguf" }

func readPeer(t *testing.T, name string) peer {
	t.Helper()
	data, err := os.ReadFile("testdata/peer/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var p peer
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Tokens) == 0 || len(p.Greedy) == 0 || len(p.Rows) == 0 {
		t.Fatalf("%s has no tokens or no rows", name)
	}
	return p
}

// distance is the L2 norm of got-want relative to that of want.
func distance(got []float32, want []float32) float64 {
	var off, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		off += d * d
		size += float64(w) * float64(w)
	}
	return math.Sqrt(off / size)
}

// greedy continues a sequence that has got its last scores.
func greedy(t testing.TB, e *engine, seq uint64, length, n int, scores []float32) []int32 {
	t.Helper()
	var out []int32
	for {
		best := 0
		for id, v := range scores {
			if v > scores[best] {
				best = id
			}
		}
		if out = append(out, int32(best)); len(out) == n {
			return out
		}
		rows := rowsFor(e, 1)
		in := model.Input{Seq: seq, Start: length + len(out) - 1, Tokens: out[len(out)-1:], Want: model.Last, Scores: rows}
		if _, err := e.Forward(context.Background(), []model.Input{in}); err != nil {
			t.Fatal(err)
		}
		scores = rows[0].Values
	}
}

func TestEveryArchitectureAgreesWithTransformers(t *testing.T) {
	var met []string
	for _, name := range peerNames(t) {
		want := readPeer(t, name)
		for _, k := range kernel.All() {
			t.Run(name+"/"+k.Name(), func(t *testing.T) {
				e := openWith(t, peerPath(name), 2, k)
				met = append(met, e.arch.name)
				scores := all(t, e, 1, want.Tokens)
				largest := 0.0
				for _, row := range want.Rows {
					raw, err := base64.StdEncoding.DecodeString(row.Scores)
					if err != nil || len(raw) != 4*e.hyper.vocab {
						t.Fatalf("position %d: %d bytes, %v", row.Position, len(raw), err)
					}
					reference := make([]float32, e.hyper.vocab)
					for i := range reference {
						reference[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
					}
					// Two float32 computations of some thousand roundings each:
					// measured below 4e-6.
					d := distance(scores[row.Position], reference)
					if largest = max(largest, d); !(d <= 2e-5) {
						t.Errorf("position %d: relative distance %g", row.Position, d)
					}
				}
				t.Logf("largest relative distance %.2g", largest)
				if got := greedy(t, e, 1, len(want.Tokens), len(want.Greedy), scores[len(scores)-1]); !slices.Equal(got, want.Greedy) {
					t.Errorf("greedy tokens %v, transformers has %v", got, want.Greedy)
				}
			})
		}
	}
	for _, a := range architectures() {
		if !slices.Contains(met, a.name) {
			t.Errorf("no model of the architecture %q was compared", a.name)
		}
	}
}
