package tables

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/core/cost"
	"lab/core/fault"
)

// with loads the shipped tables and a file with the given content.
func with(t *testing.T, content ...string) (*Tables, error) {
	t.Helper()
	var paths []string
	for i, c := range content {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("mine%d.json", i))
		if err := os.WriteFile(path, []byte(c), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return Load(Sources{Files: paths})
}

// doc is a file with a date and a source and the given rest.
func doc(rest string) string {
	return `{"schema": "lab/cost-tables/1", "as_of": "2026-06-01", "source": "test", ` + rest + `}`
}

const card = `{"name": "card", "peak": {"bf16": 1e14}, "bytes_per_s": 1e12, "memory_bytes": 1e10}`

func TestFilesThatAreRefused(t *testing.T) {
	arch := `{"layers": 2, "d_model": 8, "heads": 2, "d_ff": 32, "vocab": 100}`
	for _, row := range []struct{ name, content, want, cure string }{
		{"no JSON", `hardware`, "no JSON object", ""},
		{"something behind the object", doc(`"hardware": []`) + "x", "no JSON object", ""},
		{"another schema", `{"schema": "lab/cost-tables/9"}`, `its schema is "lab/cost-tables/9"`, ""},
		{"no schema", `{}`, `its schema is ""`, ""},
		{"an unknown table", doc(`"hardwares": []`), `has no field "hardwares"`, `did you mean "hardware"?`},
		{"an unknown field", doc(`"hardware": [{"name": "a", "peaks": {}}]`), `hardware[0] has no field "peaks"`, `did you mean "peak"?`},
		{"a field of the reader's", doc(`"hardware": [{"name": "a", "origin": "shipped"}]`), `no field "origin"`, ""},
		{"a field in other letters", doc(`"hardware": [{"Name": "a"}]`), `no field "Name"`, `did you mean "name"?`},
		{"a key twice", doc(`"hardware": [{"name": "a", "name": "b"}]`), `has "name" twice`, ""},
		{"a table twice", doc(`"hardware": [], "hardware": []`), `has "hardware" twice`, ""},
		{"null for a size", doc(`"hardware": [{"name": "a", "memory_bytes": null}]`), "memory_bytes is null", "leave it out"},
		{"text for a size", doc(`"hardware": [{"name": "a", "memory_bytes": "80 GB"}]`), "is \"\\\"80 GB\\\"\" and not a number", ""},
		{"a number that is too large", doc(`"hardware": [{"name": "a", "memory_bytes": 1e999}]`), "not a number", ""},
		{"a list for an object", doc(`"hardware": [[]]`), "hardware[0] is not an object", ""},
		{"an object for a list", doc(`"hardware": {}`), "hardware is not a list", ""},
		{"no date", `{"schema": "lab/cost-tables/1", "source": "test", "hardware": [` + card + `]}`, "hardware[0] (card) has no date", "as_of"},
		{"a date that is none", doc(`"prices": [{"name": "a", "as_of": "2026-02-30", "usd_per_million": {"input": 1}}]`), `as_of is "2026-02-30"`, ""},
		{"no source", `{"schema": "lab/cost-tables/1", "as_of": "2026-06-01", "hardware": [` + card + `]}`, "has no source", "source"},
		{"no name", doc(`"hardware": [{"peak": {"bf16": 1}}]`), `hardware[0].name is ""`, ""},
		{"a name with a line break", doc(`"hardware": [{"name": "a\nb"}]`), `name is "a\nb"`, ""},
		{"an escape sequence in a note", doc(`"hardware": [{"name": "a", "note": "\u001b[2J"}]`), `note holds the character '\x1b'`, ""},
		{"no peak", doc(`"hardware": [{"name": "a", "bytes_per_s": 1, "memory_bytes": 1}]`), "has no peak", ""},
		{"an arithmetic type that is none", doc(`"hardware": [{"name": "a", "peak": {"bf61": 1e12}, "bytes_per_s": 1, "memory_bytes": 1}]`), `arithmetic type "bf61"`, `did you mean "bf16"?`},
		{"a peak of zero", doc(`"hardware": [{"name": "a", "peak": {"bf16": 0}, "bytes_per_s": 1, "memory_bytes": 1}]`), "peak.bf16 is 0, outside (0,", ""},
		{"a negative bandwidth", doc(`"hardware": [{"name": "a", "peak": {"bf16": 1}, "bytes_per_s": -1, "memory_bytes": 1}]`), "bytes_per_s is -1", ""},
		{"no memory", doc(`"hardware": [{"name": "a", "peak": {"bf16": 1}, "bytes_per_s": 1}]`), "memory_bytes is 0", ""},
		{"an hour that is free", doc(`"hardware": [{"name": "a", "peak": {"bf16": 1}, "bytes_per_s": 1, "memory_bytes": 1, "usd_per_hour": 0}]`), "usd_per_hour is 0", ""},
		{"a name twice", doc(`"hardware": [` + card + `, ` + card + `]`), `the hardware "card" is also a name of "card"`, ""},
		{"an alias that is a name", doc(`"models": [{"name": "a", "arch": ` + arch + `}, {"name": "b", "aliases": ["A"], "arch": ` + arch + `}]`), `the model "A" is also a name of "a"`, ""},
		{"no architecture", doc(`"models": [{"name": "a"}]`), "arch is missing", ""},
		{"an unknown width", doc(`"models": [{"name": "a", "arch": {"layer": 2}}]`), `arch is wrong: unknown field "layer"`, `did you mean "layers"?`},
		{"no layers", doc(`"models": [{"name": "a", "arch": {"d_model": 8}}]`), `arch is wrong: field "layers" is missing`, ""},
		{"a negative context", doc(`"models": [{"name": "a", "context_length": -1, "arch": ` + arch + `}]`), "context_length is -1", ""},
		{"a price without rates", doc(`"prices": [{"name": "a", "usd_per_million": {}}]`), "usd_per_million has no rate", ""},
		{"a negative rate", doc(`"prices": [{"name": "a", "usd_per_million": {"input": -1}}]`), "usd_per_million.input is -1, outside [0,", ""},
		{"thresholds that fall", doc(`"prices": [{"name": "a", "usd_per_million": {"input": 1}, "above": [{"prompt_tokens": 2, "usd_per_million": {}}, {"prompt_tokens": 1, "usd_per_million": {}}]}]`), "above[1].prompt_tokens is 1", ""},
		{"days the wrong way round", doc(`"prices": [{"name": "a", "from": "2026-01-02", "until": "2026-01-01", "usd_per_million": {"input": 1}}]`), "not before its until", ""},
		{"two prices of a day", doc(`"prices": [{"name": "a", "usd_per_million": {"input": 1}}, {"name": "a", "usd_per_million": {"input": 2}}]`), `two prices of "a" of 2026-06-01`, ""},
		{"a peak above the dense one", doc(`"hardware": [{"name": "h100-80-sxm", "peak": {"bf16": 1.979e15}, "bytes_per_s": 3.35e12, "memory_bytes": 8e10}]`), "above the dense 9.894e+14/s of the shipped table", "dense"},
		{"a training run faster than its devices", doc(`"runs": [{"name": "a", "tokens": 1e12, "parameters": 1e10, "device_hours": 1000, "device": "h100"}]`), "% of its peak", "device_hours"},
		{"a mixture smaller than its part", doc(`"runs": [{"name": "a", "tokens": 1, "parameters": 2, "total_parameters": 1}]`), "fewer than the 2", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := with(t, row.content)
			if fault.KindOf(err) != fault.Data || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("%v, want a data error with %q", err, row.want)
			}
			if !strings.Contains(err.Error(), row.cure) {
				t.Errorf("%v, want the cure %q", err, row.cure)
			}
			if !strings.Contains(err.Error(), "mine0.json") {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.json")
	if err := os.WriteFile(big, make([]byte, mostBytesOfFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, path string
		kind       fault.Kind
	}{
		{"none there", filepath.Join(dir, "none.json"), fault.Usage},
		{"a folder", dir, fault.Usage},
		{"too large", big, fault.Limit},
	} {
		if _, err := Load(Sources{Files: []string{row.path}}); fault.KindOf(err) != row.kind {
			t.Errorf("%s: %v, want %v", row.name, err, row.kind)
		}
	}
	if _, err := Load(Sources{User: filepath.Join(dir, "none"), Project: ""}); err != nil {
		t.Errorf("a folder that is not there: %v, want no error", err)
	}
}

// The last file wins over the first, files over the project, the project over the
// user, the user over lab; who wins says whom it stands in front of.
func TestLaterLayersWin(t *testing.T) {
	user, project := t.TempDir(), t.TempDir()
	put := func(dir, name string, memory int) string {
		path := filepath.Join(dir, name)
		content := doc(fmt.Sprintf(`"hardware": [{"name": "l4", "aliases": ["lovelace"], "peak": {"bf16": 1.2e14}, "bytes_per_s": 3e11, "memory_bytes": %d}]`, memory))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	u, p := put(user, "a.json", 1), put(project, "b.json", 2)
	if err := os.WriteFile(filepath.Join(user, ".hidden.json"), []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(user, "readme.txt"), []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := put(t.TempDir(), "one.json", 3), put(t.TempDir(), "two.json", 4)
	for _, row := range []struct {
		name     string
		sources  Sources
		memory   float64
		origin   string
		replaces string
	}{
		{"lab alone", Sources{}, 24e9, ShippedOrigin, ""},
		{"the user's", Sources{User: user}, 1, u, ShippedOrigin},
		{"the project's", Sources{User: user, Project: project}, 2, p, u},
		{"a file's", Sources{User: user, Project: project, Files: []string{one}}, 3, one, p},
		{"the last file's", Sources{Files: []string{one, two}}, 4, two, one},
	} {
		tables, err := Load(row.sources)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		h, err := tables.Hardware("L4")
		if err != nil || h.MemoryBytes != row.memory || h.Origin != row.origin || h.Replaces != row.replaces {
			t.Errorf("%s: %v bytes from %q instead of %q (%v), want %v from %q instead of %q", row.name, h.MemoryBytes, h.Origin, h.Replaces, err, row.memory, row.origin, row.replaces)
		}
		if n := len(tables.AllHardware()); n != 15 {
			t.Errorf("%s: %d devices are listed, want 15", row.name, n)
		}
		if again, err := tables.Hardware("l4"); err != nil || again.Replaces != row.replaces {
			t.Errorf("%s: a second look gives %+v (%v)", row.name, again, err)
		}
	}
}

func TestUnknownNamesAreHelped(t *testing.T) {
	tables := loadShipped(t)
	lookups := map[string]func(string) error{
		"hardware": func(n string) error { _, err := tables.Hardware(n); return err },
		"model":    func(n string) error { _, err := tables.Model(n); return err },
		"run":      func(n string) error { _, err := tables.Run(n); return err },
		"price":    func(n string) error { _, _, err := tables.Price(n, "2026-01-01"); return err },
	}
	for _, row := range []struct{ kind, name, want string }{
		{"hardware", "h10", "there are h100"},
		{"hardware", "a100", "there are a100-40, a100-40-sxm, a100-80, a100-80-pcie, a100-80-sxm"},
		{"hardware", "hl00", `did you mean "h100"?`},
		{"hardware", "zzzzzzzzzz", "known: 4090, a100-40"},
		{"model", "lama-3-8b", `did you mean "llama-3-8b"?`},
		{"run", "gpt3-175", "there are gpt3-175b"},
		{"price", "gpt-4p", `did you mean "gpt-4`},
	} {
		err := lookups[row.kind](row.name)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %s: %v, want a usage error with %q", row.kind, row.name, err, row.want)
		}
	}
	if h, err := tables.Hardware("H100"); err != nil || h.Name != "h100-80-sxm" {
		t.Errorf("H100 is %q (%v), want h100-80-sxm", h.Name, err)
	}
}

func TestWhatIsNotKnownIsAnError(t *testing.T) {
	tables := loadShipped(t)
	a100, err := tables.Hardware("a100-80-sxm")
	if err != nil {
		t.Fatal(err)
	}
	tpu, err := tables.Hardware("tpu-v4")
	if err != nil {
		t.Fatal(err)
	}
	gpt4, _, err := tables.Price("gpt-4", "2025-09-05")
	if err != nil {
		t.Fatal(err)
	}
	gemini, _, err := tables.Price("gemini-2.5-pro", "2025-09-05")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		ask  func() error
		want string
	}{
		{"a type the device has no rate for", func() error { _, err := a100.PeakOf("fp8"); return err }, "it has bf16, fp16, int8"},
		{"a type that is none", func() error { _, err := a100.PeakOf("bf-16"); return err }, `did you mean "bf16"?`},
		{"a power nobody states", func() error { _, err := tpu.PowerWatts(); return err }, "power is not known"},
		{"an hour nobody prices", func() error { _, _, err := a100.HourUSD("2026-01-01"); return err }, "not free"},
		{"a rate the list lacks", func() error { _, err := gpt4.Rate("cached", 10); return err }, `no rate of cached tokens is known (tokencost price table, 2025-09-05); they are not free; it has input, output`},
		{"a rate the tier lacks", func() error { _, err := gemini.Rate("cached", 200_001); return err }, "for a prompt of 200001 tokens"},
		{"a kind that is none", func() error { _, err := gpt4.Rate("inputs", 10); return err }, `did you mean "input"?`},
	} {
		if err := row.ask(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want a usage error with %q", row.name, err, row.want)
		}
	}
	if v, err := gemini.Rate("cached", 200_000); err != nil || v != 0.3125 {
		t.Errorf("cached tokens at the threshold cost %v (%v), want 0.3125", v, err)
	}
}

func TestPriceOfADay(t *testing.T) {
	tables, err := with(t, doc(`"prices": [
		{"name": "mine", "as_of": "2025-01-01", "usd_per_million": {"input": 1}},
		{"name": "mine", "as_of": "2025-07-01", "usd_per_million": {"input": 2}},
		{"name": "mine", "as_of": "2026-06-01", "from": "2024-01-01", "until": "2024-06-01", "usd_per_million": {"input": 3}},
		{"name": "past", "until": "2024-06-01", "usd_per_million": {"input": 4}},
		{"name": "gpt-4", "usd_per_million": {"input": 5}}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, price string
		day         Date
		input       float64
		warning     string
	}{
		{"the newest that is not later", "mine", "2025-12-01", 2, "is of 2025-07-01 (test), 153 days before 2025-12-01"},
		{"that very day", "mine", "2025-07-01", 2, ""},
		{"the older one of its time", "mine", "2025-03-01", 1, "59 days before"},
		{"none but later ones", "mine", "2024-12-31", 1, "1 days after"},
		{"the one that states its days", "mine", "2024-03-01", 3, ""},
		{"before the end of its days", "past", "2024-05-31", 4, ""},
		{"a record in front of a shipped one", "gpt-4", "2026-06-01", 5, ""},
		{"of the list that states its days", "deepseek-chat", "2025-02-07", 0.14, ""},
		{"from the day of the change", "deepseek-chat", "2025-02-08", 0.27, ""},
		{"long after", "deepseek-chat", "2026-12-03", 0.27, "is of 2026-08-05 (llm-prices), 120 days before 2026-12-03"},
	} {
		p, warnings, err := tables.Price(row.price, row.day)
		if err != nil || p.USDPerMillion.Input == nil || *p.USDPerMillion.Input != row.input {
			t.Errorf("%s: %+v (%v), want input %v", row.name, p, err, row.input)
			continue
		}
		if got := strings.Join(warnings, "; "); row.warning == "" && got != "" || !strings.Contains(got, row.warning) {
			t.Errorf("%s: warnings %q, want %q", row.name, got, row.warning)
		}
	}
	if p, _, err := tables.Price("gpt-4", "2026-06-01"); err != nil || p.Replaces != ShippedOrigin {
		t.Errorf("the price of the file stands in front of %q (%v), want the shipped one", p.Replaces, err)
	}
	if _, _, err := tables.Price("past", "2024-06-01"); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "until 2024-06-01") {
		t.Errorf("a price that has ended: %v, want a usage error", err)
	}
	if _, _, err := tables.Price("mine", "yesterday"); fault.KindOf(err) != fault.Usage {
		t.Errorf("a day that is none: %v, want a usage error", err)
	}
	var gpt4 []Price
	for _, p := range tables.AllPrices() {
		if p.Name == "gpt-4" {
			gpt4 = append(gpt4, p)
		}
	}
	if len(gpt4) != 1 || gpt4[0].Replaces != ShippedOrigin {
		t.Errorf("%d prices of gpt-4 are listed, the first in front of %q; want one, of the file", len(gpt4), gpt4[0].Replaces)
	}
}

// A file either is refused as damaged or gives records that a lookup finds.
func FuzzFile(f *testing.F) {
	f.Add([]byte(doc(`"hardware": [` + card + `]`)))
	f.Add([]byte(doc(`"prices": [{"name": "a", "from": "2026-01-02", "usd_per_million": {"input": 1}, "above": [{"prompt_tokens": 1, "usd_per_million": {"input": 2}}]}]`)))
	f.Add([]byte(doc(`"models": [{"name": "a", "arch": {"layers": 1, "d_model": 1, "heads": 1, "vocab": 1, "moe": {"experts": 2, "top_k": 1, "d_ff": 1}}}]`)))
	f.Add([]byte(doc(`"runs": [{"name": "a", "tokens": 1e12, "flop_reported": [1, 2]}]`)))
	names, err := filepath.Glob("data/*.json")
	if err != nil || len(names) != 4 {
		f.Fatalf("%d files of data (%v)", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(data, "fuzz")
		if err != nil {
			if fault.KindOf(err) != fault.Data {
				t.Fatalf("%v is no data error", err)
			}
			return
		}
		tables := &Tables{layers: []*layer{newLayer(got)}}
		if tables.check() != nil {
			return
		}
		for _, h := range tables.AllHardware() {
			if len(h.Types()) == 0 || !(h.MemoryBytes > 0) || h.Origin != "fuzz" {
				t.Fatalf("%+v got through", h)
			}
		}
		for _, p := range tables.AllPrices() {
			day := p.AsOf
			if p.From != "" {
				day = p.From
			} else if p.Until != "" && p.Until <= day {
				continue
			}
			if _, _, err := tables.Price(p.Name, day); err != nil {
				t.Fatalf("%s is listed and not found: %v", p.Name, err)
			}
		}
	})
}

// What is handed to formulas is what the record says, and what it does not say is
// an error there too.
func TestRecordsReachTheFormulas(t *testing.T) {
	tables := loadShipped(t)
	for _, m := range tables.AllModels() {
		a, err := m.Architecture()
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		size, err := a.Size()
		if err != nil || m.Parameters != 0 && float64(size.Total) != m.Parameters {
			t.Errorf("%s has %d parameters by its dimensions (%v), the record says %v", m.Name, size.Total, err, m.Parameters)
		}
		if int64(a.MaxContext) != m.ContextLength {
			t.Errorf("%s: longest context %d, the record says %d", m.Name, a.MaxContext, m.ContextLength)
		}
	}
	gemini, _, err := tables.Price("gemini-2.5-pro", "2025-09-05")
	if err != nil {
		t.Fatal(err)
	}
	// Bills of the golden request below and above the threshold, in USD.
	for _, row := range []struct {
		prompt int64
		usd    float64
	}{{1000, (1000*1.25 + 500*10) / 1e6}, {300_000, (300_000*2.5 + 500*15) / 1e6}} {
		b, err := gemini.For(row.prompt).Bill(cost.Ledger{Prompt: row.prompt, Output: 500}, false)
		if err != nil || !(math.Abs(b.Total()-row.usd) <= 1e-12) { // a few roundings of numbers below 1
			t.Errorf("a prompt of %d tokens costs %v (%v), want %v", row.prompt, b.Total(), err, row.usd)
		}
	}
	if _, err := gemini.For(300_000).Bill(cost.Ledger{Cached: 300_000}, false); fault.KindOf(err) != fault.Usage {
		t.Errorf("cached tokens without a rate: %v, want a usage error", err)
	}
	nemo, _, err := tables.Price("mistral-nemo", "2026-08-05")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nemo.Usage(cost.Usage{Prompt: 10, Cached: 5}); fault.KindOf(err) != fault.Usage {
		t.Errorf("cached tokens of a vendor whose count is not known: %v, want a usage error", err)
	}
	for name, want := range map[string]int64{"gpt-4o": 2000, "claude-sonnet-4": 10_000} { // OpenAI's prompt holds the cached tokens, Anthropic's does not
		p, _, err := tables.Price(name, "2025-09-05")
		if err != nil {
			t.Fatal(err)
		}
		u, err := p.Usage(cost.Usage{Prompt: 10_000, Cached: 8000})
		if err != nil {
			t.Fatal(err)
		}
		if l, err := u.Ledger(); err != nil || l.Prompt != want {
			t.Errorf("%s: %d new prompt tokens of 10000 with 8000 cached (%v), want %d", name, l.Prompt, err, want)
		}
	}
	h100, err := tables.Hardware("h100")
	if err != nil {
		t.Fatal(err)
	}
	d, err := h100.Device("bf16", 8)
	if err != nil || d.Peak != 989.4e12 || d.PeakLimit != d.Peak || d.Bandwidth != 3.35e12 || d.Chips != 8 {
		t.Errorf("%+v (%v)", d, err)
	}
}
