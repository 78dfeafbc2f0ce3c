package central

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// replicated has three brokers, which listen on ports 1 to 3, and topic t with 60 partitions of three
// replicas, of which two have to be in sync.
func replicated(t testing.TB, store metadata.Store) *Server {
	t.Helper()
	s := open(t, store)
	for port := range int32(3) {
		if _, err := register(s, at(-1, port+1)); err != nil {
			t.Fatal(err)
		}
	}
	two := "2"
	topic := metadata.TopicSpec{Name: "t", Partitions: 60, ReplicationFactor: 3, Configs: map[string]*string{"min.insync.replicas": &two}}
	if r := create(s, topic); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	return s
}

func at(id, port int32) metadata.BrokerSpec {
	return metadata.BrokerSpec{ID: id, Endpoints: []metadata.Endpoint{{Name: "P", Host: "h", Port: port}}}
}

func member(s *Server, id int32) metadata.Member { return s.Image().Broker(id).Member() }

func fence(s *Server, members ...metadata.Member) error {
	return await(func(done func(error)) { s.FenceBrokers(members, done) })
}

func unfence(s *Server, m metadata.Member) error {
	return await(func(done func(error)) { s.UnfenceBroker(m, done) })
}

func alter(s *Server, from metadata.Member, specs ...metadata.AlterPartitionSpec) []metadata.AlterPartitionResult {
	return await(func(done func([]metadata.AlterPartitionResult)) { s.AlterPartitions(from, specs, done) })
}

// counts says how often each broker leads a partition of topic t, and sums up its ISRs.
func counts(t testing.TB, s *Server) (leads map[int32]int, inSync int) {
	t.Helper()
	leads = make(map[int32]int)
	img := s.Image()
	for _, p := range img.Topic("t").Partitions {
		leads[img.LeaderOf(&p)]++
		inSync += len(p.ISR)
		if p.LossGeneration != 0 {
			t.Errorf("records were lost: %+v", p)
		}
	}
	return leads, inSync
}

// rejoin has every leader take everybody into the ISR.
func rejoin(t testing.TB, s *Server) {
	t.Helper()
	img := s.Image()
	for _, b := range img.Brokers() {
		var specs []metadata.AlterPartitionSpec
		for _, topic := range img.Topics() {
			for i := range topic.Partitions {
				if p := &topic.Partitions[i]; p.LedBy(b.Member()) {
					specs = append(specs, propose(img, topic, int32(i), p.Replicas))
				}
			}
		}
		for i, r := range alter(s, b.Member(), specs...) {
			if r.Err != nil || r.Topic != specs[i].Topic || r.Partition != specs[i].Partition || len(r.State.ISR) != len(specs[i].ISR) {
				t.Fatalf("%+v is answered with %+v", specs[i], r)
			}
		}
	}
}

func propose(img *metadata.Image, topic *metadata.Topic, index int32, ids []int32) metadata.AlterPartitionSpec {
	p := &topic.Partitions[index]
	spec := metadata.AlterPartitionSpec{Topic: topic.ID, Partition: index, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch}
	for _, id := range ids {
		spec.ISR = append(spec.ISR, img.Broker(id).Member())
	}
	return spec
}

func TestFailover(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := replicated(t, store)
		two := member(s, 2)
		if err := fence(s, two); err != nil {
			t.Fatal(err)
		}
		if leads, inSync := counts(t, s); leads[1] != 30 || leads[3] != 30 || inSync != 120 {
			t.Errorf("with broker 2 fenced, leaders are %v, and %d in sync", leads, inSync)
		}
		if err := unfence(s, two); err != nil {
			t.Fatal(err)
		}
		rejoin(t, s)
		left := -1
		for rounds := 0; left != 0; rounds++ {
			err := await(func(done func(error)) {
				s.BalanceLeaders(7, func(n int, err error) {
					left = n
					done(err)
				})
			})
			if err != nil || rounds > 3 {
				t.Fatal(left, err)
			}
		}
		if leads, inSync := counts(t, s); leads[1] != 20 || leads[2] != 20 || leads[3] != 20 || inSync != 180 {
			t.Errorf("with broker 2 back, leaders are %v, and %d in sync", leads, inSync)
		}
		if err := unfence(s, metadata.Member{Broker: 2, Incarnation: 1}); !errors.Is(err, metadata.ErrStaleBrokerEpoch) {
			t.Errorf("a life that is over was unfenced: %v", err)
		}
		if err := fence(s, metadata.Member{Broker: 9, Incarnation: 1}); err != nil {
			t.Error(err)
		}
	})
}

