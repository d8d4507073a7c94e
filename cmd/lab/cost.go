package main

import "github.com/spf13/cobra"

// costCommand groups what lab knows of the cost of training and inference.
func costCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "What inference costs: measured here, modelled anywhere",
		Args:  subcommandOnly,
		RunE:  showHelp,
	}
	cmd.AddCommand(costCalibrateCommand(s))
	return cmd
}
