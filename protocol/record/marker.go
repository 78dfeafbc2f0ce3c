package record

import "encoding/binary"

// Marker is what a control batch says that ends a transaction of its producer (KIP-98).
type Marker struct {
	Commit           bool
	CoordinatorEpoch int32 // of the coordinator that decided
}

// Types of control records, in their key.
const (
	controlVersion = 0
	controlAbort   = 0
	controlCommit  = 1
)

// Marker makes a whole batch of the marker, with one record of that time. What Bytes returned before becomes invalid, and
// so does the batch with the next use of the builder.
func (b *Builder) Marker(m Marker, producerID int64, producerEpoch int16, nowMs int64) Batch {
	kind := uint16(controlAbort)
	if m.Commit {
		kind = controlCommit
	}
	key := binary.BigEndian.AppendUint16(nil, controlVersion)
	key = binary.BigEndian.AppendUint16(key, kind)
	value := binary.BigEndian.AppendUint16(nil, controlVersion)
	value = binary.BigEndian.AppendUint32(value, uint32(m.CoordinatorEpoch))
	b.Reset(Options{Idempotent: true, ProducerID: producerID, ProducerEpoch: producerEpoch, BaseSequence: -1,
		Transactional: true, Control: true})
	b.Append(Record{Timestamp: nowMs, Key: key, Value: value})
	return b.Bytes()
}

// Marker reads a control batch that ends a transaction. false: it is none, or one of a kind that isn't known.
func (b Batch) Marker() (m Marker, ok bool) {
	if !b.IsControl() || !b.IsTransactional() {
		return Marker{}, false
	}
	if err := b.Each(nil, func(r Record) error {
		if len(r.Key) < 4 || len(r.Value) < 6 {
			return nil
		}
		switch binary.BigEndian.Uint16(r.Key[2:]) {
		case controlAbort:
			ok = true
		case controlCommit:
			m.Commit, ok = true, true
		}
		m.CoordinatorEpoch = int32(binary.BigEndian.Uint32(r.Value[2:]))
		return nil
	}); err != nil {
		return Marker{}, false
	}
	return m, ok
}
