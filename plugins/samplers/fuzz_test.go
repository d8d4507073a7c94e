package samplers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
	"lab/core/plugin/conform"
)

// FuzzSamplers gives a row, of any bits, with settings and a context drawn from a
// number to every sampler: what is left is a distribution, or the answer is a
// refusal; and the sparse twin has the same one.
//
// data: settings, 8 bytes; a byte of flags (1: the row lists its support only);
// then scores, as float32 of 4 bytes each.
func FuzzSamplers(f *testing.F) {
	row := func(flags byte, v ...float32) []byte {
		data := append([]byte{1, 2, 3, 4, 5, 6, 7, byte(len(v))}, flags)
		for _, x := range v {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		return data
	}
	nan, none := float32(math.NaN()), float32(math.Inf(-1))
	f.Add(row(0, 1, 2, 3))
	f.Add(row(1, 1, none, 3, 0, 0, 0))
	f.Add(row(0, 5))
	f.Add(row(0, math.MaxFloat32, -math.MaxFloat32, 0x1p-149))
	f.Add(row(0, nan, 1))
	f.Add(row(0, none, none))
	b := newBench(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 9 || len(data) > 9+4*256 {
			return
		}
		seed, flags, data := binary.LittleEndian.Uint64(data), data[8], data[9:]
		v := make([]float32, len(data)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		for i, d := range b.Declarations {
			g := rand.New(rand.NewPCG(seed, uint64(i)))
			row := dist.NewDense(slices.Clone(v))
			sound := row.Check() == nil
			if !sound { // settings need a vocabulary, the row may have none
				row = dist.NewDense(make([]float32, max(1, len(v))))
			}
			q := b.About(g, d, row, "fuzzed")
			if !sound {
				q.Item.Scores = dist.NewDense(slices.Clone(v))
			} else if flags&1 != 0 {
				q.Item.Scores = conform.Twin(&row)
			}
			a := b.Run(q)[0]
			if !sound && (!d.Needs.Raw || a.Err != nil) {
				if a.Err == nil || fault.KindOf(a.Err) != fault.Data && fault.KindOf(a.Err) != fault.Usage {
					t.Fatalf("%s: %v: %v, want a data error", d.Name, q, a.Err)
				}
				continue
			}
			refused, wrong := conform.Refused(q, a)
			if wrong != "" {
				t.Fatalf("%s: %v: %s", d.Name, q, wrong)
			}
			if refused {
				continue
			}
			if !sound {
				if err := a.Row.Check(); err != nil {
					t.Fatalf("%s: %v: %v", d.Name, q, err)
				}
				continue
			}
			if wrong := conform.Valid(q, a); wrong != "" {
				t.Fatalf("%s: %v: %s", d.Name, q, wrong)
			}
			if wrong := b.SameAsTwin(q, a); wrong != "" {
				t.Fatalf("%s: %v: %s", d.Name, q, wrong)
			}
		}
	})
}
