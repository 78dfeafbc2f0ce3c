package group

// deleteOffsets serves OffsetDelete (KIP-496). While there are members, only consumers can be told from what they read, and
// what they read stays.
func (m *Machine) deleteOffsets(e *DeleteOffsets) {
	g := m.groups[e.GroupID]
	switch {
	case e.GroupID == "":
		m.reply(e.Token, ErrInvalidGroupID, nil)
		return
	case g == nil:
		m.reply(e.Token, ErrGroupNotFound, nil)
		return
	case g.consumer == nil && g.state != Empty && (g.protocolType == nil || *g.protocolType != consumerType):
		m.reply(e.Token, ErrNonEmptyGroup, nil)
		return
	}
	type place struct {
		topic     string
		partition int32
	}
	r := &DeleteOffsetsResult{Topics: make([]error, len(e.Topics))}
	wanted := map[place]bool{}
	for i, t := range e.Topics {
		if g.reads(t.Name) {
			r.Topics[i] = ErrSubscribedToTopic
			continue
		}
		for _, p := range t.Partitions {
			wanted[place{t.Name, p}] = true
		}
	}
	gone := m.tombstones(g, func(topic string, p int32, _ offset) bool { return wanted[place{topic, p}] })
	if len(gone) == 0 {
		m.reply(e.Token, nil, r)
		return
	}
	token := e.Token
	m.drop(g, gone, false, func(err error) {
		if err != nil {
			m.reply(token, err, nil)
			return
		}
		m.reply(token, nil, r)
	})
}
