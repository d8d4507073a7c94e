package cost

import "testing"

// The operators are the whole step: their operations and bytes add up to those of
// it, and their times to at least the split of totals.
func TestOperatorsAddUpToTheStep(t *testing.T) {
	for name, text := range map[string]string{"dense": dense, "mixed": mixed, "latent": latent} {
		for _, batch := range []int64{1, 8, 4096} {
			a := parse(t, text)
			s := Serving{Format: Format{Weight: 2, Cache: 1}, Device: device, Efficiency: Efficiency{0.5, 0.8, 0.4}, Routing: Expected}
			list, err := a.Operators(100, batch, s)
			if err != nil {
				t.Fatal(err)
			}
			b, err := a.StepBytes(100, batch, s.Format, s.Routing)
			if err != nil {
				t.Fatal(err)
			}
			split, err := a.Step(100, batch, s)
			if err != nil {
				t.Fatal(err)
			}
			var flop, weights, cache, seconds float64
			for _, o := range list {
				flop, weights, cache, seconds = flop+o.FLOP, weights+o.Weights, cache+o.Cache, seconds+o.Seconds
				if !(o.Seconds >= max(o.Compute, o.Memory)*(1-rounding)) || o.FLOP <= 0 {
					t.Errorf("%s %s: %+v", name, o.Name, o)
				}
			}
			near(t, name+" FLOP", flop, float64(batch)*got(t)(a.Decode(100, Convention{Absorbed: true})), rounding)
			near(t, name+" weights", weights, b.Weights, rounding)
			// A windowed layer writes beside what its full window reads.
			near(t, name+" cache", cache, b.CacheRead+b.CacheWrite, rounding)
			embedding := b.Embedding / (s.Device.Chips * s.Device.Bandwidth * s.Efficiency.Cache)
			if !(seconds >= (split.Total-embedding)*(1-rounding)) {
				t.Errorf("%s batch %d: %g s by operator, %g s split", name, batch, seconds, split.Total)
			}
		}
	}
}

func TestDecodeAttentionStaysMemoryBoundWhateverTheBatch(t *testing.T) {
	a := parse(t, dense)
	for _, batch := range []int64{1, 1 << 20} {
		list, err := a.Operators(1000, batch, Serving{Format: Format{2, 2}, Device: device, Efficiency: Floor()})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			if o.Name == "attention" && !o.MemoryBound {
				t.Errorf("batch %d: %+v", batch, o)
			}
			if o.Name == "ffn" && o.MemoryBound != (batch == 1) {
				t.Errorf("batch %d: %+v", batch, o)
			}
		}
	}
}
