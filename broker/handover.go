package broker

import (
	"sync"

	"millrace/broker/plog"
	"millrace/metadata"
)

// contents is what a partition consists of, apart from its place.
type contents struct {
	log            *plog.Log // nil: there is none
	producers      producers
	high           int64
	lossGeneration int32
}

func (c contents) drop() {
	if c.log != nil {
		c.log.Close()
	}
}

// Handover passes partitions from one broker of this process to another, when a broker is removed that held their
// only replica. The RAM stays where it is; only its owner changes. Between processes a replica copies instead.
//
// The order of events: every broker first hears of what it loses (Broker.Leave) and promises it here, then every
// broker hears of what it has now (Broker.Lead) and takes it. The log itself follows when the old owner's worker has
// come to it.
type Handover struct {
	mu    sync.Mutex
	items map[PartitionKey]*parcel // guarded by mu
}

// parcel is a promise until both sides have come.
type parcel struct {
	contents *contents
	take     func(contents)
}

// NewHandover makes the one that the brokers of a process share.
func NewHandover() *Handover { return &Handover{items: map[PartitionKey]*parcel{}} }

func (h *Handover) promise(k PartitionKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.items[k] = &parcel{}
}

// put delivers what was promised. If nobody is there to take it yet, it waits.
func (h *Handover) put(k PartitionKey, c contents) {
	h.mu.Lock()
	p := h.items[k]
	if p.take == nil {
		p.contents = &c
		h.mu.Unlock()
		return
	}
	delete(h.items, k)
	h.mu.Unlock()
	p.take(c)
}

// take arranges that f gets what was promised, now or later; false if nothing was.
func (h *Handover) take(k PartitionKey, f func(contents)) bool {
	h.mu.Lock()
	p := h.items[k]
	if p == nil || p.contents == nil {
		if p != nil {
			p.take = f
		}
		h.mu.Unlock()
		return p != nil
	}
	delete(h.items, k)
	h.mu.Unlock()
	f(*p.contents)
	return true
}

// discard gives back what is on its way of a topic that was deleted.
func (h *Handover) discard(topic metadata.TopicID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, p := range h.items {
		if k.Topic == topic && p.contents != nil {
			p.contents.drop()
			delete(h.items, k)
		}
	}
}

// Close gives back the memory of what nobody came for.
func (h *Handover) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, p := range h.items {
		if p.contents != nil {
			p.contents.drop()
		}
		delete(h.items, k)
	}
}
