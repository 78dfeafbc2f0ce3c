package group

func (m *Machine) describeConsumer(e *DescribeConsumer) {
	g := m.groups[e.GroupID]
	switch {
	case g == nil:
		m.reply(e.Token, refuse(ErrGroupNotFound, "Group %s not found.", e.GroupID), nil)
		return
	case g.consumer == nil:
		m.reply(e.Token, notConsumerGroup(e.GroupID), nil)
		return
	}
	c := g.consumer
	r := &DescribeConsumerResult{
		State: g.state, Epoch: c.epoch, AssignmentEpoch: c.assignmentEpoch, Assignor: c.preferredAssignor(m.config.Assignors),
		Members: make([]DescribedConsumer, len(c.members)),
	}
	for i, x := range c.members {
		r.Members[i] = DescribedConsumer{
			MemberID: x.id, InstanceID: x.instanceID, RackID: x.rackID, MemberEpoch: x.epoch, ClientID: x.clientID,
			ClientHost: x.clientHost, Names: x.names, Regex: x.regex(),
			Assigned: x.assigned.byTopic(), Target: x.target.byTopic(),
		}
	}
	m.reply(e.Token, nil, r)
}
