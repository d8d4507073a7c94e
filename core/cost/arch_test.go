package cost

import (
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

const (
	dense  = `{"layers":4,"d_model":64,"heads":8,"kv_heads":2,"d_ff":160,"vocab":1000}`
	mixed  = `{"layers":6,"d_model":64,"heads":8,"d_ff":160,"vocab":1000,"tied":true,"window":32,"window_layers":3,"moe":{"experts":16,"top_k":2,"shared":1,"d_ff":48,"dense_layers":1}}`
	latent = `{"layers":3,"d_model":64,"heads":4,"d_ff":100,"vocab":500,"mla":{"q_lora":24,"kv_lora":16,"nope":12,"rope":8,"v":12}}`
)

func parse(t testing.TB, text string) *Arch {
	t.Helper()
	a, err := ParseArch([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func size(t testing.TB, a *Arch) Size {
	t.Helper()
	s, err := a.Size()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// got fails the test on an error and returns the number.
func got(t testing.TB) func(float64, error) float64 {
	return func(v float64, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// near fails unless the numbers agree within tol of want.
func near(t testing.TB, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*max(math.Abs(want), math.SmallestNonzeroFloat64)) {
		t.Errorf("%s: got %.17g, want %.17g within %g", what, got, want, tol)
	}
}

// rounding is what a few additions of float64 may lose, relative.
const rounding = 1e-12

func TestSizesRelateAsTheirNamesSay(t *testing.T) {
	for name, text := range map[string]string{"dense": dense, "mixed": mixed, "latent": latent} {
		t.Run(name, func(t *testing.T) {
			a := parse(t, text)
			s := size(t, a)
			if !(s.Total >= s.Active && s.Active >= s.Matmul && s.Total >= s.NonEmbedding) {
				t.Errorf("sizes out of order: %+v", s)
			}
			table := int64(a.Vocab * a.Model)
			other := *a
			other.Tied = !a.Tied
			o := size(t, &other)
			want := table
			if other.Tied {
				want = -table
			}
			if o.Total-s.Total != want || o.Matmul != s.Matmul || o.NonEmbedding != s.NonEmbedding {
				t.Errorf("tying moves %d parameters, not %d, or more than the total", o.Total-s.Total, want)
			}
			doubled := *a
			doubled.Layers = append(append([]Layer(nil), a.Layers...), a.Layers...)
			d := size(t, &doubled)
			head := a.Model * a.NormSize
			if int64(2)*(s.NonEmbedding-int64(head))+int64(head) != d.NonEmbedding {
				t.Errorf("the same layers twice are %d parameters, not twice %d", d.NonEmbedding, s.NonEmbedding)
			}
		})
	}
}

func TestAMixtureOfWhichAllIsUsedIsActiveAsAWhole(t *testing.T) {
	a := parse(t, strings.Replace(mixed, `"top_k":2`, `"top_k":16`, 1))
	if s := size(t, a); s.Active != s.Total {
		t.Errorf("active %d of %d", s.Active, s.Total)
	}
}

func TestOneMoreExpertAddsItselfAndItsRow(t *testing.T) {
	a, b := size(t, parse(t, mixed)), size(t, parse(t, strings.Replace(mixed, `"experts":16`, `"experts":17`, 1)))
	mixtures, one := int64(5), int64(3*64*48)
	if b.Total-a.Total != mixtures*(one+64) || b.Matmul-a.Matmul != mixtures*64 || b.Active-a.Active != mixtures*64 {
		t.Errorf("an expert adds %d in total, %d in matmul and %d in active", b.Total-a.Total, b.Matmul-a.Matmul, b.Active-a.Active)
	}
}

// A list of layers may hold what no uniform record says; sums add up by layer.
func TestLayersOfSeveralKindsAddUp(t *testing.T) {
	a, b := parse(t, dense), parse(t, `{"layers":3,"d_model":64,"heads":4,"d_ff":100,"vocab":1000,"mla":{"q_lora":24,"kv_lora":16,"nope":12,"rope":8,"v":12}}`)
	both := *a
	both.Layers = append(append([]Layer(nil), a.Layers...), b.Layers...)
	table := 2 * float64(a.Vocab*a.Model)
	for _, c := range []int64{1, 17, 4000} {
		x, y, z := got(t)(a.Decode(c, Convention{})), got(t)(b.Decode(c, Convention{})), got(t)(both.Decode(c, Convention{}))
		near(t, "decode", z, x+y-table, rounding)
	}
	near(t, "cache", got(t)(both.Cache(100, 2, 2)), got(t)(a.Cache(100, 2, 2))+got(t)(b.Cache(100, 2, 2)), rounding)
}

func TestArchitecturesThatCannotBeAreRefused(t *testing.T) {
	with := func(s string) string { return strings.TrimSuffix(dense, "}") + "," + s + "}" }
	rows := []struct{ name, text, want string }{
		{"no object", `[]`, "no JSON object"},
		{"empty", `{}`, `"layers" is missing`},
		{"an unknown field", with(`"headz":3`), `unknown field "headz"; did you mean "heads"?`},
		{"an unknown field of a mixture", with(`"moe":{"expert":3}`), `moe: unknown field "expert"; did you mean "experts"?`},
		{"a field twice", with(`"layers":3`), "there twice"},
		{"a field of the wrong type", with(`"tied":3`), "field tied is a number"},
		{"no layers", strings.Replace(dense, `"layers":4`, `"layers":0`, 1), "layers = 0"},
		{"a negative width", strings.Replace(dense, `"d_model":64`, `"d_model":-64`, 1), "d_model"},
		{"half a number", strings.Replace(dense, `"vocab":1000`, `"vocab":1000.5`, 1), "vocab"},
		{"layers without end", strings.Replace(dense, `"layers":4`, `"layers":2000000000`, 1), "outside [1, 16384]"},
		{"more than can be counted", `{"layers":16384,"d_model":16777216,"heads":1,"d_ff":16777216,"vocab":1000}`, "2^53"},
		{"heads that do not divide the width", strings.Replace(dense, `"heads":8`, `"heads":7`, 1), "give head_dim"},
		{"heads that do not divide among kv_heads", strings.Replace(dense, `"kv_heads":2`, `"kv_heads":3`, 1), "multiple of kv_heads"},
		{"a window of no layers given", with(`"window":4`), "go together"},
		{"more windowed layers than layers", with(`"window":4,"window_layers":5`), "window_layers = 5 of 4"},
		{"four matrices", with(`"mlp_mats":4`), "mlp_mats = 4"},
		{"a norm of its own", with(`"norm":"batch"`), `norm "batch"`},
		{"more experts for a token than there are", with(`"moe":{"experts":4,"top_k":5,"d_ff":8}`), "moe.top_k = 5"},
		{"an expert without a width", with(`"moe":{"experts":4,"top_k":2}`), `"moe.d_ff" is missing`},
		{"latent and kv_heads", with(`"mla":{"q_lora":1,"kv_lora":1,"nope":1,"rope":1,"v":1}`), "leave kv_heads"},
		{"something after the end", dense + "{}", "something follows"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := ParseArch([]byte(r.text))
			if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a usage error with %q", err, r.want)
			}
		})
	}
}

func TestAContextBeyondTheModelIsRefused(t *testing.T) {
	a := parse(t, strings.TrimSuffix(dense, "}")+`,"max_context":100}`)
	if _, err := a.Decode(100, Convention{}); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]func() error{
		"decode":  func() error { _, err := a.Decode(101, Convention{}); return err },
		"prefill": func() error { _, err := a.Prefill(Prefill{New: 60, Cached: 41}, Convention{}); return err },
		"cache":   func() error { _, err := a.Cache(101, 1, 2); return err },
		"samples": func() error { _, err := a.SampleOperations(60, 42, 2, false, Convention{}); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "context of 100") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseArch(f *testing.F) {
	for _, s := range []string{dense, mixed, latent, `{}`, `{"moe":null}`, `{"mla":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ParseArch(text)
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v: %v", fault.KindOf(err), err)
			}
			return
		}
		s, err := a.Size()
		if err != nil || s.Total < s.Active || s.Matmul < 1 || s.Total > largest {
			t.Errorf("size %+v, %v", s, err)
		}
	})
}
