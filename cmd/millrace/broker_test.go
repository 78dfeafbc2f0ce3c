package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// runBroker runs `millrace broker` as main does and returns what it printed.
func runBroker(stdin string, args ...string) (string, error) {
	var out bytes.Buffer
	c := newBrokerCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	c.SetErr(io.Discard)
	err := c.Execute()
	return out.String(), err
}

// TestBrokerCommand drains a broker, has it stay, and takes brokers out; nothing is lost without a yes.
func TestBrokerCommand(t *testing.T) {
	addr := control(t)
	for _, line := range []string{"CREATE_BROKER 127.0.0.1 0", "CREATE_BROKER 127.0.0.1 0", "CREATE_BROKER 127.0.0.1 0", "CREATE_TOPIC orders 6"} {
		if _, err := runMain(t, "", "--addr", addr, line); err != nil {
			t.Fatal(line, err)
		}
	}
	tests := []struct {
		stdin, args string
		out, err    string // a part of what is printed, and of the error
	}{
		{"", "drain 2", "broker 2 is drained", ""},
		{"", "drain 2 --cancel", "broker 2 stays", ""},
		{"", "drain 9", "", "broker"},
		{"", "remove 2", "broker 2 is removed", ""},
		{"", "remove 2", "", "broker"},
		{"n\n", "remove 3 --now", "only copies of 3 partitions", "nothing was done"},
		{"", "remove 3 --now", "What is listed is lost", "nothing was done"},
		{"yes\n", "remove 3 --now", "broker 3 is removed", ""},
		{"", "remove 1 --now --yes", "broker 1 is removed", ""},
	}
	for _, test := range tests {
		out, err := runBroker(test.stdin, append(strings.Fields(test.args), "--addr", addr)...)
		if !strings.Contains(out, test.out) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: printed %q, error %v; want %q, %q", test.args, out, err, test.out, test.err)
		}
	}
	for _, args := range []string{"drain", "drain x", "remove 1 2", "drain -1"} {
		var usage *usageError
		if _, err := runBroker("", strings.Fields(args)...); err == nil || args != "drain -1" && !errors.As(err, &usage) {
			t.Errorf("%s: error %v", args, err)
		}
	}
}
