package millrace_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace"
	"millrace/metadata"
)

// partition is one as of now.
func partition(s *millrace.Server, topic string, index int) *metadata.Partition {
	return &s.Image().Topic(topic).Partitions[index]
}

// TestReassign: an administrator moves the only copy of a partition under a producer; the records go along, and are all
// there when the broker that had them dies.
func TestReassign(t *testing.T) {
	s := open(t, 3)
	c := client(t, s, kgo.MetadataMinAge(50*time.Millisecond))
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(soon(t), 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	from := partition(s, "t", 0).Leader
	to, other := from%3+1, (from+1)%3+1
	p := produce(soon(t), c, "t")
	eventually(t, "records are written", func() bool { return p.count() > 300 })

	var req kadm.AlterPartitionAssignmentsReq
	req.Assign("t", 0, []int32{to, other})
	answers, err := admin.AlterPartitionAssignments(soon(t), req)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the reassignment is over", func() bool {
		var all kadm.TopicsSet
		under, err := admin.ListPartitionReassignments(soon(t), all)
		if err != nil {
			t.Fatal(err)
		}
		return len(under.Sorted()) == 0
	})
	if now := partition(s, "t", 0); !slices.Equal(now.Replicas, []int32{to, other}) || now.LossGeneration != 0 {
		t.Errorf("%+v", now)
	}
	if err := s.KillBroker(from); err != nil {
		t.Fatal(err)
	}
	acked := p.count()
	eventually(t, "the producer goes on", func() bool { return p.count() > acked+300 })
	close(p.stop)
	<-p.ended
	g := &group{seen: map[string]int{}}
	reader := client(t, s, kgo.ConsumeTopics("t"))
	for len(g.missing(p.acked)) > 0 {
		fetches := reader.PollFetches(soon(t))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { g.seen[string(r.Value)]++ })
	}
	if len(p.errs) > 0 {
		t.Error(p.errs[0])
	}
}

// TestElect: leadership goes back to the preferred leader when an administrator asks for it, and no sooner than it can.
func TestElect(t *testing.T) {
	s := open(t, 3, "auto.leader.rebalance.enable=false")
	c := client(t, s, kgo.MetadataMinAge(50*time.Millisecond))
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(soon(t), 1, 3, nil, "t"); err != nil {
		t.Fatal(err)
	}
	elect := func() error {
		t.Helper()
		var set kadm.TopicsSet
		set.Add("t", 0)
		results, err := admin.ElectLeaders(soon(t), kadm.ElectPreferredReplica, set)
		if err != nil {
			t.Fatal(err)
		}
		return results["t"][0].Err
	}
	first := partition(s, "t", 0).Leader
	if err := elect(); err != kerr.ElectionNotNeeded {
		t.Errorf("the preferred leader leads: %v", err)
	}
	if err := s.KillBroker(first); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another leads", func() bool { return partition(s, "t", 0).Leader != first })
	if err := elect(); err != kerr.PreferredLeaderNotAvailable {
		t.Errorf("the preferred leader is dead: %v", err)
	}
	restart(t, s, first)
	eventually(t, "it is back in sync", func() bool { return inSync(s, "t", 3) })
	if err := elect(); err != nil || partition(s, "t", 0).Leader != first {
		t.Errorf("the preferred leader is back: %v, %+v", err, partition(s, "t", 0))
	}
}

// TestDeadBrokerIsTold: what clients and administrators are told of a broker that died, until it is given up.
func TestDeadBrokerIsTold(t *testing.T) {
	s := open(t, 3)
	c := client(t, s, kgo.MetadataMinAge(50*time.Millisecond))
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(soon(t), 3, 3, nil, "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.KillBroker(2); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its death is noticed", func() bool { return s.Image().Broker(2).Fenced })
	m, err := admin.Metadata(soon(t), "t")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Brokers.NodeIDs(); !slices.Equal(got, []int32{1, 3}) {
		t.Errorf("brokers: %v", got)
	}
	for _, p := range m.Topics["t"].Partitions {
		if !slices.Equal(p.OfflineReplicas, []int32{2}) || len(p.ISR) != 2 || p.Leader == 2 || p.Err != nil {
			t.Errorf("%+v", p)
		}
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	rt, rp := kmsg.NewDescribeQuorumRequestTopic(), kmsg.NewDescribeQuorumRequestTopicPartition()
	rt.Topic, rt.Partitions = "__cluster_metadata", append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if q := resp.Topics[0].Partitions[0]; q.LeaderID != 1 || len(q.CurrentVoters) != 2 || len(q.Observers) != 1 || q.HighWatermark < 1 {
		t.Errorf("%+v", q)
	}
	unregister := func(id int32) error {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = id
		resp, err := req.RequestWith(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	}
	for id, want := range map[int32]error{1: kerr.InvalidRequest, 2: nil, 9: kerr.BrokerIDNotRegistered} {
		if err := unregister(id); fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("unregister broker %d: %v, want %v", id, err, want)
		}
	}
	if s.Image().Broker(2) != nil {
		t.Error("broker 2 is still registered")
	}
}
