package central

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"millrace/metadata"
	"millrace/metadata/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// await runs a command and returns what it answered.
func await[R any](run func(done func(R))) R {
	c := make(chan R, 1)
	run(func(r R) { c <- r })
	return <-c
}

type brokerAnswer struct {
	broker *metadata.Broker
	err    error
}

func register(s *Server, spec metadata.BrokerSpec) (*metadata.Broker, error) {
	a := await(func(done func(brokerAnswer)) {
		s.RegisterBroker(spec, func(b *metadata.Broker, err error) { done(brokerAnswer{b, err}) })
	})
	return a.broker, a.err
}

func remove(s *Server, id int32) error {
	return await(func(done func(error)) { s.RemoveBroker(id, done) })
}

func create(s *Server, specs ...metadata.TopicSpec) []metadata.TopicResult {
	return await(func(done func([]metadata.TopicResult)) { s.CreateTopics(specs, false, done) })
}

func spec(name string, partitions int32) metadata.TopicSpec {
	return metadata.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: -1}
}

func open(t testing.TB, store metadata.Store) *Server {
	t.Helper()
	s, err := Open(Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// openWith has brokers 1 to n.
func openWith(t testing.TB, store metadata.Store, n int) *Server {
	t.Helper()
	s := open(t, store)
	for range n {
		if _, err := register(s, metadata.BrokerSpec{ID: -1}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// stores are those that every test of behaviour runs on.
var stores = map[string]func(t *testing.T) metadata.Store{
	"at once": func(t *testing.T) metadata.Store {
		store := memory.Open(memory.Options{})
		t.Cleanup(store.Close)
		return store
	},
	"remote":             func(t *testing.T) metadata.Store { return newRemote(t, memory.Options{}) },
	"small transactions": func(t *testing.T) metadata.Store { return newRemote(t, memory.Options{TxnMax: 16}) },
	"short history":      func(t *testing.T) metadata.Store { return newRemote(t, memory.Options{HistoryBytesMax: 1}) },
}

func onEach(t *testing.T, test func(t *testing.T, store metadata.Store)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func TestBrokers(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := open(t, store)
		incarnations := make(map[uint64]bool)
		for id := int32(1); id <= 3; id++ {
			b, err := register(s, metadata.BrokerSpec{ID: -1, Endpoints: []metadata.Endpoint{{Name: "P", Host: "h", Port: 9092}}})
			if err != nil || b.ID != id || b.Incarnation == 0 || incarnations[b.Incarnation] || b.Revision == 0 || s.Image().Broker(id) != b {
				t.Fatalf("register = %+v, %v", b, err)
			}
			incarnations[b.Incarnation] = true
		}
		if _, err := register(s, metadata.BrokerSpec{ID: 2}); !errors.Is(err, metadata.ErrDuplicateBroker) {
			t.Errorf("a broker id twice: %v", err)
		}
		if err := remove(s, 3); err != nil {
			t.Fatal(err)
		}
		if err := remove(s, 3); !errors.Is(err, metadata.ErrUnknownBroker) {
			t.Errorf("a broker removed twice: %v", err)
		}
		if b, err := register(s, metadata.BrokerSpec{ID: -1}); err != nil || b.ID != 4 {
			t.Errorf("after broker 3 was removed comes %+v, %v", b, err)
		}
		endpoints := []metadata.Endpoint{{Name: "P", Host: "h", Port: 1}}
		err := await(func(done func(error)) { s.UpdateEndpoints(1, endpoints, done) })
		if b := s.Image().Broker(1); err != nil || b.Endpoints[0].Port != 1 || !incarnations[b.Incarnation] {
			t.Errorf("UpdateEndpoints: %+v, %v", b, err)
		}
	})
}

func TestTopics(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := openWith(t, store, 3)
		value := "1"
		a := spec("a", 4)
		a.Configs = map[string]*string{"x": &value}
		would := await(func(done func([]metadata.TopicResult)) { s.CreateTopics([]metadata.TopicSpec{a}, true, done) })
		if would[0].Err != nil || len(would[0].Topic.Partitions) != 4 || s.Image().TopicCount() != 0 {
			t.Fatalf("validate only: %+v", would)
		}
		got := create(s, a, spec("..", 1))
		if got[0].Err != nil || !errors.Is(got[1].Err, metadata.ErrInvalidTopic) || got[1].Topic != nil {
			t.Fatalf("create = %+v", got)
		}
		topic := s.Image().Topic("a")
		if topic != got[0].Topic || topic.Revision == 0 || topic.ConfigRevision == 0 || topic.Configs["x"] != "1" {
			t.Errorf("created %+v, image has %+v", got[0].Topic, topic)
		}
		more := await(func(done func([]metadata.PartitionsResult)) {
			s.CreatePartitions([]metadata.PartitionsSpec{{Name: "a", Count: 6}, {Name: "nope", Count: 6}}, false, done)
		})
		if more[0].Err != nil || !errors.Is(more[1].Err, metadata.ErrUnknownTopic) {
			t.Errorf("CreatePartitions = %v", more)
		}
		altered := await(func(done func([]metadata.ConfigResult)) {
			s.AlterConfigs([]metadata.ConfigSpec{{Name: "a", Set: map[string]*string{"y": &value}}}, false, done)
		})
		topic = s.Image().Topic("a")
		if altered[0].Err != nil || len(topic.Partitions) != 6 || topic.Configs["x"] != "1" || topic.Configs["y"] != "1" {
			t.Errorf("AlterConfigs = %v, topic %+v", altered, topic)
		}
		if again := create(s, a); !errors.Is(again[0].Err, metadata.ErrTopicExists) {
			t.Errorf("created again: %v", again)
		}
		deleted := await(func(done func([]metadata.DeleteResult)) { s.DeleteTopics([]metadata.TopicRef{{ID: topic.ID}}, done) })
		if deleted[0].Err != nil || deleted[0].Name != "a" || s.Image().TopicCount() != 0 {
			t.Errorf("DeleteTopics = %v", deleted)
		}
		if again := create(s, spec("a", 1)); again[0].Err != nil || again[0].Topic.ID == topic.ID {
			t.Errorf("made again: %+v", again)
		}
		if kvs, _, _ := store.Range(t.Context(), "configs/"); len(kvs) != 0 {
			t.Errorf("the deleted topic has left %v", kvs)
		}
	})
}

// TestRemoveBrokers moves many partitions, in as many transactions as it takes.
func TestRemoveBrokers(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := openWith(t, store, 3)
		create(s, spec("a", 100), spec("b", 1), spec("c", 7))
		for id := int32(3); id > 0; id-- {
			if err := remove(s, id); err != nil {
				t.Fatal(err)
			}
			for _, topic := range s.Image().Topics() {
				for i, p := range topic.Partitions {
					if offline := p.Leader == metadata.NoBroker; p.Leader >= id || offline != (id == 1) {
						t.Fatalf("broker %d is gone, partition %s-%d: %+v", id, topic.Name, i, p)
					}
				}
			}
		}
		b, err := register(s, metadata.BrokerSpec{ID: -1})
		if err != nil || b.ID != 4 {
			t.Fatal(b, err)
		}
		for _, topic := range s.Image().Topics() {
			for i, p := range topic.Partitions {
				if p.Leader != 4 || p.LossGeneration != 1 {
					t.Fatalf("partition %s-%d: %+v", topic.Name, i, p)
				}
			}
		}
	})
}

