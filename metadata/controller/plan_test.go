package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/metadata"
)

func cluster(brokers int) *metadata.Image {
	img := metadata.Empty()
	for id := range brokers {
		img = img.Apply(metadata.BrokerRegistered{Broker: &metadata.Broker{ID: int32(id + 1), Incarnation: uint64(id + 100)}})
	}
	return img
}

func spec(name string, partitions int32) metadata.TopicSpec {
	return metadata.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: 1}
}

// TestPlansArePure: a plan changes neither the image nor the command, and comes
// out the same again.
func TestPlansArePure(t *testing.T) {
	p := Policy{NewTopicID: func() metadata.TopicID { return metadata.TopicID{1} }}.WithDefaults()
	value := "1"
	specs := []metadata.TopicSpec{
		{Name: "a", Partitions: -1, ReplicationFactor: -1, Assignment: []metadata.ReplicaAssignment{{Partition: 0, Replicas: []int32{2}}}},
		{Name: "b", Partitions: 3, ReplicationFactor: 1, Configs: map[string]*string{"x": &value}},
	}
	img := cluster(3)
	deltas, results := p.CreateTopics(img, specs)
	specs[0].Assignment[0].Replicas[0] = 9 // what the caller does with it afterwards is his business
	if got := results[0].Topic.Partitions[0].Leader; got != 2 || results[0].Topic.Partitions[0].Replicas[0] != 2 {
		t.Error("the plan holds on to the command")
	}
	specs[0].Assignment[0].Replicas[0] = 2
	again, _ := p.CreateTopics(img, specs)
	if diff := cmp.Diff(deltas, again); diff != "" {
		t.Errorf("the second plan is another (-first +second):\n%s", diff)
	}
	if img.TopicCount() != 0 {
		t.Error("the plan has changed the image")
	}

	img = img.Apply(deltas...)
	first, err := p.RemoveBroker(img, 2)
	second, _ := p.RemoveBroker(img, 2)
	if diff := cmp.Diff(first, second); diff != "" || err != nil {
		t.Errorf("%v, or the second plan is another:\n%s", err, diff)
	}
	if img.Topic("a").Partitions[0].Leader != 2 || len(img.Brokers()) != 3 {
		t.Error("the plan has changed the image")
	}
}

// TestBalance: whatever the sizes of topics, no broker leads two partitions
// more than another.
func TestBalance(t *testing.T) {
	p := Policy{}.WithDefaults()
	for _, brokers := range []int{1, 2, 3, 7} {
		img := cluster(brokers)
		for i, n := range []int32{1, 1, 1, 5, 2, 100, 7, 1, 3} {
			deltas, _ := p.CreateTopics(img, []metadata.TopicSpec{spec(fmt.Sprint(i), n)})
			img = img.Apply(deltas...)
			checkBalance(t, img, brokers)
		}
	}
}

func checkBalance(t *testing.T, img *metadata.Image, brokers int) {
	t.Helper()
	leads := make(map[int32]int)
	for _, topic := range img.Topics() {
		for _, p := range topic.Partitions {
			leads[p.Leader]++
		}
	}
	low, high := img.PartitionCount(), 0
	for id := range int32(brokers) {
		low, high = min(low, leads[id+1]), max(high, leads[id+1])
	}
	if high-low > 1 || leads[metadata.NoBroker] != 0 {
		t.Errorf("%d brokers lead %v", brokers, leads)
	}
}

// TestReplicationFactorMax: what is beyond it is refused however many brokers there
// are, also by hand and as the default. By default the brokers are the limit.
func TestReplicationFactorMax(t *testing.T) {
	byHand := metadata.TopicSpec{
		Name: "a", Partitions: -1, ReplicationFactor: -1, Assignment: []metadata.ReplicaAssignment{{Partition: 0, Replicas: []int32{1, 2}}},
	}
	tests := []struct {
		policy Policy
		spec   metadata.TopicSpec
		want   error
	}{
		{Policy{}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 1}, nil},
		{Policy{}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 5}, nil},
		{Policy{}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 6}, metadata.ErrInvalidReplicationFactor},
		{Policy{}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 32767}, metadata.ErrInvalidReplicationFactor},
		{Policy{}, byHand, nil},
		{Policy{ReplicationFactor: 3}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: -1}, nil},
		{Policy{ReplicationFactorMax: 1}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 1}, nil},
		{Policy{ReplicationFactorMax: 1}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: 2}, metadata.ErrInvalidReplicationFactor},
		{Policy{ReplicationFactorMax: 1}, byHand, metadata.ErrInvalidReplicationFactor},
		{Policy{ReplicationFactorMax: 1, ReplicationFactor: 3}, metadata.TopicSpec{Name: "a", Partitions: 1, ReplicationFactor: -1}, metadata.ErrInvalidReplicationFactor},
	}
	for i, test := range tests {
		_, results := test.policy.WithDefaults().CreateTopics(cluster(5), []metadata.TopicSpec{test.spec})
		if kind := kindOf(results[0].Err); kind != test.want {
			t.Errorf("case %d: %v, want %v", i, kind, test.want)
		}
	}
}

