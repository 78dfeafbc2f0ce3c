package broker

import (
	"errors"
	"slices"
	"sync"

	"millrace/broker/replica"
	"millrace/metadata"
)

// alters brings the proposals of a broker's leaders to the central server: one call at a time, each with all that has
// come up meanwhile. So a broker that loses a follower of a thousand partitions asks a few times and not a thousand.
type alters struct {
	broker *Broker

	mu      sync.Mutex
	waiting []alter            // guarded by mu; each partition is in it once
	at      map[*Partition]int // guarded by mu: where a partition stands in waiting
	calling bool               // guarded by mu
}

type alter struct {
	partition *Partition
	machine   *replica.Machine
	id        uint64
	spec      metadata.AlterPartitionSpec
}

// altersMax is how many proposals one call carries: about what fits into one transaction of etcd.
const altersMax = 100

// propose is an EffectAlterPartition, on the partition's worker.
func (a *alters) propose(p *Partition, proposal *replica.Proposal) {
	spec := metadata.AlterPartitionSpec{
		Topic: p.TopicID, Partition: p.Index, LeaderEpoch: proposal.LeaderEpoch, PartitionEpoch: proposal.PartitionEpoch,
		OffsetCeiling: proposal.OffsetCeiling,
	}
	for _, m := range proposal.ISR {
		spec.ISR = append(spec.ISR, metadata.Member(m))
	}
	a.mu.Lock()
	x := alter{p, p.machine, proposal.ID, spec}
	if i, again := a.at[p]; again { // it is repeated, or there is a newer one, before its turn has come
		a.waiting[i] = x
	} else {
		a.at[p] = len(a.waiting)
		a.waiting = append(a.waiting, x)
	}
	calling := a.calling
	a.calling = true
	a.mu.Unlock()
	if !calling {
		a.call()
	}
}

// call asks for what is waiting. It is called by the one who set calling.
func (a *alters) call() {
	a.mu.Lock()
	n := min(len(a.waiting), altersMax)
	batch := a.waiting[:n:n]
	a.waiting = slices.Clone(a.waiting[n:])
	clear(a.at)
	for i := range a.waiting {
		a.at[a.waiting[i].partition] = i
	}
	a.calling = n > 0
	a.mu.Unlock()
	if n == 0 {
		return
	}
	specs := make([]metadata.AlterPartitionSpec, n)
	for i := range batch {
		specs[i] = batch[i].spec
	}
	a.broker.deps.Cluster.AlterPartitions(a.broker.Self, specs, func(results []metadata.AlterPartitionResult) {
		for i := range batch {
			batch[i].answer(&results[i])
		}
		a.call()
	})
}

// answer tells the machine that asked.
func (x *alter) answer(r *metadata.AlterPartitionResult) {
	e := &replica.AlterAnswer{ID: x.id, Err: r.Err, PartitionEpoch: r.State.PartitionEpoch}
	if errors.Is(r.Err, metadata.ErrIneligibleReplica) {
		e.Err = replica.ErrIneligibleReplica
	}
	p := x.partition
	p.worker.DoDeferred(func() { // never inside the step that asked
		if p.machine == x.machine && p.machine != nil {
			e.Head = p.head()
			p.step(e)
		}
	})
}
