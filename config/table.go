package config

import "fmt"

// Update tells who can set a config and when, in the words of Kafka's reference ("Update Mode").
type Update uint8

const (
	ReadOnly    Update = iota // at start only
	PerBroker                 // also at run time, for one broker
	ClusterWide               // also at run time, for one broker or as the default of all
	PerTopic                  // a topic config: when a topic is created, and at run time
)

// String is Kafka's name of the update mode.
func (u Update) String() string {
	return [...]string{"read-only", "per-broker", "cluster-wide", "topic"}[u]
}

// Effect tells what Millrace does with a config. Every name that is accepted has an effect or says that it has none.
type Effect uint8

const (
	Works    Effect = iota // does what its documentation says
	Planned                // belongs to something that isn't built yet; accepted, kept, listed, without effect
	NotInRAM               // is about disks, ZooKeeper, KRaft or the JVM; there is nothing here that it could change
)

// String is the word that the reference uses.
func (e Effect) String() string { return [...]string{"works", "no effect yet", "no effect in RAM"}[e] }

// Key is one row of the table: all that is known about a config.
type Key struct {
	Name    string
	Type    Type
	Default string // as it would stand in a properties file
	Null    bool   // there is no default; Kafka prints null
	Update  Update
	Effect  Effect
	Doc     string

	section string                   // a heading of the reference that starts here
	rule    *rule                    // nil: any value of the type
	field   func(c *Config) any      // pointer to where the value goes, or func(any); nil: nowhere
	topic   func(t *TopicConfig) any // likewise, for topic configs
	from    []synonym                // broker configs that a topic config falls back on, first set one wins
}

// synonym is a broker config that gives a topic config its default, and the factor between their units.
type synonym struct {
	name   string
	factor int64
}

// Accepts says in words which values are good.
func (k *Key) Accepts() string {
	switch {
	case k.rule == nil:
		return k.Type.expected()
	case k.Type == String || k.Type == List:
		return k.rule.text
	default:
		return k.Type.expected() + ", " + k.rule.text
	}
}

// check parses a text and holds it against the rule.
func (k *Key) check(text string) (any, *complaint) {
	value, c := k.Type.parse(text)
	if c == nil && k.rule != nil {
		c = k.rule.check(value)
	}
	return value, c
}

// assign puts a checked value where target points. A mismatch is a mistake in the table.
func assign(target, value any) {
	switch t := target.(type) {
	case *bool:
		*t = value.(bool)
	case *string:
		*t = value.(string)
	case *[]string:
		*t = value.([]string)
	case *float64:
		*t = value.(float64)
	case *int64:
		*t = value.(int64)
	case *int32:
		*t = value.(int32)
	case *int16:
		// Kafka gives some replication factors the type INT although the wire has 16 bits.
		if n, wide := value.(int32); wide {
			value = int16(n)
		}
		*t = value.(int16)
	case func(any):
		t(value)
	default:
		panic(fmt.Sprintf("config: a field of type %T", target))
	}
}

var (
	brokerKeys = index(brokerTable)
	topicKeys  = index(topicTable)
)

func index(table []Key) map[string]*Key {
	m := make(map[string]*Key, len(table))
	for i := range table {
		k := &table[i]
		if m[k.Name] != nil {
			panic("config: " + k.Name + " stands twice in the table")
		}
		m[k.Name] = k
	}
	return m
}

// Keys returns the broker configs in the order of the reference. The rows belong to the package.
func Keys() []Key { return brokerTable }

// TopicKeys returns the topic configs, likewise.
func TopicKeys() []Key { return topicTable }
