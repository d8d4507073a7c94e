package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/fault"
	"lab/core/fetch"
	"lab/core/shelf"
)

type (
	modelAddReport struct {
		Schema   string         `json:"schema"`
		Model    *modelFileJSON `json:"model"`
		Checked  bool           `json:"checked"`
		Warnings []string       `json:"warnings,omitempty"`
	}
	modelRemoveReport struct {
		Schema  string   `json:"schema"`
		Name    string   `json:"name"`
		Removed []string `json:"removed"`
	}
	modelVerifyReport struct {
		Schema  string            `json:"schema"`
		AllSame bool              `json:"all_same"`
		Files   []modelVerifyFile `json:"files"`
		Damaged []string          `json:"damaged,omitempty"`
	}
	modelVerifyFile struct {
		Name   string `json:"name"`
		Path   string `json:"path"`
		Status string `json:"status"`
		Want   string `json:"sha256"`
		Got    string `json:"sha256_now,omitempty"`
		Why    string `json:"why,omitempty"`
	}
)

func modelAddCommand(s *settings) *cobra.Command {
	var opt shelf.AddOptions
	var copyFile bool
	var tokenEnv string
	cmd := &cobra.Command{
		Use:   "add PATH|URL",
		Short: "Put a GGUF file into the model folder, under a name",
		Long: `Puts a model into the model folder, where --model and scripts find it by its name:
a copy of the file at PATH, the file itself where it is with --link, or what https
brings from URL. Of a split model (NAME-00001-of-00003.gguf) every part is taken,
whichever is given. The sha256 is shown and recorded; --sha256 compares it.

Where a site asks who fetches, --token-env names the environment variable that
holds its access token. It is shown to the machine of URL alone, by https alone,
and written nowhere.

A transfer that is interrupted stays, and the same command goes on with it. The
model is in its place only when all of it is there and its header has been read.`,
		Example: `  lab model add ~/Downloads/llama-1b-q8_0.gguf --name llama-1b
  lab model add /data/llama-70b-00001-of-00004.gguf --link
  lab model add https://example.org/llama-1b.gguf --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  lab model add https://example.org/gated/llama-1b.gguf --token-env SITE_TOKEN`,
		Args: oneArg("the path or the address of a GGUF file", "lab model add ~/Downloads/llama-1b.gguf"),
	}
	f := cmd.Flags()
	f.StringVar(&opt.Name, "name", "", "name of the model (default that of the file without .gguf)")
	f.StringArrayVar(&opt.SHA256, "sha256", nil, "digest that the file must have; of a split model once for each part, in order")
	f.BoolVar(&opt.Link, "link", false, "leave the file where it is, and record its path")
	f.BoolVar(&copyFile, "copy", false, "copy the file, which is the default")
	f.BoolVar(&opt.Plain, "insecure-http", false, "fetch by http also from other machines")
	f.StringVar(&tokenEnv, "token-env", "", "environment variable that holds the access token of URL's site")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if opt.Link && copyFile {
			return fault.New(fault.Usage, "lab model add", "", "--link and --copy exclude each other")
		}
		var err error
		if opt.Token, err = accessToken(tokenEnv, cmd.Flags().Changed("token-env")); err != nil {
			return err
		}
		out, err := addModel(s, cmd, args[0], opt)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), out)
		}
		writeAdded(cmd.OutOrStdout(), cmd.ErrOrStderr(), out)
		return nil
	}
	return cmd
}

// accessToken reads the token from the environment: on the command line, other users
// of the machine and the shell's history would have it. The name is in no message:
// it may be the token, given in its place.
func accessToken(name string, given bool) (string, error) {
	if !given {
		return "", nil
	}
	token := os.Getenv(name)
	if token == "" {
		return "", fault.New(fault.Usage, "lab model add", "", "the environment variable that --token-env names is not there or empty").
			Fix("give the name of the variable, not the token: export NAME=… and --token-env NAME")
	}
	return token, nil
}

func addModel(s *settings, cmd *cobra.Command, source string, opt shelf.AddOptions) (*modelAddReport, error) {
	folder, err := modelFolder()
	if err != nil {
		return nil, err
	}
	file := source
	if shelf.IsAddress(source) {
		if err := fetch.Check(source, opt.Plain); err != nil {
			return nil, err
		}
		file = fetch.Redact(source)
	}
	if opt.Name == "" {
		opt.Name = shelf.NameOf(file)
	}
	if err := shelf.CheckName(opt.Name); err != nil {
		return nil, err
	}
	if err := notOfAPlugin(s, cmd, opt.Name); err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(cmd)
	defer cancel()
	errOut := cmd.ErrOrStderr()
	bar := &byteBars{p: newProgress(errOut), verb: "adding " + opt.Name}
	opt.Progress, opt.Note = bar.Step, func(text string) { bar.Done(); fmt.Fprintln(errOut, text) }
	e, err := folder.Add(ctx, source, opt)
	bar.Done()
	if err != nil {
		return nil, err
	}
	out := &modelAddReport{Schema: "lab/model-add/1", Model: newModelFileJSON(folder, e), Checked: len(opt.SHA256) > 0}
	if text := unknownArchitecture(out.Model); text != "" {
		out.Warnings = append(out.Warnings, text)
	}
	return out, nil
}

