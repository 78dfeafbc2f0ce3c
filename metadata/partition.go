package metadata

import (
	"math"
	"slices"
)

// OffsetCeilingStep is the offset ceiling of a new partition, and how far above
// its start the ceiling of one is set that lost its records. It is coarse on
// purpose: a leader asks for a higher one long before it gets there, and a
// declared loss costs nothing but a jump of the offsets.
const OffsetCeilingStep = 1 << 30

// Partition is the state of one partition. Its slices are shared between images,
// and some may be one slice: nobody writes to them.
//
// An entry of ISR and ELR is a member: it counts only while the broker is
// registered with that incarnation (Image.Live, Image.Void). So a broker that
// registers again voids all its old entries with that one write, whenever the
// controller gets round to taking them out.
type Partition struct {
	Leader         int32 // NoBroker: offline. Else it is in the ISR, and leads in the life that the ISR names
	LeaderEpoch    int32 // from 0; rises with each election, and when there is nobody to lead
	PartitionEpoch int32 // from 0; rises with each change of this state
	LossGeneration int32 // from 0; rises when the partition's records were lost, which is declared and never silent

	// MinInSync is min.insync.replicas as leader and controller both go by it.
	// It is a part of the state, so that whoever knows the partition epoch knows
	// it: if the two could differ, a leader could commit what an ELR member
	// lacks. MinISR caps it.
	MinInSync int32

	// BaseOffset is where the log of this loss generation begins; no offset of an
	// earlier one is at or above it. OffsetCeiling is what the end of the log
	// doesn't pass: the leader raises it ahead of need.
	BaseOffset    int64
	OffsetCeiling int64

	Replicas []int32 // in order of preference; never empty

	ISR             []int32  // a subset of Replicas: who has all that is committed, and holds the next commit back
	ISRIncarnations []uint64 // of the ISR's members, by position

	// ELR are the eligible leader replicas (KIP-966): out of the ISR, and still in
	// possession of all that is committed, since nothing was committed after they
	// left. Empty while the ISR has MinISR members. Sorted as in Replicas.
	ELR             []int32
	ELRIncarnations []uint64

	// A reassignment (KIP-455) that is under way: replicas that are not among
	// those it began with, and those that it will end without. Both are in Replicas.
	Adding, Removing []int32

	Revision int64 // of the partition's own key in the Store; 0 while it is as its topic was created
}

// NewPartition is a partition as it is created, and keeps replicas. incarnations
// go with them by position: those that are 0 are not in sync. The first that is
// in sync leads. All epochs are 0.
func NewPartition(replicas []int32, incarnations []uint64, minInSync int32) Partition {
	p := Partition{
		Leader: NoBroker, MinInSync: minInSync, OffsetCeiling: OffsetCeilingStep,
		Replicas: replicas, ISR: replicas, ISRIncarnations: incarnations,
	}
	if slices.Contains(incarnations, 0) {
		p.ISR, p.ISRIncarnations = nil, nil
		for i, incarnation := range incarnations {
			if incarnation != 0 {
				p.ISR, p.ISRIncarnations = append(p.ISR, replicas[i]), append(p.ISRIncarnations, incarnation)
			}
		}
	}
	if len(p.ISR) > 0 {
		p.Leader = p.ISR[0]
	}
	return p
}

// HasReplica tells whether broker id holds a replica of the partition.
func (p *Partition) HasReplica(id int32) bool { return slices.Contains(p.Replicas, id) }

// MinISR is how many members the ISR needs for anything to be committed:
// MinInSync, but no more than there are replicas, those not counted that are
// being added, and at least 1.
func (p *Partition) MinISR() int {
	return max(1, min(int(p.MinInSync), len(p.Replicas)-len(p.Adding)))
}

// Reassigning tells whether a reassignment is under way.
func (p *Partition) Reassigning() bool { return len(p.Adding)+len(p.Removing) > 0 }

// LeaderMember is the leader in the life in which it was elected; NoMember if
// there is none. The same broker in another life is not the leader.
func (p *Partition) LeaderMember() Member {
	if p.Leader == NoBroker {
		return NoMember
	}
	return Member{p.Leader, p.InISR(p.Leader)}
}

// LedBy tells whether m, in this life, is the leader.
func (p *Partition) LedBy(m Member) bool {
	return m.Incarnation != 0 && m == p.LeaderMember()
}

// InISR returns the incarnation of the broker's entry in the ISR; 0: none.
func (p *Partition) InISR(id int32) uint64 { return entry(p.ISR, p.ISRIncarnations, id) }

// InELR returns the incarnation of the broker's entry in the ELR; 0: none.
func (p *Partition) InELR(id int32) uint64 { return entry(p.ELR, p.ELRIncarnations, id) }

func entry(ids []int32, incarnations []uint64, id int32) uint64 {
	if i := slices.Index(ids, id); i >= 0 {
		return incarnations[i]
	}
	return 0
}

// ISRMembers returns the ISR's entries, in a new slice.
func (p *Partition) ISRMembers() []Member { return members(p.ISR, p.ISRIncarnations) }

// ELRMembers returns the ELR's entries, in a new slice.
func (p *Partition) ELRMembers() []Member { return members(p.ELR, p.ELRIncarnations) }

func members(ids []int32, incarnations []uint64) []Member {
	if len(ids) == 0 {
		return nil
	}
	list := make([]Member, len(ids))
	for i, id := range ids {
		list[i] = Member{id, incarnations[i]}
	}
	return list
}

// SetISR makes list the ISR. It keeps nothing of list.
func (p *Partition) SetISR(list []Member) { p.ISR, p.ISRIncarnations = split(list) }

// SetELR makes list the ELR. It keeps nothing of list.
func (p *Partition) SetELR(list []Member) { p.ELR, p.ELRIncarnations = split(list) }

func split(list []Member) (ids []int32, incarnations []uint64) {
	if len(list) == 0 {
		return nil, nil
	}
	ids, incarnations = make([]int32, len(list)), make([]uint64, len(list))
	for i, m := range list {
		ids[i], incarnations[i] = m.Broker, m.Incarnation
	}
	return ids, incarnations
}

// Lose declares the records lost: a new loss generation begins above every
// offset that the old one can have given out.
func (p *Partition) Lose() {
	p.LossGeneration++
	p.BaseOffset = p.OffsetCeiling
	p.OffsetCeiling = min(p.BaseOffset, math.MaxInt64-OffsetCeilingStep) + OffsetCeilingStep
}

// Equal tells whether p and q say the same, revisions included.
func (p *Partition) Equal(q *Partition) bool {
	return p.Leader == q.Leader && p.LeaderEpoch == q.LeaderEpoch && p.PartitionEpoch == q.PartitionEpoch &&
		p.LossGeneration == q.LossGeneration && p.MinInSync == q.MinInSync &&
		p.BaseOffset == q.BaseOffset && p.OffsetCeiling == q.OffsetCeiling && p.Revision == q.Revision &&
		slices.Equal(p.Replicas, q.Replicas) &&
		slices.Equal(p.ISR, q.ISR) && slices.Equal(p.ISRIncarnations, q.ISRIncarnations) &&
		slices.Equal(p.ELR, q.ELR) && slices.Equal(p.ELRIncarnations, q.ELRIncarnations) &&
		slices.Equal(p.Adding, q.Adding) && slices.Equal(p.Removing, q.Removing)
}
