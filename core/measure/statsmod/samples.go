package statsmod

import (
	"sort"

	"lab/core/fault"
	"lab/core/measure"
	"lab/core/script"
	"lab/core/trace"
)

// sampleMembers are the functions of measures by name.
func sampleMembers() []script.Member {
	samples := script.Param{Name: "samples", Type: samplesType(), Meaning: "of generate; measures of steps need {ledger: true}"}
	name := script.Param{Name: "name", Type: script.String(), Meaning: "a name of stats.measures, or a short one"}
	names := script.Param{Name: "names", Type: script.List(script.String()), Meaning: "names of stats.measures, or short ones"}
	methods := append([]string{"own"}, append(append([]string(nil), shareMethods...), measure.MethodJackknife)...)
	options := intervalOptions(methods...)
	options[0].Meaning = "how the interval is made; own: t for means, wilson for shares, jackknife or the source's for measures of a set, cluster when by is given"
	options[0].Default = "own"
	return []script.Member{
		{Name: "measures", Returns: "list of record: name, doc, unit, steps (needs recorded steps), set (of the whole set), intervals (the methods, its own first)",
			Doc: "What stats.measure knows by name; the number in a name may be another one, such as distinct_6. Short names: " +
				"repetition is seq_rep_4, entropy_bits and support those of the sampling distribution, surprisal_bits, perplexity and rank those under the model, self_bleu is self_bleu_4, zipf is zipf_regression.",
			Get: func(*script.Call) (any, error) {
				out := []any{}
				for _, m := range measure.Measures() {
					out = append(out, script.Record{Name: "measure", Fields: map[string]any{"name": m.Name, "doc": m.Doc, "unit": m.Unit, "steps": m.Steps, "set": m.Set, "intervals": m.Methods}})
				}
				return out, nil
			}},
		{Name: "each", Returns: "list of float", Doc: "Returns a measure of every sample by itself, NaN where it is not defined.",
			Params: []script.Param{name, samples},
			Func: func(c *script.Call) (any, error) {
				m, err := measure.Named(c.String("name"))
				if err != nil {
					return nil, err
				}
				list := samplesOf(c.List("samples"))
				return settled(c, func() ([]float64, error) { return m.Each(list) }, func(v []float64) any { return v })
			}},
		{Name: "measure", Returns: estimateKind, Doc: "Returns a measure of a group of samples with its interval. In measures of steps every token weighs the same.",
			Params: []script.Param{name, samples}, Options: options,
			Func: func(c *script.Call) (any, error) {
				m, err := measure.Named(c.String("name"))
				if err != nil {
					return nil, err
				}
				list, iv := samplesOf(c.List("samples")), ownInterval(c)
				return settled(c, func() (measure.Estimate, error) { return m.Estimate(list, iv) }, estimateOf)
			}},
		{Name: "summary", Returns: "record: an estimate by each name", Doc: "Returns several measures of one group of samples.",
			Params: []script.Param{samples, names}, Options: options,
			Func: func(c *script.Call) (any, error) {
				list, names, iv := samplesOf(c.List("samples")), c.Strings("names"), ownInterval(c)
				ms, err := measure.NamedAll(names)
				if err != nil {
					return nil, err
				}
				return settled(c, func() (map[string]any, error) { return summary(ms, names, list, iv) },
					func(fields map[string]any) any { return script.Record{Name: "summary", Fields: fields} })
			}},
		{Name: "groups", Returns: "list of record: group, n, and an estimate by each name", Doc: "Returns several measures of each group of samples, groups in the order of their keys.",
			Params:  []script.Param{{Name: "groups", Type: script.Map(samplesType()), Meaning: "samples by the name of their group"}, names},
			Options: options[:4], // clusters are of one group's samples
			Func:    groups},
	}
}

func groups(c *script.Call) (any, error) {
	ms, err := measure.NamedAll(c.Strings("names"))
	if err != nil {
		return nil, err
	}
	byKey, names := c.Map("groups"), c.Strings("names")
	iv := measure.Interval{Level: c.Float("level"), Resamples: int(c.Int("resamples")), Seed: uint64(c.Int("seed")), Method: own(c.String("interval"))}
	keys := make([]string, 0, len(byKey))
	for k := range byKey {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return settled(c, func() ([]any, error) {
		out := make([]any, 0, len(keys))
		for _, k := range keys {
			list := samplesOf(byKey[k].([]any))
			fields, err := summary(ms, names, list, iv)
			if err != nil {
				return nil, fault.Wrap(err, fault.Data, c.Name(), "group "+fault.Quote(k, 40))
			}
			fields["group"], fields["n"] = k, len(list)
			out = append(out, script.Record{Name: "group", Fields: fields})
		}
		return out, nil
	}, func(v []any) any { return v })
}

// summary returns the estimates under the names that were asked for.
func summary(ms []measure.Measure, names []string, samples []trace.Sample, iv measure.Interval) (map[string]any, error) {
	fields := make(map[string]any, len(ms)+2)
	for i, m := range ms {
		e, err := m.Estimate(samples, iv)
		if err != nil {
			return nil, err
		}
		fields[names[i]] = estimateOf(e)
	}
	return fields, nil
}

// own turns the name of the measure's own method into the one core/measure has.
func own(method string) string {
	if method == "own" {
		return ""
	}
	return method
}

func ownInterval(c *script.Call) measure.Interval {
	iv := interval(c)
	iv.Method = own(c.String("interval"))
	return iv
}
