package replica_test

import (
	"encoding/binary"
	"testing"

	"millrace/broker/replica"
)

// FuzzEvents throws at a machine what may come over the network: fetches, answers and snapshots with any numbers at all. It
// must not panic, and its offsets must stay in order.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, false)
	f.Add([]byte{1, 5, 0, 9, 0, 3, 0xff, 0xff, 0xff, 0xff, 2, 5, 0, 3, 0, 200, 1, 7, 0, 0}, true)
	f.Add([]byte{3, 1, 0, 2, 0, 3, 0, 0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, true)
	f.Fuzz(func(t *testing.T, data []byte, leads bool) {
		s := newScript()
		if leads {
			s.run([]string{"metadata", "epoch=1"})
			s.run([]string{"append", "5"})
			s.run([]string{"metadata", "epoch=3"})
			s.run([]string{"append", "5"})
		} else {
			s.run([]string{"metadata", "leader=2@b"})
			s.run([]string{"answer", "records=5:0,2:1", "high=3"})
		}
		data = data[:min(len(data), 640)]
		for len(data) >= 10 {
			s.nowMs += int64(data[9] % 32)
			if e := fuzzEvent(s, data[:10]); e != nil {
				s.step(e)
			}
			data = data[10:]
			m := s.m
			if m.StartOffset() < 0 || m.StartOffset() > m.HighWatermark() || m.HighWatermark() > m.EndOffset() ||
				m.StartOffset() != s.log.start || m.EndOffset() != s.log.end() {
				t.Fatalf("machine %d…%d…%d, log %d…%d\n%s", m.StartOffset(), m.HighWatermark(), m.EndOffset(), s.log.start,
					s.log.end(), s.out.String())
			}
		}
	})
}

// fuzzEvent makes an event of ten bytes: its kind, and numbers that are small or huge.
func fuzzEvent(s *script, b []byte) replica.Event {
	number := func(at int) int64 {
		n := int64(int16(binary.LittleEndian.Uint16(b[at:])))
		if n < -100 || n > 100 {
			n <<= 48
		}
		return n
	}
	x, y, z, w := number(1), number(3), number(5), number(7)
	switch b[0] % 8 {
	case 0, 1:
		return &replica.Fetch{Head: s.head(), From: member([]string{"2@b", "3@c", "3@d", "1@a"}[b[9]%4]),
			LeaderEpoch: max(int32(w), s.m.LeaderEpoch()), Offset: x, LastEpoch: int32(y)}
	case 2, 3, 4:
		e := &replica.FetchAnswer{Head: s.head(), Position: s.position, Answer: replica.Answer{HighWatermark: x, LogStart: y,
			DivergingEpoch: int32(z), DivergingEnd: w}}
		if b[0]%8 == 4 {
			e.Err = replica.ErrOffsetOutOfRange
		}
		s.arrived = s.arrived[:0]
		if e.Records = b[9]&1 == 0; e.Records {
			s.arrived = append(s.arrived, record{epoch: max(s.log.EpochAt(s.log.end()), 0)})
		}
		return e
	case 5:
		return &replica.Snapshot{Head: s.head(), LeaderEpoch: s.m.LeaderEpoch(), StartOffset: x}
	case 6:
		return &replica.AlterAnswer{Head: s.head(), ID: uint64(x), PartitionEpoch: max(s.m.PartitionEpoch(), int32(y)),
			Err: []error{nil, replica.ErrIneligibleReplica, errStaleProposal}[b[9]%3]}
	default:
		return &replica.Tick{Head: s.head()}
	}
}
