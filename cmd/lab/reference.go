package main

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lab/core/plugin/param"
	"lab/core/script"
	"lab/core/script/std"
	"lab/core/table/tablemod"
	"lab/plots"
	"lab/plots/plotmod"
)

// modulesTopic prints what scripts find: the same text as docs/scripting.md.
func modulesTopic() *cobra.Command {
	return &cobra.Command{Use: "scripting", Short: "What scripts can call: the modules lab, plot, table, stats and cost, and what needs no import",
		Long: strings.TrimSpace(scriptReference())}
}

// scriptReference renders the declarations of everything a script can call as
// Markdown. The declarations are also what checks the calls, so the page
// cannot differ from the behaviour.
func scriptReference() string {
	var b strings.Builder
	b.WriteString(`# What scripts can call

Scripts are written in Tengo (github.com/d5/tengo, version 2). The last argument of many functions is a map of options; an
unknown key, a value of the wrong type or out of range is an error with the script's position. Real quantities are floats,
counts and token ids ints. Failures raise; try(fn) turns one into a value. Objects of lab, plot, table, stats and cost are immutable, and a
member they do not have is an error. 1/4 of two ints is 0: write 1.0/4. lab check finds such mistakes without a run, and lab fmt
lays scripts out.

Standard modules: math, text, json, fmt, enum, base64, hex. Imports of files are confined to the script's folder.

`)
	b.WriteString("## Without import\n\n")
	writeMembers(&b, script.Globals())
	for _, m := range scriptModules(&std.Env{}, &plotmod.Env{}, &tablemod.Env{}, io.Discard) {
		fmt.Fprintf(&b, "## Module %s\n\n%s\n\n", m.Name, m.Doc)
		writeMembers(&b, m.Members)
		for _, c := range m.Classes {
			fmt.Fprintf(&b, "### %s\n\n%s\n\n", c.Name, c.Doc)
			writeMembers(&b, c.Members)
		}
	}
	return b.String()
}

func writeMembers(b *strings.Builder, members []script.Member) {
	for _, m := range members {
		fmt.Fprintf(b, "- `%s`", m.Signature())
		if m.Returns != "" {
			fmt.Fprintf(b, " → %s", m.Returns)
		}
		fmt.Fprintf(b, ". %s\n", m.Doc)
		for _, p := range m.Params {
			writeParam(b, p)
		}
		for _, p := range m.Options {
			writeParam(b, p)
		}
	}
	b.WriteString("\n")
}

func writeParam(b *strings.Builder, p script.Param) {
	fmt.Fprintf(b, "  - `%s`: %s", p.Name, p.Type)
	if r := p.Range.String(); r != "" {
		b.WriteString(" in " + r)
	}
	if len(p.Choices) > 0 {
		b.WriteString(", one of " + strings.Join(p.Choices, ", "))
	}
	if p.Unit != "" {
		b.WriteString(", " + p.Unit)
	}
	if p.Default != nil {
		fmt.Fprintf(b, ", default %s", defaultText(p.Default))
	}
	if p.Required {
		b.WriteString(", required")
	}
	if p.Meaning != "" {
		b.WriteString(": " + p.Meaning)
	}
	b.WriteString("\n")
}

func defaultText(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return param.Format(v)
}

// twoThemes gives a picture drawn in the light theme the colours of the dark one
// where the reader's screen is dark. Every colour of the one theme that a picture
// uses has its own in the other, so nothing is drawn twice.
func twoThemes(svg []byte) []byte {
	light, dark := plots.Light(), plots.Dark()
	var style strings.Builder
	style.WriteString("<style>@media (prefers-color-scheme: dark) {\n")
	pair := func(from, to color.RGBA) {
		for _, attribute := range []string{"fill", "stroke"} {
			fmt.Fprintf(&style, "[%[1]s=\"%[2]s\"] {%[1]s: %[3]s}\n", attribute, hexColour(from), hexColour(to))
		}
	}
	pair(light.Background, dark.Background)
	pair(light.Ink, dark.Ink)
	pair(light.Muted, dark.Muted)
	pair(light.Grid, dark.Grid)
	for i := range light.Series {
		pair(light.Series[i], dark.Series[i])
	}
	style.WriteString("}</style>\n<defs>")
	return bytes.Replace(svg, []byte("<defs>"), []byte(style.String()), 1)
}

func hexColour(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