// TestRestart: when a broker has registered again, others lead what it led, and nothing is lost. A second broker under its
// id is refused.
func TestRestart(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := replicated(t, store)
		old := member(s, 1)
		b, err := register(s, at(1, 1))
		if err != nil || b.ID != 1 || b.Incarnation == old.Incarnation {
			t.Fatal(b, err)
		}
		if leads, inSync := counts(t, s); leads[1] != 0 || leads[metadata.NoBroker] != 0 || inSync != 120 {
			t.Errorf("leaders are %v, and %d in sync", leads, inSync)
		}
		if _, err := register(s, at(1, 99)); !errors.Is(err, metadata.ErrDuplicateBroker) {
			t.Errorf("a second broker 1: %v", err)
		}
		spec := at(1, 99)
		spec.Incarnation = b.Incarnation
		if again, err := register(s, spec); err != nil || again.Member() != b.Member() || again.Endpoints[0].Port != 99 {
			t.Errorf("the same life again: %+v, %v", again, err)
		}
		if r := alter(s, old, propose(s.Image(), s.Image().Topic("t"), 0, []int32{1})); !errors.Is(r[0].Err, metadata.ErrStaleBrokerEpoch) {
			t.Errorf("a life that is over alters partitions: %v", r[0].Err)
		}
	})
}

// TestFenceGetsThrough although somebody else changes partitions meanwhile.
func TestFenceGetsThrough(t *testing.T) {
	store := newRemote(t, memory.Options{TxnMax: 16})
	s := replicated(t, store)
	other := open(t, store)
	store.hold()
	fenced := make(chan error, 1)
	s.FenceBrokers([]metadata.Member{member(s, 3)}, func(err error) { fenced <- err })
	store.awaitHeld()
	altered := make(chan metadata.AlterPartitionResult, 1)
	topic := other.Image().Topic("t")
	leader := topic.Partitions[59].LeaderMember()
	var staying []int32
	for _, id := range topic.Partitions[59].Replicas {
		if id != 3 || id == leader.Broker {
			staying = append(staying, id)
		}
	}
	other.AlterPartitions(leader, []metadata.AlterPartitionSpec{propose(other.Image(), topic, 59, staying)},
		func(r []metadata.AlterPartitionResult) { altered <- r[0] })
	store.release()
	if err := <-fenced; err != nil {
		t.Error(err)
	}
	if r := <-altered; r.Err != nil && !errors.Is(r.Err, metadata.ErrInvalidUpdateVersion) && !errors.Is(r.Err, metadata.ErrFencedLeaderEpoch) &&
		!errors.Is(r.Err, metadata.ErrIneligibleReplica) {
		t.Error(r.Err)
	}
	if leads, inSync := counts(t, s); leads[3] != 0 || inSync != 120 {
		t.Errorf("leaders are %v, and %d in sync", leads, inSync)
	}
}

// TestFenceGoesAhead of what waits already.
func TestFenceGoesAhead(t *testing.T) {
	store := newRemote(t, memory.Options{})
	s := replicated(t, store)
	store.hold()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var order []string
	done := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
		wg.Done()
	}
	wg.Add(4)
	for i := range 3 {
		s.CreateTopics([]metadata.TopicSpec{spec(fmt.Sprint(i), 1)}, false, func([]metadata.TopicResult) { done("create") })
	}
	store.awaitHeld()
	s.FenceBrokers([]metadata.Member{member(s, 3)}, func(error) { done("fence") })
	store.release()
	wg.Wait()
	if got := fmt.Sprint(order); got != "[create fence create create]" {
		t.Errorf("the order is %v", got)
	}
}

// TestAlterPartitions: what is asked for at once is answered one by one; a part that conflicts is planned again, and only
// what has changed is refused.
func TestAlterPartitions(t *testing.T) {
	store := newRemote(t, memory.Options{TxnMax: 40})
	s := replicated(t, store)
	img := s.Image()
	topic := img.Topic("t")
	var specs []metadata.AlterPartitionSpec
	for i := range topic.Partitions {
		if topic.Partitions[i].Leader == 1 {
			specs = append(specs, propose(img, topic, int32(i), []int32{1, 2}))
		}
	}
	specs = append(specs, metadata.AlterPartitionSpec{Topic: metadata.TopicID{9}})
	store.hold()
	results := make(chan []metadata.AlterPartitionResult, 1)
	s.AlterPartitions(member(s, 1), specs, func(r []metadata.AlterPartitionResult) { results <- r })
	store.awaitHeld()
	taken := img.Transactions([]metadata.Delta{metadata.PartitionChanged{Name: "t", ID: topic.ID, Index: specs[1].Partition, Partition: func() metadata.Partition {
		p := topic.Partitions[specs[1].Partition]
		p.PartitionEpoch++
		return p
	}()}}, 0)
	store.Store.Commit(taken[0], func(int64, error) {})
	store.release()
	for i, r := range <-results {
		want := error(nil)
		switch i {
		case 1:
			want = metadata.ErrInvalidUpdateVersion
		case len(specs) - 1:
			want = metadata.ErrUnknownTopicID
		}
		if r.Topic != specs[i].Topic || r.Partition != specs[i].Partition || !errors.Is(r.Err, want) || want == nil && r.Err != nil {
			t.Errorf("result %d is %+v, want %v", i, r, want)
		}
	}
	if r := alter(s, member(s, 1)); len(r) != 0 {
		t.Errorf("nothing is answered with %v", r)
	}
}

