package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What can be changed while the server runs. The settings come from the cluster's metadata: those of all brokers, and those of
// one. Kafka lets any name that it doesn't know be set, for plugins; such names are kept and shown here, too, and do nothing.

// dynamicIgnored are those of the names without effect that Kafka lets change at run time. Its tools set some of them:
// kafka-reassign-partitions.sh the rates. A * stands for anything.
const dynamicIgnored = `
	num.io.threads num.network.threads num.recovery.threads.per.data.dir num.replica.fetchers background.threads
	log.cleaner.threads log.cleaner.io.* log.cleaner.dedupe.buffer.size log.cleaner.backoff.ms
	leader.replication.throttled.rate follower.replication.throttled.rate replica.alter.log.dirs.io.max.bytes.per.second
	max.connection.creation.rate max.connections.per.ip.overrides metric.reporters cordoned.log.dirs
	transaction.partition.verification.enable remote.* follower.fetch.last.tiered.offset.enable listener.name.*`

// ValidateDynamic judges settings that are to hold for one broker, or for all that have none of their own. The texts are
// Kafka's.
func (c *Config) ValidateDynamic(configs map[string]string, oneBroker bool) error {
	var fixed, own []string
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		switch key := brokerKeys[name]; {
		case key == nil:
			if _, ignored := ignoredName(name); ignored && !matches(name, dynamicIgnored) {
				fixed = append(fixed, name)
			}
		case key.Update == ReadOnly:
			fixed = append(fixed, name)
		case key.Update == PerBroker:
			own = append(own, name)
		}
	}
	if len(fixed) > 0 {
		return fmt.Errorf("Cannot update these configs dynamically: [%s]", strings.Join(fixed, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		if key := brokerKeys[name]; key != nil {
			if _, bad := key.check(configs[name]); bad != nil {
				return errors.New(key.complain(configs[name], bad))
			}
		}
	}
	if len(own) > 0 && !oneBroker {
		return fmt.Errorf("Cannot update these configs at default cluster level, broker id must be specified: [%s]", strings.Join(own, ", "))
	}
	if len(own) > 0 { // Kafka could; to accept them and go on listening where we did would be a lie
		return fmt.Errorf("Cannot update these configs dynamically, they are read at start: [%s]", strings.Join(own, ", "))
	}
	_, err := c.Overlay(configs, nil)
	return err
}

// matches tells whether a name is one of a list's; a * at the end of one stands for anything.
func matches(name, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return p == name || open && strings.HasPrefix(name, prefix)
	})
}

// Overlay returns the snapshot with what was set at run time: for all brokers, and for this one. What can't be set at run time is
// passed over. The error says which settings contradict each other.
func (c *Config) Overlay(common, own map[string]string) (*Config, error) {
	if len(common) == 0 && len(own) == 0 {
		return c, nil
	}
	next := &Config{settings: maps.Clone(c.settings)}
	for source, configs := range map[Source]map[string]string{DynamicDefaultBroker: common, DynamicBroker: own} {
		for name, value := range configs {
			if key := brokerKeys[name]; key == nil || key.Update == ClusterWide {
				next.set(name, setting{value, source, source.String()})
			}
		}
	}
	if err := next.resolve(); err != nil {
		return nil, err
	}
	return next, nil
}

// DescribeDynamic returns the settings of all brokers, as an entry each: what DescribeConfigs answers for the broker without a name.
func DescribeDynamic(common map[string]string) []Entry {
	all := make([]Entry, 0, len(common))
	for _, name := range slices.Sorted(maps.Keys(common)) {
		e := Entry{Name: name, ReadOnly: true, Sensitive: true}
		if k := brokerKeys[name]; k != nil {
			e = entry(k)
			e.Value = printed(k, common[name], false)
		}
		e.Source = DynamicDefaultBroker
		e.Synonyms = []Synonym{{name, e.Value, e.Source}}
		all = append(all, e)
	}
	return all
}

// describeUnknown is an entry of a name that has no row: whether its value is a secret nobody knows.
func (c *Config) describeUnknown(name string) Entry {
	e := Entry{Name: name, ReadOnly: true, Sensitive: true, Source: c.settings[name][0].source}
	for _, s := range c.settings[name] {
		e.Synonyms = append(e.Synonyms, Synonym{Name: name, Source: s.source})
	}
	return e
}

// TopicList is what a topic config that is a list is without an override; false: it is no list, or there is none of that name.
func (c *Config) TopicList(name string) (text string, list bool) {
	k := topicKeys[name]
	if k == nil || k.Type != List {
		return "", false
	}
	return c.topicDefault(k), true
}

// BrokerList is TopicList for a broker config.
func (c *Config) BrokerList(name string) (text string, list bool) {
	k := brokerKeys[name]
	if k == nil || k.Type != List {
		return "", false
	}
	text, _ = c.lookup(k)
	return text, true
}
