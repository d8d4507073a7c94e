package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lab/core/experiment"
	"lab/core/plugin/lock"
)

// trustReport is the JSON form of lab plugin trust; docs/json.md describes it.
type trustReport struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256"`
	Before  string `json:"before,omitempty"` // the digest trusted until now; empty: none was
	Changed bool   `json:"changed"`          // whether the digest is another than before
}

func pluginTrustCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{Use: "trust NAME", Short: "Accept a plugin whose files have changed", Long: `Record a plugin in lab.lock as it is now.

lab.lock lies in the working folder and lists the SHA-256 of every third-party
plugin that the project has used: of its executable, and of the folder with the
same name and .d that may lie beside it. A plugin is recorded when it is first
used. One whose files have changed since is not started any more (exit code 4)
until this command says that the change was meant.

What is built in, and what --plugin has just built, is not recorded.`,
		Args: oneArg("the name of a plugin", "lab plugin trust mine")}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.with(cmd, nil, func(ctx context.Context, session *experiment.Session) error {
			info, before, err := session.Host().Trust(ctx, args[0])
			if err != nil {
				return err
			}
			out := trustReport{Schema: "lab/plugin-trust/1", Name: info.Name, Path: info.Path, Version: info.Version, SHA256: info.SHA256,
				Before: before.SHA256, Changed: before.SHA256 != info.SHA256}
			if *asJSON {
				return writeJSON(cmd.OutOrStdout(), out)
			}
			fmt.Fprintln(cmd.OutOrStdout(), trustLine(out))
			return nil
		}, nil)
	}
	return cmd
}

func trustLine(t trustReport) string {
	switch {
	case !t.Changed:
		return fmt.Sprintf("%s %s is unchanged: %s lists SHA-256 %s already", t.Name, t.Version, lock.FileName, t.SHA256)
	case t.Before == "":
		return fmt.Sprintf("%s %s is trusted: SHA-256 %s", t.Name, t.Version, t.SHA256)
	}
	return fmt.Sprintf("%s %s is trusted: SHA-256 %s, until now %s", t.Name, t.Version, t.SHA256, t.Before)
}
