package group

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
)

// ConsumerGroupHeartbeat: the one request of the consumer protocol, to join, to live, to say what changed, and to leave.

func (m *Machine) consumerHeartbeat(e *ConsumerHeartbeat) {
	err := e.check(&m.config)
	if err == nil && e.MemberEpoch < 0 {
		err = m.consumerLeave(e)
	} else if err == nil {
		err = m.consumerBeat(e)
	}
	if err != nil {
		m.reply(e.Token, err, nil)
	}
}

// check is what can be said of the request by itself.
func (e *ConsumerHeartbeat) check(c *Config) error {
	switch {
	case blank(&e.GroupID):
		return refuse(ErrInvalidRequest, "GroupId can't be empty.")
	case blank(e.InstanceID):
		return refuse(ErrInvalidRequest, "InstanceId can't be empty.")
	case blank(e.RackID):
		return refuse(ErrInvalidRequest, "RackId can't be empty.")
	case e.MemberEpoch < epochLeaveStatic:
		return refuse(ErrInvalidRequest, "MemberEpoch is invalid.")
	case blank(&e.MemberID) && (e.MemberEpoch != epochJoin || e.RequireMemberID):
		return refuse(ErrInvalidRequest, "MemberId can't be empty.")
	case e.MemberEpoch == epochLeaveStatic && e.InstanceID == nil:
		return refuse(ErrInvalidRequest, "InstanceId can't be null.")
	case e.tooLong():
		return refuse(ErrInvalidRequest, "A name is longer than 32767 bytes.")
	}
	if e.MemberEpoch == epochJoin {
		switch {
		case e.RebalanceTimeoutMs == -1:
			return refuse(ErrInvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
		case !e.OwnedGiven || len(e.Owned) > 0:
			return refuse(ErrInvalidRequest, "TopicPartitions must be empty when (re-)joining.")
		case !e.NamesGiven && e.Regex == nil:
			return refuse(ErrInvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	}
	if e.Assignor != nil && !slices.Contains(c.Assignors, *e.Assignor) {
		return refuse(ErrUnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.", *e.Assignor,
			strings.Join(c.Assignors, ", "))
	}
	return nil
}

func blank(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }

// tooLong: the keys of the log's records have no room for what the request may carry.
func (e *ConsumerHeartbeat) tooLong() bool {
	long := func(s string) bool { return len(s) > maxString }
	return long(e.GroupID) || long(e.MemberID) || long(e.ClientID) || long(e.ClientHost) || long(orEmpty(e.InstanceID)) ||
		long(orEmpty(e.RackID)) || long(orEmpty(e.Regex)) || slices.ContainsFunc(e.Names, long)
}

// consumerBeat serves a member that joins or lives.
func (m *Machine) consumerBeat(e *ConsumerHeartbeat) error {
	p, err := e.pattern()
	if err != nil {
		return err
	}
	g, records, err := m.consumerGroupOf(e)
	if err != nil {
		return err
	}
	x, more, err := m.consumerOf(g, e)
	if err != nil {
		return err
	}
	c, had := g.consumer, x.assigned
	records = append(records, more...)
	changed, resubscribed := c.update(x, e, p)
	if changed {
		records = append(records, consumerMemberRecord(g.id, x))
	}
	records = append(records, m.renew(g, resubscribed)...)
	var owned *partitions
	if e.OwnedGiven {
		owned = new(flatten(e.Owned))
	}
	if c.reconcile(x, owned) {
		records = append(records, currentAssignmentRecord(g.id, x))
		m.timers.cancel(&x.rebalance)
		if x.state == consumerUnrevoked {
			m.timers.set(&x.rebalance, m.nowMs+max(0, int64(x.rebalanceTimeoutMs)))
		}
	}
	m.timers.set(&x.session, m.nowMs+m.config.ConsumerSessionTimeoutMs)
	r := &ConsumerHeartbeatResult{MemberID: x.id, MemberEpoch: x.epoch, HeartbeatIntervalMs: m.config.ConsumerHeartbeatIntervalMs}
	if e.isFull() || !x.assigned.equal(had) {
		r.AssignmentGiven, r.Assignment = true, x.assigned.byTopic()
	}
	if len(records) > 0 {
		m.settled(g, "heartbeat of member "+x.id)
	}
	m.writeConsumer(g, records, e.Token, r)
	return nil
}

// isFull: the member says all that it can say, and wants to be told all, as after an answer that it didn't get.
func (e *ConsumerHeartbeat) isFull() bool {
	return e.MemberEpoch == epochJoin || e.RebalanceTimeoutMs != -1 && (e.NamesGiven || e.Regex != nil) && e.OwnedGiven
}

func (e *ConsumerHeartbeat) pattern() (*pattern, error) {
	if orEmpty(e.Regex) == "" {
		return nil, nil
	}
	p, err := newPattern(*e.Regex)
	if err != nil {
		what := err.Error()
		if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
			what = bad.Code.String() // as in Java's library
		}
		return nil, refuse(ErrInvalidRegularExpression, "SubscribedTopicRegex `%s` is not a valid regular expression: %s.", *e.Regex, what)
	}
	return p, nil
}

// consumerGroupOf finds the group of a member, or makes one for a member that joins: also of a classic group that is empty.
func (m *Machine) consumerGroupOf(e *ConsumerHeartbeat) (g *Group, records []Record, err error) {
	g = m.groups[e.GroupID]
	switch {
	case g == nil && e.MemberEpoch != epochJoin:
		return nil, nil, refuse(ErrUnknownMemberID, "Consumer group %s not found.", e.GroupID)
	case g == nil:
		g, _ = m.group(e.GroupID)
		g.consumer = newConsumerGroup()
	case g.consumer != nil:
	case e.MemberEpoch == epochJoin && g.state == Empty:
		records = m.toConsumer(g)
	default:
		return nil, nil, notConsumerGroup(e.GroupID)
	}
	return g, records, nil
}

func notConsumerGroup(id string) error {
	return refuse(ErrGroupNotFound, "Group %s is not a consumer group.", id)
}

// consumerOf finds the member that a heartbeat is of, or makes one that joins.
func (m *Machine) consumerOf(g *Group, e *ConsumerHeartbeat) (x *consumer, records []Record, err error) {
	c, joins := g.consumer, e.MemberEpoch == epochJoin
	id := e.MemberID
	if id == "" {
		id = e.NewMemberID
	}
	x = c.byID[id]
	if joins && x == nil && len(c.members) >= m.config.ConsumerMaxSize {
		return nil, nil, refuse(ErrGroupMaxSize, "The consumer group has reached its maximum capacity of %d members.",
			m.config.ConsumerMaxSize)
	}
	if e.InstanceID != nil {
		s := c.static[*e.InstanceID]
		switch {
		case joins && s != nil && s.id != id && (s.epoch != epochLeaveStatic || x != nil):
			return nil, nil, refuse(ErrUnreleasedInstanceID, "Static member %s with instance id %s cannot join the group because "+
				"the instance id is owned by %s member.", id, *e.InstanceID, s.id)
		case joins && s != nil && s.id != id:
			return s, m.replaceConsumer(g, s, id), nil
		case !joins:
			if err := c.checkStatic(*e.InstanceID, id); err != nil {
				return nil, nil, err
			}
			x = s
		}
	}
	switch {
	case joins && x == nil:
		return m.newConsumer(g, id), nil, nil
	case joins:
		// It joins again, or for the first time and the answer was lost.
		return x, nil, nil
	case x == nil:
		return nil, nil, refuse(ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
	}
	return x, nil, x.checkEpoch(e)
}

// checkStatic is what is asked of those who name an instance id.
func (c *consumerGroup) checkStatic(instanceID, memberID string) error {
	switch s := c.static[instanceID]; {
	case s == nil:
		return refuse(ErrUnknownMemberID, "Instance id %s is unknown.", instanceID)
	case s.id != memberID:
		return refuse(ErrFencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", memberID, instanceID, s.id)
	}
	return nil
}

// checkEpoch fences a member that is not where the coordinator knows it to be.
func (x *consumer) checkEpoch(e *ConsumerHeartbeat) error {
	switch {
	case e.MemberEpoch > x.epoch:
		return refuse(ErrFencedMemberEpoch, "The consumer group member has a greater member epoch (%d) than the one known by the "+
			"group coordinator (%d). The member must abandon all its partitions and rejoin.", e.MemberEpoch, x.epoch)
	case e.MemberEpoch == x.epoch:
		return nil
	case e.MemberEpoch == x.previousEpoch && e.OwnedGiven && len(flatten(e.Owned).minus(x.assigned)) == 0:
		return nil // the answer with the next epoch may have been lost
	}
	return refuse(ErrFencedMemberEpoch, "The consumer group member has a smaller member epoch (%d) than the one known by the "+
		"group coordinator (%d). The member must abandon all its partitions and rejoin.", e.MemberEpoch, x.epoch)
}

// replaceConsumer lets a static member that said it would be back take its place again, under a new id. Nobody else notices.
func (m *Machine) replaceConsumer(g *Group, x *consumer, id string) (records []Record) {
	records = memberTombstones(g.id, x.id)
	g.consumer.withdraw(x)
	x.id, x.epoch, x.previousEpoch = id, 0, 0
	g.consumer.insert(x)
	return append(records, targetRecord(g.id, x)) // the rest is written for every new member
}

// update takes over what a member says of itself. changed: some of it is new; resubscribed: what it reads is.
func (c *consumerGroup) update(x *consumer, e *ConsumerHeartbeat, p *pattern) (changed, resubscribed bool) {
	set := func(to **string, value *string) {
		if value != nil && (*to == nil || **to != *value) {
			*to, changed = cloneString(value), true
		}
	}
	if e.InstanceID != nil && orEmpty(x.instanceID) != *e.InstanceID {
		if x.instanceID != nil {
			delete(c.static, *x.instanceID)
		}
		set(&x.instanceID, e.InstanceID)
		c.static[*x.instanceID] = x
	}
	set(&x.rackID, e.RackID)
	if e.RebalanceTimeoutMs != -1 && x.rebalanceTimeoutMs != e.RebalanceTimeoutMs {
		x.rebalanceTimeoutMs, changed = e.RebalanceTimeoutMs, true
	}
	if e.Assignor != nil && x.assignor != *e.Assignor {
		x.assignor, changed = *e.Assignor, true
	}
	if x.clientID != e.ClientID || x.clientHost != e.ClientHost {
		x.clientID, x.clientHost, changed = e.ClientID, e.ClientHost, true
	}
	if e.NamesGiven {
		names := slices.Clone(e.Names)
		slices.Sort(names)
		if names = slices.Compact(names); !slices.Equal(names, x.names) {
			x.names, resubscribed = names, true
		}
	}
	if e.Regex != nil && *e.Regex != x.regex() {
		x.pattern, resubscribed = p, true
	}
	// One that has subscribed to nothing yet has never been written.
	return changed || resubscribed || x.epoch == 0, resubscribed
}

func (x *consumer) regex() string {
	if x.pattern == nil {
		return ""
	}
	return x.pattern.text
}

// renew raises the group's epoch if the members or their topics ask for it, and computes a target assignment for it.
func (m *Machine) renew(g *Group, resubscribed bool) (records []Record) {
	c := g.consumer
	if resubscribed || c.stale {
		if c.resolve(m.topics) {
			resubscribed = true
			records = append(records, topicsRecord(g.id, c.topics))
		}
		if resubscribed {
			c.epoch++
			records = append(records, epochRecord(g.id, c.epoch))
		}
	}
	if c.epoch > c.assignmentEpoch {
		targets := c.assign(c.preferredAssignor(m.config.Assignors))
		for i, x := range c.members {
			if !x.target.equal(targets[i]) {
				x.target = targets[i]
				records = append(records, targetRecord(g.id, x))
			}
		}
		c.assignmentEpoch = c.epoch
		records = append(records, assignmentEpochRecord(g.id, c.assignmentEpoch))
	}
	return records
}

// consumerLeave serves a member that goes, for good or to be back.
func (m *Machine) consumerLeave(e *ConsumerHeartbeat) error {
	g := m.groups[e.GroupID]
	switch {
	case g == nil:
		return refuse(ErrGroupNotFound, "Group %s not found.", e.GroupID)
	case g.consumer == nil:
		return notConsumerGroup(e.GroupID)
	}
	c := g.consumer
	if e.InstanceID != nil {
		if err := c.checkStatic(*e.InstanceID, e.MemberID); err != nil {
			return err
		}
	}
	x := c.byID[e.MemberID]
	if x == nil {
		return refuse(ErrUnknownMemberID, "Member %s is not a member of group %s.", e.MemberID, g.id)
	}
	r := &ConsumerHeartbeatResult{MemberID: x.id, MemberEpoch: e.MemberEpoch}
	if e.MemberEpoch == epochLeave {
		m.writeConsumer(g, m.expelConsumer(g, x, fmt.Sprintf("member %s left", x.id)), e.Token, r)
		return nil
	}
	// It keeps its place and its partitions until its session ends.
	x.epoch = epochLeaveStatic
	c.hold(x, x.assigned, nil)
	m.timers.cancel(&x.rebalance)
	m.settled(g, "member "+x.id+" left to be back")
	m.writeConsumer(g, []Record{currentAssignmentRecord(g.id, x)}, e.Token, r)
	return nil
}

// expelConsumer takes a member out. Who gets its partitions is found out when another member's heartbeat comes.
func (m *Machine) expelConsumer(g *Group, x *consumer, reason string) (records []Record) {
	c := g.consumer
	m.timers.cancel(&x.session)
	m.timers.cancel(&x.rebalance)
	c.remove(x)
	records = memberTombstones(g.id, x.id)
	if c.resolve(m.topics) {
		records = append(records, topicsRecord(g.id, c.topics))
	}
	c.epoch++
	records = append(records, epochRecord(g.id, c.epoch))
	if len(c.members) == 0 { // there is nothing to assign
		c.assignmentEpoch = c.epoch
		records = append(records, assignmentEpochRecord(g.id, c.assignmentEpoch))
	}
	m.settled(g, reason)
	return records
}

// fence expels a member that let a time pass.
func (m *Machine) fence(g *Group, x *consumer, reason string) {
	m.writeConsumer(g, m.expelConsumer(g, x, reason), nil, nil)
}

// checkCommit: a member commits with its epoch.
func (c *consumerGroup) checkCommit(e *Commit, view TopicView) error {
	if c.byID[e.MemberID] != nil && e.UnsupportedEpochs {
		return refuse(ErrUnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the consumer protocol.")
	}
	err := c.checkEpoch(e.MemberID, e.Generation)
	if x := c.byID[e.MemberID]; err != nil && x != nil && x.hasHadSince(e, view) {
		return nil
	}
	return err
}

// hasHadSince tells whether all that is committed was with the member in the epoch that it commits with, and still is. Its epoch may
// have been raised while the commit was on its way (KAFKA-19779).
func (x *consumer) hasHadSince(e *Commit, view TopicView) bool {
	if e.Generation > x.epoch {
		return false
	}
	for _, t := range e.Topics {
		topic, _ := view.Topic(t.Name)
		for _, p := range t.Partitions {
			if since, has := x.since[TopicPartition{topic.ID, p.Partition}]; !has || e.Generation < since {
				return false
			}
		}
	}
	return true
}

// checkEpoch is what is asked of a member that commits or fetches offsets.
func (c *consumerGroup) checkEpoch(memberID string, epoch int32) error {
	switch x := c.byID[memberID]; {
	case x == nil:
		return refuse(ErrUnknownMemberID, "Member %s is not a member of the group.", memberID)
	case x.epoch != epoch:
		return refuse(ErrStaleMemberEpoch, "The received member epoch %d does not match the expected member epoch %d.", epoch, x.epoch)
	}
	return nil
}

// removeConsumer lets an administrator take a member out: by its id, or a static one by its instance id, whatever its id is.
func (m *Machine) removeConsumer(g *Group, l LeaveMember) error {
	c := g.consumer
	x := c.byID[l.MemberID]
	if l.InstanceID != nil {
		x = c.static[*l.InstanceID]
	}
	switch {
	case x == nil:
		return ErrUnknownMemberID
	case l.InstanceID != nil && l.MemberID != "" && l.MemberID != x.id:
		return ErrFencedInstanceID
	}
	m.writeConsumer(g, m.expelConsumer(g, x, "member "+x.id+" was removed"), nil, nil)
	return nil
}
