package metadata

import (
	"fmt"
	"slices"
	"testing"
)

// fresh is a partition as created, whose replicas are all in their life 9.
func fresh(replicas ...int32) Partition {
	lives := make([]uint64, len(replicas))
	for i := range lives {
		lives[i] = 9
	}
	return NewPartition(replicas, lives, 2)
}

func topicOf(name string, partitions int) *Topic {
	t := &Topic{Name: name, ID: NewTopicID(), Internal: IsInternal(name)}
	for range partitions {
		t.Partitions = append(t.Partitions, fresh(1))
	}
	return t
}

func TestEmptyImage(t *testing.T) {
	img := Empty()
	if img.Topic("a") != nil || img.TopicBytes([]byte("a")) != nil || img.TopicByID(someID) != nil || img.Broker(1) != nil ||
		img.Colliding("a.b") != nil || len(img.Topics()) != 0 || len(img.Brokers()) != 0 || img.TopicCount() != 0 ||
		img.ControllerID() != NoBroker || img.FreeBrokerID() != 1 || img.ProducerIDNext() != 0 || img.ClusterID() != "" {
		t.Error("the empty image isn't empty")
	}
}

func TestLookUps(t *testing.T) {
	a, b, in := topicOf("a", 1), topicOf("b.c", 2), topicOf(ConsumerOffsetsTopic, 50)
	img := Empty().Apply(TopicCreated{b}, TopicCreated{a}, TopicCreated{in})
	for _, topic := range []*Topic{a, b, in} {
		if img.Topic(topic.Name) != topic || img.TopicBytes([]byte(topic.Name)) != topic || img.TopicByID(topic.ID) != topic {
			t.Errorf("topic %s isn't found", topic.Name)
		}
	}
	if got := img.Topics(); !slices.Equal(got, []*Topic{in, a, b}) {
		t.Errorf("Topics() = %v", got)
	}
	if img.TopicCount() != 3 || img.PartitionCount() != 53 || img.Placed() != 53 {
		t.Errorf("%d topics, %d partitions", img.TopicCount(), img.PartitionCount())
	}
	gone := img.Apply(TopicDeleted{"b.c", b.ID})
	if gone.Topic("b.c") != nil || gone.TopicByID(b.ID) != nil || gone.TopicCount() != 2 || gone.PartitionCount() != 51 || gone.Placed() != 53 {
		t.Error("a deleted topic is found")
	}
	if img.Topic("b.c") != b || len(img.Topics()) != 3 {
		t.Error("the image before has changed")
	}
}

func TestColliding(t *testing.T) {
	tests := []struct{ has, name, want string }{
		{"a.b", "a_b", "a.b"}, {"a_b", "a.b", "a_b"}, {"a.b.c", "a_b.c", "a.b.c"}, {"_", ".", "_"},
		{"a.b", "a.b", ""}, {"a.b", "a-b", ""}, {"ab", "a.b", ""}, {"a.b", "ab", ""},
	}
	for _, test := range tests {
		topic := topicOf(test.has, 1)
		img := Empty().Apply(TopicCreated{topic})
		got := ""
		if c := img.Colliding(test.name); c != nil {
			got = c.Name
		}
		if got != test.want {
			t.Errorf("with %q, %q collides with %q, want %q", test.has, test.name, got, test.want)
		}
		if c := img.Apply(TopicDeleted{test.has, topic.ID}).Colliding(test.name); c != nil {
			t.Errorf("%q collides with %q, which was deleted", test.name, c.Name)
		}
	}
}

func TestFreeBrokerID(t *testing.T) {
	tests := []struct {
		has, had []int32
		want     int32
	}{
		{nil, nil, 1},
		{[]int32{1, 2, 3}, nil, 4},
		{[]int32{2, 3}, nil, 1},
		{[]int32{0, 1, 100}, nil, 2},
		{nil, []int32{1}, 2},
		{[]int32{1, 4}, []int32{2, 3}, 5},
		{[]int32{5}, []int32{0, 1, 2, 4}, 3},
	}
	for _, test := range tests {
		img := Empty()
		for _, id := range test.had {
			img = img.Apply(BrokerRegistered{&Broker{ID: id}}, BrokerRemoved{ID: id})
		}
		for _, id := range test.has {
			img = img.Apply(BrokerRegistered{&Broker{ID: id}})
		}
		if got := img.FreeBrokerID(); got != test.want {
			t.Errorf("with %v, and %v removed: FreeBrokerID() = %d, want %d", test.has, test.had, got, test.want)
		}
	}
}

