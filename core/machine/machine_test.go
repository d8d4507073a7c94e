package machine

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lab/core/fault"
)

var day = time.Date(2026, 12, 3, 0, 0, 0, 0, time.UTC)

// quick measures little of the machine: what is tested is not how fast it is.
func quick(t *testing.T) *Rates {
	t.Helper()
	r, err := Measure(context.Background(), Options{Passes: 2, Each: time.Millisecond, Largest: 8 << 20, Now: day})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryRateIsMeasured(t *testing.T) {
	r := quick(t)
	sizes := []int64{1 << 20, 4 << 20, 8 << 20}
	if len(r.Memory) != len(sizes) {
		t.Fatalf("%d buffers, want %d", len(r.Memory), len(sizes))
	}
	for i, m := range r.Memory {
		if m.Buffer != sizes[i] || !m.PerSecond.sound() {
			t.Errorf("buffer %d: %+v", i, m)
		}
	}
	if !r.Float32.PerSecond.sound() || r.Float32.Kind == "" {
		t.Errorf("float32: %+v", r.Float32)
	}
	if r.Int8 != nil && !r.Int8.PerSecond.sound() {
		t.Errorf("int8: %+v", r.Int8)
	}
	if r.CPU == "" || r.Threads < 1 || r.Cores < 1 || !r.Measured.Equal(day) || r.Schema != Schema {
		t.Errorf("%+v", r)
	}
	if least := r.Float32.PerSecond.Most; !(r.PerSecond() >= least) {
		t.Errorf("the most is %g, below %g", r.PerSecond(), least)
	}
}

// Every loop does some work, and twice the rounds take longer.
func TestLoopsRun(t *testing.T) {
	loops := []loop{plain(), float32Loop()}
	if l, ok := int8Loop(); ok {
		loops = append(loops, l)
	}
	for _, l := range loops {
		l.run(0) // no rounds are no loop without end
		if rate := l.rate(2, time.Millisecond); !(rate > 0) || math.IsInf(rate, 0) {
			t.Errorf("%s: %g operations a second", l.kind, rate)
		}
	}
}

func TestARateIsThatOfTheLargestBufferNotAbove(t *testing.T) {
	r := &Rates{Memory: []Memory{{100, Spread{1, 1, 9}}, {200, Spread{1, 1, 5}}, {400, Spread{1, 1, 2}}}}
	for bytes, want := range map[int64]float64{1: 9, 100: 9, 199: 9, 200: 5, 399: 5, 400: 2, 1 << 40: 2} {
		if got := r.BytesPerSecond(bytes); got != want {
			t.Errorf("%d bytes: %g, want %g", bytes, got, want)
		}
	}
}

func TestBusy(t *testing.T) {
	for load, want := range map[float64]bool{0: false, 2: false, 2.1: true} {
		if r := (&Rates{Cores: 4, Load: &load}); r.Busy() != want {
			t.Errorf("load %g on 4 cores: %t", load, !want)
		}
	}
	if (&Rates{Cores: 1}).Busy() {
		t.Error("an unknown load is no load")
	}
}

func TestMeasureRefusesAndStops(t *testing.T) {
	for name, o := range map[string]Options{"threads": {Threads: -1}, "passes": {Passes: -1}, "time": {Each: -1}, "buffer": {Largest: 1}} {
		if _, err := Measure(context.Background(), o); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, Options{Largest: 1 << 20}); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("got %v", err)
	}
}

func TestRatesComeBackFromTheirFile(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	r, path, err := Find()
	if r != nil || err != nil {
		t.Fatalf("%v, %v before anything was measured", r, err)
	}
	want := quick(t)
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, _, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v came back as %+v", want, got)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left in the folder", len(entries))
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := quick(t).Save(path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no JSON":          {"{", "["},
		"another schema":   {"lab/machine/1", "lab/machine/9"},
		"a buffer of none": {"1048576", "0"},
		"sizes in order":   {"1048576", "5000000"},
		"no threads":       {`"threads": `, `"threads": -`},
		"no day":           {"2026-12-03", "0001-01-01"},
		"a rate below 0":   {`"median": `, `"median": -`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if bad == string(good) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); fault.KindOf(err) != fault.Data {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
