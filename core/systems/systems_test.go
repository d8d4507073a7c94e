package systems

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lab/core/chain"
	"lab/core/fault"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// written returns requests in chain syntax, without the compat that all share.
func written(requests []chain.Request) string {
	var out []string
	for _, r := range requests {
		var parts []string
		for _, s := range r.Settings {
			if s.Name != sampler.CompatSetting {
				parts = append(parts, s.Name+"="+param.Format(s.Value))
			}
		}
		text := r.Name
		if len(parts) > 0 {
			text += ":" + strings.Join(parts, ",")
		}
		out = append(out, text)
	}
	return strings.Join(out, " | ")
}

func TestImport(t *testing.T) {
	rows := []struct {
		name, system, settings, want string
	}{
		{"llama.cpp's own defaults", "llama.cpp", "",
			"top_k:top_k=40 | top_p:top_p=0.95 | min_p:min_p=0.05 | temperature:temperature=0.8 | sample"},
		{"flags in any order", "llama.cpp", "--top-p 1.0 --temp 0.5 --top-k 0 --min-p 0.1 -s 7",
			"min_p:min_p=0.1 | temperature:temperature=0.5 | sample:seed=7"},
		{"flags with =", "llama.cpp", "--temp=1 --top-k=0 --top-p=1 --min-p=0", "sample"},
		{"a request", "llama.cpp", `{"temperature": 1, "top_k": 5, "top_p": 1, "min_p": 0, "prompt": "x", "n_predict": 4}`, "top_k:top_k=5 | sample"},
		{"an order of samplers", "llama.cpp", `--samplers "temperature;top_k" --top-k 7`,
			"temperature:temperature=0.8 | top_k:top_k=7 | sample"},
		{"letters for the same", "llama.cpp", "--sampler-seq tk --top-k 7", "temperature:temperature=0.8 | top_k:top_k=7 | sample"},
		{"dynamic temperature takes the temperature's place", "llama.cpp", "--dynatemp-range 0.3 --top-k 0 --top-p 1 --min-p 0",
			"dynatemp:range=0.3,temperature=0.8 | sample"},
		{"mirostat takes every truncation's place", "llama.cpp", "--mirostat 2 --mirostat-ent 4 --top-k 9 -s 1",
			"temperature:temperature=0.8 | mirostat_v2:tau=4,seed=1"},
		{"adaptive-p takes the draw's place", "llama.cpp", "--adaptive-target 0.4 --top-k 0 --top-p 1 --min-p 0 --temp 1",
			"adaptive_p:target=0.4"},
		{"penalties that are on", "llama.cpp", "--repeat-penalty 1.1 --repeat-last-n 32 --presence-penalty 0 --top-k 0 --top-p 1 --min-p 0 --temp 1",
			"penalties:repeat=1.1,last_n=32,presence=0 | sample"},
		{"penalties that are all off", "llama.cpp", "--repeat-penalty 1 --repeat-last-n 32 --top-k 0 --top-p 1 --min-p 0 --temp 1", "sample"},
		{"repeated flags make a list", "llama.cpp", `--dry-multiplier 0.8 --dry-sequence-breaker x --dry-sequence-breaker "\n" --top-k 0 --top-p 1 --min-p 0 --temp 1`,
			`dry:multiplier=0.8,breakers='x' '\n' | sample`},
		{"biases by flag", "llama.cpp", "-l 15+1.5 -l 7-2 --top-k 0 --top-p 1 --min-p 0 --temp 1", "logit_bias:bias=15=1.5 7=-2 | sample"},
		{"biases by request", "llama.cpp", `{"logit_bias": [[15, false], ["dog", -1]], "top_k": 0, "top_p": 1, "min_p": 0, "temperature": 1}`,
			"logit_bias:bias=15=-inf 'dog'=-1 | sample"},
		{"a negative number is no flag", "llama.cpp", "--top-k -1 --top-p 1 --min-p 0 --temp 1", "sample"},

		{"transformers without sampling is greedy", "transformers", `{"temperature": 0.7, "top_k": 5}`, "greedy"},
		{"transformers with sampling", "transformers", `{"do_sample": true, "temperature": 0.7, "top_p": 0.9}`,
			"temperature:temperature=0.7 | top_k:top_k=50 | top_p:top_p=0.9 | sample"},
		{"processors run before warpers", "transformers", `{"do_sample": true, "top_k": 0, "min_p": 0.1, "no_repeat_ngram_size": 3, "repetition_penalty": 1.2}`,
			"repetition_penalty:repetition_penalty=1.2 | no_repeat_ngram:n=3 | min_p:min_p=0.1 | sample"},
		{"processors without sampling", "transformers", `{"repetition_penalty": 1.2, "bad_words_ids": [[5], [6, 7]]}`,
			"repetition_penalty:repetition_penalty=1.2 | bad_words:tokens=5 6+7 | greedy"},
		{"the decay of the length", "transformers", `{"exponential_decay_length_penalty": [15, 1.6]}`,
			"exponential_decay_length_penalty:start=15,factor=1.6 | greedy"},
		{"null is the default", "transformers", `{"do_sample": true, "top_k": null, "top_p": null}`, "top_k:top_k=50 | sample"},
		{"a sequence bias", "transformers", `{"sequence_bias": [[[4], 2.0], [[2, 7], -5.0]]}`, "logit_bias:bias=4=2.0 2+7=-5.0 | greedy"},

		{"vllm draws from everything", "vllm", `{}`, "sample"},
		{"vllm at temperature 0 is greedy", "vllm", `{"temperature": 0, "top_p": 0.5, "frequency_penalty": 0.2}`, "penalties:frequency=0.2 | greedy"},
		{"vllm cuts after the temperature", "vllm", `{"temperature": 0.5, "top_k": 9, "top_p": 0.9, "min_p": 0.1}`,
			"temperature:temperature=0.5 | min_p:min_p=0.1 | top_k:top_k=9 | top_p:top_p=0.9 | sample"},
		{"vllm inside sampling_params", "vllm", `{"model": "m", "sampling_params": {"temperature": 0.5}}`, "temperature:temperature=0.5 | sample"},

		{"ollama's own defaults", "ollama", "", "penalties:repeat=1.1 | top_k:top_k=40 | top_p:top_p=0.9 | temperature:temperature=0.8 | sample"},
		{"a Modelfile", "ollama", "FROM llama3\nPARAMETER temperature 0\n# note\nPARAMETER repeat_penalty 1.0\n", "greedy"},
		{"options in a request", "ollama", `{"model": "m", "prompt": "p", "options": {"temperature": 1, "top_k": 3, "top_p": 1, "repeat_penalty": 1}}`, "top_k:top_k=3 | sample"},

		{"koboldcpp's own order", "koboldcpp", `{"rep_pen": 1.1, "top_a": 0.2, "tfs": 0.9, "typical": 0.9, "min_p": 0.1}`,
			"top_k:top_k=5000 | penalties:repeat=1.1 | top_k:top_k=100 | top_a:top_a=0.2 | tfs:tfs=0.9 | typical:typical=0.9 | top_p:top_p=0.92 | min_p:min_p=0.1 | temperature:temperature=0.7 | sample"},
		{"koboldcpp's order is the user's", "koboldcpp", `{"sampler_order": [5, 0], "top_k": 3}`, "top_k:top_k=5000 | temperature:temperature=0.7 | top_k:top_k=3 | sample"},
		{"koboldcpp's smoothing and xtc", "koboldcpp", `{"top_k": 0, "top_p": 1, "temperature": 1, "smoothing_factor": 0.3, "xtc_probability": 0.5, "xtc_threshold": 0.2}`,
			"top_k:top_k=5000 | quadratic:factor=0.3 | xtc:probability=0.5,threshold=0.2 | sample"},
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
			for _, q := range in.Requests {
				has := slices.ContainsFunc(q.Settings, func(s param.Setting) bool { return s.Name == sampler.CompatSetting && s.Value == r.system })
				if has != (r.system != "ollama") {
					t.Errorf("stage %s follows %s: %v", q.Name, r.system, has)
				}
			}
		})
	}
}

