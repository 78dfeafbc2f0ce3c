package config

import (
	"os"
	"strings"
	"testing"
)

// kafkaRows reads testdata: what a real Apache Kafka answered.
func kafkaRows(t *testing.T, file string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
	}
	return rows
}

func shown(v *string) string {
	if v == nil {
		return "<null>"
	}
	return *v
}

// Every topic config of Kafka is known, with its type, default and the broker configs behind it; and none besides.
func TestTopicConfigsAreKafkas(t *testing.T) {
	c := Default()
	rows := kafkaRows(t, "testdata/kafka-4.4-topic.tsv")
	if len(rows) != len(topicTable) {
		t.Errorf("%d topic configs, Kafka has %d", len(topicTable), len(rows))
	}
	for _, r := range rows {
		e, ok := c.DescribeTopic(nil, r[0])
		if !ok {
			t.Errorf("%s is missing", r[0])
			continue
		}
		var synonyms []string
		for _, s := range e.Synonyms {
			synonyms = append(synonyms, s.Name)
		}
		if got := []string{e.Name, e.Type.String(), shown(e.Value), strings.Join(synonyms, ",")}; strings.Join(got, "|") != strings.Join(r, "|") {
			t.Errorf("got %q, Kafka has %q", got, r)
		}
		if e.ReadOnly || e.Source != DefaultValue || e.Doc == "" {
			t.Errorf("%s: %+v", r[0], e)
		}
	}
}

// Every broker config of Kafka is known: as a row with Kafka's type, default and update mode, or as a name without effect.
func TestBrokerConfigsAreKafkas(t *testing.T) {
	c := Default()
	ours := map[string]string{"node.id": "-1", "group.initial.rebalance.delay.ms": "0", "controller.listener.names": "<null>", "listeners": "PLAINTEXT://127.0.0.1:9092",
		"broker.session.timeout.ms": "6000", "leader.imbalance.check.interval.seconds": "5"}
	theirs := map[string]bool{}
	for _, r := range kafkaRows(t, "testdata/kafka-4.4-broker.tsv") {
		name := r[0]
		theirs[name] = true
		k := brokerKeys[name]
		if k == nil {
			if _, known := ignoredName(name); !known {
				t.Errorf("%s is neither in the table nor ignored", name)
			}
			continue
		}
		e, _ := c.Describe(name)
		want := r[2]
		if v, differs := ours[name]; differs {
			want = v
		}
		if e.Type.String() != r[1] || shown(e.Value) != want || e.ReadOnly != (r[3] == "read-only") {
			t.Errorf("%s: got %v %q read-only %v, Kafka has %q", name, e.Type, shown(e.Value), e.ReadOnly, r)
		}
	}
	for _, k := range brokerTable {
		if !theirs[k.Name] && !strings.HasPrefix(k.Name, "millrace.") && k.Name != "control.listener" && k.Name != "http.listener" &&
			k.Name != "replica.catchup.max.bytes.per.second" {
			t.Errorf("%s is no config of Kafka's", k.Name)
		}
	}
}

// Rows agree with themselves: defaults pass their own rule, and every row that has a field fills it.
func TestTable(t *testing.T) {
	var c Config
	var topic TopicConfig
	for _, table := range [][]Key{brokerTable, topicTable} {
		for i := range table {
			k := &table[i]
			if k.Doc == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s: the description isn't a sentence: %q", k.Name, k.Doc)
			}
			if k.Null != (k.Default == "" && k.Null) {
				t.Errorf("%s: null, and %q by default", k.Name, k.Default)
			}
			if k.Null {
				continue
			}
			value, bad := k.check(k.Default)
			if bad != nil {
				t.Errorf("%s: %q is refused: %s", k.Name, k.Default, bad.text)
				continue
			}
			if k.field != nil {
				assign(k.field(&c), value)
			}
			if k.topic != nil {
				assign(k.topic(&topic), value)
			}
		}
	}
	for _, k := range topicTable {
		for _, s := range k.from {
			if brokerKeys[s.name] == nil {
				t.Errorf("%s falls back on %s, which isn't there", k.Name, s.name)
			}
		}
	}
}
