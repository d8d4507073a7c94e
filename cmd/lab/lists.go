package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/plugin/host"
	"lab/core/plugin/param"
	"lab/core/plugin/sampler"
)

// jsonFlag adds --json to a command.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON (schema in docs/json.md) instead of text")
}

// writeJSON prints v indented, with a newline at the end and without escaping
// what is harmless outside HTML.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table aligns rows of tab-separated cells under a header.
func table(w io.Writer, header string, rows func(line func(cells ...any))) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, strings.ReplaceAll(header, " | ", "\t"))
	rows(func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(tw, "\t")
			}
			fmt.Fprint(tw, c)
		}
		fmt.Fprintln(tw)
	})
	tw.Flush()
}

// JSON forms of the listings; docs/json.md describes them.
type (
	settingJSON struct {
		Name    string   `json:"name"`
		Aliases []string `json:"aliases,omitempty"`
		Type    string   `json:"type"`
		Default any      `json:"default"`
		Range   string   `json:"range"`
		Unit    string   `json:"unit,omitempty"`
		Meaning string   `json:"meaning"`
	}
	samplerJSON struct {
		Name     string        `json:"name"`
		Plugin   string        `json:"plugin"`
		Aliases  []string      `json:"aliases,omitempty"`
		Kind     string        `json:"kind"`
		Summary  string        `json:"summary"`
		Formula  string        `json:"formula,omitempty"`
		Source   string        `json:"source"`
		Settings []settingJSON `json:"settings"`
		Systems  []systemJSON  `json:"systems,omitempty"`
		Needs    needsJSON     `json:"needs"`
	}
	needsJSON struct {
		History    int  `json:"history"`
		Uniforms   int  `json:"uniforms"`
		TokenTexts bool `json:"token_texts"`
		Passes     int  `json:"passes"`
		Shared     bool `json:"shared,omitempty"`
		Raw        bool `json:"raw,omitempty"`
	}
	systemJSON struct {
		Name     string        `json:"name"`
		Term     string        `json:"term"`
		Differs  string        `json:"differs,omitempty"`
		Settings []settingJSON `json:"settings,omitempty"`
	}
	backendJSON struct {
		Name     string        `json:"name"`
		Plugin   string        `json:"plugin"`
		Summary  string        `json:"summary"`
		Source   string        `json:"source"`
		Patterns []string      `json:"patterns,omitempty"`
		Settings []settingJSON `json:"settings"`
	}
	pluginJSON struct {
		Name     string   `json:"name"`
		Version  string   `json:"version,omitempty"`
		Builtin  bool     `json:"builtin"`
		Path     string   `json:"path"`
		SHA256   string   `json:"sha256,omitempty"`
		Protocol int      `json:"protocol,omitempty"`
		Samplers []string `json:"samplers,omitempty"`
		Models   []string `json:"models,omitempty"`
		Error    string   `json:"error,omitempty"`
	}
)

func settingsJSON(specs param.Specs) []settingJSON {
	out := make([]settingJSON, len(specs))
	for i, s := range specs {
		out[i] = settingJSON{Name: s.Name, Aliases: s.Aliases, Type: s.Type.String(), Default: s.Default,
			Range: s.Range(), Unit: s.Unit, Meaning: s.Meaning}
	}
	return out
}

func systemsJSON(systems []sampler.System) []systemJSON {
	var out []systemJSON
	for _, s := range systems {
		out = append(out, systemJSON{Name: s.Name, Term: s.Term, Differs: s.Differs, Settings: settingsJSON(s.Params)})
	}
	return out
}

func newSamplerJSON(d host.Sampler) samplerJSON {
	return samplerJSON{Name: d.Name, Plugin: d.Plugin, Aliases: d.Aliases, Kind: d.Kind.String(), Summary: d.Summary,
		Formula: d.Formula, Source: d.Source, Settings: settingsJSON(d.Params), Systems: systemsJSON(d.Systems), Needs: needsJSON(d.Needs)}
}

func newBackendJSON(b host.Backend) backendJSON {
	return backendJSON{Name: b.Name, Plugin: b.Plugin, Summary: b.Summary, Source: b.Source, Patterns: b.Patterns,
		Settings: settingsJSON(b.Params)}
}

