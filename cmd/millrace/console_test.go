package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"millrace"
	"millrace/config"
	"millrace/protocol/console"
)

// control starts a server with its control port and returns the port's address.
func control(t *testing.T) string {
	t.Helper()
	cfg, _, err := config.Load(config.Input{Overrides: []string{"control.listener=127.0.0.1:0", "millrace.memory.max=256MiB", "offsets.topic.num.partitions=2"}})
	if err != nil {
		t.Fatal(err)
	}
	ignore := goleak.IgnoreCurrent()
	s, err := millrace.Open(millrace.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, ignore)
	})
	addr, err := s.OpenControl()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// runMain runs the command as main does and returns what it printed.
func runMain(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := newConsoleCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	c.SetErr(io.Discard)
	err := c.Execute()
	return out.String(), err
}

func TestConsoleArguments(t *testing.T) {
	addr := control(t)
	for _, test := range []struct {
		args []string
		out  string // a prefix
		err  string
	}{
		{[]string{"CREATE_BROKER", "127.0.0.1", "0"}, "OK broker 1 ", ""},
		{[]string{"create_topic", "orders", "1"}, "OK topic orders has 1 partition", ""},
		{[]string{"CREATE_TOPIC", "orders"}, "", "orders"},
		{[]string{"PRODUCE", "orders", "key=a b", "hello  world"}, "OK topic=orders partition=0 offset=0 ", ""},
		{[]string{"CONSUME", "orders", "0", "-1"}, "partition=0 offset=0 timestamp=", ""},
		{[]string{`PRODUCE orders "from a line"`}, "OK topic=orders partition=0 offset=1 ", ""},
		{[]string{"CREATE_TOPC", "x"}, "", "there is no command CREATE_TOPC; did you mean CREATE_TOPIC?"},
		{[]string{"# nothing"}, "", ""},
	} {
		out, err := runMain(t, "", append([]string{"--addr", addr}, test.args...)...)
		if !strings.HasPrefix(out, test.out) || test.out == "" && out != "" {
			t.Errorf("%q: printed %q, want %q", test.args, out, test.out)
		}
		if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %v, want %s", test.args, err, test.err)
		}
	}
	out, err := runMain(t, "", "--addr", addr, "--json", "TOPIX")
	if err == nil || err.Error() != "there is no command TOPIX; did you mean TOPICS?" || !strings.HasPrefix(out, `{"ok":false,"error":"there is no command TOPIX`) {
		t.Errorf("%q, %v", out, err)
	}
}

// A script: what fails is told and doesn't stop the rest; text survives; WATCH ends at the next line, which is carried out.
func TestConsoleBatch(t *testing.T) {
	addr := control(t)
	long := strings.Repeat("x", 300_000)
	script := `CREATE_BROKER 127.0.0.1 0
CREATE_TOPIC t 1 retention.ms=-1

# a comment
NONSENSE
PRODUCE t key="열쇠 1" header=h="1 2" timestamp=5 'so "quoted"\n한국어'
PRODUCE t timestamp=6 ` + long + `
CONSUME t 0 start
WATCH 3600
DELETE_TOPIC t
QUIT
TOPICS
`
	out, err := runMain(t, script, "--addr", addr)
	if err == nil || err.Error() != "1 of 9 commands failed" {
		t.Errorf("%v", err)
	}
	for _, want := range []string{
		"OK broker 1 ", "\nERR there is no command NONSENSE", "\n" + `partition=0 offset=0 timestamp=5 key="열쇠 1" header=h="1 2" "so \"quoted\"\n한국어"` + "\n",
		"\npartition=0 offset=1 timestamp=6 " + long + "\n", "\nOK 2 records", "\nBROKER ", "\nMORE ", "\nOK",
	} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("%.80q isn't in\n%.2000s", want, out)
		}
	}
	if strings.Contains(out, "INTERNAL") {
		t.Error("went on after QUIT")
	}
}

func TestConsoleJSON(t *testing.T) {
	addr := control(t)
	out, err := runMain(t, "CREATE_BROKER 127.0.0.1 0\nCREATE_TOPIC t 2\nPRODUCE t partition=1 null\nCONSUME t 1 0\nSTATUS\nHELP\nWATCH\nLAG nobody", "--addr", addr, "--json")
	if err == nil || !strings.Contains(err.Error(), "1 of 8 commands failed") {
		t.Errorf("%v", err)
	}
	ends := 0
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s is no JSON", line)
		}
		if state := console.Classify([]byte(strings.TrimSpace(line))); state == console.Success || state == console.Failure {
			ends++
		}
	}
	if ends != 8 {
		t.Errorf("%d answers in\n%s", ends, out)
	}
}

func TestConsoleWithoutServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.WriteString(conn, " half an answer\n and no")
			_ = conn.Close()
		}
	}()
	out, err := runMain(t, "", "--addr", l.Addr().String(), "TOPICS")
	if err == nil || !strings.Contains(err.Error(), "the server is gone") || !strings.HasPrefix(out, "half an answer\n") {
		t.Errorf("%q, %v", out, err)
	}
	<-gone
	_ = l.Close()
	if _, err := runMain(t, "", "--addr", l.Addr().String(), "TOPICS"); err == nil || !strings.Contains(err.Error(), "start one with: millrace server") {
		t.Error(err)
	}
	if _, err := runMain(t, "", "--addr", "::1", "TOPICS"); err == nil || !strings.Contains(err.Error(), "brackets") {
		t.Error(err)
	}
}

func TestControlAddr(t *testing.T) {
	for text, want := range map[string]string{"localhost": "localhost:9090", ":1": ":1", "[::1]:2": "[::1]:2", "127.0.0.1:3": "127.0.0.1:3", "a:b": "", "::1": ""} {
		if got, err := controlAddr(text); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// A line made of arguments means what the arguments are.
func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{`PRODUCE t "a b"`}, `PRODUCE t "a b"`},
		{[]string{"PRODUCE", "t", "a b"}, `PRODUCE t "a b"`},
		{[]string{"PRODUCE", "t", "key=a b", "null"}, `PRODUCE t key="a b" null`},
		{[]string{"PRODUCE", "t", "header=n=x y", `"q"`}, `PRODUCE t header=n="x y" "\"q\""`},
		{[]string{"PRODUCE", "t", `a\nb`, ""}, `PRODUCE t "a\\nb" ""`},
		{[]string{"PRODUCE", "t", "=x", "a b=c"}, `PRODUCE t "=x" "a b=c"`},
		{[]string{"CONSUME", "t", "0", "-3"}, "CONSUME t 0 -3"},
	} {
		if got := commandLine(test.args); got != test.want {
			t.Errorf("%q: %s, want %s", test.args, got, test.want)
		}
	}
}

func TestHistory(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(name string) string { return m[name] } }
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/millrace/history"},
		{map[string]string{"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/millrace/history"},
		{map[string]string{"HOME": "/h"}, "/h/.local/state/millrace/history"},
		{nil, ""},
	} {
		if got := historyFile(env(test.env)); got != filepath.FromSlash(test.want) {
			t.Errorf("%v: %s", test.env, got)
		}
	}
	if got := savedHistory([]string{"TOPICS", "TOPICS", " produce t secret", "PRODUCE", "PRODUC t secret", "", "LAG g"}); got != "TOPICS\nLAG g\n" {
		t.Errorf("%q", got)
	}
	if got := savedHistory(nil); got != "" {
		t.Errorf("%q", got)
	}
	var many []string
	for i := range historyLines + 5 {
		many = append(many, fmt.Sprint("LAG ", i))
	}
	if got := savedHistory(many); strings.Count(got, "\n") != historyLines || !strings.HasPrefix(got, "LAG 5\n") {
		t.Errorf("%.50q", got)
	}
}

func TestCompletion(t *testing.T) {
	addr := control(t)
	if _, err := runMain(t, "CREATE_BROKER 127.0.0.1 0\nCREATE_TOPIC orders 1\nCREATE_TOPIC other 1", "--addr", addr); err != nil {
		t.Fatal(err)
	}
	c := &completer{addr: addr}
	for _, test := range []struct {
		line string
		pos  int
		want string // head|completions|tail
	}{
		{"cre", 3, "|CREATE_BROKER ,CREATE_TOPIC |"},
		{"HELP la", 7, "HELP |LAG |"},
		{"produce or", 10, "produce |orders |"},
		{"CONSUME o 0", 9, "CONSUME |orders ,other |0"},
		{"LAG x", 5, "LAG ||"},
		{"TOPICS x", 8, "TOPICS ||"},
		{"PRODUCE t x", 11, "PRODUCE t ||"},
	} {
		head, completions, tail := c.complete(test.line, test.pos)
		if got := head + "|" + strings.Join(completions, ",") + "|" + tail; got != test.want {
			t.Errorf("%q: %q, want %q", test.line, got, test.want)
		}
	}
	if names := (&completer{addr: "127.0.0.1:1"}).names("TOPICS", "topic"); names != nil {
		t.Errorf("%q from no server", names)
	}
}

// The manual names every command of the console.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../deploy/millrace.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range console.Commands() {
		if !strings.Contains(string(text), i.Name) {
			t.Errorf("%s isn't in the manual", i.Name)
		}
	}
}
