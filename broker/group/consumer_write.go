package group

import (
	"maps"
	"slices"
)

// writeConsumer asks for records of a consumer group to be made durable, and answers then. If there are none, it answers when what
// is on its way is: the answer may tell of it.
//
// The state is ahead of the log. If the log refuses records the state is not taken back, for other members may have been told
// of it by then; what was refused is owed, and goes with the next records of the group. So whatever is answered with success is
// in the log, with all that came before it.
func (m *Machine) writeConsumer(g *Group, records []Record, token any, r *ConsumerHeartbeatResult) {
	then := func(err error) {
		switch {
		case token == nil:
		case err != nil:
			m.reply(token, err, nil)
		default:
			m.reply(token, nil, r)
		}
	}
	records = g.consumer.withOwed(records)
	if len(records) > 0 {
		p := m.persist(g, records, then)
		p.state = records
		return
	}
	for _, p := range slices.Backward(m.persists) {
		if p.group == g && p.state != nil {
			p.then = append(p.then, then)
			return
		}
	}
	then(nil)
}

// withOwed puts what is owed before new records that say nothing of the same keys.
func (c *consumerGroup) withOwed(records []Record) []Record {
	if len(c.owed) == 0 {
		return records
	}
	for _, r := range records {
		delete(c.owed, string(r.Key))
	}
	var all []Record
	for _, key := range slices.Sorted(maps.Keys(c.owed)) {
		all = append(all, c.owed[key])
	}
	c.owed = nil
	return append(all, records...)
}

// owe keeps what the log has refused, unless something newer of the same key is on its way.
func (m *Machine) owe(g *Group, refused []Record) {
	newer := map[string]bool{}
	for _, p := range m.persists {
		if p.group == g {
			for _, r := range p.state {
				newer[string(r.Key)] = true
			}
		}
	}
	c := g.consumer
	for _, r := range refused {
		if !newer[string(r.Key)] {
			if c.owed == nil {
				c.owed = map[string]Record{}
			}
			c.owed[string(r.Key)] = r
		}
	}
}