func writeSettings(w io.Writer, specs param.Specs) {
	if len(specs) == 0 {
		fmt.Fprintln(w, "settings: none")
		return
	}
	fmt.Fprintln(w, "settings:")
	table(w, "  name | type | default | range | meaning", func(line func(...any)) {
		for _, s := range specs {
			name := s.Name
			if len(s.Aliases) > 0 {
				name += " (" + strings.Join(s.Aliases, ", ") + ")"
			}
			meaning := s.Meaning
			if s.Unit != "" {
				meaning += " [" + s.Unit + "]"
			}
			line("  "+name, s.Type, param.Format(s.Default), s.Range(), meaning)
		}
	})
}

func samplerCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "sampler", Short: "List and describe samplers", Args: subcommandOnly, RunE: showHelp}
	list := &cobra.Command{Use: "list", Short: "List the samplers of every plugin", Args: noArgs}
	asJSON := jsonFlag(list)
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.with(cmd, []string{"samplers"}, func(ctx context.Context, session *experiment.Session) error {
			found := session.Host().Samplers(ctx)
			if *asJSON {
				out := struct {
					Schema   string        `json:"schema"`
					Samplers []samplerJSON `json:"samplers"`
				}{"lab/sampler-list/1", []samplerJSON{}}
				for _, d := range found {
					out.Samplers = append(out.Samplers, newSamplerJSON(d))
				}
				return writeJSON(cmd.OutOrStdout(), out)
			}
			table(cmd.OutOrStdout(), "name | kind | plugin | settings | summary", func(line func(...any)) {
				for _, d := range found {
					line(d.Name, d.Kind, d.Plugin, strings.Join(d.Params.Names(), ", "), d.Summary)
				}
			})
			return nil
		}, nil)
	}
	info := &cobra.Command{Use: "info NAME", Short: "Describe one sampler: rule, settings, an example, what other systems make of it",
		Args: oneArg("the name of a sampler", "lab sampler info top_p")}
	infoJSON := jsonFlag(info)
	info.RunE = func(cmd *cobra.Command, args []string) error {
		return s.with(cmd, []string{"samplers"}, func(ctx context.Context, session *experiment.Session) error {
			d, err := session.Host().Sampler(ctx, args[0])
			if err != nil {
				return err
			}
			if *infoJSON {
				return writeJSON(cmd.OutOrStdout(), struct {
					Schema string `json:"schema"`
					samplerJSON
				}{"lab/sampler-info/1", newSamplerJSON(d)})
			}
			return writeSampler(ctx, cmd.OutOrStdout(), d)
		}, nil)
	}
	cmd.AddCommand(list, info, verifyCommand(s))
	return cmd
}

func needs(n sampler.Needs) string {
	var out []string
	switch {
	case n.History < 0:
		out = append(out, "the whole context")
	case n.History > 0:
		out = append(out, fmt.Sprintf("the newest %d tokens of the context", n.History))
	}
	if n.Uniforms > 0 {
		shared := ""
		if n.Shared {
			shared = ", the same for all samples"
		}
		out = append(out, fmt.Sprintf("%d uniform number(s) a step%s", n.Uniforms, shared))
	}
	if n.TokenTexts {
		out = append(out, "the texts of all tokens")
	}
	if n.Passes > 0 {
		out = append(out, fmt.Sprintf("%d further model pass(es)", n.Passes))
	}
	if len(out) == 0 {
		return "the scores only"
	}
	return strings.Join(out, ", ")
}

func modelCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "model", Short: "List, describe, add and quantise models", Args: subcommandOnly, RunE: showHelp,
		Long: `Models come from plugins, from the model folder and from any path: --model takes a
name from lab model list or the path of a .gguf file, and so does lab.model in a
script. The model folder is LAB_MODELS, or else lab/models in the user's data
folder.`}
	list := &cobra.Command{Use: "list", Short: "List the models of every plugin and of the model folder", Args: noArgs}
	asJSON := jsonFlag(list)
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.with(cmd, []string{"models"}, func(ctx context.Context, session *experiment.Session) error {
			found := session.Host().Backends(ctx)
			files := listModelFiles(found)
			if *asJSON {
				out := modelListReport{Schema: "lab/model-list/1", Models: []backendJSON{}, modelFilesJSON: files}
				for _, b := range found {
					out.Models = append(out.Models, newBackendJSON(b))
				}
				return writeJSON(cmd.OutOrStdout(), out)
			}
			defer writeModelFiles(cmd.OutOrStdout(), cmd.ErrOrStderr(), files)
			table(cmd.OutOrStdout(), "name | plugin | also opens | summary", func(line func(...any)) {
				for _, b := range found {
					line(b.Name, b.Plugin, strings.Join(b.Patterns, ", "), b.Summary)
				}
			})
			return nil
		}, nil)
	}
	cmd.AddCommand(list, modelInfoCommand(s), modelAddCommand(s), modelRemoveCommand(), modelVerifyCommand(s), modelQuantizeCommand(s))
	return cmd
}

