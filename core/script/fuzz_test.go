package script_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lab/core/fault"
	"lab/core/script"
	"lab/core/script/scripttest"
)

// FuzzRun feeds text to the runner. Whatever it is, it ends within the limits,
// with a value or an error of a script, and without a panic.
func FuzzRun(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "seeds", "*.tengo"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 20_000 {
			return
		}
		s, err := script.New(script.Config{
			Modules: []script.Module{kit(), vectors()}, Out: io.Discard, Folder: filepath.Join("testdata", "seeds"),
			Limits: script.Limits{Allocs: 200_000, HeapBytes: 512 << 20},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err = s.Run(ctx, "fuzz", src)
		if d := time.Since(start); d > scripttest.Timeout { // a loop that nothing stops
			t.Errorf("took %v", d)
		}
		var fe *fault.Error
		if err != nil && !errors.As(err, &fe) {
			t.Errorf("%T: %v", err, err)
		}
		script.Detail(err)
	})
}
