package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/plugin/sampler"
	"lab/plugins/samplers"
)

var update = flag.Bool("update", false, "rewrite the reference pages under docs/")

// The reference pages are what the declarations say.
func TestReferencePagesAreFresh(t *testing.T) {
	pages, err := samplerPages(t.Context(), samplers.All())
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, page{"scripting.md", []byte(scriptReference())})
	const docs = "../../docs"
	made := map[string]bool{}
	for _, p := range pages {
		made[filepath.Base(p.path)] = true
		t.Run(p.path, func(t *testing.T) {
			path := filepath.Join(docs, p.path)
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, p.data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, p.data) {
				t.Errorf("%s is stale; run go test ./cmd/lab -run Reference -update", p.path)
			}
		})
	}
	files, err := os.ReadDir(filepath.Join(docs, "samplers"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if made[f.Name()] {
			continue
		}
		if *update {
			if err := os.Remove(filepath.Join(docs, "samplers", f.Name())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("docs/samplers/%s is of no sampler", f.Name())
	}
}

// Every sampler has an example, and every example shows what its sampler does:
// either the distribution changes or a token is chosen.
func TestReferenceExamples(t *testing.T) {
	set, err := sampler.NewSet(samplers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	// Samplers whose example cannot move the distribution, with the reason.
	still := map[string]string{"logit_normalization": "it moves the scores' zero only"}
	seen := map[string]bool{}
	for _, d := range set.Declarations() {
		seen[d.Name] = true
		t.Run(d.Name, func(t *testing.T) {
			e, ok := examples[d.Name]
			if !ok {
				t.Fatal("it has no example in examples.go")
			}
			if e.family < 0 || e.family >= len(families) || !strings.HasPrefix(e.stage, d.Name) || len(e.passes) != len(e.passNames) {
				t.Errorf("its example is %+v", e)
			}
			v, err := e.run(t.Context(), set)
			if err != nil {
				t.Fatal(err)
			}
			moved := v.chosen >= 0
			for id := range v.tokens {
				moved = moved || !(math.Abs(v.before[id]-v.after[id]) <= 1e-3)
			}
			if _, may := still[d.Name]; moved == may {
				t.Errorf("the example changes the distribution: %v", moved)
			}
		})
	}
	for name := range examples {
		if !seen[name] {
			t.Errorf("examples.go has %q, which is no sampler", name)
		}
	}
}
