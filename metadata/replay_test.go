package metadata

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// replayed is an image with topic a (someID, two partitions, one setting) and
// broker 7, at revision 5.
func replayed(t *testing.T) *Image {
	t.Helper()
	img, deltas, err := Empty().Replay(Batch{Revision: 5, Events: []Event{
		{Key: partitionKey(someID, 1), Value: encodePartition(&somePartition), Revision: 5},
		{Key: configKey(someID), Value: encodeConfigs(map[string]string{"x": "1"}), Revision: 5},
		{Key: topicKey("a"), Value: encodeTopic(someID, []Partition{fresh(7), fresh(7)}), Revision: 5},
		{Key: brokerKey(7), Value: encodeBroker(someBroker), Revision: 5},
	}})
	if err != nil || len(deltas) != 2 { // the partition and the setting are a part of the creation
		t.Fatalf("deltas %v, error %v", deltas, err)
	}
	topic := deltas[1].(TopicCreated).Topic
	changed := somePartition
	changed.Revision = 5
	if img.Topic("a") != topic || topic.Configs["x"] != "1" || topic.ConfigRevision != 5 || !topic.Partitions[1].Equal(&changed) {
		t.Fatalf("created %+v", topic)
	}
	return img
}

func TestReplay(t *testing.T) {
	one, three := []Partition{fresh(7)}, []Partition{fresh(7), fresh(7), fresh(1)}
	reborn := *someBroker
	reborn.Incarnation++
	otherID := TopicID{9}
	tests := []struct {
		name   string
		event  Event
		deltas string // their types
		err    string // "": none
	}{
		{"longer", Event{Key: topicKey("a"), Value: encodeTopic(someID, three)}, "PartitionsAdded", ""},
		{"shorter", Event{Key: topicKey("a"), Value: encodeTopic(someID, one)}, "", "shrank from 2 partitions to 1"},
		{"deleted and made again", Event{Key: topicKey("a"), Value: encodeTopic(otherID, one)}, "TopicDeleted TopicCreated", ""},
		{"id of another topic", Event{Key: topicKey("b"), Value: encodeTopic(someID, one)}, "", `that of topic "a"`},
		{"deleted", Event{Key: topicKey("a"), Deleted: true}, "TopicDeleted", ""},
		{"deleted, but never there", Event{Key: topicKey("b"), Deleted: true}, "", ""},
		{"setting", Event{Key: configKey(someID), Value: encodeConfigs(nil)}, "ConfigChanged", ""},
		{"no settings", Event{Key: configKey(someID), Deleted: true}, "ConfigChanged", ""},
		{"settings of no topic", Event{Key: configKey(otherID), Value: encodeConfigs(nil)}, "", ""},
		{"settings of nonsense", Event{Key: dirConfigs + "x"}, "", "topic id"},
		{"malformed settings", Event{Key: configKey(someID)}, "", "malformed"},
		{"partition", Event{Key: partitionKey(someID, 0), Value: encodePartition(&somePartition)}, "PartitionChanged", ""},
		{"partition cleared", Event{Key: partitionKey(someID, 0), Deleted: true}, "", ""},
		{"partition out of range", Event{Key: partitionKey(someID, 2), Value: encodePartition(&somePartition)}, "", "has 2 partitions"},
		{"partition of no topic", Event{Key: partitionKey(otherID, 0), Value: encodePartition(&somePartition)}, "", ""},
		{"malformed partition", Event{Key: partitionKey(someID, 0)}, "", "malformed"},
		{"partition +1", Event{Key: partitionsDir(someID) + "+1"}, "", "not the key"},
		{"partition of nonsense", Event{Key: dirPartitions + "x/1"}, "", "not the key"},
		{"partition of nothing", Event{Key: dirPartitions + "x"}, "", "not the key"},
		{"broker changed", Event{Key: brokerKey(7), Value: encodeBroker(someBroker)}, "BrokerChanged", ""},
		{"broker reborn", Event{Key: brokerKey(7), Value: encodeBroker(&reborn)}, "BrokerRegistered", ""},
		{"broker removed", Event{Key: brokerKey(7), Value: encodeBrokerGone()}, "BrokerRemoved", ""},
		{"broker's lease over", Event{Key: brokerKey(7), Deleted: true}, "BrokerRemoved", ""},
		{"broker −1", Event{Key: dirBrokers + "-1"}, "", "not a broker id"},
		{"broker 01", Event{Key: dirBrokers + "01"}, "", "not a broker id"},
		{"malformed broker", Event{Key: brokerKey(7)}, "", "malformed"},
		{"broker heard of", Event{Key: aliveKey(7), Value: encodeAlive(5)}, "BrokerAlive", ""},
		{"broker not heard of", Event{Key: aliveKey(7), Deleted: true}, "BrokerSilent", ""},
		{"broker 01 heard of", Event{Key: dirAlive + "01", Value: encodeAlive(5)}, "", "not a broker id"},
		{"malformed life", Event{Key: aliveKey(7)}, "", "malformed"},
		{"controller", Event{Key: keyController, Value: encodeController("c", 1)}, "ControllerElected", ""},
		{"no controller", Event{Key: keyController, Deleted: true}, "ControllerResigned", ""},
		{"malformed controller", Event{Key: keyController}, "", "malformed"},
		{"cluster", Event{Key: keyCluster, Value: encodeCluster("c")}, "ClusterNamed", ""},
		{"no cluster", Event{Key: keyCluster, Deleted: true}, "", "cluster's id was deleted"},
		{"producer ids", Event{Key: keyProducerIDs, Value: encodeProducerIDs(1)}, "ProducerIDsAllocated", ""},
		{"no producer ids", Event{Key: keyProducerIDs, Deleted: true}, "", "counter was deleted"},
		{"of a later release", Event{Key: "acls/1", Value: []byte("?")}, "", ""},
	}
	for _, test := range tests {
		img := replayed(t)
		test.event.Revision = 6
		next, deltas, err := img.Replay(Batch{Revision: 7, Events: []Event{test.event}})
		var types []string
		for _, d := range deltas {
			types = append(types, strings.TrimPrefix(fmt.Sprintf("%T", d), "metadata."))
		}
		if got := strings.Join(types, " "); got != test.deltas {
			t.Errorf("%s: deltas %q, want %q", test.name, got, test.deltas)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.err)
		}
		if next.Revision() != 7 || img.Revision() != 5 || len(img.Topic("a").Partitions) != 2 {
			t.Errorf("%s: revision %d; or the image before has changed", test.name, next.Revision())
		}
	}
}

