package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"millrace"
)

// feedCommands carries out a file of console commands, and then, if standard input is a terminal, what is typed there
// until ctx ends.
func feedCommands(ctx context.Context, s *millrace.Server, file string, out io.Writer) error {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := feedFile(s, f, out); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if isTerminal(os.Stdin) {
		// A read from a terminal can't be called off, so this goroutine ends with the process.
		go feedTerminal(ctx, s, os.Stdin, out)
	}
	return nil
}

// feedFile shows each command with its answer and stops at the first that fails.
func feedFile(s *millrace.Server, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		answer, ok := s.Command(lines.Text())
		if answer != "" {
			fmt.Fprintf(out, "> %s\n%s", lines.Text(), answer)
		}
		if !ok {
			return fmt.Errorf("line %d failed: %s", n, lines.Text())
		}
	}
	return lines.Err()
}

func feedTerminal(ctx context.Context, s *millrace.Server, in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for ctx.Err() == nil && lines.Scan() {
		answer, _ := s.Command(lines.Text())
		fmt.Fprint(out, answer)
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
