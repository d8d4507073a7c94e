package samplers

import (
	"testing"

	"lab/core/plugin/conform"
	"lab/core/plugin/conform/conformtest"
	"lab/core/plugin/param"
)

// Every sampler keeps every law of the conformance kit, but for those that its
// facts excuse. The laws are strict, since every sampler has facts.
func TestEverySamplerKeepsTheLaws(t *testing.T) {
	r := conformtest.Samplers(t, All(), conform.Options{Rounds: 160, Facts: facts})
	// What the kit asks only of samplers that fit it must have been asked of many.
	kept := map[string]int{}
	for _, c := range r.Checks {
		if c.Outcome == conform.Pass {
			kept[c.Law]++
		}
	}
	for law, least := range map[string]int{"distribution": 50, "min_keep": 15, "lowest_id": 30, "shift": 40, "off": 35, "systems": 30, "draws": 8, "state": 50} {
		if kept[law] < least {
			t.Errorf("only %d samplers keep the law %q", kept[law], law)
		}
	}
}

func TestTheCatalogueIsComplete(t *testing.T) {
	all := newSet(t).Declarations()
	known := map[string]bool{}
	rules, moved := 0, 0
	for _, d := range all {
		known[d.Name] = true
		rules += len(d.Systems)
		for _, s := range d.Params {
			if s.Name == "min_keep" && param.Format(s.Default) != "1" {
				t.Errorf("%s: min_keep is %v by default", d.Name, s.Default)
			}
		}
		f, ok := facts[d.Name]
		if !ok || f.Off == nil && f.NoOff == "" {
			t.Errorf("%s: facts_test.go does not say how it is switched off", d.Name)
		}
		if f.Moves != "" {
			moved++
		}
	}
	for name := range facts {
		if !known[name] {
			t.Errorf("facts_test.go knows %q, which is no sampler", name)
		}
	}
	if len(all) < 50 || rules < 100 {
		t.Errorf("only %d samplers and %d rules of other systems", len(all), rules)
	}
	if moved > 6 {
		t.Errorf("%d samplers move when every score does, more than the catalogue has reasons for", moved)
	}
}
