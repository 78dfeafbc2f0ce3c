package central

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"millrace/metadata"
	"millrace/metadata/memory"
)

// TestParallelCreates: of many that create the same topics at once each topic has one
// maker, and all find the same id afterwards, also on different servers.
func TestParallelCreates(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		servers := []*Server{openWith(t, store, 3), open(t, store)}
		const workers, topics = 8, 30
		ids := make([]map[string]metadata.TopicID, workers)
		var wg sync.WaitGroup
		var mu sync.Mutex
		makers := make(map[string]int)
		for w := range workers {
			s := servers[w%len(servers)]
			ids[w] = make(map[string]metadata.TopicID)
			wg.Go(func() {
				for i := range topics {
					name := fmt.Sprint((i + w) % topics)
					r := create(s, spec(name, 2))[0]
					switch {
					case r.Err == nil:
						mu.Lock()
						makers[name]++
						mu.Unlock()
					case !errors.Is(r.Err, metadata.ErrTopicExists):
						t.Error(r.Err)
					}
					ids[w][name] = s.Image().Topic(name).ID
				}
			})
		}
		wg.Wait()
		for i := range topics {
			name := fmt.Sprint(i)
			if makers[name] != 1 {
				t.Errorf("topic %s was made %d times", name, makers[name])
			}
			for w := range workers {
				if ids[w][name] != ids[0][name] {
					t.Errorf("topic %s has two ids", name)
				}
			}
		}
	})
}

// TestServersAgree lets two servers on one store do all sorts of things at once.
// No broker id, no producer id is given twice, and in the end both have the same image.
func TestServersAgree(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		servers := []*Server{openWith(t, store, 2), open(t, store)}
		var mu sync.Mutex
		given := make(map[string]bool)
		give := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			if given[what] {
				t.Errorf("%s was given twice", what)
			}
			given[what] = true
		}
		var wg sync.WaitGroup
		for _, s := range servers {
			for w := range 2 {
				wg.Go(func() {
					for i := range 15 {
						give(fmt.Sprintf("producer id %d", allocate(t, s)))
						if i%5 == 0 {
							b, err := register(s, metadata.BrokerSpec{ID: -1})
							if err != nil {
								t.Error(err)
								return
							}
							give(fmt.Sprintf("broker id %d", b.ID))
							create(s, spec(fmt.Sprint(w, i), 5))
							if err := remove(s, b.ID); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
		}
		wg.Wait()
		last := create(servers[0], spec("last", 1))[0]
		if last.Err != nil {
			t.Fatal(last.Err)
		}
		catchUp(servers[1], servers[0].Image().Revision())
		if ds := servers[0].Image().Diff(servers[1].Image()); len(ds) != 0 {
			t.Errorf("the servers differ by %v", ds)
		}
		for _, topic := range servers[0].Image().Topics() {
			for i, p := range topic.Partitions {
				if servers[0].Image().Broker(p.Leader) == nil {
					t.Errorf("partition %s-%d: %+v", topic.Name, i, p)
				}
			}
		}
	})
}

// catchUp waits until the server's image has come to revision.
func catchUp(s *Server, revision int64) {
	reached := make(chan struct{})
	var once sync.Once
	cancel := s.Subscribe(func(_, img *metadata.Image, _ []metadata.Delta) {
		if img.Revision() >= revision {
			once.Do(func() { close(reached) })
		}
	})
	<-reached
	cancel()
}

// history checks that a subscriber sees one unbroken story.
type history struct {
	t     *testing.T
	calls int
	last  *metadata.Image
}

func (h *history) see(old, img *metadata.Image, deltas []metadata.Delta) {
	h.calls++
	if h.calls == 1 {
		if old != img || len(deltas) != 0 {
			h.t.Errorf("the first call has %d deltas", len(deltas))
		}
		h.last = img
		return
	}
	if len(h.last.Diff(old)) != 0 {
		h.t.Errorf("between two calls something happened: %v", h.last.Diff(old))
	}
	if diff := old.Apply(deltas...).Diff(img); len(diff) != 0 || len(deltas) == 0 {
		h.t.Errorf("the deltas don't lead to the new image, which differs by %v", diff)
	}
	if img.Revision() <= h.last.Revision() {
		h.t.Errorf("revision %d after %d", img.Revision(), h.last.Revision())
	}
	h.last = img
}

func TestSubscribe(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		servers := []*Server{openWith(t, store, 3), open(t, store)}
		s := servers[0]
		h := &history{t: t}
		cancel := s.Subscribe(h.see)
		var wg sync.WaitGroup
		for w, s := range servers {
			wg.Go(func() {
				for i := range 20 {
					create(s, spec(fmt.Sprint(w, i), 3))
					b, err := register(s, metadata.BrokerSpec{ID: -1})
					if err != nil {
						t.Error(err)
						return
					}
					if err := remove(s, b.ID); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		// On the executor, after the subscribers: what they have seen can be looked at.
		result := await(func(done func(error)) {
			s.CreateTopics([]metadata.TopicSpec{spec("last", 1)}, false, func(r []metadata.TopicResult) {
				if h.last != s.Image() || h.last.Topic("last") != r[0].Topic {
					t.Error("done was called before the subscribers had seen the change")
				}
				cancel()
				h.calls = 0
				done(r[0].Err)
			})
		})
		if result != nil {
			t.Fatal(result)
		}
		create(s, spec("unseen", 1))
		if h.calls != 0 {
			t.Error("called after cancel")
		}
		cancel()
	})
}

// TestSubscribersMayDoAnything but wait: subscribe, cancel themselves, command.
func TestSubscribersMayDoAnything(t *testing.T) {
	onEach(t, func(t *testing.T, store metadata.Store) {
		s := openWith(t, store, 1)
		made := make(chan error, 1)
		ready := make(chan struct{})
		var cancel func()
		cancel = s.Subscribe(func(_, img *metadata.Image, deltas []metadata.Delta) {
			if len(deltas) == 0 {
				return
			}
			<-ready // cancel is set
			cancel()
			s.Subscribe(func(_, _ *metadata.Image, _ []metadata.Delta) {})
			s.CreateTopics([]metadata.TopicSpec{spec("answer", 1)}, false, func(r []metadata.TopicResult) { made <- r[0].Err })
		})
		close(ready)
		create(s, spec("question", 1))
		if err := <-made; err != nil {
			t.Error(err)
		}
	})
}

// TestReadersNeedNoLock reads images while they change. The race detector and
// the sums watch.
func TestReadersNeedNoLock(t *testing.T) {
	store := memory.Open(memory.Options{})
	defer store.Close()
	s := openWith(t, store, 2)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				img := s.Image()
				n := 0
				for _, topic := range img.Topics() {
					n += len(topic.Partitions)
				}
				if n != img.PartitionCount() || len(img.Topics()) != img.TopicCount() {
					t.Errorf("%d partitions, want %d", n, img.PartitionCount())
					return
				}
			}
		})
	}
	for i := range 200 {
		create(s, spec(fmt.Sprint(i), 3))
		if i%3 == 0 {
			await(func(done func([]metadata.DeleteResult)) {
				s.DeleteTopics([]metadata.TopicRef{{Name: fmt.Sprint(i)}}, done)
			})
		}
	}
	close(stop)
	wg.Wait()
}
