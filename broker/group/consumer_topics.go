package group

import (
	"maps"
	"regexp"
	"slices"
)

// What topics there are, and which of them the members of a consumer group read.

// TopicView is the topics of the cluster at one moment. It is immutable, and may be read from wherever the machine is.
type TopicView interface {
	// Topic finds a topic by its name.
	Topic(name string) (t Topic, found bool)
	// Topics calls yield with every topic, sorted by name, until it returns false.
	Topics(yield func(Topic) bool)
}

// Topic is what a coordinator has to know of one.
type Topic struct {
	Name       string
	ID         TopicID
	Partitions int32
}

// noTopics is the view of a machine that was told of none.
type noTopics struct{}

func (noTopics) Topic(string) (Topic, bool) { return Topic{}, false }
func (noTopics) Topics(func(Topic) bool)    {}

// topicsChanged takes the new view over. Groups that read what has changed look again at the next heartbeat of a member, as in
// Kafka; a topic that nobody reads costs them a look into a map, and a match of each regular expression.
func (m *Machine) topicsChanged(e *TopicsChanged) {
	m.topics = e.View
	for _, g := range m.groups {
		if c := g.consumer; c != nil && !c.stale {
			c.stale = slices.ContainsFunc(e.Names, c.subscribes)
		}
	}
}

// pattern is a member's regular expression: RE2, of the whole name.
type pattern struct {
	text string
	re   *regexp.Regexp
}

func newPattern(text string) (*pattern, error) {
	if _, err := regexp.Compile(text); err != nil { // the frame would make one of `a)(b`
		return nil, err
	}
	re, err := regexp.Compile(`\A(?:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	return &pattern{text, re}, nil
}

func (p *pattern) matches(name string) bool { return p != nil && p.re.MatchString(name) }

// subscribes tells whether a member reads a topic, or would if it existed.
func (c *consumerGroup) subscribes(topic string) bool {
	for _, x := range c.members {
		if _, found := slices.BinarySearch(x.names, topic); found || x.pattern.matches(topic) {
			return true
		}
	}
	return false
}

// resolve finds out which topics each member reads as of now. It says whether that is something else than before for the
// group as a whole.
func (c *consumerGroup) resolve(view TopicView) (changed bool) {
	byPattern := map[string][]string{}
	topics := map[string]Topic{}
	for _, x := range c.members {
		var reads []string
		for _, name := range x.names {
			if _, found := view.Topic(name); found {
				reads = append(reads, name)
			}
		}
		if x.pattern != nil {
			matched, known := byPattern[x.pattern.text]
			if !known {
				matched = x.pattern.among(view)
				byPattern[x.pattern.text] = matched
			}
			reads = slices.Concat(reads, matched)
			slices.Sort(reads)
			reads = slices.Compact(reads)
		}
		x.reads = reads
		for _, name := range reads {
			if _, known := topics[name]; !known {
				topics[name], _ = view.Topic(name)
			}
		}
	}
	c.stale = false
	if maps.Equal(c.topics, topics) {
		return false
	}
	c.topics = topics
	return true
}

// among lists the topics that match, sorted.
func (p *pattern) among(view TopicView) (names []string) {
	for t := range view.Topics {
		if p.matches(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}
