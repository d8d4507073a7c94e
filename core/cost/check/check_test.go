package check

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/fault"
)

func golden(t testing.TB) []*File {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files", err)
	}
	var files []*File
	for _, p := range paths {
		r, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(r, p)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// lacking are the numbers whose check does not give every input, and the input
// that its source gives: Gopher's 280 billion parameters (Rae et al. 2021), and the
// 539 t of the check's own source line.
var lacking = map[string]struct{ name, value string }{
	"TR-19 six_nd":     {"params", "280e9"},
	"EN-03 kg_per_kwh": {"tonnes_co2", "539"},
}

func TestEveryGoldenNumberHolds(t *testing.T) {
	checks, numbers, nevers, lacked := 0, 0, 0, 0
	for _, f := range golden(t) {
		checks += len(f.Items)
		results, _ := f.Verify()
		for _, r := range results {
			if r.Expected == nil {
				nevers++
			} else {
				numbers++
			}
			name := r.ID + " " + r.Output
			if _, ok := lacking[name]; ok && r.Verdict == NotCovered && strings.Contains(r.Why, "lack") {
				lacked++
				continue
			}
			if r.Verdict != Holds {
				t.Errorf("%s %s: %s: %s", f.Name, name, r.Verdict, r.Why)
			}
		}
	}
	if checks != 141 || numbers != 395 || nevers != 1 || lacked != len(lacking) {
		t.Errorf("%d checks, %d numbers, %d never and %d lacking, want 141, 395, 1 and %d", checks, numbers, nevers, lacked, len(lacking))
	}
}

// With the input that its source names, each of them holds too, and all the others
// still do.
func TestNumbersThatLackAnInputHoldOnceItIsGiven(t *testing.T) {
	given, assumed := 0, 0
	for _, f := range golden(t) {
		for name, input := range lacking {
			id, _, _ := strings.Cut(name, " ")
			found, err := f.Give(id, input.name, json.RawMessage(input.value))
			if err != nil {
				t.Fatal(err)
			}
			if found {
				given++
			}
		}
		results, _ := f.Verify()
		for _, r := range results {
			if r.Verdict != Holds {
				t.Errorf("%s %s: %s: %s", r.ID, r.Output, r.Verdict, r.Why)
			}
			if strings.Contains(r.Assumed, "which the file lacks") {
				assumed++
			}
		}
	}
	if given != len(lacking) || assumed < given {
		t.Errorf("%d of %d were given, %d results say so", given, len(lacking), assumed)
	}
}

func TestInputsThatCannotBeGiven(t *testing.T) {
	for name, row := range map[string]struct{ id, input, value, says string }{
		"there already":       {"EN-03", "watts", "1", "gives it itself"},
		"not of this op":      {"EN-03", "tones_co2", "1", `did you mean "tonnes_co2"`},
		"of no check":         {"EN-99", "watts", "1", ""},
		"not of JSON's kinds": {"EN-03", "tonnes_co2", "five", "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			var err error
			for _, f := range golden(t) {
				ok, e := f.Give(row.id, row.input, json.RawMessage(row.value))
				found = found || ok
				if e != nil {
					err = e
				}
			}
			if row.says == "" {
				if found || err != nil {
					t.Errorf("found %t, %v", found, err)
				}
				return
			}
			if !found || err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("found %t, %v", found, err)
			}
		})
	}
}

func TestEveryPublishedFigureKeepsItsVerdict(t *testing.T) {
	n, differ := 0, 0
	for _, f := range golden(t) {
		_, prints := f.Verify()
		for _, p := range prints {
			n++
			if p.Says == "differs" {
				differ++
			}
			if !p.Holds {
				t.Errorf("%s %s: %s", p.ID, p.Output, p.Why)
			}
		}
	}
	if n != 120 || differ == 0 || differ == n {
		t.Errorf("%d published figures of which %d differ; want 120 and some", n, differ)
	}
}

