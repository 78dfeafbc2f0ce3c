package floor

import (
	"encoding/binary"
	"fmt"
	"time"

	"millrace/bench/wire"
)

const (
	keyProduce = 0
	keyFetch   = 1

	codeCorrupt = 2
	// logEnd is the end of every fetched partition: one that no load gets to.
	logEnd = 1 << 40
)

// answerer turns a frame into what its connection has to send.
type answerer struct {
	node *node
	next []int64 // produced so far, by partition
	shelf
}

// shelf is what is fetched: equal batches, one after the other. The base offset is not under a batch's CRC, so it is
// written anew for each answer, and the rest goes out as it lies.
type shelf struct {
	memory  []byte
	batch   int // bytes of a batch
	records int // in a batch
}

func newShelf(o Options) (shelf, error) {
	b, err := wire.NewBatch(wire.BatchSpec{Records: max(o.BatchBytes/max(o.RecordBytes, 1), 1),
		RecordBytes: o.RecordBytes, ProducerID: -1, ProducerEpoch: -1, TimestampMs: time.Now().UnixMilli()})
	if err != nil {
		return shelf{}, err
	}
	count := max(o.ShelfBytes/len(b.Bytes), 1)
	memory, err := mapMemory(count*len(b.Bytes), false)
	for i := 0; err == nil && i < count; i++ {
		copy(memory[i*len(b.Bytes):], b.Bytes)
	}
	return shelf{memory: memory, batch: len(b.Bytes), records: b.Records}, err
}

func (a *answerer) answer(c *conn, frame []byte) error {
	switch key := binary.BigEndian.Uint16(frame); key {
	case keyProduce:
		return a.produce(c, frame)
	case keyFetch:
		return a.fetch(c, frame)
	case KeyEcho:
		at := len(c.text)
		c.text = append(c.text, make([]byte, EchoBytes)...)
		binary.BigEndian.PutUint32(c.text[at:], EchoBytes-4)
		copy(c.text[at+4:], frame[4:8])
		return nil
	}
	out, err := a.node.cold(frame, c.text, a.end)
	c.text = out
	return err
}

// end is the end of a partition as ListOffsets tells it: what was produced, if there was anything.
func (a *answerer) end(partition int32) int64 {
	if partition < 0 || int(partition) >= len(a.next) || a.next[partition] == 0 {
		return 0
	}
	return a.next[partition]
}

// header reads a request's header and leaves the reader at the body. flexibleFrom is the API's first flexible version.
func header(frame []byte, newest, flexibleFrom int16) (r wire.Reader, version int16, correlation int32, err error) {
	r.B = frame
	r.Int16()
	version, correlation = r.Int16(), r.Int32()
	r.String() // the client id is never compact
	r.Flexible = version >= flexibleFrom
	r.Tags()
	if r.Bad || version > newest {
		err = fmt.Errorf("API key %d, version %d, up to %d is spoken", binary.BigEndian.Uint16(frame), version, newest)
	}
	return r, version, correlation, err
}

func (a *answerer) produce(c *conn, frame []byte) error {
	r, version, correlation, err := header(frame, 9, 9)
	if err != nil {
		return err
	}
	r.String() // transactional id
	acks := r.Int16()
	r.Int32() // timeout

	w := wire.Writer{B: c.text, Flexible: r.Flexible}
	at := w.Begin(correlation)
	topics := r.Count()
	w.Length(topics)
	for range topics {
		w.String(r.String())
		partitions := r.Count()
		w.Length(partitions)
		for range partitions {
			index := r.Int32()
			code, base := a.append(index, r.Bytes())
			r.Tags()
			w.Int32(index)
			w.Int16(code)
			w.Int64(base)
			w.Int64(-1) // log append time
			if version >= 5 {
				w.Int64(0) // log start
			}
			if version >= 8 {
				w.Length(0)
				w.Null()
			}
			w.Tags()
		}
		r.Tags()
		w.Tags()
	}
	w.Int32(0) // throttle
	w.Tags()
	if r.Bad {
		return fmt.Errorf("a Produce that is cut short")
	}
	if acks != 0 {
		w.End(at)
		c.text = w.B
	}
	return nil
}

func (a *answerer) append(index int32, batch []byte) (code int16, base int64) {
	if uint32(index) >= uint32(len(a.next)) || !wire.CheckBatch(batch) {
		return codeCorrupt, -1
	}
	h, _ := wire.ParseBatch(batch)
	base = a.next[index]
	a.next[index] += int64(h.Records)
	return 0, base
}

func (a *answerer) fetch(c *conn, frame []byte) error {
	r, version, correlation, err := header(frame, 12, 12)
	if err != nil {
		return err
	}
	r.Take(4 + 4 + 4) // replica, longest wait, least bytes: something is always there
	left := int(r.Int32())
	r.Take(1) // isolation
	if version >= 7 {
		r.Take(4 + 4) // session: none is opened
	}
	c.enlarge()
	start := len(c.text)

	w := wire.Writer{B: c.text, Flexible: r.Flexible}
	at := w.Begin(correlation)
	w.Int32(0) // throttle
	if version >= 7 {
		w.Int16(0)
		w.Int32(0)
	}
	bodies := 0 // bytes of this answer that aren't text
	topics := r.Count()
	w.Length(topics)
	for range topics {
		w.String(r.String())
		partitions := r.Count()
		w.Length(partitions)
		for range partitions {
			offset, limit := fetchPartition(&r, &w, version)
			n := min(limit, left) / a.batch
			if n < 1 && bodies == 0 {
				n = 1 // the first batch goes out, however large
			}
			w.Length(n * a.batch)
			c.text = w.B
			bodies += a.shelve(c, offset/int64(a.records), n)
			w.B = c.text
			left -= n * a.batch
			w.Tags()
		}
		r.Tags()
		w.Tags()
	}
	w.Tags()
	c.text = w.B
	if r.Bad {
		return fmt.Errorf("a Fetch that is cut short")
	}
	binary.BigEndian.PutUint32(c.text[at:], uint32(len(c.text)-start+bodies-4))
	return nil
}

// fetchPartition reads one partition of a request and writes the head of its answer, up to the records.
func fetchPartition(r *wire.Reader, w *wire.Writer, version int16) (offset int64, limit int) {
	index := r.Int32()
	if version >= 9 {
		r.Int32() // leader epoch
	}
	offset = max(r.Int64(), 0)
	if version >= 12 {
		r.Int32() // last fetched epoch
	}
	if version >= 5 {
		r.Int64() // log start
	}
	limit = int(r.Int32())
	r.Tags()
	w.Int32(index)
	w.Int16(0)
	w.Int64(logEnd)
	w.Int64(logEnd)
	if version >= 5 {
		w.Int64(0)
	}
	w.Length(0) // aborted transactions
	if version >= 11 {
		w.Int32(-1)
	}
	return offset, limit
}

// shelve queues n batches from the at-th on, and gives the bytes that it queued out of the shelf.
func (a *answerer) shelve(c *conn, at int64, n int) (bodies int) {
	count := int64(len(a.memory) / a.batch)
	for i := range int64(n) {
		c.text = binary.BigEndian.AppendUint64(c.text, uint64((at+i)*int64(a.records)))
		lie := int((at+i)%count) * a.batch
		c.piece(a.memory[lie+8 : lie+a.batch])
		bodies += a.batch - 8
	}
	return bodies
}
