package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Config is an immutable snapshot of all broker configs, resolved once. The exported fields are for the hot path: reading one is reading
// memory. Everything about where a value came from is in Describe.
//
// A Config and all that its fields point to may be shared by any number of goroutines; nobody writes to it after Load, Default or With
// has returned it.
type Config struct {
	// The broker itself.
	NodeID              int32  // −1: to be issued
	Rack                string // "" none
	Listeners           []Listener
	AdvertisedListeners []Listener // names are a subset of those in Listeners; empty: the address by which the client came
	ControlListener     string     // host:port as package net takes it; "" no control port
	HTTPListener        string     // host:port of the loopback; "" no HTTP

	// Topics.
	AutoCreateTopics         bool
	DeleteTopics             bool
	NumPartitions            int32
	DefaultReplicationFactor int16
	TopicDefaults            TopicConfig // what a topic without overrides gets

	// Connections.
	SocketRequestMaxBytes      int32
	SocketSendBufferBytes      int32 // −1: the system's
	SocketReceiveBufferBytes   int32 // −1: the system's
	ConnectionsMaxIdleMs       int64 // negative: for ever
	MaxConnections             int32 // per listener
	MaxConnectionsPerIP        int32 // per listener
	QueuedMaxRequestBytes      int64 // −1: up to the server
	ConnectionOutboundMaxBytes int64
	ControlLineMaxBytes        int32

	// Fetch.
	FetchMaxBytes        int32
	FetchSessionSlots    int32
	MaxRequestPartitions int32

	// Replication.
	ReplicaLagTimeMaxMs          int64
	ReplicaFetchWaitMaxMs        int32
	ReplicaFetchMaxBytes         int32 // of a partition
	ReplicaFetchResponseMaxBytes int32
	ReplicaFetchBackoffMs        int32

	ReplicaCatchupMaxBytesPerSecond int64 // of a broker; ≤ 0: no limit

	// Logs and producers.
	LogRetentionCheckIntervalMs int64
	ProducerIDExpirationMs      int32

	// Transactions.
	TransactionMaxTimeoutMs        int32
	TransactionalIDExpirationMs    int32
	TransactionExpiryCheckMs       int32
	TransactionsTopicNumPartitions int32
	TransactionsTopicSegmentBytes  int32

	// Groups and their offsets.
	GroupInitialRebalanceDelayMs int32
	GroupMinSessionTimeoutMs     int32
	GroupMaxSessionTimeoutMs     int32
	GroupMaxSize                 int32

	GroupConsumerSessionTimeoutMs       int32
	GroupConsumerMinSessionTimeoutMs    int32
	GroupConsumerMaxSessionTimeoutMs    int32
	GroupConsumerHeartbeatIntervalMs    int32
	GroupConsumerMinHeartbeatIntervalMs int32
	GroupConsumerMaxHeartbeatIntervalMs int32
	GroupConsumerMaxSize                int32
	GroupConsumerAssignors              []string // not empty

	OffsetsTopicNumPartitions       int32
	OffsetsTopicReplicationFactor   int16
	OffsetsTopicSegmentBytes        int32
	OffsetsRetentionMinutes         int32
	OffsetsRetentionCheckIntervalMs int64
	OffsetsCommitTimeoutMs          int32
	OffsetMetadataMaxBytes          int32

	// The cluster.
	Cluster                             Cluster
	BrokerSessionTimeoutMs              int32
	AutoLeaderRebalance                 bool
	LeaderImbalanceCheckIntervalSeconds int64
	ControlledShutdown                  bool
	DrainTimeoutMs                      int64

	// The process.
	MemoryMaxBytes int64
	MemoryTrimMs   int64
	Workers        int32 // per broker; 0: up to the broker
	Loops          int32 // 0: up to the server
	LogLevel       string
	LogFormat      string

	// What the fields above are made from, as it stands in the table.
	brokerID        int32
	listeners       []string
	advertised      []string
	controllerNames []string
	protocolMap     string
	controlListener string
	httpListener    string
	memoryMax       string
	clusterMembers  []string

	settings map[string][]setting // by name, the source that wins first; at most one of each source
}

// Source tells where a value comes from. The numbers are those of DescribeConfigs (config_source, KIP-226); a smaller one wins.
type Source int8

// The sources, the strongest first.
const (
	DynamicTopic         Source = 1
	DynamicBroker        Source = 2
	DynamicDefaultBroker Source = 3
	StaticBroker         Source = 4 // file, environment, command line
	DefaultValue         Source = 5
	DynamicBrokerLogger  Source = 6 // of a log level, which isn't in the table
)

