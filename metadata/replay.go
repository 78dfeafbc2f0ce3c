package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Load builds the image of a store's whole content, as Range("") lists it.
// What is wrong in the store is left out, and told by err; the image is good
// for the rest.
func Load(kvs []KeyValue, revision int64) (img *Image, err error) {
	events := make([]Event, len(kvs))
	for i, kv := range kvs {
		events[i] = Event{Key: kv.Key, Value: kv.Value, Revision: kv.Revision}
	}
	e := empty.edit()
	r := replay{edit: e}
	r.group(events)
	return e.finish(revision), errors.Join(r.errs...)
}

// Replay applies what a Store's watch delivered. It returns the next image, at
// the batch's revision, and the deltas that lead there. An event that can't be
// understood is skipped, and told by err; a key that this release doesn't know
// is skipped silently.
func (img *Image) Replay(b Batch) (next *Image, deltas []Delta, err error) {
	e := img.edit()
	r := replay{edit: e}
	for events := b.Events; len(events) > 0; {
		n := 1
		for n < len(events) && events[n].Revision == events[0].Revision {
			n++
		}
		r.group(events[:n])
		events = events[n:]
	}
	return e.finish(b.Revision), r.deltas, errors.Join(r.errs...)
}

type replay struct {
	*edit
	deltas []Delta
	errs   []error
	fresh  map[TopicID]*Topic // created by the group at hand: nobody else has seen them
}

// group replays events that happened at once (or, for Load, in an order that
// doesn't matter any more).
func (r *replay) group(events []Event) {
	if len(events) > 1 {
		events = slices.Clone(events)
		slices.SortStableFunc(events, func(a, b Event) int { return int(kindOf(a)) - int(kindOf(b)) })
	}
	clear(r.fresh)
	for _, ev := range events {
		if err := r.event(ev); err != nil {
			r.errs = append(r.errs, fmt.Errorf("key %q at revision %d: %w", ev.Key, ev.Revision, err))
		}
	}
}

func (r *replay) emit(d Delta) {
	r.apply(d)
	r.deltas = append(r.deltas, d)
}

func (r *replay) event(ev Event) error {
	switch kindOf(ev) {
	case kindCluster:
		if ev.Deleted {
			return errors.New("the cluster's id was deleted")
		}
		id, err := decodeCluster(ev.Value)
		if err == nil {
			r.emit(ClusterNamed{id})
		}
		return err
	case kindProducerIDs:
		if ev.Deleted {
			return errors.New("the producer id counter was deleted")
		}
		next, err := decodeProducerIDs(ev.Value)
		if err == nil {
			r.emit(ProducerIDsAllocated{next, ev.Revision})
		}
		return err
	case kindController:
		return r.controller(ev)
	case kindBroker:
		return r.broker(ev)
	case kindAlive:
		return r.alive(ev)
	case kindTopicDeleted:
		if t := r.topic(strings.TrimPrefix(ev.Key, dirTopics)); t != nil {
			r.emit(TopicDeleted{t.Name, t.ID})
		}
	case kindTopic:
		return r.putTopic(ev)
	case kindConfig:
		return r.config(ev)
	case kindResourceConfig:
		return r.resourceConfig(ev)
	case kindPartition:
		return r.partition(ev)
	}
	return nil
}

func (r *replay) controller(ev Event) error {
	if ev.Deleted {
		r.emit(ControllerResigned{})
		return nil
	}
	d, err := decodeController(ev.Value)
	if err == nil {
		d.Revision = ev.Revision
		r.emit(d)
	}
	return err
}

func (r *replay) alive(ev Event) error {
	id, ok := parseID(strings.TrimPrefix(ev.Key, dirAlive))
	if !ok {
		return errors.New("not a broker id")
	}
	if ev.Deleted {
		r.emit(BrokerSilent{id})
		return nil
	}
	incarnation, err := decodeAlive(ev.Value)
	if err == nil {
		r.emit(BrokerAlive{ID: id, Incarnation: incarnation, Revision: ev.Revision})
	}
	return err
}

func (r *replay) broker(ev Event) error {
	id, ok := parseID(strings.TrimPrefix(ev.Key, dirBrokers))
	if !ok {
		return errors.New("not a broker id")
	}
	var br *Broker
	if !ev.Deleted {
		var err error
		if br, err = decodeBroker(id, ev.Value); err != nil {
			return err
		}
	}
	if br == nil {
		d := BrokerRemoved{ID: id, Revision: ev.Revision}
		if ev.Deleted {
			d.Revision = 0 // there is no key, so this is what a compare has to find
		}
		r.emit(d)
		return nil
	}
	br.Revision = ev.Revision
	if i, ok := r.next.findBroker(id); ok && r.next.brokers[i].Incarnation == br.Incarnation {
		r.emit(BrokerChanged{br})
		return nil
	}
	r.emit(BrokerRegistered{br})
	return nil
}

func (r *replay) putTopic(ev Event) error {
	name := strings.TrimPrefix(ev.Key, dirTopics)
	t, err := decodeTopic(name, ev.Value)
	if err != nil {
		return err
	}
	t.Revision = ev.Revision
	old := r.topic(name)
	if old != nil && old.ID == t.ID {
		first := len(old.Partitions)
		if len(t.Partitions) < first {
			return fmt.Errorf("the topic shrank from %d partitions to %d", first, len(t.Partitions))
		}
		r.emit(PartitionsAdded{name, t.ID, int32(first), t.Partitions[first:], ev.Revision})
		return nil
	}
	if other := r.topicByID(t.ID); other != nil {
		return fmt.Errorf("its topic id is that of topic %q", other.Name)
	}
	if old != nil {
		r.emit(TopicDeleted{old.Name, old.ID})
	}
	r.emit(TopicCreated{t})
	if r.fresh == nil {
		r.fresh = make(map[TopicID]*Topic)
	}
	r.fresh[t.ID] = t
	return nil
}

// config and partition skip what belongs to a topic that is gone, or that goes
// in the same revision. What belongs to a topic that the same revision made is
// a part of its creation.
func (r *replay) config(ev Event) error {
	id, err := ParseTopicID(strings.TrimPrefix(ev.Key, dirConfigs))
	if err != nil {
		return err
	}
	t := r.topicByID(id)
	if t == nil {
		return nil
	}
	d := ConfigChanged{Name: t.Name, ID: id}
	if !ev.Deleted {
		if d.Configs, err = decodeConfigs(ev.Value); err != nil {
			return err
		}
		d.Revision = ev.Revision
	}
	if created := r.fresh[id]; created != nil {
		created.Configs, created.ConfigRevision = d.Configs, d.Revision
		return nil
	}
	r.emit(d)
	return nil
}

func (r *replay) partition(ev Event) error {
	id, index, ok := parsePartitionKey(ev.Key)
	if !ok {
		return errors.New("not the key of a partition")
	}
	t := r.topicByID(id)
	if t == nil || ev.Deleted {
		return nil
	}
	if int(index) >= len(t.Partitions) {
		return fmt.Errorf("topic %q has %d partitions", t.Name, len(t.Partitions))
	}
	p, err := decodePartition(ev.Value)
	if err != nil {
		return err
	}
	p.Revision = ev.Revision
	if created := r.fresh[id]; created != nil {
		created.Partitions[index] = p
		return nil
	}
	r.emit(PartitionChanged{t.Name, id, index, p})
	return nil
}
