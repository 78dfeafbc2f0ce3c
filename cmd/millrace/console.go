package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/peterh/liner"
	"github.com/spf13/cobra"

	"millrace/config"
	"millrace/protocol/console"
)

// consoleFlags are the flags of `millrace console`.
type consoleFlags struct {
	addr string
	json bool
}

func newConsoleCommand() *cobra.Command {
	var f consoleFlags
	c := &cobra.Command{
		Use:   "console [command ...]",
		Short: "Command a server: brokers, topics, records, groups",
		Long: `Talk to the control port of a server. HELP lists the commands.

On a terminal it is interactive, with history and completion. With a command as arguments, or when standard input isn't a
terminal, it carries out what it is given, a command a line, and ends; its exit code is 1 if one was answered with ERR.

A single argument is a line as it would be typed at the prompt. Of several, each is one word, whatever is in it:

  millrace console 'PRODUCE orders key="a b" "hello world"'
  millrace console PRODUCE orders key='a b' 'hello world'`,
		RunE: func(c *cobra.Command, args []string) error { return runConsole(c, &f, args) },
	}
	c.Flags().StringVar(&f.addr, "addr", "127.0.0.1:9090", "`host:port` of the control port")
	c.Flags().BoolVar(&f.json, "json", false, "answers are JSON, an object a line")
	c.Flags().SetInterspersed(false) // CONSUME orders 0 -3: that is no flag
	return c
}

func runConsole(c *cobra.Command, f *consoleFlags, args []string) error {
	addr, err := controlAddr(f.addr)
	if err != nil {
		return &usageError{err}
	}
	s, err := dialConsole(addr, f.json, c.OutOrStdout())
	if err != nil {
		return err
	}
	defer s.close()
	interrupts := make(chan os.Signal, 1)
	if len(args) > 0 {
		signal.Notify(interrupts, os.Interrupt) // WATCH is asked to end, so that its last line still comes
		defer signal.Stop(interrupts)
		return s.once(commandLine(args), interrupts)
	}
	if _, err := liner.TerminalMode(); err == nil && c.InOrStdin() == os.Stdin && liner.TerminalSupported() {
		return s.interact(addr)
	}
	return s.batch(lineReader{bufio.NewReader(c.InOrStdin())})
}

// controlAddr fills in the port.
func controlAddr(text string) (string, error) {
	if !strings.Contains(text, ":") {
		text += ":9090"
	}
	host, port, err := config.ParseHostPort(text)
	if err != nil {
		return "", fmt.Errorf("--addr: %w", err)
	}
	return net.JoinHostPort(host, fmt.Sprint(port)), nil
}

// commandLine makes a line of arguments. The shell has taken their quotes away, so each is quoted again, except for what gives a word a
// meaning: the name before a =, and the word null.
func commandLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = quoteArgument(a)
	}
	return strings.Join(words, " ")
}

func quoteArgument(a string) string {
	if a == "null" {
		return a
	}
	name, value, found := strings.Cut(a, "=")
	if found && name != "" && console.Quote([]byte(name)) == name {
		return name + "=" + quoteArgument(value)
	}
	return console.Quote([]byte(a))
}

// session is a connection to the control port. One goroutine at a time reads answers.
type session struct {
	conn  net.Conn
	in    *bufio.Reader
	out   *bufio.Writer
	quiet bool // an ERR line isn't printed, the error that is returned says it
}

// errAnswered: a command was answered with ERR.
type errAnswered struct{ message string }

func (e *errAnswered) Error() string { return e.message }

func dialConsole(addr string, asJSON bool, out io.Writer) (*session, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, fmt.Errorf("no server at %s (%w); start one with: millrace server", addr, err)
	}
	s := &session{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), out: bufio.NewWriterSize(out, 64<<10)}
	if !asJSON {
		return s, nil
	}
	s.out.Reset(io.Discard)
	err = s.run("FORMAT json")
	s.out.Reset(out)
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() { _ = s.conn.Close() }

// send writes one line. Nothing in it may end it early.
func (s *session) send(line string) error {
	line = strings.NewReplacer("\n", " ", "\r", " ").Replace(line)
	_, err := io.WriteString(s.conn, line+"\n")
	return err
}

// run carries out one command and prints its answer; an *errAnswered is ERR.
func (s *session) run(line string) error {
	if silent(line) {
		return nil
	}
	if err := s.send(line); err != nil {
		return fmt.Errorf("the server is gone: %w", err)
	}
	return s.answer()
}

