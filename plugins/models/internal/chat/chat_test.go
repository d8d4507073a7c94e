package chat

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"lab/core/fault"
)

type peerFile struct {
	Templates map[string]string `json:"templates"`
	Cases     []struct {
		Name     string `json:"name"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Text    string `json:"text"`
		Refused string `json:"refused"`
	} `json:"cases"`
}

func readPeer(t testing.TB) peerFile {
	t.Helper()
	data, err := os.ReadFile("testdata/peer.json")
	if err != nil {
		t.Fatal(err)
	}
	var p peerFile
	if err := json.Unmarshal(data, &p); err != nil || len(p.Cases) < 60 {
		t.Fatalf("%d cases, %v", len(p.Cases), err)
	}
	return p
}

// Templates of the known forms render as jinja2 renders them for the
// transformers library; testdata/peer/peer.py stored its texts.
func TestTemplatesRenderAsInTransformers(t *testing.T) {
	p := readPeer(t)
	for i, c := range p.Cases {
		t.Run(fmt.Sprintf("%s %d", c.Name, i), func(t *testing.T) {
			tmpl, err := Compile(p.Templates[c.Name], "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			var messages []Message
			for _, m := range c.Messages {
				messages = append(messages, Message(m))
			}
			got, err := tmpl.Render(messages)
			if c.Refused != "" {
				if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.Refused) {
					t.Errorf("got %q, %v; want it refused: %s", got, err, c.Refused)
				}
				return
			}
			if err != nil || got != c.Text {
				t.Errorf("got %q, %v; want %q", got, err, c.Text)
			}
		})
	}
}
