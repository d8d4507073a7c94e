package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/results"
	"lab/core/table"
	"lab/plots/canvas"
	"lab/plots/source"
)

// reproduce is what repeats the run, from its folder or from the report alone.
func (s *sweepReport) reproduce() error {
	plain := map[string]any{"samples": s.spec.Samples}
	if s.spec.Record != "" {
		plain["record"] = s.spec.Record
	}
	maps.Copy(plain, s.spec.Fixed)
	if len(s.spec.Grid) > 0 {
		plain["grid"] = s.spec.Grid
	}
	text, err := json.MarshalIndent(plain, "", "  ")
	if err != nil {
		return fault.Wrap(err, fault.Internal, op, "specification")
	}
	s.add("reproduce", "Reproduce this",
		block{text: "From the folder of the run, compared bit by bit:"},
		block{code: "lab rerun " + shell(s.Name) + " --verify"},
		block{text: "From this report alone: save the specification as " + s.file() + " and run"},
		block{code: "lab sweep " + shell(s.file())},
		block{code: string(text), folded: "Specification (" + s.file() + ", JSON is YAML)"})
	return nil
}

// file is the name of the specification.
func (s *sweepReport) file() string {
	var source struct{ File string }
	if json.Unmarshal(s.run.Manifest.Source, &source) == nil && source.File != "" {
		return source.File
	}
	return s.name + ".yaml"
}

