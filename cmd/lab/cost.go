package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"lab/core/cost/tables"
	"lab/core/fault"
)

// costFlags are those that every subcommand of lab cost has.
type costFlags struct {
	files []string // of --tables
	asOf  string
	now   func() time.Time
}

func costCommand(s *settings) *cobra.Command {
	c := &costFlags{now: time.Now}
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "What training and inference cost: facts, formulas, and the price of a useful answer",
		Long: `Computes with facts that have a date and a source: hardware, models, prices and
training runs. Some are shipped. Yours lie in files of the same form (docs/json.md,
` + tables.Schema + `): in .lab/cost-tables/*.json of the working folder, in
lab/cost-tables/*.json of your data folder, or named with --tables. Yours stand in
front of shipped ones of the same name, and every command says so.`,
		Args: subcommandOnly,
		RunE: showHelp,
	}
	f := cmd.PersistentFlags()
	f.StringArrayVar(&c.files, "tables", nil, "file with hardware, models, prices or training runs of your own; may be repeated, the last one wins")
	f.StringVar(&c.asOf, "as-of", "", `day for which prices are wanted, as "2026-01-31" (default today)`)
	cmd.AddCommand(costHardwareCommand(c), costModelsCommand(c), costPricesCommand(c), costVerifyCommand(), costEstimateCommand(c), costBreakevenCommand(c),
		costFrontierCommand(c), costFitCommand(), costYieldCommand(c), costCalibrateCommand(s))
	return cmd
}

// load reads the shipped tables and those of this user, the project and --tables.
func (c *costFlags) load() (*tables.Tables, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fault.Wrap(err, fault.Usage, "lab cost", "working folder")
	}
	sources := tables.Sources{Project: filepath.Join(cwd, tables.ProjectFolder), Files: c.files}
	if dir, err := tables.UserFolder(); err == nil { // without a home folder there are none
		sources.User = dir
	}
	return tables.Load(sources)
}

// day is the day for which prices are wanted.
func (c *costFlags) day() (tables.Date, error) {
	if c.asOf == "" {
		return tables.DateOf(c.now()), nil
	}
	if d := tables.Date(c.asOf); d.Valid() {
		return d, nil
	}
	return "", fault.New(fault.Usage, "lab cost", "", "--as-of %s is no day", fault.Quote(c.asOf, 40)).Fix(`write it as "2026-01-31"`)
}

// warn writes warnings to standard error; reports hold them too.
func warn(w io.Writer, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintln(w, "warning:", text)
	}
}

// atMostOne accepts nothing or one name.
func atMostOne(example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return fault.New(fault.Usage, cmd.CommandPath(), "", "it takes one name or none, and %d were given", len(args)).Fix("for example: %s", example)
	}
}