func modelInfoCommand(s *settings) *cobra.Command {
	info := &cobra.Command{Use: "info NAME|PATH", Short: "Open a model and describe it: vocabulary, context, digest",
		Example: `  lab model info tiny
  lab model info llama-1b
  lab model info ~/models/llama-1b.gguf --json`,
		Args: oneArg("the name of a model or the path of a weight file", "lab model info tiny")}
	asJSON := jsonFlag(info)
	info.RunE = func(cmd *cobra.Command, args []string) error {
		return s.with(cmd, []string{"models"}, func(ctx context.Context, session *experiment.Session) error {
			b, err := session.Backend(ctx, args[0])
			if err != nil {
				return err
			}
			file := findModelFile(args[0])
			m, err := session.Model(ctx, args[0], nil)
			if err != nil {
				if file != nil && !*asJSON { // what is known of it without opening it
					tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
					writeModelFile(tw, file)
					tw.Flush()
				}
				return err
			}
			i := m.Info()
			out := modelJSON{Schema: "lab/model-info/1", Ref: args[0], Name: i.Name, Architecture: i.Architecture,
				Description: i.Description, VocabSize: i.VocabSize, ContextLength: i.ContextLength, Parameters: i.Parameters,
				WeightBytes: i.WeightBytes, Digest: i.Digest, Deterministic: i.Deterministic, TopN: i.TopN,
				Begin: i.Begin, EndOfText: i.EndOfText, Backend: newBackendJSON(b), File: file}
			for _, d := range i.Details {
				out.Details = append(out.Details, detailJSON(d))
			}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), out)
			}
			writeModel(cmd.OutOrStdout(), out, b.Params)
			return nil
		}, nil)
	}
	return info
}

type modelJSON struct {
	Schema        string      `json:"schema"`
	Ref           string      `json:"ref"`
	Name          string      `json:"name"`
	Architecture  string      `json:"architecture"`
	Description   string      `json:"description"`
	VocabSize     int         `json:"vocab_size"`
	ContextLength int         `json:"context_length"`
	Parameters    int64       `json:"parameters"`
	WeightBytes   int64       `json:"weight_bytes"`
	Digest        string      `json:"digest"`
	Deterministic bool        `json:"deterministic"`
	TopN          int         `json:"top_n"`
	Begin         int32       `json:"begin_token"`
	EndOfText     []int32     `json:"end_tokens"`
	Backend       backendJSON `json:"backend"`

	File *modelFileJSON `json:"file,omitempty"`
	// Details are what the backend says besides, by name.
	Details []detailJSON `json:"details,omitempty"`
}

type detailJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func writeModel(w io.Writer, m modelJSON, options param.Specs) {
	yes := map[bool]string{true: "yes: same scores whatever the batch, chunks and threads", false: "no"}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	rows := [][2]string{
		{"model", m.Name + "  (" + m.Ref + ")"}, {"description", m.Description}, {"backend", m.Backend.Plugin + "/" + m.Backend.Name},
		{"architecture", m.Architecture}, {"parameters", fmt.Sprint(m.Parameters)},
		{"weights", fmt.Sprintf("%d bytes, sha256 %s", m.WeightBytes, m.Digest)},
		{"vocabulary", fmt.Sprintf("%d tokens", m.VocabSize)}, {"context", fmt.Sprintf("%d tokens", m.ContextLength)},
		{"deterministic", yes[m.Deterministic]},
	}
	for _, d := range m.Details {
		rows = append(rows, [2]string{strings.ReplaceAll(d.Name, "_", " "), d.Value})
	}
	for _, row := range rows {
		fmt.Fprintf(tw, "%s\t%s\n", row[0], row[1])
	}
	if m.File != nil {
		writeModelFile(tw, m.File)
	}
	tw.Flush()
	writeSettings(w, options)
}
