package profile

import (
	"math"
	"testing"

	"lab/core/fault"
	"lab/core/machine"
	"lab/core/plugin/bench"
)

func rates() *machine.Rates {
	one := func(x float64) machine.Spread { return machine.Spread{Median: x / 2, Least: x / 4, Most: x} }
	return &machine.Rates{Memory: []machine.Memory{{Buffer: 1000, PerSecond: one(1e9)}, {Buffer: 1 << 20, PerSecond: one(1e8)}},
		Float32: machine.Arithmetic{Kind: "go", PerSecond: one(1e9)}, Int8: &machine.Arithmetic{Kind: "avx2", PerSecond: one(4e9)}}
}

// decode is a point of a model whose steps take 1e-4 s, 1e-5 a row and 1e-8 a
// token of context.
func decode(context, batch int) bench.Point {
	b, c := float64(batch), float64(context)
	seconds := 1e-4 + 1e-5*b + 1e-8*b*c
	return bench.Point{Phase: bench.Decode, Context: context, Batch: batch, Seconds: []float64{seconds, 2 * seconds, seconds}, Backend: []float64{seconds / 2},
		Usage: bench.Counts{FLOPs: 1000*b + 10*b*c, BytesMoved: 2000 + 10*b*c, CacheBytes: 10 * b * c}, Empty: bench.Counts{FLOPs: 1000 * b, BytesMoved: 2000}}
}

// The floor is the longer of reading all bytes at the rate of their working set and
// of making all operations at the machine's most.
func TestFloors(t *testing.T) {
	for name, c := range map[string]struct {
		point           bench.Point
		floor, mfu, mbu float64 // shares at a time of twice the floor
	}{
		"bytes decide":      {bench.Point{Phase: bench.Decode, Batch: 1, Usage: bench.Counts{FLOPs: 4000, BytesMoved: 1e6}}, 1e-3, 4000 / 4e9 / 2e-3, 0.5},
		"a large set":       {bench.Point{Phase: bench.Decode, Batch: 1, Usage: bench.Counts{FLOPs: 4000, BytesMoved: 1 << 20}}, (1 << 20) / 1e8, 4000 / 4e9 / (2 * (1 << 20) / 1e8), 0.5},
		"operations decide": {bench.Point{Phase: bench.Decode, Batch: 1, Usage: bench.Counts{FLOPs: 4e9, BytesMoved: 1e6}}, 1, 0.5, 1e6 / 1e9 / 2},
		"a prompt reads its weights once": {bench.Point{Phase: bench.Prefill, Context: 8, Batch: 1, Usage: bench.Counts{FLOPs: 4, BytesMoved: 1e9},
			Empty: bench.Counts{BytesMoved: 1e6}}, 1e-3, 4 / 4e9 / 2e-3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.point.Seconds, c.point.Backend = []float64{2 * c.floor}, []float64{c.floor}
			p := newPoint(&c.point, rates())
			for what, x := range map[string][2]float64{"floor": {p.Floor, c.floor}, "over it": {p.OverFloor, 2}, "MFU": {p.OfFLOPs, c.mfu}, "MBU": {p.OfBandwidth, c.mbu}} {
				if !(math.Abs(x[0]-x[1]) <= 1e-12*x[1]) {
					t.Errorf("%s: %g, want %g", what, x[0], x[1])
				}
			}
			if bare := newPoint(&c.point, nil); bare.Floor != 0 || bare.OfFLOPs != 0 {
				t.Errorf("without rates: %+v", bare)
			}
		})
	}
}

func TestPointsGetTheirFit(t *testing.T) {
	r := &Report{}
	var points []bench.Point
	for _, c := range []int{0, 100, 200, 400} {
		for _, b := range []int{1, 2, 4, 8} {
			points = append(points, decode(c, b))
		}
	}
	points = append(points, bench.Point{Phase: bench.Prefill, Context: 100, Batch: 1, Seconds: []float64{1}, Backend: []float64{1}})
	for i := range points {
		r.Points = append(r.Points, newPoint(&points[i], nil))
	}
	if err := r.fit("", points); err != nil {
		t.Fatal(err)
	}
	if r.Decode == nil || r.Prefill != nil || len(r.Notes) == 0 { // one prefill is too few, and says so
		t.Fatalf("%+v", r)
	}
	for _, p := range r.Points[:16] {
		if !(math.Abs(p.OverFitted-1) <= 1e-6) || !(math.Abs(p.Fitted-p.Seconds.Median) <= 1e-6*p.Fitted) {
			t.Errorf("%+v", p)
		}
		if want := float64(p.Batch) / p.Seconds.Median; p.PerSecond != want {
			t.Errorf("%g token/s, want %g", p.PerSecond, want)
		}
	}
	if p := r.Points[16]; p.Fitted != 0 {
		t.Errorf("a point without a fit has %g", p.Fitted)
	}
}

// In between points, a prediction is that of the model's line, with its floor;
// beyond them it is marked.
func TestPredict(t *testing.T) {
	r := &Report{Machine: rates()}
	var points []bench.Point
	for _, c := range []int{0, 100, 200, 400} {
		for _, b := range []int{1, 2, 4, 8} {
			p := decode(c, b)
			points, r.Points = append(points, p), append(r.Points, newPoint(&p, rates()))
		}
	}
	if err := r.fit("", points); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		context, batch int
		beyond         bool
	}{{100, 4, false}, {150, 3, false}, {400, 16, true}} {
		p, err := r.Predict(bench.Decode, c.context, c.batch)
		want := decode(c.context, c.batch)
		whole := newPoint(&want, rates())
		if err != nil || !(math.Abs(p.Seconds-whole.Seconds.Median) <= 1e-6*p.Seconds) || (p.Beyond != "") != c.beyond {
			t.Errorf("%+v: %+v (%v), want %g seconds", c, p, err, whole.Seconds.Median)
		}
		if p.Floor == nil || !(math.Abs(*p.Floor-whole.Floor) <= 1e-9*whole.Floor) {
			t.Errorf("%+v: floor %v, want %g", c, p.Floor, whole.Floor)
		}
	}
	if _, err := r.Predict(bench.Prefill, 1, 1); fault.KindOf(err) != fault.Usage {
		t.Errorf("a phase without a fit: %v", err)
	}
}

// A backend that counts nothing is fitted with tokens, and a note says so.
func TestWithoutCounts(t *testing.T) {
	r := &Report{}
	var points []bench.Point
	for _, c := range []int{0, 100, 200} {
		for _, b := range []int{1, 2, 4} {
			p := decode(c, b)
			p.Usage, p.Empty = bench.Counts{}, bench.Counts{}
			points = append(points, p)
			r.Points = append(r.Points, newPoint(&p, rates()))
		}
	}
	if err := r.fit("", points); err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || r.Decode == nil || !(r.Decode.MostResidual <= 1e-6) || r.Points[0].Floor != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAnUnknownFormIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	opt := Options{Form: "spilt", GridOptions: bench.GridOptions{Context: []int{1}, Batch: []int{1}}}
	if _, err := Measure(t.Context(), "m", nil, opt); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v", err)
	}
}
