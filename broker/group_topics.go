package broker

import (
	"millrace/broker/group"
	"millrace/metadata"
)

// topicView is an image as the coordinators of groups see it.
type topicView struct{ image *metadata.Image }

// Topic implements group.TopicView.
func (v topicView) Topic(name string) (group.Topic, bool) {
	t := v.image.Topic(name)
	if t == nil {
		return group.Topic{}, false
	}
	return groupTopic(t), true
}

// Topics implements group.TopicView.
func (v topicView) Topics(yield func(group.Topic) bool) {
	for _, t := range v.image.Topics() {
		if !yield(groupTopic(t)) {
			return
		}
	}
}

func groupTopic(t *metadata.Topic) group.Topic {
	return group.Topic{Name: t.Name, ID: group.TopicID(t.ID), Partitions: int32(len(t.Partitions))}
}

// topicsChanged tells the coordinators what topics there are, if that is something else than before. It is the last that follows
// from a change of the cluster: by then the partitions are there that members may be sent to.
func (b *Broker) topicsChanged(img *metadata.Image, deltas []metadata.Delta) {
	var names []string
	for _, d := range deltas {
		switch d := d.(type) {
		case metadata.TopicCreated:
			names = append(names, d.Topic.Name)
		case metadata.TopicDeleted:
			names = append(names, d.Name)
		case metadata.PartitionsAdded:
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	for _, p := range b.Replicas() {
		if p.coordinates() {
			p.worker.Do(func() {
				if p.coordinator != nil {
					p.coordinator.topicsChanged(img, names)
				}
			})
		}
	}
}

func (c *Coordinator) topicsChanged(img *metadata.Image, names []string) {
	c.image = img
	if c.serving() == nil {
		c.step(&group.TopicsChanged{View: topicView{img}, Names: names}, nil)
	}
}