// String is Kafka's name of the source.
func (s Source) String() string {
	names := [...]string{"UNKNOWN", "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG",
		"DYNAMIC_BROKER_LOGGER_CONFIG"}
	if s < 0 || int(s) >= len(names) {
		return names[0]
	}
	return names[s]
}

// setting is one value that somebody gave.
type setting struct {
	value  string
	source Source
	origin string // for messages: "server.properties:12"
}

// ValueError is a value that can't be used; the server must not start with it.
type ValueError struct {
	Origin   string // "server.properties:12", "environment KAFKA_NUM_PARTITIONS", "command line"
	Name     string
	Value    string
	Expected string
}

// Error is one line that says where, what and what else was expected.
func (e *ValueError) Error() string {
	value := e.Value
	if len(value) > 100 {
		value = value[:100] + "…"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' }) {
		value = strconv.Quote(value)
	}
	return fmt.Sprintf("%s: %s=%s: %s", e.Origin, e.Name, value, e.Expected)
}

// Default is the configuration that nobody changed.
func Default() *Config {
	c := &Config{}
	if err := c.resolve(); err != nil {
		panic("config: the defaults contradict each other: " + err.Error())
	}
	return c
}

// With returns a new snapshot with settings added (nil takes one away). From StaticBroker everything may be set: that is how the
// configuration of one broker of several is made (node.id, listeners). The dynamic sources are refused for read-only
// configs (errors are *ValueError, or several of them joined).
func (c *Config) With(source Source, changes map[string]*string) (*Config, error) {
	if source < DynamicBroker || source > StaticBroker {
		panic("config: With " + source.String())
	}
	next := &Config{settings: maps.Clone(c.settings)}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value := changes[name]
		key := brokerKeys[name]
		switch {
		case key == nil:
			problems = append(problems, &ValueError{source.String(), name, deref(value), "there is no such config" + didYouMean(name)})
		case source != StaticBroker && key.Update == ReadOnly,
			source == DynamicDefaultBroker && key.Update == PerBroker:
			problems = append(problems, &ValueError{source.String(), name, deref(value), "can't be changed this way, its update mode is " + key.Update.String()})
		case value == nil:
			next.unset(name, source)
		default:
			next.set(name, setting{*value, source, source.String()})
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if err := next.resolve(); err != nil {
		return nil, err
	}
	return next, nil
}

// IsSet tells whether somebody gave this broker config a value.
func (c *Config) IsSet(name string) bool { return len(c.settings[name]) > 0 }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// set puts s in its place; slices are shared between snapshots, so they are never written to.
func (c *Config) set(name string, s setting) {
	c.unset(name, s.source)
	list := append(slices.Clone(c.settings[name]), s)
	slices.SortFunc(list, func(a, b setting) int { return int(a.source) - int(b.source) })
	if c.settings == nil {
		c.settings = map[string][]setting{}
	}
	c.settings[name] = list
}

func (c *Config) unset(name string, source Source) {
	list := slices.DeleteFunc(slices.Clone(c.settings[name]), func(s setting) bool { return s.source == source })
	if len(list) == 0 {
		delete(c.settings, name)
		return
	}
	c.settings[name] = list
}

// lookup returns the text that is in force; null if there is none.
func (c *Config) lookup(k *Key) (text string, null bool) {
	if list := c.settings[k.Name]; len(list) > 0 {
		return list[0].value, false
	}
	return k.Default, k.Null
}

// resolve fills the fields from the settings. It reports every problem, not only the first, so that one start tells all.
func (c *Config) resolve() error {
	var problems []error
	for i := range brokerTable {
		k := &brokerTable[i]
		for _, s := range c.settings[k.Name] {
			if _, bad := k.check(s.value); bad != nil {
				problems = append(problems, &ValueError{s.origin, k.Name, s.value, "expected " + k.Accepts()})
			}
		}
		if text, null := c.lookup(k); k.field != nil && !null {
			if value, bad := k.check(text); bad == nil {
				assign(k.field(c), value)
			}
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return c.derive()
}

// problem is a ValueError about the value that is in force.
func (c *Config) problem(name, expected string) error {
	origin, value := "default", brokerKeys[name].Default
	if list := c.settings[name]; len(list) > 0 {
		origin, value = list[0].origin, list[0].value
	}
	return &ValueError{origin, name, value, expected}
}
