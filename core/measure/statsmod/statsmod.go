// Package statsmod is the script module "stats": measures of texts and samples,
// estimates with intervals, and tests of differences, as scripts call them.
//
// It turns arguments into calls of core/measure and results into immutable
// objects and records, and computes nothing itself. What a method is and where it comes from
// stands there.
package statsmod

import (
	"lab/core/fault"
	"lab/core/measure"
	"lab/core/script"
	"lab/core/script/std"
	"lab/core/trace"
)

// Module returns the module "stats".
func Module() script.Module {
	return script.Module{
		Name:    "stats",
		Doc:     "Measures of texts and samples, estimates with intervals, and tests of differences.",
		Classes: []script.Class{Estimate{}.Class(), Test{}.Class()},
		Members: append(append(append(sampleMembers(), textMembers()...), estimateMembers()...), comparisonMembers()...),
	}
}

const (
	estimateKind = "estimate"
	testKind     = "test"
)

// The options that several functions share.
var (
	levelOption     = script.Param{Name: "level", Type: script.Float(), Default: 0.95, Range: script.Interval(0, 1, true, true), Meaning: "confidence of the interval"}
	resamplesOption = script.Param{Name: "resamples", Type: script.Int(), Default: int64(1999), Range: script.Between(99, 1e6), Meaning: "of the bootstrap"}
	seedOption      = script.Param{Name: "seed", Type: script.Int(), Default: int64(0), Range: script.AtLeast(0), Meaning: "of what is drawn; equal seeds give equal bits"}
	byOption        = script.Param{Name: "by", Type: script.List(script.String()), Meaning: "the cluster of each value, such as its prompt, where values of one depend on each other"}
)

// intervalOptions are those of an interval made by one of methods.
func intervalOptions(methods ...string) []script.Param { return IntervalOptions(byOption, methods...) }

// IntervalOptions are those of an interval made by one of methods, the first of
// which is that without clusters; by says which value is of which cluster. Other
// modules offer the same intervals with them.
func IntervalOptions(by script.Param, methods ...string) []script.Param {
	return []script.Param{
		{Name: "interval", Type: script.String(), Choices: methods, Meaning: "how the interval is made; left out, " + methods[0] + ", or one that knows clusters when by is given"},
		levelOption, resamplesOption, seedOption, by,
	}
}

// MeanMethods returns the intervals of a mean, its own first.
func MeanMethods() []string { return append([]string(nil), meanMethods...) }

var (
	meanMethods  = []string{measure.MethodT, measure.MethodBootstrap, measure.MethodBCa, measure.MethodCluster, measure.MethodClusterBootstrap}
	shareMethods = append([]string{measure.MethodWilson, measure.MethodExact}, meanMethods...)
)

func interval(c *script.Call) measure.Interval {
	iv := IntervalOf(c)
	if c.Given("by") {
		iv.Clusters = c.Strings("by")
	}
	return iv
}

// IntervalOf returns the interval that the options of [IntervalOptions] ask for,
// clusters apart.
func IntervalOf(c *script.Call) measure.Interval {
	iv := measure.Interval{Level: c.Float("level"), Resamples: int(c.Int("resamples")), Seed: uint64(c.Int("seed"))}
	if c.Given("interval") {
		iv.Method = c.String("interval")
	}
	return iv
}

// settled runs work without the interpreter lock and turns its result into what a
// script holds.
func settled[T any](c *script.Call, work func() (T, error), record func(T) any) (any, error) {
	var v T
	err := c.Blocking(func() (err error) {
		v, err = work()
		return err
	})
	if err != nil {
		return nil, err
	}
	return record(v), nil
}

func estimateOf(e measure.Estimate) any { return Estimate{e} }

func testOf(t measure.Test) any { return Test{t} }

// numbers declares a list of numbers; those that are NaN or infinite are refused
// by core/measure, which names the first.
func numbers(name, meaning string) script.Param {
	return script.Param{Name: name, Type: script.Numbers(), Meaning: meaning}
}

func floats(c *script.Call, name string) []float64 { return script.Arg[[]float64](c, name) }

func bools(c *script.Call, name string) []bool {
	list := c.List(name)
	out := make([]bool, len(list))
	for i, v := range list {
		out[i] = v.(bool)
	}
	return out
}

// samplesType is what generate returns.
func samplesType() script.Type { return script.List(script.Host[*std.Sample]()) }

func samplesOf(list []any) []trace.Sample {
	out := make([]trace.Sample, len(list))
	for i, v := range list {
		out[i] = *v.(*std.Sample).Sample
	}
	return out
}

// textType is a sequence of tokens.
func textType() script.Type {
	return script.Either(script.String(), script.Host[*std.Sample](), script.List(script.Either(script.Int(), script.String()))).Called("text")
}

const textMeaning = "a text, of which the words count; a sample, of which the tokens do, without the one that ended it; or a list of tokens or words"

// tokensOf returns a text as tokens that can be compared: int64 or string.
func tokensOf(v any) []any {
	var out []any
	switch v := v.(type) {
	case string:
		for _, w := range measure.Words(v) {
			out = append(out, w)
		}
	case *std.Sample:
		for _, t := range measure.Content(v.Sample) {
			out = append(out, int64(t))
		}
	case []any:
		return v
	}
	return out
}

func tokenLists(list []any) [][]any {
	out := make([][]any, len(list))
	for i, v := range list {
		out[i] = tokensOf(v)
	}
	return out
}

// outputsOf returns texts and samples as strings.
func outputsOf(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		if s, ok := v.(*std.Sample); ok {
			out[i] = measure.Output(s.Sample)
		} else {
			out[i] = v.(string)
		}
	}
	return out
}

func outputsParam() script.Param {
	return script.Param{Name: "outputs", Type: script.List(script.Either(script.String(), script.Host[*std.Sample]())), Meaning: "texts or samples"}
}

func wrong(c *script.Call, problem string, args ...any) *fault.Error {
	return fault.New(fault.Script, c.Name(), "", problem, args...)
}
