package metadata_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// The walk changes a cluster at random, by deltas that go through a store as
// they do in real life. After each step there are five ways to the same image, and
// they must agree: applying the plan, replaying the watch one by one, replaying
// several steps in one batch, listing the store, and applying the difference to
// the image before.
const (
	walkSteps = 150
	walkSeeds = 6
)

func TestWalk(t *testing.T) {
	for seed := range uint64(walkSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWalk(t, seed)
			for range walkSteps {
				w.step()
			}
		})
	}
}

type walk struct {
	*testing.T
	rng   *rand.Rand
	store *memory.Store
	max   int // of a transaction

	img     *metadata.Image // by the watch
	lazy    *metadata.Image // replayed now and then
	behind  []metadata.Event
	batches []metadata.Batch
	names   int
}

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{
		T: t, rng: rand.New(rand.NewPCG(seed, 1)), store: memory.Open(memory.Options{}), max: []int{0, 3, 128}[seed%3],
		img: metadata.Empty(), lazy: metadata.Empty(),
	}
	t.Cleanup(w.store.Close)
	t.Cleanup(w.store.Watch(1, func(b metadata.Batch, _ error) { w.batches = append(w.batches, b) }))
	return w
}

func (w *walk) step() {
	deltas := w.deltas()
	planned := w.img.Apply(deltas...)
	before := w.img
	for _, txn := range before.Transactions(deltas, w.max) {
		w.store.Commit(txn, func(_ int64, err error) {
			if err != nil {
				w.Fatalf("%v: %v", deltas, err)
			}
		})
	}
	for _, b := range w.batches {
		next, got, err := w.img.Replay(b)
		if err != nil {
			w.Fatal(err)
		}
		w.same("the deltas of the watch", next, w.img.Apply(got...))
		w.img = next
		w.behind = append(w.behind, b.Events...)
	}
	w.batches = nil
	w.same("the plan", w.img, planned)
	w.same("the difference", w.img, before.Apply(before.Diff(w.img)...))
	kvs, revision, err := w.store.Range(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	loaded, err := metadata.Load(kvs, revision)
	if err != nil {
		w.Fatal(err)
	}
	w.same("the listing", w.img, loaded)
	if diff := w.img.Diff(loaded); len(diff) != 0 { // revisions included
		w.Fatalf("between the watch and the listing: %v", diff)
	}
	if w.rng.IntN(10) == 0 {
		w.catchUp()
	}
}

func (w *walk) catchUp() {
	next, _, err := w.lazy.Replay(metadata.Batch{Revision: w.img.Revision(), Events: w.behind})
	if err != nil {
		w.Fatal(err)
	}
	w.same("the batch of several steps", w.img, next)
	w.same("the difference over several steps", w.img, w.lazy.Apply(w.lazy.Diff(w.img)...))
	w.lazy, w.behind = next, nil
}

// same compares what an image says, but for revisions.
func (w *walk) same(what string, want, got *metadata.Image) {
	w.Helper()
	a, b := describe(want), describe(got)
	if !reflect.DeepEqual(a, b) { // much faster than cmp
		w.Fatalf("%s leads elsewhere (-want +got):\n%s", what, cmp.Diff(a, b))
	}
}

type description struct {
	Cluster     string
	ProducerIDs int64
	FreeID      int32
	Partitions  int
	Controller  metadata.ControllerElected
	Alive       [6]uint64
	Brokers     []metadata.Broker
	Topics      []metadata.Topic
	Resources   map[metadata.ConfigResource]map[string]string
}

func describe(img *metadata.Image) description {
	d := description{Cluster: img.ClusterID(), ProducerIDs: img.ProducerIDNext(), FreeID: img.FreeBrokerID(), Partitions: img.PartitionCount()}
	d.Controller = img.Controller()
	d.Controller.Revision = 0
	d.Resources = map[metadata.ConfigResource]map[string]string{}
	for _, r := range img.ConfigResources() {
		d.Resources[r] = img.ResourceConfigs(r)
	}
	for id := range d.Alive {
		d.Alive[id] = img.Alive(int32(id))
	}
	for _, b := range img.Brokers() {
		copied := *b
		copied.Revision = 0
		d.Brokers = append(d.Brokers, copied)
	}
	for _, t := range img.Topics() {
		copied := *t
		copied.Revision, copied.ConfigRevision = 0, 0
		if copied.Configs == nil {
			copied.Configs = map[string]string{}
		}
		copied.Partitions = nil
		for _, p := range t.Partitions {
			p.Revision = 0
			p.SetISR(p.ISRMembers()) // nil if it is empty
			p.SetELR(p.ELRMembers())
			p.Adding = append([]int32(nil), p.Adding...)
			copied.Partitions = append(copied.Partitions, p)
		}
		d.Topics = append(d.Topics, copied)
		if img.TopicByID(t.ID) != t || img.Topic(t.Name) != t {
			panic("the indexes disagree")
		}
	}
	return d
}

// deltas makes a change or two that fit the image. Several may touch one topic,
// but each key only once.
func (w *walk) deltas() (deltas []metadata.Delta) {
	switch w.rng.IntN(15) {
	case 0, 8:
		for range 1 + w.rng.IntN(2) {
			deltas = append(deltas, metadata.TopicCreated{Topic: w.newTopic()})
		}
	case 1, 2:
		if t := w.someTopic(); t != nil {
			deltas = append(deltas, metadata.TopicDeleted{Name: t.Name, ID: t.ID})
		}
	case 3:
		deltas = w.changeTopic()
	case 4:
		deltas = append(deltas, metadata.ProducerIDsAllocated{Next: w.img.ProducerIDNext() + 1000})
	case 5:
		id := int32(w.rng.IntN(6))
		b := &metadata.Broker{ID: id, Incarnation: w.rng.Uint64(), Endpoints: []metadata.Endpoint{{Name: "P", Host: "h", Port: int32(w.rng.IntN(9))}}}
		deltas = append(deltas, metadata.BrokerRegistered{Broker: b})
	case 6:
		if brokers := w.img.Brokers(); len(brokers) > 0 {
			b := *brokers[w.rng.IntN(len(brokers))]
			b.Rack += "r"
			b.Fenced, b.Draining = w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
			deltas = append(deltas, metadata.BrokerChanged{Broker: &b})
		}
	case 7:
		if brokers := w.img.Brokers(); len(brokers) > 2 {
			deltas = append(deltas, metadata.BrokerRemoved{ID: brokers[w.rng.IntN(len(brokers))].ID})
		}
	case 9, 10:
		deltas = append(deltas, metadata.BrokerAlive{ID: int32(w.rng.IntN(6)), Incarnation: 1 + w.rng.Uint64N(3)})
	case 11:
		if id := int32(w.rng.IntN(6)); w.img.Alive(id) != 0 {
			deltas = append(deltas, metadata.BrokerSilent{ID: id})
		}
	case 13, 14:
		r := metadata.ConfigResource{Kind: metadata.ConfigKind(1 + w.rng.IntN(3)), Name: fmt.Sprint(w.rng.IntN(2))}
		if w.rng.IntN(3) == 0 {
			r = metadata.DefaultBroker
		}
		d := metadata.ResourceConfigChanged{Resource: r}
		if w.rng.IntN(3) > 0 {
			d.Configs = map[string]string{"a": fmt.Sprint(w.rng.IntN(3))}
		}
		deltas = append(deltas, d)
	case 12:
		if w.img.Controller().Token == 0 {
			deltas = append(deltas, metadata.ControllerElected{Name: "c", Token: 1 + w.rng.Uint64N(3)})
		} else {
			deltas = append(deltas, metadata.ControllerResigned{})
		}
	}
	if w.img.ClusterID() == "" {
		deltas = append(deltas, metadata.ClusterNamed{ClusterID: "c"})
	}
	return deltas
}

// newTopic has one of few names, so that names come again with other ids. If
// the name is taken, a topic of another name that sorts elsewhere is made.
func (w *walk) newTopic() *metadata.Topic {
	w.names++
	name := fmt.Sprintf("few.%d", w.names%7)
	if w.img.Topic(name) != nil {
		name = fmt.Sprintf("%d_many", w.names)
	}
	t := &metadata.Topic{Name: name, ID: metadata.NewTopicID()}
	for range 1 + w.rng.IntN(4) {
		t.Partitions = append(t.Partitions, w.partition())
	}
	if w.rng.IntN(2) == 0 {
		t.Configs = map[string]string{"a": "1"}
	}
	return t
}

func (w *walk) partition() metadata.Partition {
	replicas := w.replicas()
	return metadata.NewPartition(replicas, w.lives(len(replicas)), int32(w.rng.IntN(3)))
}

// lives are incarnations; 0 is one that isn't there.
func (w *walk) lives(n int) []uint64 {
	lives := make([]uint64, n)
	for i := range lives {
		lives[i] = uint64(w.rng.IntN(3))
	}
	return lives
}

func (w *walk) replicas() []int32 {
	var ids []int32
	for _, id := range w.rng.Perm(6)[:1+w.rng.IntN(3)] {
		ids = append(ids, int32(id))
	}
	return ids
}

func (w *walk) someTopic() *metadata.Topic {
	topics := w.img.Topics()
	if len(topics) == 0 {
		return nil
	}
	return topics[w.rng.IntN(len(topics))]
}

func (w *walk) changeTopic() (deltas []metadata.Delta) {
	t := w.someTopic()
	if t == nil {
		return nil
	}
	index := int32(w.rng.IntN(len(t.Partitions)))
	p := t.Partitions[index]
	p.Leader, p.LeaderEpoch, p.PartitionEpoch = int32(w.rng.IntN(6))-1, p.LeaderEpoch+1, p.PartitionEpoch+1
	p.Replicas = w.replicas()
	p.ISR = p.Replicas[:w.rng.IntN(len(p.Replicas)+1)]
	p.ISRIncarnations = w.lives(len(p.ISR))
	p.ELR = p.Replicas[len(p.ISR):]
	p.ELRIncarnations = w.lives(len(p.ELR))
	p.Adding, p.MinInSync = p.ISR, int32(w.rng.IntN(3))
	p.OffsetCeiling += 1000
	if w.rng.IntN(3) == 0 {
		p.Lose()
	}
	deltas = append(deltas, metadata.PartitionChanged{Name: t.Name, ID: t.ID, Index: index, Partition: p})
	if w.max != 0 && w.max < 128 {
		return deltas // a cut between two changes of one topic would conflict
	}
	if w.rng.IntN(2) == 0 {
		configs := maps.Clone(t.Configs)
		if configs == nil {
			configs = map[string]string{}
		}
		configs[fmt.Sprint(w.rng.IntN(3))] = fmt.Sprint(w.rng.IntN(3))
		deltas = append(deltas, metadata.ConfigChanged{Name: t.Name, ID: t.ID, Configs: configs})
	}
	if w.rng.IntN(2) == 0 {
		deltas = append(deltas, metadata.PartitionsAdded{
			Name: t.Name, ID: t.ID, First: int32(len(t.Partitions)), Partitions: []metadata.Partition{w.partition()},
		})
	}
	return deltas
}
