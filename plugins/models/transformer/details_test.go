package transformer

import (
	"strings"
	"testing"

	"lab/core/plugin/model"
	"lab/plugins/models/internal/gguf"
	"lab/plugins/models/internal/kernel"
)

// The details tell of the model as it was opened: another setting, another line.
func TestDetailsFollowTheSettings(t *testing.T) {
	for _, k := range kernel.All() {
		file, err := gguf.Read(`"tiny"`, tinyWeights)
		if err != nil {
			t.Fatal(err)
		}
		e, err := open(t.Context(), file, "tiny", options{threads: 3, cacheBytes: 5 << 20, kernels: k})
		if err != nil {
			t.Fatal(err)
		}
		i := e.Info()
		for name, want := range map[string]string{model.DetailKernels: k.Name(), model.DetailThreads: "3", model.DetailTokenizer: "llama",
			model.DetailChatTemplate: "none"} {
			if got := i.Detail(name); got != want {
				t.Errorf("%s kernels: detail %s is %q, want %q", k.Name(), name, got, want)
			}
		}
		if got := i.Detail(model.DetailCache); !strings.Contains(got, "at most 5 MiB") {
			t.Errorf("detail cache is %q", got)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFormatSharesAreOfTheBytesLargestFirst(t *testing.T) {
	tensors := []gguf.Tensor{{Type: gguf.F32, Size: 10}, {Type: gguf.Q8_0, Size: 20}, {Type: gguf.F16, Size: 10}, {Type: gguf.Q8_0, Size: 40}}
	if got, want := formatShares(tensors), "Q8_0 75 %, F32 12.5 %, F16 12.5 %"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