// TestReopen: what is in the store is the next server's.
func TestReopen(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := openWith(t, store, 2)
		create(s, spec("a", 4))
		if err := remove(s, 2); err != nil {
			t.Fatal(err)
		}
		first := allocate(t, s)
		was := s.Image()
		s.Close()

		s = open(t, store)
		is := s.Image()
		if is.ClusterID() == "" || is.ClusterID() != was.ClusterID() || is.Topic("a").ID != was.Topic("a").ID || len(is.Diff(was)) != 0 {
			t.Errorf("another image: %v", is.Diff(was))
		}
		if b, err := register(s, metadata.BrokerSpec{ID: -1}); err != nil || b.ID != 3 {
			t.Errorf("register = %+v, %v", b, err)
		}
		if next := allocate(t, s); next <= first {
			t.Errorf("producer ids from %d on after %d", next, first)
		}
	})
}

func allocate(t *testing.T, s *Server) int64 {
	t.Helper()
	type block struct {
		first, count int64
		err          error
	}
	b := await(func(done func(block)) {
		s.AllocateProducerIDs(func(first, count int64, err error) { done(block{first, count, err}) })
	})
	if b.err != nil || b.count != 1000 || b.first%1000 != 0 {
		t.Errorf("AllocateProducerIDs = %+v", b)
	}
	return b.first
}

func TestClusterID(t *testing.T) {
	store := memory.Open(memory.Options{})
	defer store.Close()
	for _, want := range []string{"mine", "mine"} { // the second server's own wish comes too late
		s, err := Open(Options{Store: store, ClusterID: want})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Image().ClusterID(); got != "mine" {
			t.Errorf("cluster id %q", got)
		}
		s.Close()
	}
	seen := make(map[string]bool)
	for range 3 {
		other := memory.Open(memory.Options{})
		id := open(t, other).Image().ClusterID()
		if len(id) != 22 || seen[id] {
			t.Errorf("cluster id %q", id)
		}
		seen[id] = true
	}
}

// TestOpenRefusesWhatItCannotRead rather than to start with half a cluster.
func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	store := memory.Open(memory.Options{})
	defer store.Close()
	store.Commit(metadata.Txn{Ops: []metadata.Op{{Key: "topics/a", Value: []byte("?")}}}, func(int64, error) {})
	if s, err := Open(Options{Store: store}); err == nil {
		s.Close()
		t.Error("opened a store with a topic that can't be read")
	}
	closed := memory.Open(memory.Options{})
	closed.Close()
	if _, err := Open(Options{Store: closed}); !errors.Is(err, metadata.ErrClosed) {
		t.Errorf("opened a closed store: %v", err)
	}
}

// TestOneByOne creates topics from each other's done callback: no stack grows, and
// nothing waits for anything else.
func TestOneByOne(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := openWith(t, store, 1)
		const n = 300
		done := make(chan struct{})
		var next func(i int)
		next = func(i int) {
			if i == n {
				close(done)
				return
			}
			s.CreateTopics([]metadata.TopicSpec{spec(fmt.Sprint(i), 1)}, i%3 == 0, func(r []metadata.TopicResult) {
				if r[0].Err != nil {
					t.Error(r[0].Err)
				}
				next(i + 1)
			})
		}
		next(0)
		<-done
		if got := s.Image().TopicCount(); got != n-n/3 {
			t.Errorf("%d topics, want %d", got, n-n/3)
		}
	})
}
