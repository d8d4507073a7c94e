package tables

import (
	"encoding/json"
	"time"
)

// Date is a day, "2025-09-05". Dates compare as strings do.
type Date string

// DateOf returns the day of a moment, in its own time zone.
func DateOf(t time.Time) Date { return Date(t.Format(time.DateOnly)) }

// Valid reports whether d is a day of the calendar.
func (d Date) Valid() bool {
	_, err := time.Parse(time.DateOnly, string(d))
	return err == nil
}

// DaysTo returns how many days other is later than d, negative when it is
// earlier. Both must be valid.
func (d Date) DaysTo(other Date) int {
	a, _ := time.Parse(time.DateOnly, string(d))
	b, _ := time.Parse(time.DateOnly, string(other))
	return int(b.Sub(a) / (24 * time.Hour))
}

// Fact is what every record says of itself.
type Fact struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	AsOf    Date     `json:"as_of"`  // the day for which it was stated; that of its file when it has none of its own
	Source  string   `json:"source"` // who stated it
	// Provenance is "read" (the source was read for this table), "recalled" (a
	// well-known figure that was not read again), "measured", or empty.
	Provenance string `json:"provenance,omitempty"`
	Note       string `json:"note,omitempty"`

	// Origin is "shipped" or the path of a file, Replaces the origin of the record
	// that this one stands in front of. The reader sets them; no file holds them.
	Origin   string `json:"origin" set:"reader"`
	Replaces string `json:"replaces,omitempty" set:"reader"`
}

// ShippedOrigin is the origin of records that come with lab.
const ShippedOrigin = "shipped"

func (f *Fact) fact() *Fact { return f }

// Hardware is one device: a chip or card with its memory.
type Hardware struct {
	Fact
	// Peak is the dense rate by arithmetic type, FLOP/s or op/s. Rates with
	// structured sparsity, usually twice these, are not peaks.
	Peak        map[string]float64 `json:"peak"`
	BytesPerS   float64            `json:"bytes_per_s"`            // of its main memory
	MemoryBytes float64            `json:"memory_bytes"`           // decimal; what a vendor calls 80 GB is 80e9
	Watts       *float64           `json:"watts,omitempty"`        // thermal design power: a bound, no measurement
	USDPerHour  *float64           `json:"usd_per_hour,omitempty"` // of renting it, at AsOf
}

// Dtypes are the arithmetic types that a peak may be given for, widest first.
func Dtypes() []string {
	return []string{"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4", "int4"}
}

// Model is the architecture of a model.
type Model struct {
	Fact
	// Arch is the record of the architecture, as it was written: a [cost.Fields].
	Arch json.RawMessage `json:"arch"`
	// ContextLength is the longest context, in tokens; 0 when it is not known.
	ContextLength int64 `json:"context_length,omitempty"`
	// Parameters are all of them, as published; 0 when they are not.
	Parameters float64 `json:"parameters,omitempty"`
}

// Price is one entry of a price list.
type Price struct {
	Fact
	Vendor string `json:"vendor,omitempty"`
	// From and Until bound the days on which the price was asked, [From, Until);
	// empty when the source gives none.
	From          Date   `json:"from,omitempty"`
	Until         Date   `json:"until,omitempty"`
	USDPerMillion Rates  `json:"usd_per_million"`
	Above         []Tier `json:"above,omitempty"` // dearer long prompts, the lowest threshold first
	// PromptIncludesCached says whether the prompt tokens that the vendor reports
	// hold those that were read from or written to a cache: true for the convention
	// of OpenAI, false for that of Anthropic, nil when it is not known.
	PromptIncludesCached *bool `json:"prompt_includes_cached,omitempty"`
}

// Rates are USD per million tokens of a kind; nil is not known, and never free.
type Rates struct {
	Input       *float64 `json:"input,omitempty"`
	Output      *float64 `json:"output,omitempty"`
	Cached      *float64 `json:"cached,omitempty"`
	CacheWrite  *float64 `json:"cache_write,omitempty"`
	BatchInput  *float64 `json:"batch_input,omitempty"`
	BatchOutput *float64 `json:"batch_output,omitempty"`
}

// Tier holds the rates of a whole request whose prompt is longer than
// PromptTokens.
type Tier struct {
	PromptTokens  int64 `json:"prompt_tokens"`
	USDPerMillion Rates `json:"usd_per_million"`
}

// Run is the training of a model.
type Run struct {
	Fact
	Parameters      float64   `json:"parameters,omitempty"`       // multiplied for one token; 0 when they are not known
	TotalParameters float64   `json:"total_parameters,omitempty"` // where a mixture has more
	Tokens          float64   `json:"tokens"`
	FLOP            float64   `json:"flop,omitempty"`
	FLOPReported    []float64 `json:"flop_reported,omitempty"` // where sources differ
	DeviceHours     float64   `json:"device_hours,omitempty"`  // of all devices together
	Device          string    `json:"device,omitempty"`        // a name of the hardware table, or of a part it does not have
	Watts           float64   `json:"watts,omitempty"`         // of one device, as the source states it
	TCO2e           float64   `json:"tco2e,omitempty"`         // tonnes of CO2 equivalent
}
