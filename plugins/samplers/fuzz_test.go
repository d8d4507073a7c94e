package samplers

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lab/core/dist"
	"lab/core/fault"
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
	nan := float32(math.NaN())
	f.Add(row(0, 1, 2, 3))
	f.Add(row(1, 1, negInf, 3, 0, 0, 0))
	f.Add(row(0, 5))
	f.Add(row(0, math.MaxFloat32, -math.MaxFloat32, 0x1p-149))
	f.Add(row(0, nan, 1))
	f.Add(row(0, negInf, negInf))
	l := newLaboratory(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 9 || len(data) > 9+4*256 {
			return
		}
		seed, flags, data := binary.LittleEndian.Uint64(data), data[8], data[9:]
		v := make([]float32, len(data)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		for i, d := range l.decls {
			g := rand.New(rand.NewPCG(seed, uint64(i)))
			row := dist.NewDense(slices.Clone(v))
			sound := row.Check() == nil
			if !sound { // settings need a vocabulary, the row may have none
				row = dist.NewDense(make([]float32, max(1, len(v))))
			}
			q := l.about(t, g, d, row, "fuzzed")
			if !sound {
				q.item.Scores = dist.NewDense(slices.Clone(v))
			} else if flags&1 != 0 {
				q.item.Scores = twin(&row)
			}
			a := l.run(q)[0]
			if !sound && (!d.Needs.Raw || a.err != nil) {
				if a.err == nil || fault.KindOf(a.err) != fault.Data && fault.KindOf(a.err) != fault.Usage {
					t.Fatalf("%v: %v, want a data error", q, a.err)
				}
				continue
			}
			if refused(t, q, a) {
				continue
			}
			if !sound {
				if err := a.row.Check(); err != nil {
					t.Fatalf("%v: %v", q, err)
				}
				continue
			}
			valid(t, q, a)
			other := *q
			other.item = copyItem(q.item)
			other.item.Scores = twin(&q.item.Scores)
			if b := l.run(&other)[0]; b.err != nil || !sameSupport(&a.row, &b.row) || a.chosen != b.chosen {
				t.Fatalf("%v: leaves %v and chooses %d; the sparse twin %v, %d (%v)", q, a.row, a.chosen, b.row, b.chosen, b.err)
			}
		}
	})
}
