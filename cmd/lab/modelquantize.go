package main

import "github.com/spf13/cobra"

func modelQuantizeCommand(s *settings) *cobra.Command {
	return &cobra.Command{Use: "quantize", Hidden: true}
}
