package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lab/core/cost/tables"
)

// JSON forms of the tables; docs/json.md describes them.
type (
	costHardwareReport struct {
		Schema   string            `json:"schema"`
		Hardware []tables.Hardware `json:"hardware"`
	}
	costModelsReport struct {
		Schema string         `json:"schema"`
		Models []tables.Model `json:"models"`
		Runs   []tables.Run   `json:"runs"` // trainings
	}
	costPricesReport struct {
		Schema   string         `json:"schema"`
		AsOf     tables.Date    `json:"as_of"`
		Prices   []tables.Price `json:"prices"`
		Warnings []string       `json:"warnings"`
	}
)

func costHardwareCommand(c *costFlags) *cobra.Command {
	cmd := &cobra.Command{Use: "hardware [NAME]", Short: "List devices with their dense peaks, memory and power, or show one",
		Example: `  lab cost hardware
  lab cost hardware h100 --json`,
		Args: atMostOne("lab cost hardware h100")}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := c.load()
		if err != nil {
			return err
		}
		r := costHardwareReport{Schema: "lab/cost-hardware/1", Hardware: t.AllHardware()}
		if len(args) == 1 {
			h, err := t.Hardware(args[0])
			if err != nil {
				return err
			}
			r.Hardware = []tables.Hardware{h}
		}
		switch {
		case *asJSON:
			return writeJSON(cmd.OutOrStdout(), r)
		case len(args) == 1:
			writeHardware(cmd.OutOrStdout(), &r.Hardware[0])
		default:
			table(cmd.OutOrStdout(), "hardware | dense peak, T/s | memory, GB | GB/s | W | as of | from | source", func(line func(...any)) {
				for i := range r.Hardware {
					h := &r.Hardware[i]
					var peaks []string
					for _, d := range h.Types() {
						peaks = append(peaks, d+" "+digits(h.Peak[d]/1e12))
					}
					line(h.Name, strings.Join(peaks, ", "), digits(h.MemoryBytes/1e9), digits(h.BytesPerS/1e9), orDash(h.Watts), h.AsOf, origin(&h.Fact), excerpt(h.Source))
				}
			})
		}
		return nil
	}
	return cmd
}

func costModelsCommand(c *costFlags) *cobra.Command {
	cmd := &cobra.Command{Use: "models [NAME]", Short: "List model architectures and what their training took, or show one",
		Example: `  lab cost models
  lab cost models llama-3-8b --json`,
		Args: atMostOne("lab cost models llama-3-8b")}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := c.load()
		if err != nil {
			return err
		}
		r := costModelsReport{Schema: "lab/cost-models/1", Models: t.AllModels(), Runs: t.AllRuns()}
		if len(args) == 1 {
			m, err := t.Model(args[0])
			if err != nil {
				return err
			}
			r.Models, r.Runs = []tables.Model{m}, []tables.Run{}
			if run, err := t.Run(m.Name); err == nil {
				r.Runs = append(r.Runs, run)
			}
		}
		switch {
		case *asJSON:
			return writeJSON(cmd.OutOrStdout(), r)
		case len(args) == 1:
			return writeCostModel(cmd.OutOrStdout(), &r)
		}
		table(cmd.OutOrStdout(), "model | parameters | context | trained on, tokens | as of | from | source", func(line func(...any)) {
			for i := range r.Models {
				m := &r.Models[i]
				tokens := "-"
				if run, err := t.Run(m.Name); err == nil {
					tokens = engineering(run.Tokens, "")
				}
				context := "-"
				if m.ContextLength > 0 {
					context = fmt.Sprint(m.ContextLength)
				}
				line(m.Name, engineering(m.Parameters, ""), context, tokens, m.AsOf, origin(&m.Fact), excerpt(m.Source))
			}
		})
		return nil
	}
	return cmd
}