// TestReassign: when the last target has come into the ISR, the reassignment ends by itself.
func TestReassign(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := replicated(t, store)
		create(s, metadata.TopicSpec{Name: "r", Partitions: 1, ReplicationFactor: 1})
		from := s.Image().Topic("r").Partitions[0].Leader
		to := from%3 + 1
		ref := metadata.PartitionRef{Topic: "r"}
		begun := await(func(done func([]metadata.ReassignmentResult)) {
			s.AlterReassignments([]metadata.ReassignmentSpec{
				{PartitionRef: ref, Replicas: []int32{to}}, {PartitionRef: metadata.PartitionRef{Topic: "nope"}},
			}, false, done)
		})
		if begun[0].Err != nil || !errors.Is(begun[1].Err, metadata.ErrUnknownTopic) {
			t.Fatal(begun)
		}
		if list := s.Reassignments(nil); len(list) != 1 || !slices.Equal(list[0].Adding, []int32{to}) || len(s.Reassignments([]metadata.PartitionRef{ref})) != 1 {
			t.Errorf("under way is %v", list)
		}
		if r := alter(s, member(s, from), propose(s.Image(), s.Image().Topic("r"), 0, []int32{from, to})); r[0].Err != nil {
			t.Fatal(r[0].Err)
		}
		if err := await(func(done func(error)) { s.Settle(done) }); err != nil { // comes after the end
			t.Fatal(err)
		}
		if p := s.Image().Topic("r").Partitions[0]; p.Leader != to || len(p.Replicas) != 1 || p.LossGeneration != 0 {
			t.Errorf("it is %+v", p)
		}
	})
}

func TestElectLeaders(t *testing.T) {
	s := replicated(t, stores["small transactions"](t))
	elect := func(kind metadata.ElectionType, refs ...metadata.PartitionRef) []metadata.ElectionResult {
		return await(func(done func([]metadata.ElectionResult)) {
			s.ElectLeaders(metadata.ElectionSpec{Type: kind, Partitions: refs}, func(r []metadata.ElectionResult, err error) {
				if err != nil {
					t.Error(err)
				}
				done(r)
			})
		})
	}
	if r := elect(metadata.ElectPreferred); len(r) != 0 {
		t.Errorf("everybody leads who should, and the results are %v", r)
	}
	if r := elect(metadata.ElectUnclean, metadata.PartitionRef{Topic: "t"}); !errors.Is(r[0].Err, metadata.ErrElectionNotNeeded) {
		t.Error(r)
	}
	two := member(s, 2)
	fence(s, two)
	unfence(s, two)
	rejoin(t, s)
	if r := elect(metadata.ElectPreferred); len(r) != 20 {
		t.Errorf("%d results", len(r))
	}
	if leads, _ := counts(t, s); leads[2] != 20 {
		t.Errorf("leaders are %v", leads)
	}
}

