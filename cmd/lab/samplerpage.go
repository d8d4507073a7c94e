package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"lab/core/plugin/host"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
	"lab/plugins/samplers"
)

// writeSampler prints what is known of a sampler: its declaration, and for one
// that ships with lab a picture of what it does to one distribution.
func writeSampler(ctx context.Context, w io.Writer, d host.Sampler) error {
	fmt.Fprintf(w, "%s (%s, plugin %s)\n%s\n", d.Name, d.Kind, d.Plugin, d.Summary)
	if d.Formula != "" {
		fmt.Fprintf(w, "\n    %s\n\n", d.Formula)
	}
	if len(d.Aliases) > 0 {
		fmt.Fprintf(w, "also called: %s\n", strings.Join(d.Aliases, ", "))
	}
	fmt.Fprintf(w, "needs: %s\nsource: %s\n", needs(d.Needs), d.Source)
	fmt.Fprintln(w)
	writeSettings(w, d.Params)
	if e, ok := examples[d.Name]; ok && d.Builtin {
		set, err := sampler.NewSet(samplers.All()...)
		if err != nil {
			return err
		}
		v, err := e.run(ctx, set)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\nexample: %s after “%s”\n", e.stage, v.about)
		v.text(w)
	}
	if len(d.Systems) > 0 {
		fmt.Fprintf(w, "\nin other systems, whose rule a stage follows with %s=NAME:\n", sampler.CompatSetting)
		for _, s := range d.Systems {
			fmt.Fprintf(w, "  %s: %s\n", s.Name, s.Term)
			writeWrapped(w, "    rule: "+differs(s))
			if list := otherSettings(s.Params); len(list) > 0 {
				writeWrapped(w, "    settings: "+strings.Join(list, "; "))
			}
		}
	}
	return nil
}

func differs(s sampler.System) string {
	if s.Differs == "" {
		return "the same"
	}
	return s.Differs
}

// writeWrapped prints a line broken between words at 100 characters; what follows
// the first line is indented two characters more than it.
func writeWrapped(w io.Writer, text string) {
	const width = 100
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line, used := indent, 0
	for _, word := range strings.Fields(text) {
		if used > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			fmt.Fprintln(w, line)
			line, used = indent+"  ", 0
		}
		if used > 0 {
			line += " "
		}
		line += word
		used++
	}
	fmt.Fprintln(w, line)
}

// otherSettings says what the settings of a system are, one text each.
func otherSettings(specs param.Specs) []string {
	out := make([]string, len(specs))
	for i, s := range specs {
		out[i] = fmt.Sprintf("%s %s, default %s", s.Name, s.Range(), defaultWords(s))
	}
	return out
}

func defaultWords(s param.Spec) string {
	if text := param.Format(s.Default); text != "" {
		return text
	}
	return "empty"
}

// page is one file of the generated reference, with its path below docs.
type page struct {
	path string
	data []byte
}

// samplerPages renders the declarations of samplers as Markdown: an index by
// family, and for each sampler a page with a picture of its example.
func samplerPages(ctx context.Context, list []sampler.Sampler) ([]page, error) {
	set, err := sampler.NewSet(list...)
	if err != nil {
		return nil, err
	}
	decls := set.Declarations()
	pages := []page{{"samplers.md", samplerIndex(decls)}}
	for _, d := range decls {
		var picture string
		if e, ok := examples[d.Name]; ok {
			v, err := e.run(ctx, set)
			if err != nil {
				return nil, err
			}
			f, err := v.figure()
			if err != nil {
				return nil, err
			}
			var svg bytes.Buffer
			if err := f.SVG(&svg); err != nil {
				return nil, err
			}
			pages = append(pages, page{"samplers/" + d.Name + ".svg", twoThemes(svg.Bytes())})
			picture = fmt.Sprintf("## Example\n\nThe stage `%s` after “%s”.\n\n![%s](%s.svg)\n\n", e.stage, v.about, markdown(f.Description()), d.Name)
			if told := v.told(); told != "" {
				picture += markdown(told) + "\n\n"
			}
		}
		pages = append(pages, page{"samplers/" + d.Name + ".md", []byte(samplerPage(d, picture))})
	}
	sort.SliceStable(pages, func(i, j int) bool { return pages[i].path < pages[j].path })
	return pages, nil
}

