package group

import (
	"fmt"
	"slices"
	"strings"
)

// What the golden scripts have for consumer groups:
//
//	> topics a:4 b:2
//	> cbeat member=m1 epoch=0 topics=a,b owned= timeout=60000
//	> cbeat member=m1 epoch=1 owned=a:0+1,b:0
//
// topics says what there is from now on. The id of a topic is its name and a number that counts up when it is made again.

// testTopics is a view, by name.
type testTopics map[string]Topic

func (t testTopics) Topic(name string) (Topic, bool) { topic, ok := t[name]; return topic, ok }

func (t testTopics) Topics(yield func(Topic) bool) {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !yield(t[name]) {
			return
		}
	}
}

func testTopicID(name string) (id TopicID) {
	copy(id[:], name)
	return id
}

// with is the view after topics were set to so many partitions; 0 deletes one.
func (t testTopics) with(name string, partitions int) testTopics {
	next := testTopics{}
	for n, topic := range t {
		next[n] = topic
	}
	if next[name] = (Topic{name, testTopicID(name), int32(partitions)}); partitions == 0 {
		delete(next, name)
	}
	return next
}

func (s *script) setTopics(w words) {
	var changed []string
	next := s.topics
	for key := range w {
		if name, n, ok := strings.Cut(key, ":"); ok {
			changed = append(changed, name)
			next = next.with(name, atoi(n))
		}
	}
	s.topics = next
	s.step(&TopicsChanged{Head{NowMs: s.nowMs}, next, changed})
}

func (s *script) consumerEvent(w words, head Head) Event {
	s.uuids++
	e := &ConsumerHeartbeat{
		Head: head, GroupID: w.or("g", "g"), MemberID: w.or("member", ""), MemberEpoch: int32(w.int("epoch", 0)),
		ClientID: w.or("client", "c"), ClientHost: w.or("host", "/1.1.1.1"), InstanceID: w.optional("instance"),
		RackID: w.optional("rack"), RebalanceTimeoutMs: int32(w.int("timeout", -1)), NamesGiven: w.has("topics"),
		Names: list(w["topics"]), Regex: w.optional("regex"), Assignor: w.optional("assignor"), OwnedGiven: w.has("owned"),
		RequireMemberID: !w.has("v0"), NewMemberID: fmt.Sprint("new-", s.uuids),
	}
	if e.MemberEpoch == 0 && !w.has("bare") { // what a member must say to join
		e.OwnedGiven = true
		if !w.has("timeout") {
			e.RebalanceTimeoutMs = 60_000
		}
	}
	for _, t := range list(w["owned"]) {
		name, numbers, _ := strings.Cut(t, ":")
		owned := TopicPartitions{Topic: testTopicID(name)}
		for n := range strings.SplitSeq(numbers, "+") {
			owned.Partitions = append(owned.Partitions, int32(atoi(n)))
		}
		e.Owned = append(e.Owned, owned)
	}
	return e
}

func showTopicPartitions(topics []TopicPartitions) string {
	var parts []string
	for _, t := range topics {
		numbers := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Partitions), "[]"), " ", "+")
		parts = append(parts, strings.TrimRight(string(t.Topic[:]), "\x00")+":"+numbers)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func showConsumers(r *DescribeConsumerResult) string {
	s := fmt.Sprintf("%v epoch=%d assignment=%d %s", r.State, r.Epoch, r.AssignmentEpoch, r.Assignor)
	for _, x := range r.Members {
		s += fmt.Sprintf(" [%s epoch=%d client=%s host=%s rack=%s topics=%s regex=%s has %s target %s]",
			showMember(x.MemberID, x.InstanceID), x.MemberEpoch, x.ClientID, x.ClientHost, show(x.RackID),
			strings.Join(x.Names, "+"), x.Regex, showTopicPartitions(x.Assigned), showTopicPartitions(x.Target))
	}
	return s
}

func showConsumerRecord(k key, value []byte) string {
	kinds := map[int16]string{
		keyConsumerGroup: "epoch", keyTopics: "topics", keyConsumer: "member", keyAssignmentEpoch: "assignment epoch",
		keyTarget: "target", keyCurrentAssignment: "current",
	}
	what := kinds[k.kind] + " " + k.group
	if k.member != "" {
		what += " " + k.member
	}
	if value == nil {
		return what + ": tombstone"
	}
	text, err := showConsumerValue(k.kind, value)
	if err != nil {
		return err.Error()
	}
	return what + ": " + text
}

func showConsumerValue(kind int16, value []byte) (text string, err error) {
	switch kind {
	case keyConsumerGroup, keyAssignmentEpoch:
		epoch, err := parseEpoch(value)
		return fmt.Sprint(epoch), err
	case keyTopics:
		topics, err := parseTopics(value)
		var parts []string
		for t := range testTopics(topics).Topics {
			parts = append(parts, fmt.Sprintf("%s:%d", t.Name, t.Partitions))
		}
		return strings.Join(parts, ","), err
	case keyConsumer:
		var x consumer
		err := parseConsumer(value, &x)
		return fmt.Sprintf("instance=%s rack=%s client=%s topics=%s regex=%s timeout=%d assignor=%s", show(x.instanceID),
			show(x.rackID), x.clientID, strings.Join(x.names, "+"), x.regex(), x.rebalanceTimeoutMs, x.assignor), err
	case keyTarget:
		target, err := parseTarget(value)
		return showTopicPartitions(target.byTopic()), err
	}
	s, err := parseCurrentAssignment(value)
	return fmt.Sprintf("epoch=%d previous=%d state=%d %s revoking %s", s.epoch, s.previousEpoch, s.state,
		showTopicPartitions(s.assigned.byTopic()), showTopicPartitions(s.revoking.byTopic())), err
}