// A number moved by twice its tolerance, or by one where it must be equal, is
// found: the comparison can fail.
func TestAChangedNumberDiffers(t *testing.T) {
	found := 0
	for _, f := range golden(t) {
		for _, it := range f.Items {
			for i := range it.outputs {
				for j, v := range it.outputs[i].numbers {
					if _, ok := lacking[it.ID+" "+it.outputs[i].name]; ok || math.IsInf(v, 0) {
						continue
					}
					moved := v + 2*max(*it.RelTol*math.Abs(v), 0)
					if *it.RelTol == 0 {
						moved = v + 1
					}
					if v == 0 {
						moved = 2 * *it.RelTol
					}
					if *it.RelTol*math.Abs(v) > 0 && moved == v {
						t.Fatalf("%s: %g does not move", it.ID, v)
					}
					it.outputs[i].numbers[j] = moved
					results, _ := it.verify()
					differs := false
					for _, r := range results {
						differs = differs || r.Verdict == Differs
					}
					if !differs {
						t.Errorf("%s %s: %g instead of %g holds", it.ID, it.outputs[i].name, moved, v)
					}
					it.outputs[i].numbers[j] = v
					found++
				}
			}
		}
	}
	if found != 395-len(lacking) {
		t.Errorf("%d numbers were moved", found)
	}
}

func file(item string) string { return `{"version":1,"group":"g","items":[` + item + `]}` }

const ridge = `"op":"ridge","inputs":{"peak_flops":2,"bandwidth":1},"expected":{"ridge":2}`

