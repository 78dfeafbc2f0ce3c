package group

import (
	"encoding/binary"
	"slices"
)

// consumerType is the protocol type whose metadata the coordinator looks into.
const consumerType = "consumer"

// learnTopics finds out what the members read, for the sake of offset expiry.
func (g *Group) learnTopics() {
	g.subscribed, g.knowsTopics = nil, false
	if g.protocolType == nil || *g.protocolType != consumerType {
		return
	}
	if len(g.members) > 0 && g.protocolName == nil {
		return
	}
	var all []string
	for _, x := range g.members {
		topics, ok := g.topicsOf(x)
		if !ok {
			return
		}
		all = append(all, topics...)
	}
	slices.Sort(all)
	g.subscribed, g.knowsTopics = slices.Compact(all), true
}

// topicsOf is what one member reads, sorted; false if its metadata for the chosen protocol is no consumer's.
func (g *Group) topicsOf(x *member) ([]string, bool) {
	if g.protocolType == nil || *g.protocolType != consumerType || g.protocolName == nil {
		return nil, false
	}
	return subscribedTopics(x.metadata(*g.protocolName))
}

// reads tells whether a member subscribes to a topic. What can't be known counts as yes for a group of consumers.
func (g *Group) reads(topic string) bool {
	if g.consumer != nil {
		return g.consumer.subscribes(topic)
	}
	if !g.knowsTopics {
		return g.protocolType != nil && *g.protocolType == consumerType
	}
	_, found := slices.BinarySearch(g.subscribed, topic)
	return found
}

// subscribedTopics reads the beginning that all versions of ConsumerProtocolSubscription share: int16 version, array of
// strings. The rest (user data, owned partitions, …) is not looked at. The topics are copies, sorted.
func subscribedTopics(b []byte) ([]string, bool) {
	if len(b) < 6 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return nil, false
	}
	n := int(int32(binary.BigEndian.Uint32(b[2:])))
	b = b[6:]
	if n < 0 || n > len(b)/2 { // each takes two bytes at least
		return nil, false
	}
	topics := make([]string, n)
	for i := range topics {
		if len(b) < 2 {
			return nil, false
		}
		l := int(int16(binary.BigEndian.Uint16(b)))
		if l < 0 || l > len(b)-2 {
			return nil, false
		}
		topics[i] = string(b[2 : 2+l])
		b = b[2+l:]
	}
	slices.Sort(topics)
	return slices.Compact(topics), true
}