func costPricesCommand(c *costFlags) *cobra.Command {
	cmd := &cobra.Command{Use: "prices [NAME]", Short: "List prices of tokens with their dates, or show that of one model on a day",
		Long: `Lists what vendors ask for tokens. With a name it shows the price on the day of --as-of:
that of a list which says that it held on the day, or else the newest which is not
later. A price of another day is used with a warning. A rate that is not listed is
not known; it is never taken for free.`,
		Example: `  lab cost prices
  lab cost prices gpt-4o --as-of 2025-09-05`,
		Args: atMostOne("lab cost prices gpt-4o")}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		day, err := c.day()
		if err != nil {
			return err
		}
		t, err := c.load()
		if err != nil {
			return err
		}
		r := costPricesReport{Schema: "lab/cost-prices/1", AsOf: day, Prices: t.AllPrices(), Warnings: []string{}}
		if len(args) == 1 {
			p, warnings, err := t.Price(args[0], day)
			if err != nil {
				return err
			}
			r.Prices, r.Warnings = []tables.Price{p}, append(r.Warnings, warnings...)
		} else if w := olderPrices(r.Prices, day); w != "" {
			r.Warnings = append(r.Warnings, w)
		}
		warn(cmd.ErrOrStderr(), r.Warnings)
		switch {
		case *asJSON:
			return writeJSON(cmd.OutOrStdout(), r)
		case len(args) == 1:
			writePrice(cmd.OutOrStdout(), &r.Prices[0], day)
			return nil
		}
		table(cmd.OutOrStdout(), "USD per million tokens | input | output | cached | cache write | batch in | batch out | as of | from | source", func(line func(...any)) {
			for i := range r.Prices {
				p := &r.Prices[i]
				row := func(name string, u tables.Rates) {
					line(name, orDash(u.Input), orDash(u.Output), orDash(u.Cached), orDash(u.CacheWrite), orDash(u.BatchInput), orDash(u.BatchOutput), p.AsOf, origin(&p.Fact), excerpt(p.Source))
				}
				name := p.Name
				if days := p.Days(); days != "" {
					name += ", " + days
				}
				row(name, p.USDPerMillion)
				for _, tier := range p.Above {
					row(fmt.Sprintf("%s, prompt above %d", p.Name, tier.PromptTokens), tier.USDPerMillion)
				}
			}
		})
		return nil
	}
	return cmd
}