func TestReadRefusesWhatItCannotTrust(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"no JSON", "x", "no JSON object"},
		{"another version", `{"version":2,"group":"g","items":[]}`, "version is 2"},
		{"no items", `{"version":1,"group":"g"}`, "no list of items"},
		{"an unknown field", `{"version":1,"group":"g","itens":[]}`, `did you mean "items"`},
		{"a field twice", `{"version":1,"version":1}`, "there twice"},
		{"no tolerance", file(`{"id":"A",` + ridge + `}`), "rel_tol"},
		{"a tolerance of one", file(`{"id":"A","rel_tol":1,` + ridge + `}`), "rel_tol"},
		{"an unknown field of a check", file(`{"id":"A","rel_tol":0,"sauce":"x",` + ridge + `}`), `check 1 ("A"): unknown field "sauce"; did you mean "source"?`},
		{"an id twice", file(`{"id":"A","rel_tol":0,` + ridge + `},{"id":"A","rel_tol":0,` + ridge + `}`), "checks 1 and 2"},
		{"a text expected", file(`{"id":"A","rel_tol":0,"op":"ridge","inputs":{},"expected":{"ridge":"2"}}`), "neither a number"},
		{"nothing expected", file(`{"id":"A","rel_tol":0,"op":"ridge","inputs":{},"expected":{}}`), "expects nothing"},
		{"an infinite number", file(`{"id":"A","rel_tol":0,"op":"ridge","inputs":{},"expected":{"ridge":1e999}}`), "neither a number"},
		{"a published figure of nothing", file(`{"id":"A","rel_tol":0,"published":[{"output":"x","value":1,"tol_rel":0,"gap_rel":0,"verdict":"reproduced"}],` + ridge + `}`), "no number among the expected"},
		{"a published verdict", file(`{"id":"A","rel_tol":0,"published":[{"output":"ridge","value":1,"tol_rel":0,"gap_rel":0,"verdict":"fine"}],` + ridge + `}`), "neither reproduced nor differs"},
		{"provenance", file(`{"id":"A","rel_tol":0,"provenance":"heard",` + ridge + `}`), "provenance"},
		{"something after the end", file(`{"id":"A","rel_tol":0,`+ridge+`}`) + `{}`, "something follows"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(r.text), "t.json")
			if err == nil || fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), r.want) {
				t.Errorf("got %v, want a data error with %q", err, r.want)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	check := func(op, inputs, expected string) string {
		return file(`{"id":"A","rel_tol":1e-9,"op":"` + op + `","inputs":` + inputs + `,"expected":` + expected + `}`)
	}
	rows := []struct {
		name, text string
		want       Verdict
		why        string
	}{
		{"holds", check("ridge", `{"peak_flops":6,"bandwidth":2}`, `{"ridge":3}`), Holds, ""},
		{"differs", check("ridge", `{"peak_flops":6,"bandwidth":2}`, `{"ridge":3.1}`), Differs, "3.1000000000000001 is expected"},
		{"never against a number", check("crossover_days_exponential", `{"tokens":9e11,"first_day_tokens":1e9,"growth_per_day":-0.002}`, `{"days":5}`), Differs, "never"},
		{"never is never", check("crossover_days_exponential", `{"tokens":9e11,"first_day_tokens":1e9,"growth_per_day":-0.002}`, `{"days":null}`), Holds, ""},
		{"a list against a number", check("bon_kl", `{"n":[1]}`, `{"kl":0}`), Differs, "1 number(s)"},
		{"an op that is not known", check("rigde", `{}`, `{"ridge":3}`), NotCovered, `did you mean "ridge"`},
		{"an output that is not known", check("ridge", `{"peak_flops":6,"bandwidth":2}`, `{"rigde":3}`), NotCovered, "no output"},
		{"an input that is missing", check("ridge", `{"peak_flops":6}`, `{"ridge":3}`), Refused, `"bandwidth" is missing`},
		{"an input that is not known", check("ridge", `{"peak_flops":6,"bandwidth":2,"chips":1}`, `{"ridge":3}`), Refused, `unknown field "chips"`},
		{"an input that is null", check("ridge", `{"peak_flops":6,"bandwidth":null}`, `{"ridge":3}`), Refused, "is null"},
		{"an input below its range", check("ridge", `{"peak_flops":6,"bandwidth":-2}`, `{"ridge":3}`), Refused, "not above 0"},
		{"a utilisation above one", check("mfu_from_step", `{"flops_per_sequence":10,"sequences":1,"seconds":1,"peak_flops":5}`, `{"mfu":2}`), Refused, "above 1"},
		{"more cached than prompt", check("request_price", `{"prompt_tokens":1,"cached_tokens":2,"cache_write_tokens":0,"output_tokens":1,"prompt_includes_cached":true,"usd_per_m":{"input":1,"output":1}}`, `{"usd":1}`), Refused, "more than the prompt"},
		{"a price that is missing", check("request_price", `{"prompt_tokens":9,"cached_tokens":2,"cache_write_tokens":0,"output_tokens":1,"prompt_includes_cached":true,"usd_per_m":{"input":1,"output":1}}`, `{"usd":1}`), Refused, "not known"},
		{"an architecture with a slip", check("params", `{"arch":{"layers":1,"d_model":8,"head":2,"d_ff":8,"vocab":9}}`, `{"total":1}`), Refused, `did you mean "heads"`},
		{"layers without end", check("params", `{"arch":{"layers":1000000000,"d_model":8,"heads":2,"d_ff":8,"vocab":9}}`, `{"total":1}`), Refused, "outside"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			f, err := Read(strings.NewReader(r.text), "t.json")
			if err != nil {
				t.Fatal(err)
			}
			got, _ := f.Verify()
			if len(got) != 1 || got[0].Verdict != r.want || !strings.Contains(got[0].Why, r.why) {
				t.Errorf("got %+v, want %s with %q", got, r.want, r.why)
			}
		})
	}
}

// Whatever a file holds, reading and verifying it end with a result or an
// error of a kind.
func FuzzReadAndVerify(f *testing.F) {
	for _, g := range golden(f) {
		text, err := os.ReadFile(g.Name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(file(`{"id":"A","rel_tol":0,` + ridge + `}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := Read(strings.NewReader(string(text)), "fuzz.json")
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Errorf("kind %v: %v", fault.KindOf(err), err)
			}
			return
		}
		results, _ := g.Verify()
		for _, r := range results {
			if r.Verdict == "" || (r.Verdict != Holds && r.Why == "") {
				t.Errorf("a result without a verdict or a reason: %+v", r)
			}
		}
	})
}

// What is declared of an operation is what its golden checks give.
func TestDeclaredInputsAreThoseOfTheGoldenChecks(t *testing.T) {
	for _, f := range golden(t) {
		for _, it := range f.Items {
			given, err := object(it.Inputs)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range Inputs(it.Op) {
				if _, ok := given[in.Name]; !ok && !in.Optional {
					t.Errorf("%s: %s is declared required and not given", it.ID, in.Name)
				}
				delete(given, in.Name)
			}
			for name := range given {
				t.Errorf("%s: %s is given and not declared", it.ID, name)
			}
		}
	}
}
