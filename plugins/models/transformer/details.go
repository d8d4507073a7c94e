package transformer

import (
	"fmt"
	"slices"
	"strings"

	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// details is what lab model info tells of a model as it was opened.
func (e *engine) details(opt options) []model.Detail {
	perToken := float64(e.hyper.kvBytes()) / 1024
	out := []model.Detail{
		{Name: model.DetailKernels, Value: opt.kernels.Name()},
		{Name: model.DetailThreads, Value: fmt.Sprint(opt.threads)},
		{Name: model.DetailFormats, Value: formatShares(e.file.Tensors)},
		{Name: model.DetailCache, Value: fmt.Sprintf("%v, %.4g KiB a token in %d layers; at most %d MiB: %d tokens of all sequences",
			opt.cache, perToken, e.hyper.layers, opt.cacheBytes>>20, int64(e.cache.limit)*pageTokens)},
	}
	if rounded := e.roundings(); len(rounded) > 0 {
		precision := strings.Join(rounded, ", ")
		if opt.exact {
			precision = "float32"
		}
		out = append(out, model.Detail{Name: "activations", Value: precision})
	}
	if kind, found, err := e.file.Text("tokenizer.ggml.model"); err == nil && found {
		if pre, found, err := e.file.Text("tokenizer.ggml.pre"); err == nil && found && pre != "" {
			kind += ", split as " + pre
		}
		if e.normalises() {
			kind += ", texts are normalised"
		}
		out = append(out, model.Detail{Name: model.DetailTokenizer, Value: short(printable(kind))})
	}
	chat := "none"
	if text, found, err := e.file.Text("tokenizer.chat_template"); err == nil && found && text != "" {
		chat = fmt.Sprintf("%d bytes", len(text))
	}
	return append(out, model.Detail{Name: model.DetailChatTemplate, Value: chat})
}

// normalises reports whether the tokenizer may change a text before it cuts it.
func (e *engine) normalises() bool {
	_, mapped := e.file.Value(prefix + charmapKey)
	squeezed, _, _ := e.file.Bool(prefix + squeezeKey)
	return mapped || squeezed
}

// roundings says how activations are rounded unless that is forbidden.
func (e *engine) roundings() []string {
	has := func(kinds func(f kernel.Format) bool) bool {
		return slices.ContainsFunc(e.file.Tensors, func(t gguf.Tensor) bool { return len(t.Dims) > 1 && kinds(formats[t.Type]) })
	}
	var out []string
	if has(func(f kernel.Format) bool { return f.Block() > 1 }) {
		out = append(out, "rounded to 8 bits where weights are quantised")
	}
	if has(func(f kernel.Format) bool { return f == kernel.F16 || f == kernel.BF16 }) {
		out = append(out, "rounded to about 14 bits where weights are F16 or BF16")
	}
	return out
}

// short cuts a text from a file to what a line has room for.
func short(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// formatShares lists the storage types of tensors with their shares of the
// bytes, the largest first.
func formatShares(tensors []gguf.Tensor) string {
	sizes := map[gguf.Type]int64{}
	var types []gguf.Type
	total := int64(0)
	for _, t := range tensors {
		if _, seen := sizes[t.Type]; !seen {
			types = append(types, t.Type)
		}
		sizes[t.Type] += t.Size
		total += t.Size
	}
	slices.SortStableFunc(types, func(a, b gguf.Type) int {
		switch {
		case sizes[a] > sizes[b]:
			return -1
		case sizes[a] < sizes[b]:
			return 1
		}
		return int(a) - int(b)
	})
	var parts []string
	for _, t := range types {
		parts = append(parts, fmt.Sprintf("%v %.3g %%", t, 100*float64(sizes[t])/float64(max(total, 1))))
	}
	return strings.Join(parts, ", ")
}
