package sim

import (
	"slices"
	"strings"

	"millrace/metadata"
)

// Bugs are mistakes that can be put in, one by one, to see whether the simulator notices. They are of what surrounds the
// machines; those of the machines themselves take the build tag mutants (package replica, rules_mutants.go).
type Bugs struct {
	LeaseIsIncarnation bool // a broker that restarts within its lease is taken for the one before
	EntriesRenewed     bool // R1: a new registration makes the old entries its own
	LastEntryStays     bool // R3: if it is the last of the ISR
	NoELR              bool
	LossKeepsBase      bool // R6
	RemovalKeepsEpoch  bool // a replica that is removed doesn't end the leader epoch
	StatesNotCompared  bool // transactions don't compare the partitions' keys
	LivesNotCompared   bool // nor the registrations
	PIDsReused         bool // R7: producer ids are not from the store
	BareSnapshots      bool // R7: snapshots say nothing of producers
	SequencesKept      bool // truncation takes back nothing of what is remembered of producers
	LeaveAtOnce        bool // R9: a broker that is to leave doesn't wait
	OffsetsEarly       bool // groups' offsets are acknowledged when they are written
	ServedUncommitted  bool // a coordinator serves what it has loaded before that is committed
	CutEarly           bool // a coordinator's log is cut before its content is committed anew
	CleanedUncommitted bool // compaction looks at what isn't committed
	UncommittedRead    bool // consumers read up to the log's end
}

// compares tells whether the store compares a key.
func (b *Bugs) compares(key string) bool {
	return !(b.StatesNotCompared && strings.HasPrefix(key, "partitions/") || b.LivesNotCompared && strings.HasPrefix(key, "brokers/"))
}

// mangle makes of a plan what a controller with the bug would have planned.
func (b *Bugs) mangle(img *metadata.Image, deltas []metadata.Delta) []metadata.Delta {
	if !(b.EntriesRenewed || b.LastEntryStays || b.NoELR || b.LossKeepsBase || b.RemovalKeepsEpoch) {
		return deltas
	}
	deltas = slices.Clone(deltas)
	for i, d := range deltas {
		switch d := d.(type) {
		case metadata.BrokerRegistered:
			if old := img.Broker(d.Broker.ID); old != nil {
				deltas = append(deltas, b.renewed(img, old.Member(), d.Broker.Member())...)
			}
		case metadata.PartitionChanged:
			b.worsen(&img.TopicByID(d.ID).Partitions[d.Index], &d.Partition)
			deltas[i] = d
		}
	}
	return deltas
}

func (b *Bugs) renewed(img *metadata.Image, was, is metadata.Member) (deltas []metadata.Delta) {
	t := img.TopicByID(topicID)
	for i := range t.Partitions {
		p := t.Partitions[i]
		if !b.EntriesRenewed && !(b.LastEntryStays && len(p.ISR) == 1) {
			continue
		}
		isr, elr := p.ISRMembers(), p.ELRMembers()
		for _, list := range [][]metadata.Member{isr, elr} {
			if at := slices.Index(list, was); at >= 0 {
				list[at] = is
			}
		}
		p.SetISR(isr)
		p.SetELR(elr)
		p.PartitionEpoch++
		p.Revision = 0
		deltas = append(deltas, metadata.PartitionChanged{Name: topicName, ID: topicID, Index: int32(i), Partition: p})
	}
	return deltas
}

func (b *Bugs) worsen(old, next *metadata.Partition) {
	if b.NoELR {
		next.SetELR(nil)
	}
	if b.LossKeepsBase && next.LossGeneration > old.LossGeneration {
		next.BaseOffset = old.BaseOffset
	}
	if b.RemovalKeepsEpoch && next.Leader == old.Leader && next.LossGeneration == old.LossGeneration {
		next.LeaderEpoch = old.LeaderEpoch
	}
}
