package group

import (
	"bytes"
	"cmp"
	"slices"
)

// TopicID is a topic's 128-bit id (KIP-516).
type TopicID [16]byte

// TopicPartition is one partition, by its topic's id.
type TopicPartition struct {
	Topic TopicID
	Index int32
}

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	Topic      TopicID
	Partitions []int32
}

// partitions is a set: sorted, each once, never written into once it is made.
type partitions []TopicPartition

func comparePartitions(a, b TopicPartition) int {
	return cmp.Or(bytes.Compare(a.Topic[:], b.Topic[:]), cmp.Compare(a.Index, b.Index))
}

// partitionSet makes a set of what may be in any order, and takes the slice over.
func partitionSet(list []TopicPartition) partitions {
	slices.SortFunc(list, comparePartitions)
	return slices.Compact(list)
}

// flatten makes a set of what the wire and the log have by topic.
func flatten(topics []TopicPartitions) partitions {
	var all []TopicPartition
	for _, t := range topics {
		for _, p := range t.Partitions {
			all = append(all, TopicPartition{t.Topic, p})
		}
	}
	return partitionSet(all)
}

// byTopic is the way back; both levels are sorted.
func (s partitions) byTopic() (topics []TopicPartitions) {
	for i, p := range s {
		if i == 0 || s[i-1].Topic != p.Topic {
			topics = append(topics, TopicPartitions{Topic: p.Topic})
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, p.Index)
	}
	return topics
}

func (s partitions) has(p TopicPartition) bool {
	_, found := slices.BinarySearchFunc(s, p, comparePartitions)
	return found
}

// filter is the part of s that keep wants.
func (s partitions) filter(keep func(TopicPartition) bool) (kept partitions) {
	for _, p := range s {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

func (s partitions) intersect(o partitions) partitions { return s.filter(o.has) }

func (s partitions) minus(o partitions) partitions {
	return s.filter(func(p TopicPartition) bool { return !o.has(p) })
}

func (s partitions) union(o partitions) partitions { return partitionSet(slices.Concat(s, o)) }

func (s partitions) equal(o partitions) bool { return slices.Equal(s, o) }
