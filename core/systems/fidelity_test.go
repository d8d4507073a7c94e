package systems

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lab/core/plugin/sampler"
)

// What people have at hand: whole command lines, files and requests, with all that
// does not concern sampling in them.
func TestImportOfWholeFilesAndRequests(t *testing.T) {
	const off = " --top-k 0 --top-p 1 --min-p 0 --temp 1"
	rows := []struct {
		name, system, settings, want string
	}{
		{"a command line with its program", "llama.cpp", `./build/bin/llama-cli -m m.gguf -p "- hello" -n 128 --no-mmap -fa on -ngl 99 --jinja --top-k 20 -c 4096`,
			"top_k:top_k=20 | top_p:top_p=0.95 | min_p:min_p=0.05 | temperature:temperature=0.8 | sample"},
		{"a prompt that looks like a flag", "llama.cpp", "-p --temp -n 3" + off, "sample"},
		{"a switch followed by a flag", "llama.cpp", "--color --mlock -co" + off, "sample"},
		{"the samplers of a request are a list", "llama.cpp", `{"samplers": ["temperature", "top_k"], "top_k": 7}`,
			"temperature:temperature=0.8 | top_k:top_k=7 | sample"},
		{"or letters", "llama.cpp", `{"samplers": "tk", "top_k": 7}`, "temperature:temperature=0.8 | top_k:top_k=7 | sample"},
		{"samplers by their other names", "llama.cpp", "--samplers temp;nucleus;typ;top-n-sigma --typical 0.5 --top-nsigma 2",
			"temperature:temperature=0.8 | top_p:top_p=0.95 | typical:typical=0.5 | top_n_sigma:top_n_sigma=2 | sample"},
		{"breakers taken away", "llama.cpp", "--dry-multiplier 1 --dry-sequence-breaker none" + off, "dry:multiplier=1,breakers= | sample"},
		{"breakers after those taken away", "llama.cpp", "--dry-multiplier 1 --dry-sequence-breaker none --dry-sequence-breaker 7" + off,
			"dry:multiplier=1,breakers='7' | sample"},
		{"a breaker of digits is a text", "koboldcpp", `{"dry_multiplier": 1, "dry_sequence_breakers": ["\n", "1"], "top_k": 0, "top_p": 1, "temperature": 1}`,
			"dry:multiplier=1,breakers='\\n' '1' | top_k:top_k=5000 | sample"},
		{"mirostat whatever the order of samplers", "llama.cpp", "--samplers top_k --mirostat 2 --temp 0.5 --dynatemp-range 0.3",
			"temperature:temperature=0.5 | mirostat_v2"},
		{"koboldcpp's mirostat has its own order", "koboldcpp", `{"sampler_order": [5, 6], "mirostat": 1, "rep_pen": 1.1}`,
			"top_k:top_k=5000 | penalties:repeat=1.1 | temperature:temperature=0.7 | mirostat_v1"},
		{"koboldcpp's ban of the end", "koboldcpp", `{"use_default_badwordsids": true, "top_k": 0, "top_p": 1, "temperature": 1}`,
			"ignore_eos | top_k:top_k=5000 | sample"},
		{"a response format", "llama.cpp", `{"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}}, "top_k": 0, "top_p": 1, "min_p": 0, "temperature": 1}`,
			`json_schema:schema={"type":"integer"} | sample`},
		{"any JSON object", "ollama", `{"format": "json", "options": {"temperature": 0, "repeat_penalty": 1}}`, `json_schema:schema={"type":"object"} | greedy`},
		{"a whole Modelfile", "ollama", "from llama3\nPARAMETER temperature 1\nPARAMETER top_p 1\nPARAMETER repeat_penalty 1\nPARAMETER stop AI assistant:\n" +
			"TEMPLATE \"\"\"{{ .System }}'s\nPARAMETER top_k 1\n\"\"\"\nSYSTEM You're Mario.\nMESSAGE user What's up?\nLICENSE \"\"\"one line\"\"\"\nPARAMETER top_k 3",
			"top_k:top_k=3 | sample"},
		{"vllm behind an OpenAI client", "vllm", `{"model": "m", "temperature": 1, "extra_body": {"top_k": 20}}`, "top_k:top_k=20 | sample"},
		{"a bad word of digits is a text", "vllm", `{"bad_words": ["1"]}`, "bad_words:tokens='1' | sample"},
		{"guided choices", "vllm", `{"guided_choice": ["a.b", "c"]}`, `regex:regex=(a\.b|c) | sample`},
		{"structured outputs", "vllm", `{"structured_outputs": {"json": {"type": "null"}}}`, `json_schema:schema={"type":"null"} | sample`},
		{"a summariser's beams", "transformers", `{"num_beams": 4, "early_stopping": true, "forced_eos_token_id": 2, "length_penalty": 2.0, "max_length": 142, "min_length": 56, "transformers_version": "4.31.0"}`,
			"min_length:min_length=56 | forced_eos:end=2,max_length=142 | sample"},
		{"a watermark", "transformers", `{"do_sample": true, "top_k": 0, "renormalize_logits": true, "watermarking_config": {"bias": 2.5, "greenlist_ratio": 0.5}}`,
			"watermark_green_list:bias=2.5,greenlist_ratio=0.5 | logit_normalization | sample"},
		{"the other watermark", "transformers", `{"watermarking_config": {"ngram_len": 5, "keys": [654, 400]}}`,
			"watermark_synthid:keys=654 400,ngram_len=5 | greedy"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			in, err := Import(r.system, r.settings)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(in.Requests); got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
			}
		})
	}
}

