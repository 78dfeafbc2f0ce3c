package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/peterh/liner"

	"millrace/protocol/console"
)

// interact is the console on a terminal.
func (s *session) interact(addr string) error {
	p := newPrompt(addr)
	defer p.close()
	fmt.Fprintf(s.out, "Millrace at %s. HELP lists the commands, Tab completes, Ctrl-D ends.\n", addr)
	_ = s.out.Flush()
	for {
		line, err := p.next()
		if errors.Is(err, liner.ErrPromptAborted) {
			continue
		}
		if errors.Is(err, io.EOF) {
			_, _ = s.out.WriteString("\n") // Ctrl-D leaves the shell's prompt behind ours
			return s.out.Flush()
		}
		if err != nil {
			return err
		}
		for err == nil && isWatch(line) {
			line, err = s.watch(line, watchLines{p}, nil)
		}
		if err == nil {
			err = s.run(line)
		}
		if e := (*errAnswered)(nil); err != nil && !errors.As(err, &e) {
			return err
		}
		if isQuit(line) {
			return nil
		}
	}
}

// prompt is the line editor with its history and completion.
type prompt struct {
	editor  *liner.State
	file    string // of the history, "" none
	history []string
}

func newPrompt(addr string) *prompt {
	p := &prompt{editor: liner.NewLiner(), file: historyFile(os.Getenv)}
	p.editor.SetCtrlCAborts(true)
	p.editor.SetTabCompletionStyle(liner.TabPrints)
	p.editor.SetWordCompleter((&completer{addr: addr}).complete)
	if text, err := os.ReadFile(p.file); err == nil {
		for line := range strings.Lines(string(text)) {
			p.remember(strings.TrimSpace(line))
		}
	}
	return p
}

func (p *prompt) remember(line string) {
	if strings.TrimSpace(line) != "" {
		p.editor.AppendHistory(line)
		p.history = append(p.history, line)
	}
}

func (p *prompt) next() (string, error) {
	line, err := p.editor.Prompt("millrace> ")
	p.remember(line)
	return line, err
}

// watchLines reads what is typed while WATCH prints: with an empty prompt, so that the editor draws nothing into the pictures until a key
// is hit. Ctrl-C and Ctrl-D end WATCH and not the console.
type watchLines struct{ p *prompt }

func (w watchLines) next() (string, error) {
	line, err := w.p.editor.Prompt("")
	if errors.Is(err, liner.ErrPromptAborted) || errors.Is(err, io.EOF) {
		return "", nil
	}
	w.p.remember(line)
	return line, err
}

// close saves the history. A console that can't is still a console.
func (p *prompt) close() {
	_ = p.editor.Close()
	if p.file == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return
	}
	_ = os.WriteFile(p.file, []byte(savedHistory(p.history)), 0o600)
}

// historyLines is how much of the history is kept.
const historyLines = 1000

// savedHistory leaves out PRODUCE, and what is no command (a PRODUCE mistyped): Millrace promises that no record reaches a disk, and a
// history file is on one.
func savedHistory(history []string) string {
	kept := slices.DeleteFunc(slices.Clone(history), func(line string) bool {
		c, err := console.Parse([]byte(line))
		_, produce := c.(console.Produce)
		return err != nil || c == nil || produce
	})
	kept = slices.Compact(kept)
	if len(kept) > historyLines {
		kept = kept[len(kept)-historyLines:]
	}
	if len(kept) == 0 {
		return ""
	}
	return strings.Join(kept, "\n") + "\n"
}

// historyFile follows the XDG base directories; "" if there is no home.
func historyFile(env func(string) string) string {
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification: relative paths are to be ignored
		if home := env("HOME"); home != "" {
			dir = filepath.Join(home, ".local", "state")
		} else {
			return ""
		}
	}
	return filepath.Join(dir, "millrace", "history")
}

// completer knows commands, and asks the server for names of topics and groups over a connection of its own.
type completer struct{ addr string }

// complete is a liner.WordCompleter.
func (c *completer) complete(line string, pos int) (head string, completions []string, tail string) {
	runes := []rune(line)
	before, tail := string(runes[:pos]), string(runes[pos:])
	start := strings.LastIndexAny(before, " \t") + 1
	head, word := before[:start], before[start:]
	earlier := strings.Fields(head)
	var candidates []string
	switch {
	case len(earlier) == 0 || len(earlier) == 1 && strings.EqualFold(earlier[0], "HELP"):
		for _, i := range console.Commands() {
			candidates = append(candidates, i.Name)
		}
		word = strings.ToUpper(word)
	case len(earlier) == 1 && strings.EqualFold(earlier[0], "LAG"):
		candidates = c.names("GROUPS", "group")
	case len(earlier) == 1 && takesTopic(earlier[0]):
		candidates = c.names("TOPICS", "topic")
	}
	for _, n := range candidates {
		if strings.HasPrefix(n, word) {
			completions = append(completions, n+" ")
		}
	}
	slices.Sort(completions)
	return head, completions, strings.TrimPrefix(tail, " ")
}

func takesTopic(command string) bool {
	return slices.ContainsFunc(console.Commands(), func(i console.Info) bool {
		return i.TakesTopic && strings.EqualFold(i.Name, command)
	})
}

// namesWait is how long Tab may hang.
const namesWait = 500 * time.Millisecond

// names lists what a command answers, one member of each row, quoted as the prompt wants it. A server that doesn't answer in time
// completes nothing.
func (c *completer) names(command, member string) (names []string) {
	var out bytes.Buffer
	s, err := dialConsole(c.addr, false, &out)
	if err != nil {
		return nil
	}
	defer s.close()
	_ = s.conn.SetDeadline(time.Now().Add(namesWait))
	if s.run("FORMAT json") != nil || s.run(command) != nil {
		return nil
	}
	for line := range bytes.Lines(out.Bytes()) {
		var row map[string]any
		if json.Unmarshal(line, &row) != nil {
			continue
		}
		if name, ok := row[member].(string); ok && name != "" {
			names = append(names, console.Quote([]byte(name)))
		}
	}
	return names
}
