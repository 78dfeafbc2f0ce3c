package config

import (
	"fmt"
	"strings"
)

// Reference is the text of docs/config.md, made from the tables. A test holds the file against it.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Made from the tables in package config: change it there, then run: go test ./config -run Reference -update -->

` + "`millrace server --config server.properties`" + ` reads a file in the format of Kafka's own, with Kafka's names. Environment variables stand
above the file, names and values on the command line above both. A value that can't be used stops the start and says where it stands and
what was expected; a name that nobody knows is a warning.

**Environment.** ` + "`KAFKA_NUM_PARTITIONS`" + ` and ` + "`MILLRACE_NUM_PARTITIONS`" + ` both set ` + "`num.partitions`" + `; the second wins. The rules are those of the
apache/kafka image: after the prefix, lower case, ` + "`___`" + ` is -, ` + "`__`" + ` is _, ` + "`_`" + ` is a dot. Millrace's own names need their first part only once:
` + "`MILLRACE_MEMORY_MAX`" + ` is ` + "`millrace.memory.max`" + `. A variable without a value counts as not set.

**Update mode.** *read-only*: at start. *per-broker* and *cluster-wide*: can also be changed while the server runs, for one broker or for all;
the listeners are per-broker in Kafka, and read at start here.

**Effect.** Everything below works, unless its description begins with "No effect".

## Brokers
`)
	for i := range brokerTable {
		k := &brokerTable[i]
		if k.section != "" {
			fmt.Fprintf(&b, "\n### %s\n\n| name | type | default | accepts | update mode | |\n|---|---|---|---|---|---|\n", k.section)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Name, k.Type, k.defaultCell(), cell(k.Accepts()), k.Update, k.docCell())
	}
	b.WriteString(`
## Topics

Set when a topic is created or later, and in force at once; what isn't set comes from the broker config behind it, the first one that has a value.

| name | type | default | accepts | broker config | |
|---|---|---|---|---|---|
`)
	defaults := Default()
	for i := range topicTable {
		k := &topicTable[i]
		var from []string
		for _, s := range k.from {
			from = append(from, "`"+s.name+"`")
		}
		shown := *k
		shown.Default = defaults.topicDefault(k)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Name, k.Type, shown.defaultCell(), cell(k.Accepts()), strings.Join(from, ", "), k.docCell())
	}
	b.WriteString(`
## Names without effect

These are Kafka's too. They are accepted, so that a server.properties or a container written for Kafka starts Millrace, and listed at start.
A * stands for the rest of a name.

| why | names |
|---|---|
`)
	for _, g := range ignoredGroups {
		var names []string
		for _, n := range strings.Fields(g.names) {
			names = append(names, "`"+n+"`")
		}
		reason := g.reason
		if g.security {
			reason += "; a warning is logged"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", reason, strings.Join(names, ", "))
	}
	return b.String()
}

// cell is text that doesn't break a table of markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func (k *Key) defaultCell() string {
	switch {
	case k.Null:
		return "null"
	case k.Default == "":
		return "empty"
	}
	return "`" + k.Default + "`"
}

func (k *Key) docCell() string {
	doc := cell(k.Doc)
	switch k.Effect {
	case Planned:
		return "No effect yet. " + doc
	case NotInRAM:
		return "No effect in RAM. " + doc
	}
	return doc
}
