package compat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/core/golden"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers/feedback"
	"lab/plugins/samplers/guide"
	"lab/plugins/samplers/mask"
	"lab/plugins/samplers/penalty"
	"lab/plugins/samplers/rescale"
	"lab/plugins/samplers/selection"
	"lab/plugins/samplers/truncate"
	"lab/plugins/samplers/watermark"
)

var torchSystems = []string{Transformers, VLLM, WebUI, Aphrodite}

// torchSamplers are the samplers that the torch systems have rules for, with
// those rules only.
func torchSamplers() []sampler.Sampler {
	list := slices.Concat(mask.All(), penalty.All(), rescale.All(), truncate.All(), []sampler.Sampler{
		selection.Sample{}, selection.Greedy{},
		feedback.MirostatV2{}, feedback.AdaptiveP{}, feedback.Skew{}, guide.CFG{}, watermark.NewGreenList(), watermark.NewSynthID(),
	})
	for i, s := range list {
		f := &follower{Sampler: s, decl: s.Declare(), apply: map[string]func(*sampler.Row, param.Values) error{}}
		for _, of := range rules() {
			for _, r := range of.rules {
				if r.Sampler == f.decl.Name && slices.Contains(torchSystems, of.system) {
					f.add(of.system, r)
				}
			}
		}
		list[i] = f
	}
	return list
}

// torchTally is what became of a system's answers in a group: they hold, hold
// but for tied tokens, are refused by design (NaN, +Inf or no token left), cannot
// be reproduced, or say nothing as the system was run without a part of it.
type torchTally struct{ hold, ties, refused, cannot, harness int }

// torchWant is what is known of every group, by system.
var torchWant = map[string]torchTally{
	"chains transformers": {hold: 68}, "chains vllm": {hold: 56},
	"degenerate transformers": {hold: 41, refused: 31}, "degenerate vllm": {hold: 14, refused: 26},
	"degenerate webui": {hold: 18, refused: 30}, "degenerate aphrodite": {hold: 31, refused: 57},
	"dry webui": {hold: 49}, "dry aphrodite": {hold: 49},
	"dynatemp webui": {hold: 64}, "dynatemp aphrodite": {hold: 64},
	"epsilon transformers": {hold: 79}, "epsilon aphrodite": {hold: 77},
	"eta transformers": {hold: 79}, "eta aphrodite": {hold: 77},
	"guidance transformers":           {hold: 6},
	"history_processors transformers": {hold: 44, cannot: 1, harness: 18},
	"large transformers":              {hold: 122, ties: 12}, "large vllm": {hold: 84, ties: 12},
	"large webui": {hold: 46, ties: 1}, "large aphrodite": {hold: 81, ties: 4},
	"min_p transformers": {hold: 104}, "min_p vllm": {hold: 98},
	"penalties transformers": {hold: 57}, "penalties vllm": {hold: 130}, "penalties webui": {hold: 158},
	"quadratic webui": {hold: 64}, "quadratic aphrodite": {hold: 63, refused: 1},
	"selection transformers": {hold: 8, refused: 5}, "selection vllm": {hold: 5},
	"temperature transformers": {hold: 98}, "temperature vllm": {hold: 98}, "temperature aphrodite": {hold: 98},
	"tfs webui": {hold: 79}, "tfs aphrodite": {hold: 77},
	"top_a webui": {hold: 66}, "top_a aphrodite": {hold: 63, refused: 1},
	"top_h transformers": {hold: 68},
	"top_k transformers": {hold: 107}, "top_k vllm": {hold: 107},
	"top_n_sigma webui": {hold: 81}, "top_n_sigma aphrodite": {hold: 79, refused: 2},
	"top_p transformers": {hold: 116}, "top_p vllm": {hold: 108},
	"typical transformers": {hold: 85}, "typical aphrodite": {hold: 81},
	"watermark transformers": {hold: 6, cannot: 2},
	"xtc webui":              {hold: 89, refused: 1}, "xtc aphrodite": {hold: 89, refused: 1},
}

// torchCannot are the answers that cannot be reproduced, with the reason.
var torchCannot = map[string]string{
	"transformers green_list/lefthash/[100, 7, 55]": "its history holds a token outside its vocabulary, which the border of a plugin refuses",
	"transformers green_list/selfhash/[100, 7, 55]": "its history holds a token outside its vocabulary, which the border of a plugin refuses",
	"transformers inf_nan_remove":                   "it gives a removed token the lowest float32; no stage of ours revives one",
}

// torchRefused are the cases outside the group degenerate that are refused by
// design, with the reason.
var torchRefused = map[string]string{
	"aphrodite quadratic/edge/masked12/factor=0.5,curve=0.0":    "removed tokens become NaN there",
	"aphrodite top_a/edge/vocab1/a=2.0":                         "no token is left",
	"aphrodite top_n_sigma/edge/shuffled10/n=-1.0":              "no token is left",
	"aphrodite top_n_sigma/edge/ties16/n=-1.0":                  "no token is left",
	"aphrodite xtc/edge/masked12/probability=1.0,threshold=0.0": "no token is left",
	"webui xtc/edge/masked12/probability=1.0,threshold=0.0":     "no token is left",
	"transformers greedy/degenerate/all_neginf":                 "the row is degenerate",
	"transformers greedy/degenerate/one_nan":                    "the row is degenerate",
	"transformers greedy/degenerate/all_nan":                    "the row is degenerate",
	"transformers greedy/degenerate/one_posinf":                 "the row is degenerate",
	"transformers greedy/degenerate/two_posinf":                 "the row is degenerate",
}

// Every answer of the four systems is reproduced by their rules, or listed with
// the reason why it is not.
func TestTorchSystems(t *testing.T) {
	subject, err := golden.InProcess(torchSamplers()...)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("../testdata/golden/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no golden files", err)
	}
	groups := 0
	for _, name := range names {
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := golden.Read(in, name)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, system := range torchSystems {
			got := torchGroup(t, f, subject, system)
			want, known := torchWant[f.Group+" "+system]
			if known {
				groups++
			}
			if got != want {
				t.Errorf("%s %s: %+v, want %+v", f.Group, system, got, want)
			}
		}
	}
	if groups != len(torchWant) {
		t.Errorf("%d groups with answers, want %d", groups, len(torchWant))
	}
}

// torchGroup counts what became of a system's answers in a file.
func torchGroup(t *testing.T, f *golden.File, subject golden.Subject, system string) (n torchTally) {
	t.Helper()
	results, err := f.Verify(t.Context(), subject, system)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		switch {
		case r.Verdict == golden.Holds:
			n.hold++
		case r.Verdict == golden.WithinTies:
			n.ties++
		case r.Verdict == golden.Refused && (f.Group == "degenerate" || torchRefused[system+" "+r.Case] != ""):
			n.refused++
		case (r.Verdict == golden.Differs || r.Verdict == golden.NotCovered) && torchCannot[system+" "+r.Case] != "":
			n.cannot++
		case strings.HasPrefix(r.Why, "no answer of"):
		case strings.HasPrefix(r.Why, "the system was run without"):
			n.harness++
		default:
			t.Errorf("%s: %s: %s, %s", system, r.Case, r.Verdict, r.Why)
		}
	}
	return n
}
