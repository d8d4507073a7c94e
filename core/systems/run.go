package systems

import "fmt"

// Settings of the run, which every system has under some name.

func seedSetting() target {
	return target{kind: whole, run: func(d *draft, v any) error {
		n := v.(int64)
		if n < 0 || n == 1<<32-1 { // "random" in llama.cpp and its kin
			d.NoEquivalent = append(d.NoEquivalent, Note{"seed", show(v), "a random seed; lab runs have a fixed one"})
			return nil
		}
		u := uint64(n)
		d.Seed = &u
		return nil
	}}
}

func tokensSetting() target {
	return target{kind: whole, run: func(d *draft, v any) error {
		n := int(v.(int64))
		if n < 1 {
			d.NoEquivalent = append(d.NoEquivalent, Note{"max tokens", show(v), "no limit; give lab generate --max-tokens"})
			return nil
		}
		d.MaxTokens = &n
		return nil
	}}
}

func samplesSetting() target {
	return target{kind: whole, run: func(d *draft, v any) error {
		n := int(v.(int64))
		if n < 1 {
			return fmt.Errorf("is below 1")
		}
		d.Samples = &n
		return nil
	}}
}

func stopSetting() target {
	return target{kind: texts, run: func(d *draft, v any) error {
		d.Stop = append(d.Stop, v.([]string)...)
		return nil
	}}
}

// with returns params with more of them under their names.
func with(params map[string]target, t target, names ...string) {
	for _, n := range names {
		params[n] = t
	}
}

// Values that turn a stage off.
func is(off float64) func(any) bool {
	return func(v any) bool {
		switch x := v.(type) {
		case float64:
			return x == off
		case int64:
			return float64(x) == off
		}
		return false
	}
}

func notPositive(v any) bool {
	switch x := v.(type) {
	case float64:
		return x <= 0
	case int64:
		return x <= 0
	}
	return false
}

func oneOrMore(v any) bool { x, ok := v.(float64); return ok && x >= 1 }

func empty(v any) bool { s, ok := v.(string); return ok && s == "" }

func isFalse(v any) bool { b, ok := v.(bool); return ok && !b }
