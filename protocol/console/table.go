package console

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/agnivade/levenshtein"
)

// definition is all that is known about a command.
type definition struct {
	name, arguments, doc string
	parse                func(*args) Command
}

func (d *definition) usage() string { return strings.TrimSpace(d.name + " " + d.arguments) }

// definitions in the order of HELP. Filled by init, since HELP's parser looks into it.
var definitions []definition

func init() {
	fixed := func(c Command) func(*args) Command { return func(*args) Command { return c } }
	definitions = []definition{
		{"CREATE_BROKER", "<IP> <Port>", "starts a broker that listens there (port 0: any free one) and answers its id", parseCreateBroker},
		{"REMOVE_BROKER", "<id> [now]", "stops a broker for good; its partitions move to the brokers left. now: at once, at the price of what ONLY_COPIES lists", parseRemoveBroker},
		{"KILL_BROKER", "<id>", "has a broker drop its RAM as a crash would, and answers what is lost; the cluster finds out by itself", parseKillBroker},
		{"START_BROKER", "<id>", "starts a broker again that was killed; it has to copy its partitions from the others", parseStartBroker},
		{"DRAIN", "<id> [cancel]", "moves what a broker leads, and what nobody else has, to other brokers, and answers when it is done; cancel: it stays", parseDrain},
		{"ONLY_COPIES", "<id>", "lists the partitions whose records are lost if a broker goes now", parseOnlyCopies},
		{"BROKERS", "", "lists the brokers", fixed(Brokers{})},
		{"CREATE_TOPIC", "<name> [partitions] [replication-factor] [key=value ...]", "creates a topic; key=value are topic configs such as retention.ms=60000", parseCreateTopic},
		{"DELETE_TOPIC", "<name>", "deletes a topic with its records", parseDeleteTopic},
		{"TOPICS", "", "lists the topics", fixed(Topics{})},
		{"DESCRIBE_TOPIC", "<name>", "shows a topic's partitions, leaders, offsets and configs", parseDescribeTopic},
		{"ELECT", "<topic> <partition> [preferred|unclean]", "makes the first replica the leader; unclean: any replica that is there, if nobody leads, at the price of the records", parseElect},
		{"REASSIGN", "<topic> <partition> <id,id,...|cancel>", "moves a partition to these brokers, the first of which is to lead", parseReassign},
		{"PRODUCE", "<topic> [partition=n] [key=k] [header=name=value] [timestamp=ms] <value>", "appends a record; without a partition the key decides, without a key they take turns; the word null is no value", parseProduce},
		{"CONSUME", "<topic> <partition> <offset|start|end|-n> [max]", "shows records that are there; what it prints can follow PRODUCE <topic>", parseConsume},
		{"GROUPS", "", "lists the consumer groups", fixed(Groups{})},
		{"LAG", "<group>", "shows how far a group is behind", parseLag},
		{"STATUS", "", "shows the server in figures", fixed(Status{})},
		{"WATCH", "[seconds]", "shows the cluster's state on each change and at least that often, until a line comes in", parseWatch},
		{"FORMAT", "<text|json>", "chooses how answers are written on this connection", parseFormat},
		{"HELP", "[command]", "explains the commands", parseHelp},
		{"QUIT", "", "ends the connection", fixed(Quit{})},
	}
}

// Info describes a command to clients, for completion.
type Info struct {
	Name, Usage, Doc string
	TakesTopic       bool // its first word is a topic's name
}

// Commands returns all commands in the order of HELP.
func Commands() []Info {
	all := make([]Info, len(definitions))
	for i := range definitions {
		d := &definitions[i]
		takesTopic := strings.HasPrefix(d.arguments, "<topic>") || d.name == "DELETE_TOPIC" || d.name == "DESCRIBE_TOPIC"
		all[i] = Info{d.name, d.usage(), d.doc, takesTopic}
	}
	return all
}

func lookup(name string) *definition {
	for i := range definitions {
		if definitions[i].name == name {
			return &definitions[i]
		}
	}
	return nil
}

// unknown says that there is no such command, and which one may have been meant.
func unknown(name string, rest []word) *UsageError {
	e := &UsageError{Message: fmt.Sprintf("there is no command %s", show(word{text: []byte(name)}))}
	if len(rest) > 0 {
		if d := lookup(name + "_" + canonical(string(rest[0].text))); d != nil {
			e.Message += fmt.Sprintf("; did you mean %s?", d.name)
			return e
		}
	}
	best, least := "", max(3, len(name)/2)
	for i := range definitions {
		known := definitions[i].name
		if len(name) > 2*len(known) {
			continue // much too long, and it comes from outside
		}
		if d := levenshtein.ComputeDistance(name, known); d < least {
			best, least = known, d
		}
	}
	if best == "" {
		e.Message += ", HELP lists all"
	} else {
		e.Message += fmt.Sprintf("; did you mean %s?", best)
	}
	return e
}

// hostName accepts an IP address or a host name and takes the brackets from an IPv6 address.
func hostName(text string) (string, bool) {
	host := text
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(host, ":") {
			return "", false
		}
	}
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		return host, err == nil && plain(a.Zone())
	}
	return host, host != "" && len(host) <= 253 && plain(host)
}

func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}