// notOfAPlugin refuses a name that a plugin has given a model.
func notOfAPlugin(s *settings, cmd *cobra.Command, name string) error {
	return s.with(cmd, []string{"models"}, func(ctx context.Context, session *experiment.Session) error {
		for _, b := range session.Host().Backends(ctx) {
			if b.Name == name {
				return fault.New(fault.Usage, "lab model add", fault.Quote(name, 80), "the plugin %q offers a model of this name", b.Plugin).
					Fix("choose another with --name")
			}
		}
		return nil
	}, nil)
}

// limited returns the context of a command that needs no session.
func (s *settings) limited(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if s.timeout <= 0 {
		return context.WithCancel(cmd.Context())
	}
	return context.WithTimeoutCause(cmd.Context(), s.timeout, fault.New(fault.Limit, "lab", "", "the --timeout of %v has passed", s.timeout))
}

func writeAdded(w, errOut io.Writer, r *modelAddReport) {
	m := r.Model
	verb := "added"
	if m.Linked {
		verb = "linked"
	}
	fmt.Fprintf(w, "%s %s: %s, %s parameters, %s in %s\n", verb, m.Name, m.architecture(), people(m.Parameters), fetch.Size(m.Bytes), shortList(m.Formats))
	as := ""
	if r.Checked {
		as = "  (as it should be)"
	}
	for _, p := range m.Parts {
		fmt.Fprintf(w, "sha256 %s  %s%s\n", p.SHA256, p.Path, as)
	}
	if m.Known {
		fmt.Fprintf(w, "try: lab generate \"The weather today is\" --model %s\n", m.Name)
	}
	for _, text := range r.Warnings {
		fmt.Fprintln(errOut, "warning:", text)
	}
}

func modelRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove a model from the model folder",
		Long: `Removes a model from the model folder, with its files, or what an interrupted
transfer has left of one. Of a linked model only the link goes; its file stays.`,
		Example: "  lab model rm llama-1b",
		Args:    oneArg("the name of a model of the folder", "lab model rm llama-1b"),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, err := modelFolder()
		if err != nil {
			return err
		}
		removed, err := folder.Remove(args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(cmd.OutOrStdout(), modelRemoveReport{"lab/model-rm/1", args[0], removed})
		}
		for _, path := range removed {
			fmt.Fprintln(cmd.OutOrStdout(), "removed", path)
		}
		return nil
	}
	return cmd
}

func modelVerifyCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [NAME…]",
		Short: "Compare the files of the model folder with their recorded digests",
		Long: `Reads the files of models again, of all when none is named, and compares their
sha256 with the one that was recorded when they were added. The exit code is 6
when a file has changed, is missing or cannot be read.`,
		Example: `  lab model verify
  lab model verify llama-1b --json`,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := s.limited(cmd)
		defer cancel()
		out, err := verifyModels(ctx, cmd.ErrOrStderr(), args)
		if err != nil {
			return err
		}
		if *asJSON {
			if err := writeJSON(cmd.OutOrStdout(), out); err != nil {
				return err
			}
		} else {
			writeVerified(cmd.OutOrStdout(), out)
		}
		if out.AllSame {
			return nil
		}
		bad := len(out.Damaged)
		for _, f := range out.Files {
			if f.Status != "same" {
				bad++
			}
		}
		return fault.New(fault.Data, "lab model verify", "", "%d of %d are not what was added", bad, len(out.Files)+len(out.Damaged)).
			Fix("remove what has changed and add it again: lab model rm NAME")
	}
	return cmd
}

func verifyModels(ctx context.Context, errOut io.Writer, names []string) (*modelVerifyReport, error) {
	folder, err := modelFolder()
	if err != nil {
		return nil, err
	}
	out := &modelVerifyReport{Schema: "lab/model-verify/1", AllSame: true, Files: []modelVerifyFile{}}
	if len(names) == 0 {
		names = folder.Names()
	}
	for _, name := range names {
		if !slices.Contains(folder.Names(), name) {
			return nil, fault.Unknown("lab model verify", "model of the folder", name, folder.Names())
		}
	}
	for _, name := range names {
		e, found, err := folder.Find(name)
		if err != nil || !found {
			out.AllSame = false
			out.Damaged = append(out.Damaged, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		bar := &byteBars{p: newProgress(errOut), verb: "reading " + name}
		checked, err := folder.Verify(ctx, e, bar.Step)
		bar.Done()
		if err != nil {
			return nil, err
		}
		for _, c := range checked {
			out.AllSame = out.AllSame && c.Status == "same"
			out.Files = append(out.Files, modelVerifyFile(c))
		}
	}
	return out, nil
}

func writeVerified(w io.Writer, r *modelVerifyReport) {
	if len(r.Files) == 0 && len(r.Damaged) == 0 {
		fmt.Fprintln(w, "the model folder is empty")
	}
	for _, f := range r.Files {
		switch f.Status {
		case "same":
			fmt.Fprintf(w, "same        %s  %s  %s\n", f.Name, f.Want, f.Path)
		case "changed":
			fmt.Fprintf(w, "changed     %s  %s\n            sha256 was %s\n            and is now %s\n", f.Name, f.Path, f.Want, f.Got)
		default:
			fmt.Fprintf(w, "%-10s  %s  %s: %s\n", f.Status, f.Name, f.Path, f.Why)
		}
	}
	for _, text := range r.Damaged {
		fmt.Fprintln(w, "damaged    ", text)
	}
}
