//go:build python

package python

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lab/core/plugin/conform"
	"lab/core/plugin/conform/conformtest"
)

const (
	samplerExample = "../examples/python-sampler"
	modelExample   = "../examples/python-model"
)

// next is the part of lab/next/1 that the tests read.
type next struct {
	Tokens []struct {
		ModelProb    float64 `json:"model_prob"`
		SamplingProb float64 `json:"sampling_prob"`
	} `json:"tokens"`
	Ledger []struct {
		Stage         string  `json:"stage"`
		Plugin        string  `json:"plugin"`
		SupportBefore int     `json:"support_before"`
		SupportAfter  int     `json:"support_after"`
		EntropyBefore float64 `json:"entropy_before_bits"`
		EntropyAfter  float64 `json:"entropy_after_bits"`
		KL            float64 `json:"kl_bits"`
	} `json:"ledger"`
}

func askNext(t *testing.T, args ...string) next {
	t.Helper()
	var n next
	if err := json.Unmarshal([]byte(mustLab(t, append([]string{"next", "--json"}, args...)...)), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The sampling distribution that lab reports is that of the formula, computed
// here from the model distribution that it reports: q_i ∝ p_i^(1/T).
func TestTheSamplerFollowsItsFormulaInLab(t *testing.T) {
	dir := layOut(t, "entropy", samplerExample, "entropy_temperature.py")
	n := askNext(t, "The weather today is", "--plugin-dir", dir, "--chain", "entropy_temperature:theta=2", "--top", "1312")
	if len(n.Tokens) != 1312 || len(n.Ledger) != 2 {
		t.Fatalf("%d tokens and %d lines of the ledger", len(n.Tokens), len(n.Ledger))
	}
	nats := 0.0
	for _, token := range n.Tokens {
		nats -= token.ModelProb * math.Log(token.ModelProb)
	}
	temperature := math.Pow(0.8, 2/nats)
	sum := 0.0
	want := make([]float64, len(n.Tokens))
	for i, token := range n.Tokens {
		want[i] = math.Pow(token.ModelProb, 1/temperature)
		sum += want[i]
	}
	for i, token := range n.Tokens {
		// Scores travel as binary32, some 2^-24 of 30 apart each way.
		if w := want[i] / sum; !(math.Abs(token.SamplingProb-w) <= 1e-5*w) {
			t.Fatalf("token at rank %d has %g, the formula %g", i+1, token.SamplingProb, w)
		}
	}
	c := n.Ledger[0]
	if c.Plugin != "entropy" || c.Stage != "entropy_temperature" || c.SupportAfter != 1312 || !(c.KL > 0) || !(c.EntropyAfter < c.EntropyBefore) {
		t.Errorf("the ledger says %+v", c)
	}
	if got := nats / math.Ln2; !(math.Abs(c.EntropyBefore-got) <= 1e-9) {
		t.Errorf("the ledger begins at %g bits, the model distribution has %g", c.EntropyBefore, got)
	}
}

// A Python stage stands anywhere in a chain, and its ledger joins those beside
// it: each stage begins at the entropy at which the one before ended.
func TestTheSamplerStandsAmongOthers(t *testing.T) {
	dir := layOut(t, "entropy", samplerExample, "entropy_temperature.py")
	n := askNext(t, "The weather today is", "--plugin-dir", dir, "--chain", "top_k:50 | edt:temperature=0.9 | top_p:0.9")
	for i := 1; i < len(n.Ledger); i++ {
		before, after := n.Ledger[i-1], n.Ledger[i]
		if before.SupportAfter != after.SupportBefore || !(math.Abs(before.EntropyAfter-after.EntropyBefore) <= 1e-9) {
			t.Errorf("stage %s ends with %d tokens and %g bits, %s begins with %d and %g", before.Stage, before.SupportAfter,
				before.EntropyAfter, after.Stage, after.SupportBefore, after.EntropyBefore)
		}
	}
	if len(n.Ledger) != 4 || n.Ledger[1].SupportAfter != 50 {
		t.Errorf("the ledger says %+v", n.Ledger)
	}
}

func TestBadSettingsOfThePythonSampler(t *testing.T) {
	dir := layOut(t, "entropy", samplerExample, "entropy_temperature.py")
	for chain, says := range map[string]string{
		"entropy_temperature:theta=-1": "theta = -1 is outside [0, 100]",
		"entropy_temperature:tehta=1":  `did you mean "theta"?`,
		"entropy_temprature":           `did you mean "entropy_temperature"?`,
	} {
		_, errOut, code := lab(t, "next", "The", "--plugin-dir", dir, "--chain", chain)
		if code != 2 || !strings.Contains(errOut, says) {
			t.Errorf("%s: exit code %d, %s", chain, code, errOut)
		}
	}
}

func TestTheScriptsOfTheExamples(t *testing.T) {
	rows := []struct{ plugin, project, main, script, figure, says string }{
		{"entropy", samplerExample, "entropy_temperature.py", "entropy.tengo", "entropy.svg", `The weather today is +4\.733 +4\.6`},
		{"ngram", modelExample, "byte_ngram.py", "contexts.tengo", "contexts.svg", `"rbour" +0\.\d+ +" " +0\.8`},
	}
	for _, r := range rows {
		t.Run(r.script, func(t *testing.T) {
			script, err := filepath.Abs(filepath.Join(r.project, r.script))
			if err != nil {
				t.Fatal(err)
			}
			dir, out := layOut(t, r.plugin, r.project, r.main), t.TempDir()
			text := mustLab(t, "run", script, "--plugin-dir", dir, "--out", out)
			if !regexp.MustCompile(r.says).MatchString(text) {
				t.Errorf("no line matches %s:\n%s", r.says, text)
			}
			figure, err := os.ReadFile(filepath.Join(out, r.figure))
			if err != nil || !strings.Contains(string(figure), "<svg") {
				t.Errorf("there is no figure: %v", err)
			}
			if again := mustLab(t, "run", script, "--plugin-dir", dir, "--out", t.TempDir()); again != text {
				t.Errorf("a second run says otherwise:\n%s", again)
			}
		})
	}
}

// Samples are the same alone and in any batch, and their texts are made of what
// the model was fitted on.
func TestTheModelGenerates(t *testing.T) {
	dir := layOut(t, "ngram", modelExample, "byte_ngram.py")
	args := []string{"generate", "The ", "--plugin-dir", dir, "--model", "byte_ngram", "--samples", "5", "--seed", "3", "--max-tokens", "80",
		"--chain", "temperature:0.5"}
	whole := mustLab(t, args...)
	if one := mustLab(t, append(args, "--batch", "1")...); one != whole {
		t.Errorf("at batch 1:\n%s\nat batch 5:\n%s", one, whole)
	}
	corpus, err := os.ReadFile(filepath.Join(modelExample, "harbour.txt"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	word := regexp.MustCompile(`[A-Za-z]{3,}`)
	for _, w := range word.FindAllString(string(corpus), -1) {
		known[w] = true
	}
	found, all := 0, 0
	for _, line := range strings.Split(whole, "\n") {
		if strings.HasPrefix(line, "──") {
			continue
		}
		for _, w := range word.FindAllString(line, -1) {
			all++
			if known[w] {
				found++
			}
		}
	}
	if all < 15 || found*10 < all*8 {
		t.Errorf("%d of %d words are words of the text it was fitted on:\n%s", found, all, whole)
	}
	n := askNext(t, "The wind tonight will be from the w", "--plugin-dir", dir, "--model", "byte_ngram", "--top", "257")
	sum := 0.0
	for _, token := range n.Tokens {
		if !(token.ModelProb > 0) {
			t.Errorf("a byte has probability %g", token.ModelProb)
		}
		sum += token.ModelProb
	}
	if len(n.Tokens) != 257 || !(math.Abs(sum-1) <= 1e-9) {
		t.Errorf("%d probabilities sum to %g", len(n.Tokens), sum)
	}
}

// Any text file can be fitted, by the pattern of its name.
func TestTheModelOpensAFile(t *testing.T) {
	dir := layOut(t, "ngram", modelExample, "byte_ngram.py")
	path := filepath.Join(t.TempDir(), "mine.ngram.txt")
	if err := os.WriteFile(path, []byte("abcabcabc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := mustLab(t, "generate", "abc", "--plugin-dir", dir, "--model", path, "--chain", "greedy", "--max-tokens", "6"); !strings.Contains(out, "abcabc") {
		t.Errorf("it says %s", out)
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, code := lab(t, "generate", "abc", "--plugin-dir", dir, "--model", path)
	if code != 5 || !strings.Contains(errOut, "has no text to count") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// Both examples satisfy every law that the kit asks of any plugin.
func TestTheExamplesConform(t *testing.T) {
	t.Run("sampler", func(t *testing.T) {
		dir := layOut(t, "entropy", samplerExample, "entropy_temperature.py")
		conformtest.Executable(t, filepath.Join(dir, "lab-plugin-entropy"), conform.Options{
			Facts: map[string]conform.Facts{"entropy_temperature": {Off: []any{"temperature", 1.0, "theta", 0.0}}},
		})
	})
	t.Run("model", func(t *testing.T) {
		dir := layOut(t, "ngram", modelExample, "byte_ngram.py")
		conformtest.Executable(t, filepath.Join(dir, "lab-plugin-ngram"), conform.Options{})
	})
}

// With TLS a Python plugin gives the same answer; without the package that makes
// certificates it says that it is missing.
func TestTLS(t *testing.T) {
	dir := layOut(t, "entropy", samplerExample, "entropy_temperature.py")
	args := []string{"next", "The", "--plugin-dir", dir, "--chain", "entropy/edt", "--json"}
	out, errOut, code := lab(t, append(args, "--plugin-tls")...)
	if err := exec.Command(os.Getenv("LAB_TEST_PYTHON"), "-c", "import cryptography").Run(); err != nil {
		if code != 4 || !strings.Contains(errOut, "pip install cryptography") {
			t.Errorf("without the package: exit code %d: %s", code, errOut)
		}
		return
	}
	if code != 0 || out != mustLab(t, args...) {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
}
