package load

import (
	"time"

	"millrace/bench/wire"
)

// leader is a broker with those partitions of a topic that it leads.
type leader struct {
	addr       string
	partitions []int32
	starts     map[int32]int64
	ends       map[int32]int64
}

// byLeader groups a topic's partitions; their offsets are filled in as far as the broker tells them.
func byLeader(t *wire.Topic) []*leader {
	var all []*leader
	known := map[string]*leader{}
	for p, addr := range t.Leaders {
		l := known[addr]
		if l == nil {
			l = &leader{addr: addr}
			known[addr] = l
			all = append(all, l)
		}
		l.partitions = append(l.partitions, int32(p))
	}
	for _, l := range all {
		c, err := wire.Dial(l.addr, 10*time.Second)
		if err != nil {
			continue // the load will say so
		}
		l.starts, _ = c.Offsets(t.Name, wire.Earliest, l.partitions)
		l.ends, _ = c.Offsets(t.Name, wire.Latest, l.partitions)
		_ = c.Close()
	}
	return all
}
