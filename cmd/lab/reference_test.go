package main

import (
	"flag"
	"os"
	"testing"

	"lab/plugins/samplers"
)

var update = flag.Bool("update", false, "rewrite the reference pages under docs/")

// The reference pages are what the declarations say.
func TestReferencePagesAreFresh(t *testing.T) {
	pages := []struct{ name, path, text string }{
		{"scripting", "../../docs/scripting.md", scriptReference()},
		{"samplers", "../../docs/samplers.md", samplerReference(samplers.All())},
	}
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			if *update {
				if err := os.WriteFile(p.path, []byte(p.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(p.path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != p.text {
				t.Errorf("%s is stale; run go test ./cmd/lab -update", p.path)
			}
		})
	}
}