// shell quotes an argument for a shell of POSIX where it needs that.
func shell(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%") == "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// settings are those of the run with their origin.
func (s *sweepReport) settings() error {
	g := &grid{caption: "Settings of the run", head: columns("setting", "value", "origin")}
	add := func(name string, v any, origin string) {
		g.rows = append(g.rows, words(name, canvas.Shorten(source.SettingText(v), 400), origin))
	}
	from := "sweep"
	var made struct{ File string }
	if json.Unmarshal(s.run.Manifest.Source, &made) == nil && made.File != "" {
		from = made.File
	}
	for _, axis := range s.run.Manifest.Axes {
		var values []string
		seen := map[string]bool{}
		for _, c := range s.cells {
			if v := source.SettingText(c[axis]); !seen[v] {
				seen[v] = true
				values = append(values, canvas.Shorten(v, 80))
			}
		}
		const most = 30
		if more := len(values) - most; more > 0 {
			values = append(values[:most], fmt.Sprintf("and %d more", more))
		}
		add(axis, strings.Join(values, ", "), from+", grid")
	}
	for _, name := range slices.Sorted(maps.Keys(s.spec.Fixed)) {
		add(name, s.spec.Fixed[name], from+", fixed")
	}
	add("samples", canvas.Count(s.run.Manifest.Samples), from)
	record := s.spec.Record
	if record == "" {
		add("record", "ledger", "default")
	} else {
		add("record", record, from)
	}
	for _, name := range slices.Sorted(maps.Keys(s.cells[0])) {
		_, fixed := s.spec.Fixed[name]
		if v, one := s.constant(name); one && v != nil && !fixed && name != "cell" && name != "chain" && !slices.Contains(s.run.Manifest.Axes, name) {
			add(name, v, "default")
		}
	}
	s.add("settings", "Settings", block{table: g})
	return nil
}

const mostChains = 40 // shown

// chains are the effective ones, every value with who asked for it.
func (s *sweepReport) chains() error {
	s.add("chains", "Effective chains", chainBlocks(s.used.Chains)...)
	return nil
}

func chainBlocks(chains []experiment.ChainRecord) []block {
	var blocks []block
	for _, c := range chains[:min(len(chains), mostChains)] {
		g := &grid{caption: c.Chain, head: columns("#place", "stage", "kind", "settings", "asked for by", "plugin")}
		for i, st := range c.Stages {
			var set []string
			for _, v := range st.Settings {
				text := v.Name + " = " + canvas.Shorten(source.SettingText(v.Value), 120)
				if v.Origin != st.Origin {
					text += " (" + v.Origin + ")"
				}
				set = append(set, text)
			}
			from := st.Plugin
			if st.Defined != "" {
				from += ", " + st.Defined
			}
			if st.Compat != "" {
				from += ", as " + st.Compat
			}
			g.rows = append(g.rows, words(strconv.Itoa(i+1), st.Stage, st.Kind, strings.Join(set, ", "), st.Origin, from))
		}
		b := block{table: g}
		if len(chains) > 3 {
			b.folded = c.Chain
		}
		blocks = append(blocks, b)
	}
	if more := len(chains) - mostChains; more > 0 {
		blocks = append(blocks, block{text: plural(more, "more chain") + " in run.json of the run."})
	}
	return blocks
}

// warnings are those of the run and of every session, each once.
func (s *sweepReport) warnings() []string {
	out := slices.Clone(s.used.Warnings)
	for _, session := range s.run.Sessions {
		for _, w := range session.Warnings {
			out = add(out, w)
		}
	}
	return out
}

// problems are warnings, failures and how the sessions ended.
func (s *sweepReport) problems() error {
	var blocks []block
	if w := s.warnings(); len(w) > 0 {
		blocks = append(blocks, block{text: "Warnings:"}, block{list: w})
	}
	if s.failed > 0 {
		g := &grid{caption: "Samples that failed", head: columns("#cell", "#sample", "why"), rows: s.failures}
		if more := s.failed - len(s.failures); more > 0 {
			g.note = plural(more, "more failure") + "; lab runs show lists them."
		}
		blocks = append(blocks, block{table: g})
	}
	for _, session := range s.run.Sessions {
		if session.Error != "" {
			blocks = append(blocks, block{alert: fmt.Sprintf("The session of %s ended with: %s", session.Started.UTC().Format(time.DateTime), canvas.Shorten(session.Error, 400))})
		}
	}
	if blocks == nil {
		blocks = []block{{text: "None were recorded."}}
	}
	s.add("problems", "Warnings and failures", blocks...)
	return nil
}

// costs sums what samples took over each cell.
func (s *sweepReport) costs() error {
	t, err := results.Costs(s.run)
	if err != nil {
		return err
	}
	if t.Rows() == 0 {
		return nil
	}
	by, err := t.Group(append([]string{"cell"}, s.run.Manifest.Axes...)...)
	if err != nil {
		return err
	}
	sums := []string{"tokens", "prefill_tokens", "decode_tokens", "cached_tokens", "prefill_seconds", "decode_seconds", "flops", "bytes_moved"}
	list := []table.Aggregation{{Name: "samples", Function: "count"}}
	for _, name := range sums {
		list = append(list, table.Aggregation{Name: name, Function: "sum", Column: name})
	}
	list = append(list, table.Aggregation{Name: "cache_bytes", Function: "max", Column: "cache_bytes"}, table.Aggregation{Name: "decode_batch", Function: "mean", Column: "decode_batch"})
	summed, err := by.Aggregate(list...)
	if err != nil {
		return err
	}
	if summed, err = summed.Sort(table.Key{Column: "cell"}); err != nil {
		return err
	}
	g := tableOf(summed, "Cost of the samples, summed over each cell", mostCells, func(v float64) string { return canvas.Significant(v, 4) })
	g.note = strings.TrimSpace("Measured, so another run has others. flops counts 2 per multiply-add; cache_bytes is the most held, decode_batch the mean over samples. " + g.note)
	s.add("cost", "Cost", block{table: g})
	return nil
}

// tableOf shows the first rows of a table; format writes floats.
func tableOf(t *table.Table, caption string, most int, format func(float64) string) *grid {
	g := &grid{caption: caption}
	for _, c := range t.Columns() {
		kind := c.Column.Type()
		g.head = append(g.head, column{c.Name, kind == table.Float || kind == table.Int})
	}
	n := min(t.Rows(), most)
	for i := range n {
		row := make([]cell, 0, len(g.head))
		for _, c := range t.Columns() {
			text := "none"
			switch v := c.Column.At(i).(type) {
			case nil:
			case float64:
				text = format(v)
			case []byte:
				text = canvas.Visible(canvas.Shorten(string(v), 200))
			default:
				text = canvas.Shorten(fmt.Sprint(v), 400)
			}
			row = append(row, cell{text: text})
		}
		g.rows = append(g.rows, row)
	}
	if more := t.Rows() - n; more > 0 {
		g.note = plural(more, "more row") + "."
	}
	return g
}

// provenance is who made the run with what.
func (s *sweepReport) provenance() error {
	blocks := usedBlocks(s.used)
	g := &grid{caption: "Sessions", head: columns("started, UTC", "#seconds", "host", "outcome", "#samples", "#failed", "#tokens", "usage", "machine")}
	const most = 20
	for _, x := range s.run.Sessions[:min(most, len(s.run.Sessions))] {
		g.rows = append(g.rows, words(x.Started.UTC().Format(time.DateTime), strconv.FormatFloat(x.Seconds, 'f', 1, 64), x.Host, x.Outcome,
			canvas.Count(x.Finished), canvas.Count(x.Failed), canvas.Count(x.Tokens), flat(x.Usage), flat(x.Machine)))
	}
	if len(g.rows) > 0 {
		if more := len(s.run.Sessions) - most; more > 0 {
			g.note = plural(more, "more session") + "."
		}
		blocks = append(blocks, block{table: g})
	}
	blocks = append(blocks, block{text: "Run made by lab " + s.run.Manifest.Lab + "."})
	s.add("provenance", "Models, plugins and versions", blocks...)
	return nil
}

// usedBlocks are the models and plugins with their digests.
func usedBlocks(used experiment.Record) []block {
	models := &grid{caption: "Models", head: columns("model", "name", "architecture", "#parameters", "#weight bytes", "deterministic", "SHA-256 of the weights", "opened with")}
	for _, m := range used.Models {
		digest := m.DigestOpen
		switch m.DigestEnd {
		case "", m.DigestOpen:
		default:
			digest += ", at the end " + m.DigestEnd
		}
		models.rows = append(models.rows, words(m.Ref, m.Name, m.Architecture, count(m.Parameters), count(m.WeightBytes), map[bool]string{true: "yes", false: "no"}[m.Deterministic],
			digest, strings.Join(m.Settings, ", ")))
	}
	plugins := &grid{caption: "Plugins", head: columns("plugin", "version", "built in", "#restarts", "SHA-256 of the executable")}
	for _, p := range used.Plugins {
		plugins.rows = append(plugins.rows, words(p.Name, p.Version, map[bool]string{true: "yes", false: "no"}[p.Builtin], strconv.Itoa(p.Restarts), p.SHA256))
	}
	var blocks []block
	for _, g := range []*grid{models, plugins} {
		if len(g.rows) > 0 {
			blocks = append(blocks, block{table: g})
		}
	}
	return blocks
}

// count is canvas.Count of numbers that an int of 32 bits may not hold.
func count(n int64) string {
	if int64(int(n)) != n {
		return strconv.FormatInt(n, 10)
	}
	return canvas.Count(int(n))
}

// flat writes an object of JSON as name = value, sorted.
func flat(raw json.RawMessage) string {
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch v := m[k].(type) {
		case float64:
			parts = append(parts, k+" "+canvas.Significant(v, 4))
		default:
			parts = append(parts, k+" "+source.SettingText(v))
		}
	}
	return strings.Join(parts, ", ")
}