func TestImportSaysWhatElseWasAsked(t *testing.T) {
	in, err := Import("llama.cpp", `--seed 42 -n 100 -r "stop here" --stop "\n" --ctx-size 4096 --mirostat 0 --temp 1 --n-probs 5`)
	if err != nil {
		t.Fatal(err)
	}
	if *in.Seed != 42 || *in.MaxTokens != 100 || !slices.Equal(in.Stop, []string{"stop here", "\n"}) {
		t.Errorf("seed %v, tokens %v, stop %q", *in.Seed, *in.MaxTokens, in.Stop)
	}
	if got := fmt.Sprint(in.NoEquivalent); !strings.Contains(got, "n-probs 5") || len(in.NoEquivalent) != 1 {
		t.Errorf("no equivalent: %s", got)
	}
	if got := fmt.Sprint(in.Unrelated); !strings.Contains(got, "ctx-size 4096") || len(in.Unrelated) != 1 {
		t.Errorf("unrelated: %s", got)
	}
	if got := fmt.Sprint(in.Off); !strings.Contains(got, "--temp 1 this value turns temperature off") {
		t.Errorf("off: %s", got)
	}
	if in, err = Import("llama.cpp", "--seed -1 -n -1"); err != nil || in.Seed != nil || in.MaxTokens != nil || len(in.NoEquivalent) != 2 {
		t.Errorf("random seed and no limit: %+v, %v", in, err)
	}
}

