package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"millrace"
)

// version is set by the build.
var version = "dev"

func main() {
	millrace.Version = version
	root := &cobra.Command{
		Use:           "millrace",
		Short:         "An event broker that speaks Kafka's protocol and keeps everything in RAM",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w\nTry '%s --help'", err, c.CommandPath())}
	})
	root.AddCommand(newServerCommand(), newConsoleCommand(), newBrokerCommand(), newDemoCommand(), newBenchCommand(), newVersionCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "millrace:", err)
		var usage *usageError
		if errors.As(err, &usage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is a mistake in the command's words.
type usageError struct{ error }

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "millrace %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS,
				runtime.GOARCH)
			return err
		},
	}
}
