package machine

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"lab/core/fault"
)

// Whatever a file holds, its rates are positive numbers or it is refused as damaged.
func FuzzRead(f *testing.F) {
	good, err := json.Marshal(&Rates{Schema: Schema, Measured: day, CPU: "c", Cores: 2, Threads: 2,
		Memory: []Memory{{1 << 20, Spread{2, 1, 3}}, {4 << 20, Spread{1, 1, 1}}}, Float32: Arithmetic{"go", Spread{5, 5, 5}}, Int8: &Arithmetic{"avx2", Spread{9, 8, 10}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":"lab/machine/1","memory":[{}]}`))
	f.Add([]byte(`null`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "m.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Read(path)
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, bytes := range []int64{0, 1, 1 << 30} {
			if x := r.BytesPerSecond(bytes); !(x > 0) || math.IsInf(x, 0) {
				t.Fatalf("%g bytes a second", x)
			}
		}
		if x := r.PerSecond(); !(x > 0) || math.IsInf(x, 0) {
			t.Fatalf("%g operations a second", x)
		}
	})
}
