package broker

import (
	"slices"
	"sync"
)

// producerIDs hands out producer ids from blocks that the central server issues, so that no id is ever used twice
// in a cluster and not every producer costs a write to the metadata.
type producerIDs struct {
	allocate func(done func(first, count int64, err error))

	mu      sync.Mutex
	next    int64                     // guarded by mu, as the rest
	left    int64                     // ids of the block that are still free
	waiting []func(id int64, _ error) // for a block that was asked for
}

// NextProducerID gives done an id that nobody had before. done may be called before it returns, and must not block.
func (b *Broker) NextProducerID(done func(id int64, err error)) {
	ids := &b.producerIDs
	ids.mu.Lock()
	if ids.left > 0 {
		id := ids.next
		ids.next++
		ids.left--
		ids.mu.Unlock()
		done(id, nil)
		return
	}
	ids.waiting = append(ids.waiting, done)
	asked := len(ids.waiting) > 1
	ids.mu.Unlock()
	if !asked {
		ids.allocate(ids.refill)
	}
}

// refill serves those who wait from a new block. One that is too small for them is followed by another.
func (ids *producerIDs) refill(first, count int64, err error) {
	ids.mu.Lock()
	served := ids.waiting
	if err == nil && int64(len(served)) > count {
		served = served[:count]
	}
	ids.waiting = slices.Clone(ids.waiting[len(served):])
	if err == nil {
		ids.next, ids.left = first+int64(len(served)), count-int64(len(served))
	}
	more := len(ids.waiting) > 0
	ids.mu.Unlock()
	for i, done := range served {
		done(first+int64(i), err)
	}
	if more {
		ids.allocate(ids.refill)
	}
}