func TestImportFindsTheStrategy(t *testing.T) {
	for settings, want := range map[string]string{
		`{"num_beams": 4}`: "beam:width=4,length=mean",
		`{"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5}`: "beam:width=4,groups=2,diversity=0.5,length=mean",
		`{"num_beams": 4, "length_penalty": 0}`:                            "beam:width=4,length=sum",
		`{"penalty_alpha": 0.6, "top_k": 4}`:                               "contrastive:k=4,alpha=0.6",
		`{"num_beams": 1}`:                                                 "",
	} {
		in, err := Import("transformers", settings)
		if err != nil || in.Strategy != want {
			t.Errorf("%s: %q, %v; want %q", settings, in.Strategy, err, want)
		}
	}
	in, err := Import("transformers", `{"num_beams": 4, "length_penalty": 2}`)
	if err != nil || len(in.NoEquivalent) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestImportRefuses(t *testing.T) {
	rows := []struct{ name, system, settings, want string }{
		{"unknown system", "lama.cpp", "", `did you mean "llama.cpp"?`},
		{"unknown setting", "llama.cpp", "--top-q 3", `did you mean "top_k"?`},
		{"a setting of another system", "transformers", `{"rep_pen": 1.1}`, "is not one of its settings"},
		{"given twice", "llama.cpp", "--temp 1 --temp 3", "it is given twice (1, then 3)"},
		{"given by two names", "llama.cpp", "--temp 1 --temperature 2", "the same setting as --temp"},
		{"text for a number", "llama.cpp", "--top-k many", "many is not a number"},
		{"half a token", "llama.cpp", "--top-k 2.5", "2.5 is not a whole number"},
		{"infinity", "llama.cpp", "--temp inf", "is not a number"},
		{"no value", "llama.cpp", "--temp", "has no value"},
		{"no flag", "llama.cpp", "--temp 1 0.5", `"0.5" is not a flag`},
		{"an open quote", "llama.cpp", `--stop "x`, "a quote does not end"},
		{"no object", "vllm", `{"temperature": }`, "no JSON object"},
		{"something behind the object", "vllm", `{"temperature": 1} x`, "no JSON object"},
		{"a list for a number", "vllm", `{"temperature": [1]}`, "is not a number"},
		{"what no flags are", "llama.cpp", "sudo llama-cli --temp 1", `the settings begin with "sudo"; give a command line`},
		{"nor JSON", "vllm", "SamplingParams(temperature=0.8)", "give SamplingParams or an API request, in JSON"},
		{"a line of three words", "ollama", "PARAMETER top_k 4 5", "4 5 is not a number"},
		{"an unknown sampler", "llama.cpp", "--samplers top_k;foo", `names the sampler "foo"`},
		{"an unknown letter", "llama.cpp", "--sampler-seq kz", `letter 'z'`},
		{"a sampler number out of range", "koboldcpp", `{"sampler_order": [7]}`, "sampler number 7"},
		{"a sampler number twice", "koboldcpp", `{"sampler_order": [0, 0]}`, "there twice"},
		{"mirostat 3", "llama.cpp", "--mirostat 3", "neither 0, 1 nor 2"},
		{"a token id below 0", "vllm", `{"allowed_token_ids": [-4]}`, "token id -4"},
		{"a bias that is none", "vllm", `{"logit_bias": {"5": "x"}}`, "bias x"},
		{"bytes that are no text", "ollama", "PARAMETER stop \xff", "not UTF-8"},
		{"an open text in three quotes", "ollama", "TEMPLATE \"\"\"a\nPARAMETER top_k 3", "line 1: a text in quotes does not end"},
		{"an open text in one quote", "ollama", "FROM m\nLICENSE \"a\nPARAMETER top_k 3", "line 2: a text in quotes does not end"},
		{"a parameter without a value", "ollama", "PARAMETER top_k", "line 1"},
		{"two seeds", "llama.cpp", "-s 1 --seed 2", "2 is given by another name as 1"},
		{"two limits", "llama.cpp", `{"n_predict": 5, "max_tokens": 9}`, "9 is given by another name as 5"},
		{"an escape that is no text", "llama.cpp", `-r '\xff'`, "is not UTF-8 text"},
		{"an unknown instruction", "ollama", "FOO 3", "is not one of its settings"},
		{"the value of a flag is the next word", "llama.cpp", "--temp --top-k", "--top-k is not a number"},
		{"an unknown flag behind which nothing is read", "llama.cpp", "--tempp x y", `did you mean "temp"?`},
		{"more tokens than there are", "vllm", `{"max_tokens": 9007199254740993}`, "is above 2147483647"},
		{"a format that is none", "vllm", `{"response_format": {"type": "xml"}}`, "neither text, json_object"},
		{"two formats", "vllm", `{"guided_regex": "a", "guided_choice": ["b"]}`, "the same setting as guided_regex"},
		{"structured by nothing", "vllm", `{"structured_outputs": {}}`, "names not one of regex, choice, grammar, json and json_object, but 0"},
		{"structured by two", "vllm", `{"structured_outputs": {"regex": "a", "json_object": true}}`, "but 2"},
		{"structured by what lab does not have", "vllm", `{"guided_decoding": {"structural_tag": "x"}}`, `has the setting "structural_tag"`},
		{"breakers that are no list", "koboldcpp", `{"dry_sequence_breakers": "x"}`, "x is not a list of texts"},
		{"an unknown setting of a watermark", "transformers", `{"watermarking_config": {"ratioo": 1}}`, `has the setting "ratioo"`},
		{"a key that is none", "transformers", `{"watermarking_config": {"keys": ["a"]}}`, "has a key that is not a number"},
		{"far too long", "vllm", strings.Repeat(" ", mostSettings+1), "more than"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			in, err := Import(r.system, r.settings)
			if err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != fault.Usage && fault.KindOf(err) != fault.Limit {
				t.Errorf("got %+v, %v; want %q", in, err, r.want)
			}
		})
	}
}

