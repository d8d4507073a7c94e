package dist

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"lab/core/fault"
)

func TestCheckFindsEachBrokenNumber(t *testing.T) {
	before := row(3, 2, 1, 0)
	var ws Workspace
	good, err := Compare(before, keep(before, 0, 1), &ws)
	if err != nil {
		t.Fatal(err)
	}
	good.Choose(before, keep(before, 0, 1), 1)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, want string
		breakIt    func(*Change)
	}{
		{"support grows with a finite KL", "support grew", func(c *Change) { c.SupportAfter = 9 }},
		{"empty support", "may be empty", func(c *Change) { c.SupportAfter = 0 }},
		{"kept mass above 1", "kept mass", func(c *Change) { c.KeptMass = 1.1 }},
		{"kept mass is NaN", "kept mass", func(c *Change) { c.KeptMass = math.NaN() }},
		{"TV is negative", "TV", func(c *Change) { c.TV = -0.1 }},
		{"KL is negative", "KL", func(c *Change) { c.KL = -1e-6 }},
		{"KL is NaN", "KL", func(c *Change) { c.KL = math.NaN() }},
		{"entropy above its bound", "entropy before", func(c *Change) { c.EntropyBefore = 2.1 }},
		{"entropy is NaN", "entropy after", func(c *Change) { c.EntropyAfter = math.NaN() }},
		{"KL of a truncation off by 2e-9", "ID-05", func(c *Change) { c.KL += 2e-9 }},
		{"KL below the bound", "KL >= -log2(kept mass)", func(c *Change) { c.KL -= 2e-9 }},
		{"TV of a truncation off by 2e-9", "ID-06", func(c *Change) { c.TV += 2e-9 }},
		{"TV below the dropped mass", "TV >= 1 - kept mass", func(c *Change) { c.TV -= 2e-9 }},
		{"Pinsker", "Pinsker", func(c *Change) { c.Truncation, c.TV = false, 0.9 }},
		{"KL of a truncation is +Inf", "ID-05", func(c *Change) { c.KL = math.Inf(1) }},
		{"rank outside the support", "rank before", func(c *Change) { c.RankBefore = 5 }},
		{"probability without a rank", "probability after", func(c *Change) { c.RankAfter = 0 }},
		{"probability too large for its rank", "more than its rank allows", func(c *Change) { c.ProbAfter = 0.9 }},
		{"ratio not kept", "keeps ratios", func(c *Change) { c.ProbAfter -= 1e-6 }},
		{"truncation lowers a rank", "moved it down", func(c *Change) { c.RankBefore = 1 }},
		{"unlisted mass appears", "unlisted", func(c *Change) { c.UnlistedAfter = 0.5 }},
	}
	for _, r := range cases {
		t.Run(r.name, func(t *testing.T) {
			c := good
			r.breakIt(&c)
			err := c.Check()
			if err == nil || !strings.Contains(err.Error(), r.want) || fault.KindOf(err) != fault.Plugin {
				t.Errorf("got %v, want a plugin error with %q", err, r.want)
			}
		})
	}
}

// FuzzLedger reads rows and what a stage does to them from bytes: whatever the
// scores, the ledger's own identities hold.
func FuzzLedger(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 64}, uint8(1), float32(1))
	f.Add([]byte{0, 0, 128, 127, 0, 0, 128, 255, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(3), float32(0.5))
	f.Add([]byte{255, 255, 127, 127, 255, 255, 127, 255, 0, 0, 0, 0}, uint8(2), float32(1e-6))
	f.Fuzz(func(t *testing.T, data []byte, mod uint8, factor float32) {
		if len(data) > 4096 {
			return
		}
		v := make([]float32, len(data)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		before := NewDense(v)
		if before.Check() != nil {
			if _, err := Softmax(&before); err == nil {
				t.Fatal("Softmax accepts a row that Check refuses")
			}
			return
		}
		d, err := Softmax(&before)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		d.Each(func(_ int32, p float64) bool { sum += p; return true })
		near(t, "sum", sum, 1, 1e-12)
		after := before.Clone()
		for i := range after.Values {
			after.Values[i] *= factor
			if mod > 1 && i%int(mod) == 0 {
				after.Values[i] = negInf
			}
		}
		if after.Check() != nil {
			return
		}
		var ws Workspace
		c, err := Compare(&before, &after, &ws)
		if err != nil {
			t.Fatal(err)
		}
		for id := range v {
			ws.Choose(int32(id), []Change{c})
			c.Choose(&before, &after, int32(id))
			if err := c.Check(); err != nil {
				t.Fatalf("%v\nbefore %v\nafter %v", err, before.Values, after.Values)
			}
		}
	})
}
