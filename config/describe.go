package config

import (
	"maps"
	"slices"
	"strings"
)

// Entry is a config as DescribeConfigs answers it.
type Entry struct {
	Name      string
	Value     *string // nil: null. Printed as Kafka does
	Source    Source
	Type      Type
	ReadOnly  bool
	Sensitive bool // the value must not leave the broker; Value is nil then
	Doc       string
	Synonyms  []Synonym // all values that could be in force, the one that is first
}

// Synonym is a value from one source.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Describe looks a broker config up; false if there is none of that name.
func (c *Config) Describe(name string) (Entry, bool) {
	k := brokerKeys[name]
	if k == nil {
		return Entry{}, false
	}
	e := entry(k)
	e.ReadOnly = k.Update == ReadOnly
	e.Synonyms = c.synonyms(synonym{name, 1}, nil)
	text, null := c.lookup(k)
	e.inForce(k, text, null)
	return e, true
}

// DescribeAll returns every broker config, sorted by name, and then what was set at run time under names that nobody knows.
func (c *Config) DescribeAll() []Entry {
	all := make([]Entry, 0, len(brokerTable))
	for _, name := range slices.Sorted(maps.Keys(brokerKeys)) {
		e, _ := c.Describe(name)
		all = append(all, e)
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		if brokerKeys[name] == nil {
			all = append(all, c.describeUnknown(name))
		}
	}
	return all
}

// DescribeTopic looks a topic config up, for a topic with these overrides.
func (c *Config) DescribeTopic(overrides map[string]string, name string) (Entry, bool) {
	k := topicKeys[name]
	if k == nil {
		return Entry{}, false
	}
	e := entry(k)
	text, overridden := overrides[name]
	if overridden {
		e.Synonyms = append(e.Synonyms, Synonym{name, printed(k, text, false), DynamicTopic})
	} else {
		text = c.topicDefault(k)
	}
	for i, s := range k.from {
		// Kafka shows the default of the first broker config only: that of log.retention.hours never appears.
		if e.Synonyms = c.synonyms(s, e.Synonyms); i > 0 {
			e.Synonyms = slices.DeleteFunc(e.Synonyms, func(y Synonym) bool { return y.Name == s.name && y.Source == DefaultValue })
		}
	}
	slices.SortStableFunc(e.Synonyms, func(a, b Synonym) int { return int(a.Source) - int(b.Source) })
	e.inForce(k, text, false)
	return e, true
}

// DescribeTopicAll returns every topic config, sorted by name.
func (c *Config) DescribeTopicAll(overrides map[string]string) []Entry {
	all := make([]Entry, 0, len(topicTable))
	for _, name := range slices.Sorted(maps.Keys(topicKeys)) {
		e, _ := c.DescribeTopic(overrides, name)
		all = append(all, e)
	}
	return all
}

func entry(k *Key) Entry {
	doc := k.Doc
	if k.Effect != Works {
		doc = strings.TrimSuffix(doc, ".") + " (" + k.Effect.String() + ")."
	}
	return Entry{Name: k.Name, Type: k.Type, Sensitive: k.Type == Password, Source: DefaultValue, Doc: doc}
}

// inForce fills in the value, and the source that the strongest synonym has.
func (e *Entry) inForce(k *Key, text string, null bool) {
	if len(e.Synonyms) > 0 {
		e.Source = e.Synonyms[0].Source
	}
	e.Value = printed(k, text, null)
}

// synonyms appends all values of one broker config, the strongest first, then its default.
func (c *Config) synonyms(s synonym, to []Synonym) []Synonym {
	k := brokerKeys[s.name]
	for _, given := range c.settings[s.name] {
		to = append(to, Synonym{s.name, printed(k, given.value, false), given.source})
	}
	if !k.Null {
		to = append(to, Synonym{s.name, printed(k, k.Default, false), DefaultValue})
	}
	return to
}

// printed is a value in Kafka's spelling; nil for null and for what is secret.
func printed(k *Key, text string, null bool) *string {
	if null || k.Type == Password {
		return nil
	}
	if value, bad := k.check(text); bad == nil {
		text = format(value)
	}
	return &text
}
