package controller

import (
	"slices"
	"testing"

	"millrace/metadata"
)

// FuzzReplication: whatever leaders and administrators ask for, nothing panics, every spec has its answer, and what is
// granted fits the image and is sound. ids and lives make members, by position.
func FuzzReplication(f *testing.F) {
	f.Add(uint8(0), int32(0), int32(0), int32(0), []byte{1, 2, 3}, []byte{0, 0, 0}, int64(0), uint8(1))
	f.Add(uint8(0), int32(1), int32(0), int32(1), []byte{1, 1}, []byte{0, 7}, int64(-1), uint8(2))
	f.Add(uint8(1), int32(0), int32(0), int32(0), []byte{2, 4}, []byte{0}, int64(5), uint8(0))
	f.Add(uint8(2), int32(-1), int32(5), int32(-7), []byte{}, []byte{}, int64(1)<<62, uint8(255))
	f.Fuzz(func(t *testing.T, from uint8, index, leaderEpoch, partitionEpoch int32, ids, lives []byte, ceiling int64, what uint8) {
		p := Policy{MinInSyncReplicas: 2}.WithDefaults()
		img := cluster(4)
		created, _ := p.CreateTopics(img, []metadata.TopicSpec{{Name: "t", Partitions: 3, ReplicationFactor: 3}})
		img = img.Apply(created...)
		if what&1 != 0 {
			img = img.Apply(p.FenceBrokers(img, []metadata.Member{img.Broker(3).Member()})...)
		}
		topic := img.Topic("t")
		member := func(i int) metadata.Member {
			m := metadata.Member{Broker: int32(int8(ids[i]))}
			if b := img.Broker(m.Broker); b != nil && (i >= len(lives) || lives[i] == 0) {
				m = b.Member()
			}
			return m
		}
		alter := metadata.AlterPartitionSpec{
			Topic: topic.ID, Partition: index, LeaderEpoch: leaderEpoch, PartitionEpoch: partitionEpoch, OffsetCeiling: ceiling,
		}
		reassign := metadata.ReassignmentSpec{PartitionRef: metadata.PartitionRef{Topic: "t", Partition: index}}
		for i := range ids {
			alter.ISR = append(alter.ISR, member(i))
			reassign.Replicas = append(reassign.Replicas, member(i).Broker)
		}
		leader := metadata.Member{Broker: int32(from)}
		if b := img.Broker(leader.Broker); b != nil {
			leader = b.Member()
		}
		deltas, results := p.AlterPartitions(img, leader, []metadata.AlterPartitionSpec{alter, alter})
		if len(results) != 2 || results[1].Err == nil {
			t.Fatalf("results %+v", results)
		}
		img = soundAfter(t, img, deltas)
		deltas, answers := p.AlterReassignments(img, []metadata.ReassignmentSpec{reassign}, what&2 != 0)
		if len(answers) != 1 {
			t.Fatalf("answers %+v", answers)
		}
		img = soundAfter(t, img, deltas)
		deltas, _ = p.ElectLeaders(img, metadata.ElectionSpec{Type: metadata.ElectionType(what % 3), Partitions: []metadata.PartitionRef{reassign.PartitionRef}})
		soundAfter(t, img, deltas)
	})
}

func soundAfter(t *testing.T, img *metadata.Image, deltas []metadata.Delta) *metadata.Image {
	t.Helper()
	img.Transactions(deltas, 3)
	next := img.Apply(deltas...)
	for _, p := range next.Topic("t").Partitions {
		for _, m := range append(p.ISRMembers(), p.ELRMembers()...) {
			if !p.HasReplica(m.Broker) || next.Void(m) {
				t.Fatalf("%v is in %+v", m, p)
			}
		}
		if p.Leader != metadata.NoBroker && !slices.Contains(p.ISR, p.Leader) || p.OffsetCeiling < metadata.OffsetCeilingStep {
			t.Fatalf("it is %+v", p)
		}
	}
	return next
}
