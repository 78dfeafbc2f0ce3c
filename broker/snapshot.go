package broker

import "millrace/metadata"

// Snapshot gives a follower what it needs to know of the time before the log start offset (replica.EffectCopySnapshot):
// the producers' states and the leader epochs. done is called once, on the partition's worker, and must not block. content
// is the callee's to keep.
func (b *Broker) Snapshot(from metadata.Member, p *Partition, leaderEpoch int32, done func(content []byte, err error)) {
	Visit([]*Partition{p}, func(_ int, p *Partition, err error) {
		if err == nil {
			err = p.servingAt(leaderEpoch)
		}
		if err != nil {
			done(nil, err)
			return
		}
		done(nil, nil) // the content comes with replication's driver
	}, func() {})
}