// samplerIndex lists the samplers by family with a line each.
func samplerIndex(decls []sampler.Declaration) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Samplers\n\nThe %d built-in stages, from their own declarations; `lab sampler info NAME` prints the same of each. A chain is\n"+
		"written as `lab help chains` says; the first setting needs no name.\n", len(decls))
	for i, f := range families {
		var rows []sampler.Declaration
		for _, d := range decls {
			if e, ok := examples[d.Name]; ok && e.family == i {
				rows = append(rows, d)
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| sampler | rule | what it does |\n|---|---|---|\n", f.name, f.about)
		for _, d := range rows {
			fmt.Fprintf(&b, "| [%s](samplers/%s.md) | %s | %s |\n", d.Name, d.Name, code(d.Formula), markdown(inShort(d.Summary)))
		}
	}
	return b.Bytes()
}

// inShort is the first part of a summary.
func inShort(s string) string {
	for _, stop := range []string{"; ", ": "} {
		if i := strings.Index(s, stop); i > 0 {
			s = s[:i]
		}
	}
	return strings.TrimSuffix(s, ".")
}

func samplerPage(d sampler.Declaration, picture string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", d.Name, markdown(d.Summary))
	if d.Formula != "" {
		fmt.Fprintf(&b, "```\n%s\n```\n\n", d.Formula)
	}
	b.WriteString(picture)
	b.WriteString("## Settings\n\n")
	if len(d.Params) == 0 {
		b.WriteString("None.\n")
	} else {
		b.WriteString("| setting | values | default | meaning |\n|---|---|---|---|\n")
	}
	for _, p := range d.Params {
		writeSetting(&b, p)
	}
	fmt.Fprintf(&b, "\n## Facts\n\n- kind: %s\n- needs: %s\n", d.Kind, needs(d.Needs))
	if len(d.Aliases) > 0 {
		fmt.Fprintf(&b, "- also called: %s\n", codes(d.Aliases))
	}
	fmt.Fprintf(&b, "- source: %s\n", markdown(d.Source))
	writeSystems(&b, d.Systems)
	return b.String()
}

func writeSetting(b *strings.Builder, p param.Spec) {
	name := "`" + p.Name + "`"
	if len(p.Aliases) > 0 {
		name += "<br>also " + codes(p.Aliases)
	}
	kind := p.Type.String() + ", "
	if p.Type == param.Bool || p.Type == param.Text && len(p.Choices) > 0 {
		kind = ""
	}
	meaning := p.Meaning
	if p.Unit != "" {
		meaning += " [" + p.Unit + "]"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, markdown(kind+p.Range()), code(param.Format(p.Default)), markdown(meaning))
}

func writeSystems(b *strings.Builder, systems []sampler.System) {
	if len(systems) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## In other systems\n\nA stage with `%s=NAME` follows the rule of that system, with its settings.\n\n"+
		"| system | called | how its rule differs | settings that differ |\n|---|---|---|---|\n", sampler.CompatSetting)
	for _, s := range systems {
		settings := make([]string, len(s.Params))
		for i, p := range s.Params {
			settings[i] = fmt.Sprintf("`%s`: %s, default %s; %s", p.Name, markdown(p.Range()), code(defaultWords(p)), markdown(p.Meaning))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", s.Name, markdown(s.Term), markdown(differs(s)), strings.Join(settings, "<br>"))
	}
}

// markdown makes words safe in a Markdown table.
func markdown(s string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(s)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.NewReplacer("\n", " ", "|", `\|`, "`", "'").Replace(s) + "`"
}

func codes(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = code(s)
	}
	return strings.Join(out, ", ")
}