func TestBrokers(t *testing.T) {
	img := Empty()
	for _, id := range []int32{3, 1, 2} {
		img = img.Apply(BrokerRegistered{&Broker{ID: id}})
	}
	var ids []int32
	for _, b := range img.Brokers() {
		ids = append(ids, b.ID)
	}
	if !slices.Equal(ids, []int32{1, 2, 3}) || img.ControllerID() != 1 || img.Broker(2).ID != 2 || img.Broker(4) != nil {
		t.Errorf("brokers %v, controller %d", ids, img.ControllerID())
	}
	back := img.Apply(BrokerRemoved{ID: 1})
	if back.ControllerID() != 2 || len(img.Brokers()) != 3 {
		t.Errorf("controller %d", back.ControllerID())
	}
	back = back.Apply(BrokerRegistered{&Broker{ID: 1}})
	if back.ControllerID() != 1 || len(back.removed) != 0 {
		t.Error("an id that an operator brought back is still noted as removed")
	}
}

// TestDeltasThatDoNotFit are programming errors.
func TestDeltasThatDoNotFit(t *testing.T) {
	a := topicOf("a", 2)
	img := Empty().Apply(TopicCreated{a})
	tests := []Delta{
		TopicCreated{topicOf("a", 1)},
		TopicDeleted{"x", someID},
		PartitionsAdded{Name: "a", ID: a.ID, First: 1, Partitions: a.Partitions},
		PartitionsAdded{Name: "x", ID: someID},
		PartitionChanged{Name: "a", ID: a.ID, Index: 2, Partition: a.Partitions[0]},
		PartitionChanged{Name: "a", ID: a.ID, Index: -1, Partition: a.Partitions[0]},
		PartitionChanged{Name: "x", ID: someID},
		ConfigChanged{Name: "x", ID: someID},
		nil,
	}
	for _, d := range tests {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%#v was applied", d)
				}
			}()
			img.Apply(d)
		}()
	}
}

// TestLookUpsAllocateNothing: produce and fetch do one for each partition.
func TestLookUpsAllocateNothing(t *testing.T) {
	img := manyTopics(1000).Apply(BrokerRegistered{someBroker})
	name := []byte("topic-with-a-rather-long-name-that-does-not-fit-on-a-stack-500")
	id := img.TopicBytes(name).ID
	var found *Topic
	if n := testing.AllocsPerRun(100, func() {
		found = img.TopicBytes(name)
		found = img.Topic(found.Name)
		found = img.TopicByID(id)
		if img.Broker(7) == nil || img.Colliding("nothing") != nil || img.ControllerID() != 7 {
			t.Error("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if found == nil || found.ID != id {
		t.Error("not found")
	}
}

func manyTopics(n int) *Image {
	deltas := make([]Delta, n)
	for i := range deltas {
		deltas[i] = TopicCreated{topicOf(fmt.Sprintf("topic-with-a-rather-long-name-that-does-not-fit-on-a-stack-%d", i), 1)}
	}
	return Empty().Apply(deltas...)
}

func BenchmarkTopicBytes(b *testing.B) {
	img := manyTopics(10_000)
	name := []byte("topic-with-a-rather-long-name-that-does-not-fit-on-a-stack-500")
	for b.Loop() {
		if img.TopicBytes(name) == nil {
			b.Fatal("not found")
		}
	}
}

// BenchmarkApply shows what one change costs beside many topics.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{0, 10_000, 100_000} {
		img := manyTopics(n)
		b.Run(fmt.Sprintf("create/beside=%d", n), func(b *testing.B) {
			topic := topicOf("one.more", 1)
			b.ReportAllocs()
			for b.Loop() {
				img.Apply(TopicCreated{topic})
			}
		})
	}
	for _, n := range []int{1, 10_000} {
		topic := topicOf("a", n)
		img := Empty().Apply(TopicCreated{topic})
		b.Run(fmt.Sprintf("partition/of=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				img.Apply(PartitionChanged{Name: "a", ID: topic.ID, Partition: topic.Partitions[0]})
			}
		})
	}
}
