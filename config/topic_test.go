package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The texts are Apache Kafka 4.4's, except for what Millrace refuses on its own account.
func TestValidateTopic(t *testing.T) {
	const throttled = "leader.replication.throttled.replicas"
	for _, test := range []struct{ name, value, want string }{
		{"retention.ms", "1000", ""},
		{"retention.ms", " +5 ", ""},
		{"retention.ms", "-1", ""},
		{"retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "1_000", "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "0x10", "Invalid value 0x10 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "1.5", "Invalid value 1.5 for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"retention.bytes", "-5", ""},
		{"segment.bytes", "1", "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"},
		{"segment.bytes", "99999999999", "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"},
		{"max.message.bytes", "2147483648", "Invalid value 2147483648 for configuration max.message.bytes: Not a number of type INT"},
		{"foo.bar", "1", "Unknown topic config name: foo.bar"},
		{"", "x", "Unknown topic config name: "},
		{"message.format.version", "2.0", "Unknown topic config name: message.format.version"},
		{"cleanup.policy", "", ""},
		{"cleanup.policy", "compact, delete", ""},
		{"cleanup.policy", "delete,delete", ""},
		{"cleanup.policy", "xyz", "Invalid value xyz for configuration cleanup.policy: String must be one of: compact, delete"},
		{"cleanup.policy", ",", "Configuration 'cleanup.policy' values must not be empty."},
		{"min.cleanable.dirty.ratio", "1e-1", ""},
		{"min.cleanable.dirty.ratio", "1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio", "x", "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio", "NaN", "Invalid value NaN for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"compression.type", "producer", ""},
		{"compression.type", "zip", "Invalid value zip for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.type", "gzip", "Invalid value gzip for configuration compression.type: Only producer is supported: batches are stored as the producer compressed them, the broker never compresses"},
		{"compression.gzip.level", "10", "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"compression.zstd.level", "23", "Invalid value 23 for configuration compression.zstd.level: Value must be no more than 22"},
		{"message.timestamp.type", "create", "Invalid value create for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{"message.timestamp.type", "<null>", "Null value not supported for topic configs: message.timestamp.type"},
		{"unclean.leader.election.enable", "TRUE", ""},
		{"unclean.leader.election.enable", "yes", "Invalid value yes for configuration unclean.leader.election.enable: Expected value to be either true or false"},
		{"remote.storage.enable", "true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"remote.storage.enable", "false", ""},
		{throttled, "*", ""},
		{throttled, "0:1,1:2", ""},
		{throttled, "a", "Invalid value [a] for configuration " + throttled + ": " + throttled + " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{"max.compaction.lag.ms", "5", ""},
		{"flush.ms", "0", ""},
	} {
		value := &test.value
		if test.value == "<null>" {
			value = nil
		}
		got := ""
		if err := Default().ValidateTopic(map[string]*string{test.name: value}); err != nil {
			got = err.(*InvalidConfigError).Message
		}
		if got != test.want {
			t.Errorf("%s=%s:\n got %s\nwant %s", test.name, test.value, got, test.want)
		}
	}
}

// Unknown names come before bad values, and configs are held against each other.
func TestValidateTopicTogether(t *testing.T) {
	s := func(v string) *string { return &v }
	for _, test := range []struct {
		overrides map[string]*string
		want      string
	}{
		{map[string]*string{"foo": s("y"), "cleanup.policy": s("x")}, "Unknown topic config name: foo"},
		{map[string]*string{"min.compaction.lag.ms": s("10"), "max.compaction.lag.ms": s("5")}, "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"},
		{map[string]*string{"segment.bytes": s("1"), "retention.ms": s("x")}, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
	} {
		if err := Default().ValidateTopic(test.overrides); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestTopic(t *testing.T) {
	c, _, problem := load(t, "log.retention.minutes=2\nlog.roll.hours=3\nmessage.max.bytes=77\nlog.cleanup.policy=compact\nlog.message.timestamp.type=LogAppendTime", nil)
	if problem != "" {
		t.Fatal(problem)
	}
	want := Default().TopicDefaults
	want.RetentionMs, want.SegmentMs, want.MaxMessageBytes, want.CleanupDelete, want.CleanupCompact, want.LogAppendTime = 120_000, 10_800_000, 77, false, true, true
	if d := cmp.Diff(want, c.TopicDefaults); d != "" {
		t.Error(d)
	}
	got, err := c.Topic(map[string]string{"retention.ms": "5", "cleanup.policy": "", "message.timestamp.type": "CreateTime", "flush.ms": "1", "min.insync.replicas": "2"})
	if err != nil {
		t.Fatal(err)
	}
	want.RetentionMs, want.CleanupCompact, want.LogAppendTime, want.MinInsyncReplicas = 5, false, false, 2
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// A topic whose stored override is no longer good still gets the rest.
	if got, err = c.Topic(map[string]string{"retention.ms": "6", "segment.bytes": "x"}); err == nil || got.RetentionMs != 6 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRetentionSynonyms(t *testing.T) {
	for file, want := range map[string]int64{
		"":                        604_800_000,
		"log.retention.hours=-1":  -1,
		"log.retention.hours=1":   3_600_000,
		"log.retention.minutes=1": 60_000,
		"log.retention.ms=-1\nlog.retention.minutes=1\nlog.retention.hours=1": -1,
		"log.retention.minutes=2\nlog.retention.hours=1":                      120_000,
		"log.retention.hours=2147483647":                                      2147483647 * 3_600_000,
	} {
		c, _, problem := load(t, file, nil)
		if problem != "" || c.TopicDefaults.RetentionMs != want {
			t.Errorf("%q: %d %s, want %d", file, c.TopicDefaults.RetentionMs, problem, want)
		}
	}
}
