package central

import (
	"testing"

	"millrace/metadata"
	"millrace/metadata/memory"
)

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

func open(t testing.TB, store metadata.Store) *Server {
	t.Helper()
	s, err := Open(Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSmoke(t *testing.T) {
	s := open(t, memory.Open(memory.Options{}))
	for id := int32(1); id <= 3; id++ {
		if b, err := register(s, metadata.BrokerSpec{ID: -1}); err != nil || b.ID != id || b.Incarnation == 0 || b.Revision == 0 {
			t.Error(b, err)
		}
	}
	if r := create(s, metadata.TopicSpec{Name: "a", Partitions: 10000, ReplicationFactor: -1}); r[0].Err != nil || r[0].Topic.Revision == 0 {
		t.Error(r[0].Err)
	}
	if err := remove(s, 2); err != nil {
		t.Error(err)
	}
	t.Log(s.Image().Revision(), s.Image().Topic("a").Partitions[:6])
}
