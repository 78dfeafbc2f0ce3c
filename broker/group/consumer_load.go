package group

// loadConsumer replays one record of a consumer group. It takes them in any order, for a log that is compacted has lost some.
func (m *Machine) loadConsumer(k key, value []byte) error {
	g := m.groups[k.group]
	if value == nil {
		if g != nil && g.consumer != nil {
			m.loadConsumerTombstone(g, k)
		}
		return nil
	}
	// What is wrong is found before anything is made for it.
	var load func(c *consumerGroup)
	switch k.kind {
	case keyConsumerGroup, keyAssignmentEpoch:
		epoch, err := parseEpoch(value)
		if err != nil {
			return err
		}
		load = func(c *consumerGroup) {
			if k.kind == keyConsumerGroup {
				c.epoch = epoch
			} else {
				c.assignmentEpoch = epoch
			}
		}
	case keyTopics:
		topics, err := parseTopics(value)
		if err != nil {
			return err
		}
		load = func(c *consumerGroup) { c.topics = topics }
	default:
		return m.loadMember(k, value)
	}
	load(m.loadedConsumerGroup(k.group).consumer)
	return nil
}

func (m *Machine) loadMember(k key, value []byte) error {
	switch k.kind {
	case keyConsumer:
		var said consumer
		if err := parseConsumer(value, &said); err != nil {
			return err
		}
		x, c := m.loadedMember(k)
		if x.instanceID != nil && c.static[*x.instanceID] == x {
			delete(c.static, *x.instanceID)
		}
		x.instanceID, x.rackID, x.clientID, x.clientHost = said.instanceID, said.rackID, said.clientID, said.clientHost
		x.names, x.pattern, x.rebalanceTimeoutMs, x.assignor = said.names, said.pattern, said.rebalanceTimeoutMs, said.assignor
		if x.instanceID != nil {
			c.static[*x.instanceID] = x
		}
	case keyTarget:
		target, err := parseTarget(value)
		if err != nil {
			return err
		}
		x, _ := m.loadedMember(k)
		x.target = target
	case keyCurrentAssignment:
		s, err := parseCurrentAssignment(value)
		if err != nil {
			return err
		}
		x, c := m.loadedMember(k)
		x.epoch, x.previousEpoch, x.state = s.epoch, s.previousEpoch, s.state
		c.hold(x, s.assigned, s.revoking)
	}
	return nil
}

// loadedConsumerGroup finds or makes the group of a record. A classic one of that name has no say any more: the log goes on.
func (m *Machine) loadedConsumerGroup(id string) *Group {
	g := m.groups[id]
	if g != nil && g.consumer == nil {
		g = m.replace(g)
	} else if g == nil {
		g, _ = m.group(id)
	}
	if g.consumer == nil {
		g.consumer = newConsumerGroup()
	}
	return g
}

func (m *Machine) loadedMember(k key) (*consumer, *consumerGroup) {
	g := m.loadedConsumerGroup(k.group)
	if x := g.consumer.byID[k.member]; x != nil {
		return x, g.consumer
	}
	return m.newConsumer(g, k.member), g.consumer
}

func (m *Machine) loadConsumerTombstone(g *Group, k key) {
	c, x := g.consumer, g.consumer.byID[k.member]
	switch k.kind {
	case keyConsumerGroup:
		m.forgetConsumers(c)
		g.consumer = nil
		if len(g.offsets) == 0 && g.unsettled == 0 {
			m.forget(g)
		}
	case keyTopics:
		c.topics = nil
	case keyAssignmentEpoch:
		c.assignmentEpoch = -1
	case keyConsumer:
		if x != nil {
			c.remove(x)
		}
	case keyTarget:
		if x != nil {
			x.target = nil
		}
	case keyCurrentAssignment:
		if x != nil {
			x.epoch, x.previousEpoch, x.state = epochLeave, epochLeave, consumerStable
			c.hold(x, nil, nil)
		}
	}
}

// loadedConsumers starts what a replay can't: sessions, and what members were told to give up in some time.
func (m *Machine) loadedConsumers(g *Group) {
	for _, x := range g.consumer.members {
		m.timers.set(&x.session, m.nowMs+m.config.ConsumerSessionTimeoutMs)
		if x.state == consumerUnrevoked {
			m.timers.set(&x.rebalance, m.nowMs+max(0, int64(x.rebalanceTimeoutMs)))
		}
	}
	g.sinceMs = m.nowMs
	g.state = g.consumer.state()
}

func (m *Machine) forgetConsumers(c *consumerGroup) {
	for _, x := range c.members {
		m.timers.cancel(&x.session)
		m.timers.cancel(&x.rebalance)
	}
}
