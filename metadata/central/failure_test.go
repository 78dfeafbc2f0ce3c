package central

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// TestCutOff: a server whose watch is cut off lists again, and its subscribers
// get what they missed.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newRemote(t, memory.Options{})
		s := openWith(t, store, 3)
		h := &history{t: t}
		s.Subscribe(h.see)
		other := open(t, store)
		create(s, spec("gone", 3), spec("stays", 3), spec("again", 3))
		synctest.Wait()

		store.mu.Lock()
		store.listErrs = 3
		store.mu.Unlock()
		store.cut(metadata.ErrCompacted)
		// Neither server sees anything now, until a listing succeeds. What is
		// asked for meanwhile waits.
		result := make(chan []metadata.TopicResult, 1)
		other.CreateTopics([]metadata.TopicSpec{spec("new", 1)}, false, func(r []metadata.TopicResult) { result <- r })
		if r := <-result; r[0].Err != nil {
			t.Error(r[0].Err)
		}
		await(func(done func([]metadata.DeleteResult)) {
			other.DeleteTopics([]metadata.TopicRef{{Name: "gone"}, {Name: "again"}}, done)
		})
		create(other, spec("again", 5))
		if err := remove(other, 2); err != nil {
			t.Error(err)
		}
		if r := create(s, spec("last", 1)); r[0].Err != nil {
			t.Error(r[0].Err)
		}
		synctest.Wait()
		catchUp(other, s.Image().Revision())
		if ds := s.Image().Diff(other.Image()); len(ds) != 0 {
			t.Errorf("the servers differ by %v", ds)
		}
		if h.calls < 3 || s.Image().Topic("gone") != nil || len(s.Image().Topic("again").Partitions) != 5 || s.Image().Broker(2) != nil {
			t.Errorf("after %d calls: %v", h.calls, s.Image().Topics())
		}
	})
}

// TestStoreFails: an error of the store is the caller's answer, and the next command
// is carried out.
func TestStoreFails(t *testing.T) {
	store := newRemote(t, memory.Options{})
	s := openWith(t, store, 1)
	create(s, spec("a", 1))
	store.failCommits(errors.New("no route to the store"))
	created := create(s, spec("b", 1), spec("..", 1))
	if !errors.Is(created[0].Err, metadata.ErrUnavailable) || created[0].Topic != nil || !errors.Is(created[1].Err, metadata.ErrInvalidTopic) {
		t.Errorf("CreateTopics = %v", created)
	}
	errs := allErrors(s)
	maps.Copy(errs, replicationErrors(s))
	for what, err := range errs {
		if !errors.Is(err, metadata.ErrUnavailable) {
			t.Errorf("%s = %v", what, err)
		}
	}
	store.failCommits(nil)
	if r := create(s, spec("b", 1)); r[0].Err != nil {
		t.Error(r[0].Err)
	}
}

// TestConflict: of two servers that plan the same topic on the same image one has
// to plan again, and then sees that the topic exists.
func TestConflict(t *testing.T) {
	store := newRemote(t, memory.Options{})
	one := openWith(t, store, 1)
	two := open(t, store)
	store.hold()
	results := make(chan error, 2)
	for _, s := range []*Server{one, two} {
		s.CreateTopics([]metadata.TopicSpec{spec("a", 1)}, false, func(r []metadata.TopicResult) { results <- r[0].Err })
	}
	store.step()
	store.step()
	first, second := <-results, <-results
	if first != nil {
		first, second = second, first
	}
	if first != nil || !errors.Is(second, metadata.ErrTopicExists) {
		t.Errorf("the results are %v and %v", first, second)
	}
	store.release()
}

// interfere has another server write key between two transactions of a command that
// is being held, and lets the rest go.
func interfere(t *testing.T, store *remote, key string) {
	t.Helper()
	store.step()
	store.awaitHeld()
	kvs, _, err := store.Store.Range(t.Context(), key)
	if err != nil || len(kvs) == 0 {
		t.Fatal(kvs, err)
	}
	touch := metadata.Op{Key: kvs[0].Key, Value: kvs[0].Value}
	store.Store.Commit(metadata.Txn{Ops: []metadata.Op{touch}}, func(int64, error) {})
	store.release()
}

