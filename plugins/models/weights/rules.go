package weights

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lab/plugins/models/internal/gguf"
)

// The rules by which a target's formats are chosen are those of llama.cpp without
// weights of importance, so that a file of one name has the same tensors
// whichever program made it. They differ in one point: a matrix whose rows are no
// whole blocks of any format makes llama.cpp give up on targets with blocks of
// 32; here it is stored in half precision. Source: Kawrakow 2023, llama.cpp pull
// request 1684, and llama-quant.cpp of llama.cpp since.

// rules choose formats for the tensors of one model.
type rules struct {
	shape
	target              Target
	nextValue, nextDown int // of the tensors that the mixtures count
}

// choice is what becomes of one tensor.
type choice struct {
	to  gguf.Type
	why string // empty: the target's own format
}

// choose returns what becomes of every tensor, by its place in the file. The
// mixtures count layers, so tensors are asked in their order.
func choose(f *gguf.File, target Target) []choice {
	r := rules{shape: readShape(f), target: target}
	order := make([]int, len(f.Tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := f.Tensors[a].Name, f.Tensors[b].Name
		return cmp.Or(cmp.Compare(layerOf(x), layerOf(y)), cmp.Compare(x, y))
	})
	out := make([]choice, len(f.Tensors))
	for _, i := range order {
		out[i] = r.choose(f.Tensors[i])
	}
	return out
}

// layerOf returns the layer in a tensor's name, -1 without one.
func layerOf(name string) int {
	rest, ok := strings.CutPrefix(name, "blk.")
	digits, _, dot := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(digits); ok && dot && err == nil {
		return n
	}
	return -1
}

func (r *rules) choose(t gguf.Tensor) choice {
	if why := keeps(t); why != "" {
		return choice{t.Type, why}
	}
	if wholes(r.target.base) {
		return choice{to: r.target.base}
	}
	to, why := r.mixture(t)
	if fits(t, to) {
		return choice{to, why}
	}
	next := gguf.F16
	switch to {
	case gguf.Q2_K, gguf.Q3_K:
		next = gguf.Q4_0
	case gguf.Q4_K:
		next = gguf.Q5_0
	case gguf.Q5_K:
		next = gguf.Q5_1
	case gguf.Q6_K:
		next = gguf.Q8_0
	}
	if !fits(t, next) {
		next = gguf.F16
	}
	return choice{next, fmt.Sprintf("rows of %d are no whole blocks of %v", t.Dims[0], to)}
}

// fits reports whether the rows of a tensor are whole blocks of a format.
func fits(t gguf.Tensor, to gguf.Type) bool {
	_, ok := gguf.SizeOf(to, int64(t.Dims[0]))
	return ok
}

// mixture returns the format for a tensor before it is known to fit, and why it
// is not the target's.
func (r *rules) mixture(t gguf.Tensor) (gguf.Type, string) {
	base := r.target.base
	k := kindOf(t.Name)
	if k == outputTensor || k == embeddingTensor && r.tied {
		switch {
		case !fits(t, base):
			return gguf.Q8_0, "the output, which errs most"
		case base != gguf.Q8_0:
			return gguf.Q6_K, "the output, which errs most"
		}
		return base, ""
	}
	to := base
	switch k {
	case valueTensor:
		to = r.value()
		r.nextValue++
	case keyTensor:
		if r.experts == 8 {
			to = gguf.Q8_0
		}
	case mixTensor:
		to = r.mix()
	case downTensor:
		to = r.down(t.Name)
		r.nextDown++
	}
	if to != base {
		return to, "more bits where they help, in " + r.target.Name
	}
	return base, ""
}

// early, late and every third layer in between get more bits in the mixtures.
func moreBits(i, n int) bool { return i < n/8 || i >= 7*n/8 || (i-n/8)%3 == 2 }

func (r *rules) value() gguf.Type {
	to, shared := r.target.base, r.queriesPerKey >= 4
	switch name := r.target.Name; {
	case name == "q2_k" && shared:
		to = gguf.Q4_K
	case name == "q2_k":
		to = gguf.Q3_K
	case name == "q3_k_m" && r.nextValue < 2:
		to = gguf.Q5_K
	case name == "q3_k_m":
		to = gguf.Q4_K
	case name == "q3_k_l":
		to = gguf.Q5_K
	case name == "iq4_nl" && shared:
		to = gguf.Q5_K
	case (name == "q4_k_m" || name == "q5_k_m") && moreBits(r.nextValue, r.values):
		to = gguf.Q6_K
	case name == "q4_k_s" && r.nextValue < 4:
		to = gguf.Q5_K
	}
	if r.llama70B && (to == gguf.Q3_K || to == gguf.Q4_K) {
		to = gguf.Q5_K
	}
	if r.experts == 8 {
		to = gguf.Q8_0
	}
	return to
}

func (r *rules) mix() gguf.Type {
	name := r.target.Name
	if r.experts == 8 {
		if strings.HasPrefix(name, "q2_k") || name == "q3_k_s" || name == "q3_k_m" || name == "iq4_nl" || strings.HasPrefix(name, "q4_k") {
			return gguf.Q5_K
		}
		return r.target.base
	}
	switch name {
	case "q2_k":
		return gguf.Q3_K
	case "q3_k_m":
		return gguf.Q4_K
	case "q3_k_l":
		return gguf.Q5_K
	}
	return r.target.base
}

func (r *rules) down(tensor string) gguf.Type {
	i, n := r.nextDown, r.layers
	if r.experts > 1 { // experts of one layer need not follow each other
		i = layerOf(tensor)
	}
	switch name := r.target.Name; {
	case name == "q2_k":
		return gguf.Q3_K
	case name == "q3_k_m" && i < n/16:
		return gguf.Q5_K
	case name == "q3_k_m":
		return gguf.Q4_K
	case name == "q3_k_l":
		return gguf.Q5_K
	case (name == "q4_k_m" || name == "q5_k_m") && moreBits(i, n):
		return gguf.Q6_K
	case (name == "iq4_nl" || name == "q4_k_s") && i < n/8:
		return gguf.Q5_K
	}
	return r.target.base
}