func kindOf(err error) error {
	if e, ok := err.(*metadata.Error); ok {
		return e.Kind
	}
	return err
}

// TestValidateConfigsMayChooseTheKind of its error.
func TestValidateConfigsMayChooseTheKind(t *testing.T) {
	value := "x"
	for _, test := range []struct{ returned, want error }{
		{fmt.Errorf("nope"), metadata.ErrInvalidConfig},
		{metadata.Errorf(metadata.ErrPolicyViolation, "nope"), metadata.ErrPolicyViolation},
	} {
		p := Policy{ValidateConfigs: func(string, map[string]string) error { return test.returned }}.WithDefaults()
		s := spec("a", 1)
		s.Configs = map[string]*string{"x": &value}
		_, results := p.CreateTopics(cluster(1), []metadata.TopicSpec{s})
		if kindOf(results[0].Err) != test.want || results[0].Err.Error() != "nope" {
			t.Errorf("%v becomes %v", test.returned, results[0].Err)
		}
	}
}

// FuzzCreateTopics: whatever is asked for, there is one answer for each name, each
// topic that is created is sound, and the deltas fit the image.
func FuzzCreateTopics(f *testing.F) {
	f.Add("a,b,a", int32(1), int16(1), []byte{})
	f.Add("a.b,a_b", int32(-1), int16(-1), []byte{0, 1, 1, 2})
	f.Add("x", int32(-1), int16(-1), []byte{1, 1, 0, 2, 0, 2})
	f.Add("x,..,__cluster_metadata", int32(2147483647), int16(3), []byte{})
	f.Fuzz(func(t *testing.T, names string, partitions int32, factor int16, assignment []byte) {
		p := Policy{ReplicationFactorMax: 3}.WithDefaults()
		img := cluster(3)
		var specs []metadata.TopicSpec
		unique := make(map[string]bool)
		for name := range strings.SplitSeq(names, ",") {
			s := metadata.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: factor}
			for i := 0; i+1 < len(assignment); i += 2 {
				s.Assignment = append(s.Assignment, metadata.ReplicaAssignment{
					Partition: int32(int8(assignment[i])), Replicas: []int32{int32(int8(assignment[i+1]))},
				})
			}
			specs = append(specs, s)
			unique[name] = true
		}
		deltas, results := p.CreateTopics(img, specs)
		if len(results) != len(unique) {
			t.Fatalf("%d results for %d names", len(results), len(unique))
		}
		next := img.Apply(deltas...)
		created := 0
		for _, r := range results {
			if r.Err == nil {
				created++
				checkTopic(t, next, next.Topic(r.Name))
			} else if next.Topic(r.Name) != nil {
				t.Errorf("%q was refused and created: %v", r.Name, r.Err)
			}
		}
		if created != next.TopicCount() || next.PartitionCount() > p.PartitionsPerRequestMax {
			t.Errorf("%d topics with %d partitions, want %d", next.TopicCount(), next.PartitionCount(), created)
		}
	})
}

func checkTopic(t *testing.T, img *metadata.Image, topic *metadata.Topic) {
	t.Helper()
	if err := metadata.ValidateTopicName(topic.Name); err != nil || img.Colliding(topic.Name) != nil || len(topic.Partitions) == 0 {
		t.Errorf("topic %q with %d partitions was created", topic.Name, len(topic.Partitions))
	}
	for i := range topic.Partitions {
		p := &topic.Partitions[i]
		if len(p.Replicas) != len(topic.Partitions[0].Replicas) || p.Leader != p.Replicas[0] || img.Broker(p.Leader) == nil {
			t.Errorf("partition %d of %q: %+v", i, topic.Name, p)
		}
	}
}

func BenchmarkCreateTopic(b *testing.B) {
	p := Policy{}.WithDefaults()
	img := cluster(3)
	for _, n := range []int32{1, 10_000} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, results := p.CreateTopics(img, []metadata.TopicSpec{spec("a", n)}); results[0].Err != nil {
					b.Fatal(results[0].Err)
				}
			}
		})
	}
}
