package config

import "testing"

func TestValidateDynamic(t *testing.T) {
	c := Default()
	for _, test := range []struct {
		name, value string
		one, all    string // what is wrong with it for one broker, and for all; "": nothing
	}{
		{"log.retention.ms", "1000", "", ""},
		{"log.retention.ms", "x", "Invalid value x for configuration log.retention.ms: Not a number of type LONG",
			"Invalid value x for configuration log.retention.ms: Not a number of type LONG"},
		{"num.partitions", "3", "Cannot update these configs dynamically: [num.partitions]", "Cannot update these configs dynamically: [num.partitions]"},
		{"process.roles", "broker", "Cannot update these configs dynamically: [process.roles]", "Cannot update these configs dynamically: [process.roles]"},
		{"listeners", "PLAINTEXT://:1", "Cannot update these configs dynamically, they are read at start: [listeners]",
			"Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
		{"leader.replication.throttled.rate", "10", "", ""}, // kafka-reassign-partitions.sh sets it
		{"num.io.threads", "10", "", ""},
		{"a.plugins.own", "1", "", ""},
		{"log.cleaner.min.compaction.lag.ms", "9223372036854775807", "", ""},
	} {
		for one, want := range map[bool]string{true: test.one, false: test.all} {
			got := ""
			if err := c.ValidateDynamic(map[string]string{test.name: test.value}, one); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s=%s, one broker %v: %q, want %q", test.name, test.value, one, got, want)
			}
		}
	}
}

func TestOverlay(t *testing.T) {
	c, _, err := Load(Input{Overrides: []string{"log.retention.ms=1"}})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := c.Overlay(nil, nil); same != c || err != nil {
		t.Errorf("nothing set: %v, %v", same, err)
	}
	now, err := c.Overlay(map[string]string{"log.retention.ms": "2", "message.max.bytes": "100", "num.partitions": "9", "other": "x"},
		map[string]string{"log.retention.ms": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if d := now.TopicDefaults; d.RetentionMs != 3 || d.MaxMessageBytes != 100 || now.NumPartitions != 1 || c.TopicDefaults.RetentionMs != 1 {
		t.Errorf("%+v", d)
	}
	e, _ := now.DescribeTopic(nil, "retention.ms")
	if e.Source != DynamicBroker || *e.Value != "3" || len(e.Synonyms) < 3 || e.Synonyms[1].Source != DynamicDefaultBroker ||
		e.Synonyms[2].Source != StaticBroker {
		t.Errorf("%+v", e)
	}
	all := now.DescribeAll()
	if last := all[len(all)-1]; last.Name != "other" || !last.Sensitive || last.Value != nil || last.Source != DynamicDefaultBroker {
		t.Errorf("%+v", last)
	}
	common := DescribeDynamic(map[string]string{"log.retention.ms": " 2 ", "other": "x"})
	if len(common) != 2 || *common[0].Value != "2" || common[0].ReadOnly || common[1].Value != nil || common[1].Source != DynamicDefaultBroker {
		t.Errorf("%+v", common)
	}
	if _, err := c.Overlay(map[string]string{"log.cleaner.max.compaction.lag.ms": "5", "log.cleaner.min.compaction.lag.ms": "6"}, nil); err == nil {
		t.Error("a contradiction is accepted")
	}
}

func TestLists(t *testing.T) {
	c := Default()
	for _, test := range []struct {
		name        string
		topic       string
		list        bool
		broker      string
		listsBroker bool
	}{
		{"cleanup.policy", "delete", true, "", false},
		{"log.cleanup.policy", "", false, "delete", true},
		{"retention.ms", "", false, "", false},
		{"log.retention.ms", "", false, "", false},
		{"nope", "", false, "", false},
	} {
		if text, list := c.TopicList(test.name); text != test.topic || list != test.list {
			t.Errorf("topic config %s: %q, %v", test.name, text, list)
		}
		if text, list := c.BrokerList(test.name); text != test.broker || list != test.listsBroker {
			t.Errorf("broker config %s: %q, %v", test.name, text, list)
		}
	}
}