// Every setting that was given shows up: in the chain, or in a list that says why
// it does not.
func TestImportDropsNothingInSilence(t *testing.T) {
	rows := []struct {
		name, system, settings string
		off, lost              []string
	}{
		{"left out of the order", "llama.cpp", "--samplers top_k --top-p 0.5", []string{"--top-p"}, nil},
		{"a stage that is off", "llama.cpp", "--xtc-threshold 0.2 --repeat-last-n 9 --dynatemp-exp 2 --mirostat-ent 4 --adaptive-decay 0.5",
			[]string{"--adaptive-decay", "--dynatemp-exp", "--mirostat-ent", "--repeat-last-n", "--xtc-threshold"}, nil},
		{"a range under mirostat", "llama.cpp", "--mirostat 1 --dynatemp-range 0.3", []string{"--dynatemp-range"}, nil},
		{"settings of a search that is not made", "transformers", `{"length_penalty": 2, "diversity_penalty": 1, "penalty_alpha": 0.5, "do_sample": true, "num_beam_groups": 2}`,
			[]string{"diversity_penalty", "length_penalty", "num_beam_groups", "penalty_alpha"}, nil},
		{"an end that nothing forces", "transformers", `{"forced_eos_token_id": 2, "max_new_tokens": 9, "dola_layers": null}`, nil, []string{"forced_eos_token_id"}},
		{"what concerns no distribution is not lost", "transformers", `{"bos_token_id": 1, "eos_token_id": [2], "transformers_version": "5"}`, nil, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			in, err := Import(r.system, r.settings)
			if err != nil {
				t.Fatal(err)
			}
			names := func(notes []Note) (out []string) {
				for _, n := range notes {
					out = append(out, n.Setting)
				}
				slices.Sort(out)
				return out
			}
			if off, lost := names(in.Off), names(in.NoEquivalent); !slices.Equal(off, r.off) || !slices.Equal(lost, r.lost) {
				t.Errorf("off %q, want %q; no equivalent %q, want %q", off, r.off, lost, r.lost)
			}
		})
	}
}

// The koboldcpp whose rules are followed has no curve; later ones have lab's.
func TestACurveIsLabsOwn(t *testing.T) {
	for settings, want := range map[string]int{`{"smoothing_factor": 0.2}`: 1, `{"smoothing_factor": 0.2, "smoothing_curve": 1.5}`: 0} {
		in, err := Import("koboldcpp", settings)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, r := range in.Requests {
			if r.Name != "quadratic" {
				continue
			}
			for _, s := range r.Settings {
				if s.Name == sampler.CompatSetting {
					got++
				}
			}
		}
		if got != want {
			t.Errorf("%s: %d times compat, want %d", settings, got, want)
		}
	}
}

func TestSeedsAndNumbersAreExact(t *testing.T) {
	in, err := Import("vllm", `{"seed": 18446744073709551615, "n": 3, "max_tokens": 5}`)
	if err != nil || *in.Seed != 1<<64-1 || *in.Samples != 3 || *in.MaxTokens != 5 {
		t.Errorf("%+v, %v", in, err)
	}
	// -n is a number of tokens, "n" in a request one of completions.
	in, err = Import("llama.cpp", `{"n": 2, "n_predict": 7}`)
	if err != nil || *in.Samples != 2 || *in.MaxTokens != 7 {
		t.Errorf("%+v, %v", in, err)
	}
	if in, err = Import("llama.cpp", "-n 9"); err != nil || in.Samples != nil || *in.MaxTokens != 9 {
		t.Errorf("%+v, %v", in, err)
	}
	in, err = Import("ollama", "PARAMETER stop AI assistant:\nPARAMETER stop \"<|end|>\"\nPARAMETER stop \"\"\"a b\"\"\"")
	if err != nil || !slices.Equal(in.Stop, []string{"AI assistant:", "<|end|>", "a b"}) {
		t.Errorf("%+v, %v", in, err)
	}
}

// A deep object costs no more than its length, and opens once only.
func TestNestedObjectsAreOpenedOnce(t *testing.T) {
	deep := strings.Repeat(`{"options":`, 2) + `{"top_k": 1}` + strings.Repeat("}", 2)
	if _, err := Import("ollama", deep); err == nil || !strings.Contains(fmt.Sprint(err), "options") {
		t.Errorf("options inside options: %v", err)
	}
}
