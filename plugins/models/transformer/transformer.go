// Package transformer is the backend of decoder-only transformers stored in
// GGUF files: tokens in, logits out, with a KV cache whose sequences fork and
// truncate cheaply. It offers two backends, the embedded model "tiny" and any
// file ("gguf").
//
// The promise that shapes the code: a row of scores has the same bits whatever
// the batch, its neighbours, the pieces a prompt arrives in, the forks and
// truncations before it and the number of threads. Package kernel fixes the
// order of every sum; here, work is split by outputs only, and attention walks
// a row's positions in ascending order.
//
// The forward pass is a table of named parts per architecture (parts.go,
// architectures.go): llama with its relatives, Mixtral among them, gemma 1 to 3,
// qwen 2 and 3 with experts and without, phi 2 and 3, olmo2, stablelm and gpt2.
// What is not known, an architecture, a metadata key, a tensor or its type, is
// refused by name: a model that is nearly computed is worse than none.
//
// Weights keep their stored precision, in any of the formats of package kernel.
// Those in blocks are multiplied as whole numbers with activations rounded to 8
// bits, as ggml does, or inside feed-forward layers, where that loses most, to two
// such parts (packed.go). Those in F16 and BF16 and their activations become whole
// numbers of up to 16 bits with a scale per 32, which moves scores by some 2e-4 of
// their length: a fifth or less of what llama.cpp's rounding to F16 does. With the
// setting "activations" at float32 nothing is rounded; what is stored in F32 never
// is, and the model "tiny" is always computed so.
//
// Not here: sampling, text beyond tokens and pieces, and training (folder
// train). Start with [Tiny] or [GGUF], then engine.go, pass.go and
// architectures.go.
package transformer

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"runtime"

	"lab/core/fault"
	"lab/core/plugin/model"
	"lab/core/plugin/param"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// tinyWeights is the model trained by train/train.py.
//
//go:embed tiny.gguf
var tinyWeights []byte

const source = "Vaswani et al. 2017; Touvron et al. 2023 (Llama); GGUF specification of the ggml project"

// Backend opens models of one kind.
type Backend struct {
	declaration model.Declaration
	exact       bool // whatever the settings
	open        func(ref string) (*gguf.File, string, error)
}

// Tiny returns the backend "tiny": a small Llama trained by this project on
// text of the grammar backend, embedded in the binary.
func Tiny() *Backend {
	return &Backend{
		declaration: model.Declaration{
			Name:    "tiny",
			Summary: "a small Llama transformer, trained on text of the grammar backend and embedded in lab",
			Source:  source, Params: settings(),
		},
		exact: true,
		open: func(ref string) (*gguf.File, string, error) {
			if ref != "tiny" {
				return nil, "", fault.New(fault.Usage, "open model", fmt.Sprintf("%q", ref), "the backend tiny opens only its own model").
					Fix(`use "tiny", or the path of a .gguf file`)
			}
			f, err := gguf.Read(`"tiny"`, tinyWeights)
			return f, "tiny", err
		},
	}
}

// GGUF returns the backend "gguf", which opens files by path.
func GGUF() *Backend {
	return &Backend{
		declaration: model.Declaration{
			Name:     "gguf",
			Summary:  "decoder-only transformers in GGUF files, with float or quantised weights (Q2_K to Q8_0)",
			Source:   source,
			Patterns: []string{"*.gguf"},
			Params:   append(settings(), activationsSetting()),
		},
		open: func(ref string) (*gguf.File, string, error) {
			if ref == "gguf" {
				return nil, "", fault.New(fault.Usage, "open model", `"gguf"`, "the backend gguf needs a file").
					Fix("give the path of a .gguf file")
			}
			f, err := gguf.Open(ref)
			return f, filepath.Base(ref), err
		},
	}
}

// maxThreads is the most workers a model may have.
const maxThreads = 256

func settings() param.Specs {
	return param.Specs{
		{
			Name: "threads", Type: param.Int, Default: int64(0), Min: 0, Max: maxThreads,
			Meaning: "workers that share a forward pass; 0 takes one per processor, at most 16. Results do not depend on it.",
		},
		{
			Name: "cache_mib", Type: param.Int, Default: int64(1024), Min: 1, Max: 1 << 20, Unit: "MiB",
			Meaning: "most memory that the KV caches of all sequences together may take; beyond it a forward call is refused.",
		},
		{
			Name: "cache_type", Type: param.Text, Default: "f32", Choices: []string{"f32", "q8_0"},
			Meaning: "how keys and values are kept: as they are, or rounded to 8 bits in blocks of 32, which takes about 3.7 times less memory and changes scores a little.",
		},
		{
			Name: "context", Type: param.Int, Default: int64(0), Min: 0, Max: maxContext, Unit: "tokens",
			Meaning: "most tokens in one sequence; 0 takes what the file names, and more than that needs rope.",
		},
		{
			Name: "rope", Type: param.Text, Default: "",
			Meaning: "how rotary positions are scaled: none, linear:FACTOR or yarn:FACTOR; empty does as the file says.",
		},
	}
}

// activationsSetting says how precisely weights are multiplied.
func activationsSetting() param.Spec {
	return param.Spec{
		Name: "activations", Type: param.Text, Default: rounded8, Choices: []string{rounded8, unrounded},
		Meaning: "how products are computed: with activations rounded in blocks, to 8 bits where weights are quantised, as llama.cpp does (inside feed-forward layers of K formats to about 15), to about 14 where they are F16 or BF16, the weights with them; or in float32, which is slower and has no such error.",
	}
}

const rounded8, unrounded = "rounded", "float32"

// Declare returns what the host may know before a model is open.
func (b *Backend) Declare() model.Declaration { return b.declaration }

// Open opens a model; set holds the checked values of the declared settings.
// Errors: usage for a reference that is not this backend's, model for a file
// that cannot be read or is of a kind not known here, data for a malformed one.
func (b *Backend) Open(ctx context.Context, ref string, set param.Values) (model.Model, error) {
	file, name, err := b.open(ref)
	if err != nil {
		return nil, err
	}
	threads := int(set.Int("threads"))
	if threads == 0 {
		threads = min(runtime.GOMAXPROCS(0), 16)
	}
	opt := options{threads: threads, cacheBytes: set.Int("cache_mib") << 20, context: int(set.Int("context")), kernels: kernel.Best(),
		exact: b.exact || set.Text("activations") == unrounded}
	if set.Text("cache_type") == "q8_0" {
		opt.cache = kernel.Q8_0
	}
	opt.scaling, err = parseScaling(set.Text("rope"))
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	e, err := open(ctx, file, name, opt)
	if err != nil {
		_ = file.Close() // the first error is the one to tell
		return nil, err
	}
	return e, nil
}
