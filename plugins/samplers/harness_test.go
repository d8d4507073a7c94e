package samplers

import (
	"context"
	"testing"

	"lab/core/plugin/conform"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// newBench asks questions to every sampler of this plugin, with the facts that
// their declarations do not say.
func newBench(t testing.TB) *conform.Bench {
	t.Helper()
	return conform.ForSet(context.Background(), newSet(t), conform.Options{Facts: facts})
}

// values resolves settings given as name, value, name, value.
func values(t testing.TB, d sampler.Declaration, given ...any) param.Values {
	t.Helper()
	v, err := conform.Values(d, given...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
