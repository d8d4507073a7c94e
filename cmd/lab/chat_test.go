package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chattyModel writes the embedded model to a file with a chat template.
func chattyModel(t *testing.T, template string) string {
	t.Helper()
	data, err := os.ReadFile("../../plugins/models/transformer/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	const key, header = "tokenizer.chat_template", 24 // magic, version, counts of tensors and entries
	entry := le.AppendUint64(nil, uint64(len(key)))
	entry = le.AppendUint32(append(entry, key...), 8) // text
	for (len(entry)+8+len(template))%32 != 0 {
		template += " " // trimmed by the comment before it, until the tensors are aligned again
	}
	entry = append(le.AppendUint64(entry, uint64(len(template))), template...)
	le.PutUint64(data[16:], le.Uint64(data[16:])+1)
	path := filepath.Join(t.TempDir(), "chatty.gguf")
	if err := os.WriteFile(path, append(append(append([]byte{}, data[:header]...), entry...), data[header:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The prompt is the template's; the answer stands alone, and is the one to the
// same tokens given as text.
func TestGenerateChat(t *testing.T) {
	path := chattyModel(t, `{{ bos_token }}{% for m in messages %}{{ m.content | trim }} {% endfor %}today{#- -#}`)
	home := t.TempDir()
	args := []string{"--model", path, "--chain", "greedy", "--max-tokens", "8"}
	answer, errOut, code := lab(t, home, nil, append([]string{"generate", " weather ", "--chat", "--system", "The"}, args...)...)
	if code != 0 || answer == "" {
		t.Fatalf("code %d: %s", code, errOut)
	}
	plain, errOut, code := lab(t, home, nil, append([]string{"generate", "The weather today"}, args...)...)
	if code != 0 || plain != "The weather today"+answer {
		t.Errorf("code %d: the plain prompt gives %q, the conversation %q: %s", code, plain, answer, errOut)
	}
	out, errOut, code := lab(t, home, nil, append([]string{"generate", "<s>weather</s>", "--chat", "--json"}, args...)...)
	var report generateReport
	if err := json.Unmarshal([]byte(out), &report); code != 0 || err != nil || report.Prompt != "<s><s>weather</s> today" {
		t.Errorf("code %d, %v: the prompt is %q: %s", code, err, report.Prompt, errOut)
	}
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"a model without a template": {[]string{"generate", "x", "--chat"}, "no chat template"},
		"a system's turn alone":      {[]string{"generate", "x", "--system", "y"}, "add --chat"},
		"an empty question":          {[]string{"generate", "", "--chat", "--model", path}, "ask the model something"},
		"a prompt that passes share": {[]string{"generate", "x", "--chat", "--model", path, "--chain", "contrastive | sample", "--second-model", "tiny"}, "a prompt of its own"},
	} {
		if out, errOut, code := lab(t, home, nil, row.args...); code != 2 || out != "" || !strings.Contains(errOut, row.want) {
			t.Errorf("%s: code %d, %q, %q", name, code, out, errOut)
		}
	}
}