// TestConflictHalfWay: when another server gets in between two transactions of a
// command whose answer tells of a whole, the command ends with an error, and can be
// given again.
func TestConflictHalfWay(t *testing.T) {
	store := newRemote(t, memory.Options{TxnMax: 8})
	s := openWith(t, store, 3)
	var specs []metadata.TopicSpec
	for i := range 20 {
		specs = append(specs, spec(fmt.Sprint(i), 1))
	}
	store.hold()
	result := make(chan []metadata.TopicResult, 1)
	s.CreateTopics(specs, false, func(r []metadata.TopicResult) { result <- r })
	interfere(t, store, "brokers/1")
	if r := <-result; !errors.Is(r[0].Err, metadata.ErrUnavailable) || !errors.Is(r[19].Err, metadata.ErrUnavailable) {
		t.Errorf("CreateTopics = %v", r)
	}
	r := create(s, specs...)
	if !errors.Is(r[0].Err, metadata.ErrTopicExists) || r[19].Err != nil || s.Image().TopicCount() != 20 {
		t.Errorf("CreateTopics again = %v", r)
	}
}

// TestConflictHalfWayIsOvercome by a command of which any part is as good as any other:
// it goes on with what is left.
func TestConflictHalfWayIsOvercome(t *testing.T) {
	store := newRemote(t, memory.Options{TxnMax: 8})
	s := openWith(t, store, 3)
	create(s, spec("a", 60))
	store.hold()
	result := make(chan error, 1)
	s.RemoveBroker(3, func(err error) { result <- err })
	interfere(t, store, "topics/a")
	if err := <-result; err != nil || s.Image().Broker(3) != nil {
		t.Errorf("RemoveBroker = %v", err)
	}
	for i, p := range s.Image().Topic("a").Partitions {
		if p.LossGeneration != 0 || s.Image().LeaderOf(&p) == metadata.NoBroker {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
}

// allErrors asks for everything once, of topic a and broker 1.
func allErrors(s *Server) map[string]error {
	value := "1"
	errs := make(map[string]error)
	_, errs["RegisterBroker"] = register(s, metadata.BrokerSpec{ID: -1})
	errs["RemoveBroker"] = remove(s, 1)
	errs["UpdateEndpoints"] = await(func(done func(error)) { s.UpdateEndpoints(1, []metadata.Endpoint{{Name: "x"}}, done) })
	errs["CreateTopics"] = create(s, spec("c", 1))[0].Err
	errs["DeleteTopics"] = await(func(done func([]metadata.DeleteResult)) { s.DeleteTopics([]metadata.TopicRef{{Name: "a"}}, done) })[0].Err
	errs["CreatePartitions"] = await(func(done func([]metadata.PartitionsResult)) {
		s.CreatePartitions([]metadata.PartitionsSpec{{Name: "a", Count: 2}}, false, done)
	})[0].Err
	errs["AlterConfigs"] = await(func(done func([]metadata.ConfigResult)) {
		s.AlterConfigs([]metadata.ConfigSpec{{Name: "a", Set: map[string]*string{"x": &value}}}, false, done)
	})[0].Err
	errs["AllocateProducerIDs"] = await(func(done func(error)) {
		s.AllocateProducerIDs(func(_, _ int64, err error) { done(err) })
	})
	return errs
}

// TestClose answers what waits, once, and everything that comes later too.
func TestClose(t *testing.T) {
	store := newRemote(t, memory.Options{})
	s := openWith(t, store, 1)
	create(s, spec("a", 1))
	store.hold()
	var mu sync.Mutex
	answers := make(map[int]error)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Add(1)
		s.CreateTopics([]metadata.TopicSpec{spec(fmt.Sprint(i), 1)}, false, func(r []metadata.TopicResult) {
			mu.Lock()
			defer mu.Unlock()
			if answers[i] != nil {
				t.Errorf("command %d was answered twice", i)
			}
			answers[i] = r[0].Err
			wg.Done()
		})
	}
	called := false
	s.Subscribe(func(_, _ *metadata.Image, deltas []metadata.Delta) { called = len(deltas) > 0 })
	s.Close()
	wg.Wait()
	store.release()
	for i := range 10 {
		if !errors.Is(answers[i], metadata.ErrUnavailable) {
			t.Errorf("command %d = %v", i, answers[i])
		}
	}
	errs := allErrors(s)
	maps.Copy(errs, replicationErrors(s))
	maps.Copy(errs, closedErrors(s))
	for what, err := range errs {
		if !errors.Is(err, metadata.ErrUnavailable) {
			t.Errorf("%s after Close = %v", what, err)
		}
	}
	cancel := s.Subscribe(func(_, _ *metadata.Image, _ []metadata.Delta) { t.Error("called after Close") })
	cancel()
	if called || s.Image().Topic("a") == nil {
		t.Error("the image is gone, or a subscriber was called")
	}
}

// TestStoreCloses under the server: it says so, and answers.
func TestStoreCloses(t *testing.T) {
	store := newRemote(t, memory.Options{})
	s := openWith(t, store, 1)
	create(s, spec("a", 1))
	store.Close()
	for what, err := range allErrors(s) {
		if !errors.Is(err, metadata.ErrUnavailable) {
			t.Errorf("%s = %v", what, err)
		}
	}
}

// TestTooManyCommands: the queue is bounded, and what is refused is answered.
func TestTooManyCommands(t *testing.T) {
	store := newRemote(t, memory.Options{})
	s, err := Open(Options{Store: store, CommandsMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := register(s, metadata.BrokerSpec{ID: -1}); err != nil {
		t.Fatal(err)
	}
	store.hold()
	results := make(chan error, 20)
	for i := range 20 {
		s.CreateTopics([]metadata.TopicSpec{spec(fmt.Sprint(i), 1)}, false, func(r []metadata.TopicResult) { results <- r[0].Err })
	}
	store.release()
	refused := 0
	for range 20 {
		if err := <-results; errors.Is(err, metadata.ErrUnavailable) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 14 || s.Image().TopicCount() != 6 { // one on its way, five behind it
		t.Errorf("%d commands were refused, %d topics made; want 14 and 6", refused, s.Image().TopicCount())
	}
}

// TestUnreadable: what nobody can read is said, and the rest goes on.
func TestUnreadable(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	store := memory.Open(memory.Options{})
	defer store.Close()
	s, err := Open(Options{Store: store, Log: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ops := []metadata.Op{{Key: "topics/a", Value: []byte("?")}, {Key: "of/a/later/release"}}
	store.Commit(metadata.Txn{Ops: ops}, func(int64, error) {})
	if _, err := register(s, metadata.BrokerSpec{ID: -1}); err != nil {
		t.Fatal(err)
	}
	if n := logs.FilterMessage("the metadata store holds something unreadable").Len(); n != 1 {
		t.Errorf("%d log lines, want 1: %v", n, logs.All())
	}
}

// TestLog has a line for what an operator acts on.
func TestLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	store := memory.Open(memory.Options{})
	defer store.Close()
	s, err := Open(Options{Store: store, Log: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		register(s, metadata.BrokerSpec{ID: -1})
	}
	create(s, spec("a", 4))
	remove(s, 1)
	remove(s, 2)
	register(s, metadata.BrokerSpec{ID: -1})
	fence(s, member(s, 3))
	unfence(s, member(s, 3))
	drain(t, s, member(s, 3))
	const lost = "the records of a partition are lost: no replica is left that had all of them"
	want := []string{
		"broker registered", "broker registered", "topic created", "broker removed", "partitions have a new leader",
		"broker removed", "partitions are offline: no broker is left for them", "broker registered", lost, lost, lost, lost,
		"partitions lost their records", "broker fenced", "partitions are offline: no broker is left for them",
		"broker back: it isn't fenced any more", "partitions have a new leader", "broker drains",
	}
	var got []string
	for _, entry := range logs.All() {
		got = append(got, entry.Message)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