// TestTransactionsCompare: what a plan relies on is compared, once.
func TestTransactionsCompare(t *testing.T) {
	img := replayed(t).Apply(
		BrokerRegistered{&Broker{ID: 3, Revision: 4}}, BrokerRemoved{ID: 1, Revision: 2}, ControllerElected{Token: 1, Revision: 3},
	)
	partition := fresh(7, 3)
	changed := func(change func(*Partition)) Delta { // the replicas are 3, 1, 4, the ISR is 3, the ELR 1
		p := somePartition
		change(&p)
		return PartitionChanged{"a", someID, 1, p}
	}
	key := partitionKey(someID, 1) + "@5"
	tests := []struct {
		delta Delta
		want  string
	}{
		{ClusterNamed{"c"}, "cluster@0"},
		{ProducerIDsAllocated{Next: 1}, "producer-ids@0"},
		{BrokerRegistered{&Broker{ID: 2}}, "brokers/2@0"},
		{BrokerRegistered{&Broker{ID: 1}}, "brokers/1@2"},
		{BrokerChanged{&Broker{ID: 7}}, "brokers/7@5"},
		{BrokerRemoved{ID: 7}, "brokers/7@5"},
		{BrokerAlive{ID: 7, Incarnation: 1}, "brokers/7@5"},
		{BrokerSilent{ID: 7}, ""},
		{ControllerElected{Token: 2}, "controller@3"},
		{ControllerResigned{}, "controller@3"},
		{TopicCreated{&Topic{Name: "b", ID: TopicID{9}, Partitions: []Partition{partition, partition}}}, "topics/b@0 brokers/7@5 brokers/3@4"},
		{TopicDeleted{"a", someID}, "topics/a@5"},
		{PartitionsAdded{Name: "a", ID: someID, First: 2, Partitions: []Partition{partition}}, "topics/a@5 brokers/7@5 brokers/3@4"},
		{ConfigChanged{Name: "a", ID: someID}, "topics/a@5 " + configKey(someID) + "@5"},
		{ResourceConfigChanged{Resource: DefaultBroker, Configs: map[string]string{"a": "1"}}, "configs/brokers/default@0"},
		{ResourceConfigChanged{Resource: ConfigResource{ClientMetricsConfigs, "m"}}, "configs/client-metrics/m@0"},
		// A partition as created has no key of its own, so the topic's is compared.
		{PartitionChanged{"a", someID, 0, partition}, "topics/a@5 " + partitionKey(someID, 0) + "@0 brokers/3@4"},
		{changed(func(p *Partition) { p.ISR, p.ISRIncarnations, p.Leader = nil, nil, NoBroker }), key},
		{changed(func(p *Partition) { p.ISR, p.ISRIncarnations = []int32{3, 7}, []uint64{p.ISRIncarnations[0], 9} }), key + " brokers/7@5"},
		{changed(func(p *Partition) { p.ISRIncarnations = []uint64{9} }), key + " brokers/3@4"},
		{changed(func(p *Partition) { p.LeaderEpoch++ }), key + " brokers/3@4"},
		{changed(func(p *Partition) { p.Replicas = []int32{1, 3, 7} }), key + " brokers/7@5"},
		{changed(func(p *Partition) { p.Lose(); p.Leader, p.LeaderEpoch = 7, 301 }), key + " brokers/7@5 brokers/3@4 brokers/1@2"},
	}
	for _, test := range tests {
		var compares []string
		for _, c := range img.Transactions([]Delta{test.delta}, 0)[0].Compares {
			compares = append(compares, fmt.Sprintf("%s@%d", c.Key, c.Revision))
		}
		if got := strings.Join(compares, " "); got != test.want {
			t.Errorf("%T compares %q, want %q", test.delta, got, test.want)
		}
	}
}

