package config

import (
	"fmt"
	"sort"
	"strings"
	"testing"
)

// line prints an entry for comparison: value source; synonyms.
func line(e Entry) string {
	s := fmt.Sprintf("%s %v;", shown(e.Value), e.Source)
	for _, y := range e.Synonyms {
		s += fmt.Sprintf(" %s=%s %d", y.Name, shown(y.Value), y.Source)
	}
	return s
}

func TestDescribeSources(t *testing.T) {
	s := func(v string) *string { return &v }
	c, _, problem := load(t, "log.retention.hours= 24\nauto.create.topics.enable=FALSE\nmin.insync.replicas=2\nmessage.max.bytes=7", nil)
	if problem != "" {
		t.Fatal(problem)
	}
	c, err := c.With(DynamicDefaultBroker, map[string]*string{"message.max.bytes": s("8"), "min.insync.replicas": s("3")})
	if err != nil {
		t.Fatal(err)
	}
	c, err = c.With(DynamicBroker, map[string]*string{"message.max.bytes": s("9")})
	if err != nil {
		t.Fatal(err)
	}
	if c.TopicDefaults.MaxMessageBytes != 9 || c.TopicDefaults.MinInsyncReplicas != 3 {
		t.Errorf("%+v", c.TopicDefaults)
	}
	for name, want := range map[string]string{
		"num.partitions":            "1 DEFAULT_CONFIG; num.partitions=1 5",
		"auto.create.topics.enable": "false STATIC_BROKER_CONFIG; auto.create.topics.enable=false 4 auto.create.topics.enable=true 5",
		"log.retention.ms":          "<null> DEFAULT_CONFIG;",
		"message.max.bytes":         "9 DYNAMIC_BROKER_CONFIG; message.max.bytes=9 2 message.max.bytes=8 3 message.max.bytes=7 4 message.max.bytes=1048588 5",
	} {
		if e, _ := c.Describe(name); line(e) != want {
			t.Errorf("%s:\n got %s\nwant %s", name, line(e), want)
		}
	}
	overrides := map[string]string{"segment.ms": " 5", "max.message.bytes": "6"}
	for name, want := range map[string]string{
		"retention.ms":        "86400000 STATIC_BROKER_CONFIG; log.retention.hours=24 4",
		"segment.ms":          "5 DYNAMIC_TOPIC_CONFIG; segment.ms=5 1",
		"max.message.bytes":   "6 DYNAMIC_TOPIC_CONFIG; max.message.bytes=6 1 message.max.bytes=9 2 message.max.bytes=8 3 message.max.bytes=7 4 message.max.bytes=1048588 5",
		"min.insync.replicas": "3 DYNAMIC_DEFAULT_BROKER_CONFIG; min.insync.replicas=3 3 min.insync.replicas=2 4 min.insync.replicas=1 5",
		"flush.ms":            "9223372036854775807 DEFAULT_CONFIG;",
		"preallocate":         "false DEFAULT_CONFIG; log.preallocate=false 5",
	} {
		if e, _ := c.DescribeTopic(overrides, name); line(e) != want {
			t.Errorf("%s:\n got %s\nwant %s", name, line(e), want)
		}
	}
	back, err := c.With(DynamicBroker, map[string]*string{"message.max.bytes": nil})
	if err != nil || back.TopicDefaults.MaxMessageBytes != 8 || c.TopicDefaults.MaxMessageBytes != 9 {
		t.Errorf("taking a value away: %v", err)
	}
}

func TestDescribeAll(t *testing.T) {
	c := Default()
	for _, all := range [][]Entry{c.DescribeAll(), c.DescribeTopicAll(nil)} {
		if !sort.SliceIsSorted(all, func(i, j int) bool { return all[i].Name < all[j].Name }) || len(all) < 37 {
			t.Errorf("%d entries, or not sorted", len(all))
		}
	}
	if _, ok := c.Describe("retention.ms"); ok {
		t.Error("retention.ms is no broker config")
	}
	if _, ok := c.DescribeTopic(nil, "log.retention.ms"); ok {
		t.Error("log.retention.ms is no topic config")
	}
	if e, _ := c.DescribeTopic(nil, "flush.ms"); e.Doc != "There is no disk to flush to (no effect in RAM)." {
		t.Errorf("doc %q", e.Doc)
	}
}

func TestWithRefuses(t *testing.T) {
	s := "1"
	for _, test := range []struct {
		source Source
		name   string
		want   string
	}{
		{DynamicBroker, "num.partitions", "can't be changed this way, its update mode is read-only"},
		{DynamicDefaultBroker, "listeners", "can't be changed this way, its update mode is per-broker"},
		{DynamicBroker, "num.partition", "there is no such config; did you mean num.partitions?"},
		{StaticBroker, "listeners", `"1": expected NAME://host:port`},
		{DynamicBroker, "min.insync.replicas", ""},
	} {
		_, err := Default().With(test.source, map[string]*string{test.name: &s})
		if test.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %s: %v, want %s", test.source, test.name, err, test.want)
		}
	}
}

// A broker of its own, as CREATE_BROKER makes it.
func TestWithListener(t *testing.T) {
	id, listener := "7", "PLAINTEXT://[::1]:0"
	base, _, problem := load(t, "advertised.listeners=PLAINTEXT://example.com:9092", nil)
	if problem != "" {
		t.Fatal(problem)
	}
	c, err := base.With(StaticBroker, map[string]*string{"node.id": &id, "listeners": &listener, "advertised.listeners": nil})
	if err != nil {
		t.Fatal(err)
	}
	if c.NodeID != 7 || len(c.AdvertisedListeners) != 0 || c.Listeners[0].Addr() != "[::1]:0" || base.NodeID != -1 {
		t.Errorf("%+v", c)
	}
}

func TestFormatDouble(t *testing.T) {
	for f, want := range map[float64]string{0.5: "0.5", 1: "1.0", 0: "0.0", 1e-4: "1.0E-4", 12345678: "1.2345678E7", 1.7976931348623157e308: "1.7976931348623157E308", -0.25: "-0.25", 100: "100.0"} {
		if got := formatDouble(f); got != want {
			t.Errorf("%g: %s, want %s", f, got, want)
		}
	}
}