func TestSplitIsThatOfAShell(t *testing.T) {
	for text, want := range map[string][]string{
		`a  b`: {"a", "b"}, `'a b'c`: {"a bc"}, `"a\"b"`: {`a"b`}, `a\ b`: {"a b"}, `'a\n'`: {`a\n`}, `"\n"`: {`\n`}, `""`: {""}, `'it'\''s'`: {"it's"},
		"a \\\n b\\\r\nc": {"a", "bc"}, "\"a\\\nb\"": {"ab"}, "'a\\\nb'": {"a\\\nb"}, `"\$x\y"`: {`$x\y`},
	} {
		if got, err := split(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// Whatever is given, an import ends with a chain or an error, and the same input
// gives the same.
func FuzzImport(f *testing.F) {
	for i, s := range []string{"--temp 0.8 --samplers a;b", `{"top_k": 1, "logit_bias": {"1": 2}}`, "PARAMETER stop x", `{"sampler_order": [1]}`, `-l 1+2 -l 3-4`} {
		f.Add(i, s)
	}
	names := Systems()
	f.Fuzz(func(t *testing.T, system int, settings string) {
		name := names[(system%len(names)+len(names))%len(names)]
		a, err := Import(name, settings)
		b, err2 := Import(name, settings)
		if fmt.Sprint(err) != fmt.Sprint(err2) || err == nil && written(a.Requests) != written(b.Requests) {
			t.Errorf("%s %q: %v and %v", name, settings, a, b)
		}
		if err == nil && len(a.Requests) == 0 {
			t.Errorf("%s %q gives no stage", name, settings)
		}
	})
}