// olderPrices warns once of a list whose prices are older than a day.
func olderPrices(prices []tables.Price, day tables.Date) string {
	n, oldest := 0, 0
	for _, p := range prices {
		if d := p.AsOf.DaysTo(day); d > 0 {
			n, oldest = n+1, max(oldest, d)
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d prices are older than %s, by up to %d days", n, len(prices), day, oldest)
}

// facts starts the record of a fact and returns how a line is added to it; symbol is
// what formulas call the value.
func facts(w io.Writer, kind string, f *tables.Fact) (line func(name, value, symbol string), end func()) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	line = func(name, value, symbol string) {
		if symbol != "" {
			name += " (" + symbol + ")"
		}
		fmt.Fprintf(tw, "%s\t%s\n", name, value)
	}
	line(kind, f.Name, "")
	if len(f.Aliases) > 0 {
		line("also called", strings.Join(f.Aliases, ", "), "")
	}
	return line, func() {
		line("as of", string(f.AsOf), "")
		source := plainLine(f.Source)
		if f.Provenance != "" {
			source += " (" + f.Provenance + ")"
		}
		line("source", source, "")
		if f.Note != "" {
			line("note", plainLine(f.Note), "")
		}
		line("from", origin(f), "")
		tw.Flush()
	}
}

func writeHardware(w io.Writer, h *tables.Hardware) {
	line, end := facts(w, "hardware", &h.Fact)
	for _, d := range h.Types() {
		line("peak "+d, engineering(h.Peak[d], rateUnit(d))+", dense", "P")
	}
	line("bandwidth", engineering(h.BytesPerS, "B/s"), "W")
	line("memory", engineering(h.MemoryBytes, "B"), "")
	if h.Watts != nil {
		line("power", digits(*h.Watts)+" W, by design", "")
	} else {
		line("power", "not known", "")
	}
	if h.USDPerHour != nil {
		line("price", digits(*h.USDPerHour)+" USD/h", "")
	} else {
		line("price", "not known; give usd_per_hour in a table of your own", "")
	}
	for _, d := range h.Types() {
		line("ridge "+d, digits(h.Peak[d]/h.BytesPerS)+" FLOP/B", "P/W")
	}
	end()
}

// archSymbols are the symbols of an architecture's fields in formulas, in the order
// they are shown.
var archSymbols = []struct{ field, symbol string }{
	{"layers", "L"}, {"d_model", "d"}, {"heads", "h"}, {"kv_heads", "g"}, {"head_dim", "e"}, {"d_ff", "f"}, {"mlp_mats", "m"}, {"vocab", "V"},
	{"tied", ""}, {"learned_positions", ""}, {"norm", ""}, {"norms_per_layer", ""}, {"qk_norm", ""}, {"rel_pos", ""}, {"qkv_bias", ""},
	{"out_bias", ""}, {"mlp_bias", ""}, {"window", ""}, {"window_layers", ""}, {"moe", "E, k, s"}, {"mla", "r, e"},
}

func writeCostModel(w io.Writer, r *costModelsReport) error {
	m := &r.Models[0]
	line, end := facts(w, "model", &m.Fact)
	a, err := m.Architecture()
	if err != nil {
		return err
	}
	size, err := a.Size()
	if err != nil {
		return err
	}
	cache, err := a.CachePerToken(2)
	if err != nil {
		return err
	}
	for _, n := range []struct {
		what string
		n    int64
	}{{"total", size.Total}, {"of one token", size.Active}, {"without embedding", size.NonEmbedding}, {"multiplied for one token, M", size.Matmul}} {
		line("parameters", engineering(float64(n.n), "")+", "+n.what, "F1")
	}
	line("cache", engineering(cache, "B")+" a token, of 2-byte elements", "F2")
	if m.ContextLength > 0 {
		line("context", fmt.Sprintf("%d tokens", m.ContextLength), "")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Arch, &fields); err != nil {
		return err // the reader has checked it
	}
	for _, f := range archSymbols {
		if v, ok := fields[f.field]; ok {
			line(strings.ReplaceAll(f.field, "_", " "), strings.Join(strings.Fields(strings.NewReplacer("{", "", "}", "", `"`, "", ":", " ").Replace(string(v))), " "), f.symbol)
		}
	}
	end()
	for i := range r.Runs {
		fmt.Fprintln(w)
		writeTraining(w, &r.Runs[i])
	}
	return nil
}

func writeTraining(w io.Writer, t *tables.Run) {
	line, end := facts(w, "training", &t.Fact)
	line("tokens", engineering(t.Tokens, ""), "D")
	for _, f := range []struct {
		name         string
		v            float64
		unit, behind string
		symbol       string
	}{{"parameters", t.Parameters, "", ", of one token", "N"}, {"of all experts", t.TotalParameters, "", "", ""}, {"computation", t.FLOP, "FLOP", ", as stated", "C"},
		{"device hours", t.DeviceHours, "h", "", ""}, {"power", t.Watts, "W", " a device, as stated", ""}, {"emissions", t.TCO2e, "t CO2e", ", as stated", ""}} {
		if f.v > 0 {
			line(f.name, engineering(f.v, f.unit)+f.behind, f.symbol)
		}
	}
	for _, v := range t.FLOPReported {
		line("computation", engineering(v, "FLOP")+", as one source states", "C")
	}
	if t.Device != "" {
		line("device", plainLine(t.Device), "")
	}
	end()
}

func writePrice(w io.Writer, p *tables.Price, day tables.Date) {
	line, end := facts(w, "price", &p.Fact)
	line("on", string(day), "")
	if p.Vendor != "" {
		line("vendor", plainLine(p.Vendor), "")
	}
	if days := p.Days(); days != "" {
		line("asked", days, "")
	}
	rates := func(behind string, r tables.Rates) {
		for _, kind := range tables.RateKinds() {
			if v, ok := r.Known(kind); ok {
				line(strings.ReplaceAll(kind, "_", " ")+behind, digits(v)+" USD per million tokens", "")
			} else {
				line(strings.ReplaceAll(kind, "_", " ")+behind, "not known", "")
			}
		}
	}
	rates("", p.USDPerMillion)
	for _, tier := range p.Above {
		rates(fmt.Sprintf(", prompt above %d", tier.PromptTokens), tier.USDPerMillion)
	}
	switch includes := p.PromptIncludesCached; {
	case includes == nil:
		line("prompt count", "whether it holds cached tokens is not known", "")
	case *includes:
		line("prompt count", "holds the cached tokens", "")
	default:
		line("prompt count", "does not hold the cached tokens", "")
	}
	end()
}

// origin says where a record is from and what it stands in front of.
func origin(f *tables.Fact) string {
	text := plainLine(f.Origin)
	if f.Replaces != "" {
		text += ", in place of " + plainLine(f.Replaces)
	}
	return text
}

// excerpt is a source in a listing.
func excerpt(s string) string {
	const most = 44
	r := []rune(plainLine(s))
	if len(r) > most {
		return strings.TrimRight(string(r[:most-1]), " ;,") + "…"
	}
	return string(r)
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

func orDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return digits(*v)
}

// rateUnit is the unit of a peak.
func rateUnit(dtype string) string {
	if strings.HasPrefix(dtype, "int") {
		return "op/s"
	}
	return "FLOP/s"
}

// engineering writes a number of a unit with a letter for its thousands, "-" for
// none; from 1e18 on as a power of ten.
func engineering(v float64, unit string) string {
	if v == 0 {
		return "-"
	}
	text := strconv.FormatFloat(v, 'e', 3, 64) + " "
	if v < 1e18 {
		text = digits(v) + " "
		for _, u := range []struct {
			size   float64
			letter string
		}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if v >= u.size {
				text = digits(v/u.size) + " " + u.letter
				break
			}
		}
	}
	return strings.TrimSpace(text + unit)
}