// TestTransactionsAreCut between deltas, and each part compares what it needs.
func TestTransactionsAreCut(t *testing.T) {
	img := replayed(t)
	var deltas []Delta
	for i := range 5 {
		deltas = append(deltas, TopicCreated{&Topic{
			Name: fmt.Sprint(i), ID: TopicID{byte(i + 1)}, Partitions: []Partition{fresh(7)}, Configs: map[string]string{"x": "1"},
		}})
	}
	var sizes []string
	for _, txn := range img.Transactions(deltas, 5) {
		sizes = append(sizes, fmt.Sprintf("%d/%d", len(txn.Compares), len(txn.Ops)))
		if !slices.Contains(txn.Compares, Compare{brokerKey(7), 5}) {
			t.Errorf("%v doesn't compare the broker", txn.Compares)
		}
	}
	if got := strings.Join(sizes, " "); got != "3/4 3/4 2/2" {
		t.Errorf("compares/ops are %s", got)
	}
	if txns := img.Transactions(nil, 5); len(txns) != 0 {
		t.Errorf("no deltas make %v", txns)
	}
}

func TestDeltasOfUnknownTopicsAreNotStored(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("stored a change of a topic that isn't there")
		}
	}()
	Empty().Transactions([]Delta{TopicDeleted{"a", someID}}, 0)
}

func TestTypes(t *testing.T) {
	if e, ok := someBroker.Endpoint("X"); !ok || e.String() != "X://[::1]:65535" {
		t.Errorf("endpoint %v", e)
	}
	if _, ok := someBroker.Endpoint("x"); ok {
		t.Error("listener names are told apart by case")
	}
	topic := &Topic{Partitions: []Partition{somePartition}}
	if topic.ReplicationFactor() != 3 || (&Topic{}).ReplicationFactor() != 0 {
		t.Error("replication factor")
	}
	if !somePartition.HasReplica(1) || somePartition.HasReplica(2) {
		t.Error("HasReplica")
	}
}
