package tables

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func loadShipped(t *testing.T) *Tables {
	t.Helper()
	tables, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile("testdata/golden/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// Every number of the golden facts is in the shipped tables, and no record is
// there that the facts do not have.
func TestShippedTablesAreTheGoldenFacts(t *testing.T) {
	tables := loadShipped(t)
	t.Run("hardware", func(t *testing.T) { goldenHardware(t, tables) })
	t.Run("models", func(t *testing.T) { goldenModels(t, tables) })
	t.Run("prices", func(t *testing.T) { goldenPrices(t, tables) })
	t.Run("runs", func(t *testing.T) { goldenRuns(t, tables) })
}

func goldenHardware(t *testing.T, tables *Tables) {
	var facts struct {
		Items []struct {
			ID         string
			BF16       float64  `json:"bf16_dense_flops"`
			Narrow     *float64 `json:"fp8_or_int8_dense_ops"`
			Bytes      float64  `json:"hbm_bytes_per_s"`
			Memory     float64  `json:"memory_bytes"`
			Watts      *float64 `json:"tdp_watts"`
			Source     string
			Provenance string
		}
	}
	golden(t, "hardware.json", &facts)
	if len(facts.Items) != 15 || len(tables.AllHardware()) != len(facts.Items) {
		t.Fatalf("%d facts, %d records, want 15 of both", len(facts.Items), len(tables.AllHardware()))
	}
	for _, f := range facts.Items {
		h, err := tables.Hardware(f.ID)
		if err != nil {
			t.Error(err)
			continue
		}
		wide := "bf16"
		if strings.HasPrefix(f.ID, "v100") { // its source says that it has no bf16
			wide = "fp16"
			if _, err := h.PeakOf("bf16"); err == nil {
				t.Errorf("%s has a bf16 peak, and its source says it has none", f.ID)
			}
		}
		if h.Peak[wide] != f.BF16 || h.BytesPerS != f.Bytes || h.MemoryBytes != f.Memory || h.Source != f.Source || h.Provenance != f.Provenance {
			t.Errorf("%s: %+v, the fact is %+v", f.ID, h, f)
		}
		if !reflect.DeepEqual(h.Watts, f.Watts) {
			t.Errorf("%s: its power differs from the fact", f.ID)
		}
		narrow := 0
		for _, d := range []string{"fp8", "int8"} {
			if v, ok := h.Peak[d]; ok {
				narrow++
				if f.Narrow == nil || v != *f.Narrow {
					t.Errorf("%s: %s peak %v differs from the fact", f.ID, d, v)
				}
			}
		}
		if (narrow > 0) != (f.Narrow != nil) {
			t.Errorf("%s: %d narrow peaks, the fact is %v", f.ID, narrow, f.Narrow)
		}
	}
}

func goldenModels(t *testing.T, tables *Tables) {
	var facts struct{ Models map[string]map[string]any }
	golden(t, "models.json", &facts)
	if len(facts.Models) < 40 || len(tables.AllModels()) != len(facts.Models) {
		t.Fatalf("%d facts, %d records", len(facts.Models), len(tables.AllModels()))
	}
	for name, want := range facts.Models {
		m, err := tables.Model(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(m.Arch, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: architecture %v, the fact is %v", name, got, want)
		}
		if m.ContextLength == 0 {
			t.Errorf("%s has no context length", name)
		}
	}
}

func goldenPrices(t *testing.T, tables *Tables) {
	var facts struct {
		Items []map[string]any
	}
	golden(t, "prices.json", &facts)
	all := tables.AllPrices()
	tiers := 0
	for _, f := range facts.Items {
		name, tier := f["model"].(string), ""
		if base, ok := strings.CutSuffix(name, "-200k"); ok { // one list spells the dear tier as a model of its own
			name, tier = base, "200"
		}
		var found *Price
		for i := range all {
			p := &all[i]
			from, _ := f["from_date"].(string)
			until, _ := f["to_date"].(string)
			if p.Name == name && string(p.AsOf) == f["as_of"] && string(p.From) == from && string(p.Until) == until {
				found = p
			}
		}
		if found == nil {
			t.Errorf("%s of %v is not there", name, f["as_of"])
			continue
		}
		if found.Source != f["source"] {
			t.Errorf("%s: source %q, want %q", name, found.Source, f["source"])
		}
		rates := found.Rates(1)
		if tier != "" {
			tiers++
			rates = found.Rates(200_001)
			if within := found.Rates(200_000); reflect.DeepEqual(within, rates) {
				t.Errorf("%s: the tier begins below its threshold", name)
			}
		}
		compare := func(rates Rates, want map[string]any) {
			for _, kind := range RateKinds() {
				got := *rates.of(kind)
				v, known := want[kind].(float64)
				if known != (got != nil) || known && *got != v {
					t.Errorf("%s: %s rate differs from %v", name, kind, want[kind])
				}
			}
		}
		compare(rates, f)
		for key, v := range f {
			if text, ok := strings.CutPrefix(key, "above_"); ok {
				tiers++
				n, err := strconv.ParseInt(strings.TrimSuffix(text, "k"), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				compare(found.Rates(n*1000+1), v.(map[string]any))
			}
		}
	}
	if len(facts.Items) != 30 || tiers != 4 || len(all) != 28 {
		t.Errorf("%d facts, %d tiers, %d records; want 30, 4, 28", len(facts.Items), tiers, len(all))
	}
}

func goldenRuns(t *testing.T, tables *Tables) {
	var facts struct {
		Items []struct {
			ID       string
			Params   *float64
			Total    float64 `json:"total_params"`
			Tokens   float64
			FLOP     float64   `json:"flop"`
			Reported []float64 `json:"flop_reported"`
			Hours    float64   `json:"gpu_hours"`
			GPU      string    `json:"gpu"`
			Watts    float64
			TCO2e    float64 `json:"tco2e"`
			Source   string
		}
	}
	golden(t, "runs.json", &facts)
	if len(facts.Items) != 17 || len(tables.AllRuns()) != len(facts.Items) {
		t.Fatalf("%d facts, %d records, want 17 of both", len(facts.Items), len(tables.AllRuns()))
	}
	for _, f := range facts.Items {
		name, _, _ := strings.Cut(f.ID, " ")
		r, err := tables.Run(name)
		if err != nil {
			t.Error(err)
			continue
		}
		params := 0.0
		if f.Params != nil {
			params = *f.Params
		}
		got := []float64{r.Parameters, r.TotalParameters, r.Tokens, r.FLOP, r.DeviceHours, r.Watts, r.TCO2e}
		want := []float64{params, f.Total, f.Tokens, f.FLOP, f.Hours, f.Watts, f.TCO2e}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(r.FLOPReported, f.Reported) || r.Device != f.GPU || r.Source != f.Source {
			t.Errorf("%s: %+v, the fact is %+v", name, r, f)
		}
	}
	if r, err := tables.Run("pythia-1b"); err != nil || r.Name != "pythia" {
		t.Errorf("the run of pythia-1b is %q (%v), want that of its family", r.Name, err)
	}
}
