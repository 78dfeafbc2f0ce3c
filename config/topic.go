package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// TopicConfig is what a partition needs to know of its topic's configs. It is a plain value: copy and compare it.
type TopicConfig struct {
	CleanupDelete  bool // retention applies
	CleanupCompact bool

	RetentionMs     int64 // −1: no limit
	RetentionBytes  int64 // of one partition; negative: no limit
	SegmentBytes    int32
	SegmentMs       int64
	MaxMessageBytes int32 // of a batch

	MaxDecompressedMessageBytes int32 // of a batch

	LogAppendTime        bool // message.timestamp.type; false is CreateTime
	TimestampBeforeMaxMs int64
	TimestampAfterMaxMs  int64

	MinInsyncReplicas     int32
	UncleanLeaderElection bool

	DeleteRetentionMs      int64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	MinCleanableDirtyRatio float64
}

// InvalidConfigError is a topic config that the protocol answers with INVALID_CONFIG; Message is worded as Kafka's.
type InvalidConfigError struct {
	Name    string
	Message string
}

func (e *InvalidConfigError) Error() string { return e.Message }

// Topic resolves a topic's overrides on top of the broker's configs. The error is an *InvalidConfigError; the result is good for use
// then as well: it lacks only the override at fault.
func (c *Config) Topic(overrides map[string]string) (TopicConfig, error) {
	t := c.TopicDefaults
	var first error
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		value, err := checkTopic(name, overrides[name])
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if k := topicKeys[name]; k.topic != nil {
			assign(k.topic(&t), value)
		}
	}
	if first == nil && t.MinCompactionLagMs > t.MaxCompactionLagMs {
		first = &InvalidConfigError{"min.compaction.lag.ms", fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)",
			t.MinCompactionLagMs, t.MaxCompactionLagMs)}
	}
	return t, first
}

// ValidateTopic checks overrides as CreateTopics carries them, where a value may be null. Names are looked at before values, as
// Kafka does. The error is an *InvalidConfigError.
func (c *Config) ValidateTopic(overrides map[string]*string) error {
	names := slices.Sorted(maps.Keys(overrides))
	for _, name := range names {
		if topicKeys[name] == nil {
			return &InvalidConfigError{name, "Unknown topic config name: " + name}
		}
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		if overrides[name] == nil {
			return &InvalidConfigError{name, "Null value not supported for topic configs: " + name}
		}
		values[name] = *overrides[name]
	}
	_, err := c.Topic(values)
	return err
}

func checkTopic(name, text string) (any, error) {
	k := topicKeys[name]
	if k == nil {
		return nil, &InvalidConfigError{name, "Unknown topic config name: " + name}
	}
	value, bad := k.check(text)
	if bad == nil {
		return value, nil
	}
	return nil, &InvalidConfigError{name, k.complain(text, bad)}
}

// complain is what Kafka says about a value.
func (k *Key) complain(text string, bad *complaint) string {
	if bad.alone {
		return bad.text
	}
	if bad.value != "" {
		text = bad.value
	}
	return "Invalid value " + text + " for configuration " + k.Name + ": " + bad.text
}

// topicDefaults resolves every topic config from the broker configs behind it.
func (c *Config) topicDefaults() (t TopicConfig) {
	for i := range topicTable {
		k := &topicTable[i]
		if k.topic == nil {
			continue
		}
		value, bad := k.check(c.topicDefault(k))
		if bad != nil {
			panic("config: the broker's value for " + k.Name + " isn't good for a topic: " + bad.text)
		}
		assign(k.topic(&t), value)
	}
	return t
}

// topicDefault is the text that a topic config has without an override: the first broker config that has a value, in the topic's unit.
func (c *Config) topicDefault(k *Key) string {
	for _, s := range k.from {
		text, null := c.lookup(brokerKeys[s.name])
		if null {
			continue
		}
		return s.convert(brokerKeys[s.name], text)
	}
	return k.Default
}

// convert prints a broker's value in the unit of the topic config.
func (s synonym) convert(k *Key, text string) string {
	value, bad := k.check(text)
	if bad != nil {
		return text
	}
	if s.factor == 1 {
		return format(value)
	}
	n := int64(number(value))
	if n < 0 {
		return "-1"
	}
	return strconv.FormatInt(n*s.factor, 10)
}

func cleanupPolicy(t *TopicConfig) any {
	return func(v any) {
		t.CleanupDelete = slices.Contains(v.([]string), "delete")
		t.CleanupCompact = slices.Contains(v.([]string), "compact")
	}
}

func timestampType(t *TopicConfig) any {
	return func(v any) { t.LogAppendTime = v.(string) == "LogAppendTime" }
}
