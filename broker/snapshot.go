package broker

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"millrace/broker/plog"
	"millrace/broker/replica"
	"millrace/metadata"
)

// snapshot is what a log that begins at start needs to know of the time before (replica.EffectCopySnapshot, R7): the
// producers' states and the leader epochs, both as of that offset. What came later is in the log.
type snapshot struct {
	start     int64
	epochs    []plog.EpochStart
	producers map[int64]*producerState
}

var errSnapshot = errors.New("a replica's snapshot that can't be read")

// Snapshot gives a follower the leader's. done is called once, on the partition's worker or before Snapshot returns, and
// must not block. content is the callee's to keep.
func (b *Broker) Snapshot(from metadata.Member, key PartitionKey, leaderEpoch int32, done func(content []byte, err error)) {
	p, err := b.PartitionByID(key.Topic, key.Index)
	if err != nil {
		done(nil, err)
		return
	}
	Visit([]*Partition{p}, func(_ int, p *Partition, err error) {
		if err == nil {
			err = p.servingAt(leaderEpoch)
		}
		if err != nil {
			done(nil, err)
			return
		}
		done(p.snapshot().encode(), nil)
	}, func() {})
}

// snapshot of a leader.
func (p *Partition) snapshot() *snapshot {
	s := &snapshot{start: p.log.StartOffset(), producers: map[int64]*producerState{}}
	for _, e := range p.log.Epochs() {
		if e.Offset <= s.start {
			s.epochs = append(s.epochs, e)
		}
	}
	for id, of := range p.producers.byID {
		before := *of
		before.open = false
		if before.keepBelow(s.start); before.count > 0 {
			s.producers[id] = &before
		}
	}
	for _, o := range p.producers.txns.openAt(s.start) {
		if s.producers[o.producerID] == nil {
			s.producers[o.producerID] = &producerState{epoch: o.epoch, coordinatorEpoch: -1, seenAtMs: p.broker.deps.NowMs()}
		}
		s.producers[o.producerID].open, s.producers[o.producerID].first = true, o.first
	}
	return s
}

// copySnapshot asks the leader for its snapshot.
func (p *Partition) copySnapshot(f *replica.Effect) {
	machine, epoch := p.machine, f.Position.LeaderEpoch
	p.broker.fetchers.snapshot(f.Position.Leader, p.key(), epoch, func(content []byte, err error) {
		e := &replica.Snapshot{LeaderEpoch: epoch, Err: err}
		if err == nil {
			s, err := decodeSnapshot(content)
			e.Err = err
			if err == nil {
				e.StartOffset, e.Token = s.start, s
			}
		}
		p.worker.DoDeferred(func() { // never inside the step that asked
			if p.machine == machine { // else it was asked by somebody else
				e.Head = p.head()
				p.step(e)
				p.publish()
			}
		})
	})
}

// install begins anew with what the leader knows.
func (p *Partition) install(start int64, s *snapshot) {
	p.restart(start, s.epochs)
	p.producers = producers{byID: s.producers}
	for id, of := range s.producers {
		if of.open {
			p.producers.txns.begin(id, of.epoch, of.first)
		}
	}
	slices.SortFunc(p.producers.txns.open, func(a, b openTransaction) int { return cmp.Compare(a.first, b.first) })
}

// A snapshot's encoding is between brokers of one version of Millrace: a version, then numbers of fixed size.
const (
	snapshotVersion       = 2
	snapshotEpochBytes    = 12
	snapshotProducerBytes = 8 + 2 + 1 + 8 + 4 + 8
)

func (s *snapshot) encode() []byte {
	b := []byte{snapshotVersion}
	b = binary.BigEndian.AppendUint64(b, uint64(s.start))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.epochs)))
	for _, e := range s.epochs {
		b = binary.BigEndian.AppendUint32(b, uint32(e.Epoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.Offset))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.producers)))
	for id, of := range s.producers {
		b = binary.BigEndian.AppendUint64(b, uint64(id))
		b = binary.BigEndian.AppendUint16(b, uint16(of.epoch))
		b = append(b, byte(of.count))
		b = binary.BigEndian.AppendUint64(b, uint64(of.seenAtMs))
		b = binary.BigEndian.AppendUint32(b, uint32(of.coordinatorEpoch))
		first := int64(-1)
		if of.open {
			first = of.first
		}
		b = binary.BigEndian.AppendUint64(b, uint64(first))
		for _, span := range of.spans[:of.count] {
			b = binary.BigEndian.AppendUint32(b, uint32(span.first))
			b = binary.BigEndian.AppendUint32(b, uint32(span.last))
			b = binary.BigEndian.AppendUint64(b, uint64(span.baseOffset))
		}
	}
	return b
}

func decodeSnapshot(b []byte) (*snapshot, error) {
	r := snapshotReader{b: b}
	if r.take(1)[0] != snapshotVersion {
		return nil, errSnapshot
	}
	s := &snapshot{start: r.int64(), producers: map[int64]*producerState{}}
	r.bad = r.bad || s.start < 0
	for n := r.count(snapshotEpochBytes); n > 0; n-- {
		e := plog.EpochStart{Epoch: r.int32(), Offset: r.int64()}
		if k := len(s.epochs); e.Epoch < 0 || e.Offset < 0 || e.Offset > s.start ||
			k > 0 && (e.Epoch <= s.epochs[k-1].Epoch || e.Offset <= s.epochs[k-1].Offset) {
			return nil, errSnapshot
		}
		s.epochs = append(s.epochs, e)
	}
	for n := r.count(snapshotProducerBytes); n > 0 && !r.bad; n-- {
		id, of := r.int64(), &producerState{epoch: int16(binary.BigEndian.Uint16(r.take(2))), count: int8(r.take(1)[0])}
		of.seenAtMs, of.coordinatorEpoch, of.first = r.int64(), r.int32(), r.int64()
		if of.open = of.first >= 0; !of.open {
			of.first = 0
		}
		if id < 0 || of.count < 0 || of.count == 0 && !of.open || of.count > sequencesKept {
			return nil, errSnapshot
		}
		for i := range of.count {
			of.spans[i] = sequenceSpan{r.int32(), r.int32(), r.int64()}
		}
		s.producers[id] = of
	}
	if r.bad || len(r.b) > 0 {
		return nil, errSnapshot
	}
	return s, nil
}

// snapshotReader gives zeros after the first thing that isn't there.
type snapshotReader struct {
	b   []byte
	bad bool
}

var snapshotZeros [8]byte

func (r *snapshotReader) take(n int) []byte {
	if r.bad = r.bad || n > len(r.b); r.bad {
		return snapshotZeros[:n]
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *snapshotReader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *snapshotReader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

// count of things of at least that many bytes each, which must be there.
func (r *snapshotReader) count(bytes int) int {
	n := int(binary.BigEndian.Uint32(r.take(4)))
	if n > len(r.b)/bytes {
		r.bad = true
		return 0
	}
	return n
}
