package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// newBrokerCommand is for operators: what it does, the console's commands do too.
func newBrokerCommand() *cobra.Command {
	c := &cobra.Command{Use: "broker", Short: "Take brokers out of the cluster"}
	var addr string
	c.PersistentFlags().StringVar(&addr, "addr", "127.0.0.1:9090", "`host:port` of the control port of a server of the cluster")

	var cancel bool
	drain := &cobra.Command{
		Use:   "drain <id>",
		Short: "Have others take over what a broker leads, and what only it has",
		Long: `Moves what a broker leads to others, and copies what nobody else has, while it goes on serving. It returns when that is done.
The broker takes nothing new until it starts again, or --cancel.`,
		Args: brokerID,
		RunE: func(c *cobra.Command, args []string) error {
			line := "DRAIN " + args[0]
			if cancel {
				line += " cancel"
			}
			return askOnce(c, addr, line)
		},
	}
	drain.Flags().BoolVar(&cancel, "cancel", false, "let it stay after all")

	var now, yes bool
	remove := &cobra.Command{
		Use:   "remove <id>",
		Short: "Take a broker out for good, after a drain",
		Long: `Drains a broker and takes it out of the cluster for good: its places go to others.

With --now it isn't drained. What nobody else has is lost then; it is listed, and you are asked, before anything happens.`,
		Args: brokerID,
		RunE: func(c *cobra.Command, args []string) error {
			if !now {
				return askOnce(c, addr, "REMOVE_BROKER "+args[0])
			}
			if !yes {
				if err := confirmLoss(c, addr, args[0]); err != nil {
					return err
				}
			}
			return askOnce(c, addr, "REMOVE_BROKER "+args[0]+" now")
		},
	}
	remove.Flags().BoolVar(&now, "now", false, "don't wait until others have what only it has")
	remove.Flags().BoolVar(&yes, "yes", false, "with --now: don't ask")
	c.AddCommand(drain, remove)
	return c
}

// brokerID is the one argument of these commands.
func brokerID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{errors.New("expected the id of a broker")}
	}
	if n, err := strconv.ParseInt(args[0], 10, 32); err != nil || n < 0 {
		return &usageError{fmt.Errorf("%q is no id of a broker", args[0])}
	}
	return nil
}

// askOnce has the server carry out a line, and shows the answer.
func askOnce(c *cobra.Command, addr, line string) error {
	addr, err := controlAddr(addr)
	if err != nil {
		return &usageError{err}
	}
	s, err := dialConsole(addr, false, c.OutOrStdout())
	if err != nil {
		return err
	}
	defer s.close()
	s.quiet = true
	return s.run(line)
}

// confirmLoss shows what is lost if the broker goes now, and asks.
func confirmLoss(c *cobra.Command, addr, id string) error {
	if err := askOnce(c, addr, "ONLY_COPIES "+id); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "Remove broker %s now? What is listed is lost. [y/N] ", id)
	answer, err := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