// silent tells a line that gets no answer.
func silent(line string) bool {
	c, err := console.Parse([]byte(line))
	return c == nil && err == nil
}

// answer prints lines until the answer ends. The blank that every line of a text answer begins with is for machines.
func (s *session) answer() error {
	for {
		line, err := s.in.ReadSlice('\n')
		full := err == nil
		if errors.Is(err, bufio.ErrBufferFull) {
			// A line longer than the buffer is a line of the body; its pieces are printed as they come.
			if err = s.rest(line); err == nil {
				continue
			}
		}
		if err != nil {
			_ = s.out.Flush()
			return fmt.Errorf("the server is gone: %w", err)
		}
		state := console.Body
		if full {
			state = console.Classify(line[:len(line)-1])
		}
		failure := state == console.Failure && line[0] != '{'
		if !failure || !s.quiet {
			_, _ = s.out.Write(trimBlank(line))
		}
		if state == console.Body {
			continue
		}
		if err := s.out.Flush(); err != nil {
			return err
		}
		switch state {
		case console.Success:
			return nil
		case console.Failure:
			return &errAnswered{reason(line)}
		}
	}
}

// reason is what the last line of a failed answer says.
func reason(line []byte) string {
	var failed struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(line, &failed) == nil {
		return failed.Error
	}
	return strings.TrimPrefix(strings.TrimSpace(string(line)), "ERR ")
}

// rest prints a long line: what was read of it, and all up to its end.
func (s *session) rest(line []byte) error {
	_, _ = s.out.Write(trimBlank(line))
	for {
		more, err := s.in.ReadSlice('\n')
		_, _ = s.out.Write(more)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func trimBlank(line []byte) []byte {
	if len(line) > 0 && line[0] == ' ' {
		return line[1:]
	}
	return line
}

// once carries out the one command of the arguments.
func (s *session) once(line string, interrupts <-chan os.Signal) error {
	if silent(line) {
		return nil
	}
	s.quiet = true
	if err := s.send(line); err != nil {
		return fmt.Errorf("the server is gone: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- s.answer() }()
	for {
		select {
		case err := <-done:
			return err
		case <-interrupts:
			if err := s.send(""); err != nil {
				return err
			}
		}
	}
}

// lines is where commands come from; io.EOF ends them.
type lines interface{ next() (string, error) }

// lineReader takes lines from a file or pipe.
type lineReader struct{ r *bufio.Reader }

func (l lineReader) next() (string, error) {
	line, err := l.r.ReadString('\n')
	if line != "" {
		return strings.TrimRight(line, "\r\n"), nil
	}
	return "", err
}

// batch carries out all lines and tells at the end how many failed: a script should see every problem, not the first.
func (s *session) batch(from lines) error {
	failed, total := 0, 0
	for {
		line, err := from.next()
		for err == nil && isWatch(line) {
			total++
			line, err = s.watch(line, from, nil)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if silent(line) {
			continue
		}
		total++
		if err := s.run(line); err != nil {
			if e := (*errAnswered)(nil); !errors.As(err, &e) {
				return err
			}
			failed++
		}
		if isQuit(line) {
			break
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d commands failed", failed, total)
	}
	return nil
}

// watch carries out WATCH until the next line comes in, which it returns; at the end of the lines it goes on until the server ends it.
func (s *session) watch(line string, from lines, interrupts <-chan os.Signal) (next string, err error) {
	if err := s.send(line); err != nil {
		return "", fmt.Errorf("the server is gone: %w", err)
	}
	type input struct {
		line string
		err  error
	}
	done, typed := make(chan error, 1), make(chan input, 1)
	go func() { done <- s.answer() }()
	go func() {
		line, err := from.next()
		typed <- input{line, err}
	}()
	var got input
	for {
		select {
		case err := <-done:
			if err == nil {
				err = got.err
			}
			return got.line, err
		case <-interrupts:
			err = s.send("")
		case got = <-typed:
			if got.err == nil {
				err = s.send("")
			}
		}
		if err != nil {
			return "", fmt.Errorf("the server is gone: %w", err)
		}
	}
}

func isWatch(line string) bool {
	c, _ := console.Parse([]byte(line))
	_, is := c.(console.Watch)
	return is
}

func isQuit(line string) bool {
	c, _ := console.Parse([]byte(line))
	_, is := c.(console.Quit)
	return is
}