// TestDrain: a rolling restart. Never does a partition have fewer than two replicas in sync, and nothing is lost.
func TestDrain(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := replicated(t, store)
		create(s, metadata.TopicSpec{Name: "single", Partitions: 3, ReplicationFactor: 1})
		for id := range int32(3) {
			m := member(s, id+1)
			for rounds := 0; ; rounds++ {
				state := drain(t, s, m)
				if state.Left {
					break
				}
				if rounds > 5 {
					t.Fatalf("%v doesn't get out: %+v", m, state)
				}
				rejoin(t, s) // the copies are made
				_ = await(func(done func(error)) { s.Settle(done) })
			}
			for _, topic := range s.Image().Topics() {
				for i, p := range topic.Partitions {
					if len(p.ISR) < p.MinISR() || s.Image().LeaderOf(&p) == metadata.NoBroker || p.InISR(m.Broker) != 0 {
						t.Errorf("%v has left, and %s-%d is %+v", m, topic.Name, i, p)
					}
				}
			}
			if _, err := register(s, at(m.Broker, m.Broker)); err != nil {
				t.Fatal(err)
			}
			rejoin(t, s)
		}
		if leads, inSync := counts(t, s); inSync != 180 || leads[metadata.NoBroker] != 0 {
			t.Errorf("leaders are %v, and %d in sync", leads, inSync)
		}
		if copies := s.OnlyCopies(s.Image().Topic("single").Partitions[0].Leader); !slices.Contains(copies, metadata.PartitionRef{Topic: "single"}) {
			t.Errorf("only copies: %v", copies)
		}
		m := member(s, 1)
		drain(t, s, m)
		if err := await(func(done func(error)) { s.CancelDrain(m, done) }); err != nil || s.Image().Broker(1).Draining {
			t.Errorf("CancelDrain = %v", err)
		}
	})
}

func drain(t *testing.T, s *Server, m metadata.Member) metadata.DrainState {
	t.Helper()
	return await(func(done func(metadata.DrainState)) {
		s.Drain(m, true, func(state metadata.DrainState, err error) {
			if err != nil {
				t.Error(err)
			}
			done(state)
		})
	})
}

// TestUnregister: a broker that was given up is waited for no longer.
func TestUnregister(t *testing.T) {
	s := openWith(t, stores["remote"](t), 2)
	create(s, metadata.TopicSpec{Name: "t", Partitions: 4, ReplicationFactor: 1})
	unregister := func(id int32) error { return await(func(done func(error)) { s.UnregisterBroker(id, done) }) }
	if err := unregister(1); !errors.Is(err, metadata.ErrInvalidRequest) {
		t.Errorf("a living broker was unregistered: %v", err)
	}
	fence(s, member(s, 1))
	if img := s.Image(); img.LeaderOf(&img.Topic("t").Partitions[0]) != metadata.NoBroker {
		t.Error("there is a leader although the only copy may be alive")
	}
	if err := unregister(1); err != nil {
		t.Fatal(err)
	}
	img := s.Image()
	for i, p := range img.Topic("t").Partitions {
		if lost := int32((i + 1) % 2); img.LeaderOf(&p) != 2 || p.LossGeneration != lost {
			t.Errorf("partition %d is %+v", i, p)
		}
	}
}

// replicationErrors asks for everything once that is about replication, of topic a and broker 1.
func replicationErrors(s *Server) map[string]error {
	m := member(s, 1)
	errs := make(map[string]error)
	simple := func(what string, f func(done func(error))) { errs[what] = await(f) }
	simple("FenceBrokers", func(done func(error)) { s.FenceBrokers([]metadata.Member{m}, done) })
	simple("Announce", func(done func(error)) { s.Announce(m, 0, done) })
	simple("Drain", func(done func(error)) {
		s.Drain(m, true, func(state metadata.DrainState, err error) {
			if state.Left || state.Leading != 0 {
				err = fmt.Errorf("with an error comes %+v", state)
			}
			done(err)
		})
	})
	simple("Campaign", func(done func(error)) {
		s.Campaign(0, func(won bool, err error) {
			if won {
				err = errors.New("won")
			}
			done(err)
		})
	})
	errs["AlterPartitions"] = alter(s, m, propose(s.Image(), s.Image().Topic("a"), 0, []int32{1}))[0].Err
	return errs
}

// closedErrors asks for what only a closed server always refuses.
func closedErrors(s *Server) map[string]error {
	m := member(s, 1)
	errs := make(map[string]error)
	simple := func(what string, f func(done func(error))) { errs[what] = await(f) }
	simple("UnfenceBroker", func(done func(error)) { s.UnfenceBroker(m, done) })
	simple("UnregisterBroker", func(done func(error)) { s.UnregisterBroker(1, done) })
	simple("CancelDrain", func(done func(error)) { s.CancelDrain(m, done) })
	simple("Settle", s.Settle)
	simple("Resign", s.Resign)
	simple("BalanceLeaders", func(done func(error)) { s.BalanceLeaders(0, func(_ int, err error) { done(err) }) })
	simple("ElectLeaders", func(done func(error)) {
		s.ElectLeaders(metadata.ElectionSpec{}, func(_ []metadata.ElectionResult, err error) { done(err) })
	})
	simple("AlterReassignments", func(done func(error)) {
		s.AlterReassignments([]metadata.ReassignmentSpec{{}}, true, func(r []metadata.ReassignmentResult) { done(r[0].Err) })
	})
	return errs
}
