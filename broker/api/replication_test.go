package api_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/brokertest"
	"millrace/metadata"
	"millrace/protocol"
)

// replicated is a desk of a cluster of three, with topic "t" of three partitions and three replicas each.
func replicated(t *testing.T) *desk {
	d := newDesk(t, 3)
	d.create(metadata.TopicSpec{Name: "t", Partitions: 3, ReplicationFactor: 3})
	return d
}

func (d *desk) create(spec metadata.TopicSpec) {
	d.Helper()
	brokertest.Wait(d.Cluster, func(done func(error)) {
		d.Central.CreateTopics([]metadata.TopicSpec{spec}, false, func(r []metadata.TopicResult) { done(r[0].Err) })
	})
}

func (d *desk) partition(topic string, index int32) *metadata.Partition {
	return &d.Central.Image().Topic(topic).Partitions[index]
}

// fence takes a broker for dead that only isn't heard of.
func (d *desk) fence(id int32) {
	d.Helper()
	brokertest.Wait(d.Cluster, func(done func(error)) {
		d.Central.FenceBrokers([]metadata.Member{d.Central.Image().Broker(id).Member()}, done)
	})
}

// shrink has the leader of a partition take all others out of the ISR.
func (d *desk) shrink(topic string, index int32) {
	d.Helper()
	p := d.partition(topic, index)
	spec := metadata.AlterPartitionSpec{Topic: d.Central.Image().Topic(topic).ID, Partition: index,
		LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: []metadata.Member{p.LeaderMember()}}
	brokertest.Wait(d.Cluster, func(done func(error)) {
		d.Central.AlterPartitions(p.LeaderMember(), []metadata.AlterPartitionSpec{spec},
			func(r []metadata.AlterPartitionResult) { done(r[0].Err) })
	})
}

func electRequest(kind int8, refs ...metadata.PartitionRef) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = kind
	for _, ref := range refs {
		rt := kmsg.NewElectLeadersRequestTopic()
		rt.Topic, rt.Partitions = ref.Topic, []int32{ref.Partition}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func (d *desk) elect(v int16, kind int8, refs ...metadata.PartitionRef) (codes []string) {
	d.Helper()
	resp := ask[*kmsg.ElectLeadersResponse](d, electRequest(kind, refs...), v)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes = append(codes, fmt.Sprintf("%s-%d %v", t.Topic, p.Partition, protocol.Code(p.ErrorCode)))
			if (p.ErrorCode == 0) != (p.ErrorMessage == nil) {
				d.Errorf("code %d with message %v", p.ErrorCode, p.ErrorMessage)
			}
		}
	}
	return codes
}

func (d *desk) same(what string, got any, want ...string) {
	d.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestElectLeaders(t *testing.T) {
	d := newDesk(t, 2)
	d.Part() // nobody catches up meanwhile
	d.create(metadata.TopicSpec{Name: "t", Partitions: 2, ReplicationFactor: 2})
	ref := func(i int32) metadata.PartitionRef { return metadata.PartitionRef{Topic: "t", Partition: i} }
	d.each(kmsg.ElectLeaders, func(v int16) {
		d.same("in order", d.elect(v, 0, ref(0)), "t-0 ELECTION_NOT_NEEDED")
		d.same("unknown", d.elect(v, 0, ref(7), metadata.PartitionRef{Topic: "u"}),
			"t-7 UNKNOWN_TOPIC_OR_PARTITION", "u-0 UNKNOWN_TOPIC_OR_PARTITION")
		d.same("all, in order", d.elect(v, 0))
		if v == 0 {
			return
		}
		d.same("led", d.elect(v, 1, ref(0)), "t-0 ELECTION_NOT_NEEDED")
		resp := ask[*kmsg.ElectLeadersResponse](d, electRequest(7, ref(0)), v)
		d.codeIs(resp.ErrorCode, protocol.InvalidRequest, "election type 7")
		d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.InvalidRequest, "election type 7")
	})

	// The preferred leader goes, and comes back without being in the ISR.
	first := d.partition("t", 0).Replicas[0]
	m := d.Central.Image().Broker(first).Member()
	d.fence(first)
	d.same("fenced", d.elect(2, 0, ref(0)), "t-0 PREFERRED_LEADER_NOT_AVAILABLE")
	d.same("all", d.elect(2, 0), "t-0 PREFERRED_LEADER_NOT_AVAILABLE")
	brokertest.Wait(d.Cluster, func(done func(error)) { d.Central.UnfenceBroker(m, done) })
	p := d.partition("t", 0)
	spec := metadata.AlterPartitionSpec{Topic: d.Central.Image().Topic("t").ID, LeaderEpoch: p.LeaderEpoch,
		PartitionEpoch: p.PartitionEpoch, ISR: []metadata.Member{p.LeaderMember(), m}}
	brokertest.Wait(d.Cluster, func(done func(error)) {
		d.Central.AlterPartitions(p.LeaderMember(), []metadata.AlterPartitionSpec{spec},
			func(r []metadata.AlterPartitionResult) { done(r[0].Err) })
	})
	d.same("back", d.elect(1, 0), "t-0 NONE")
	if got := d.partition("t", 0).Leader; got != first {
		t.Errorf("broker %d leads, the preferred leader is %d", got, first)
	}
}

func TestElectLeadersUnclean(t *testing.T) {
	d := newDesk(t, 3)
	d.Part() // nobody catches up meanwhile
	d.create(metadata.TopicSpec{Name: "t", Partitions: 1, ReplicationFactor: 2})
	ref := metadata.PartitionRef{Topic: "t"}
	d.shrink("t", 0)
	p := d.partition("t", 0)
	d.fence(p.Leader)
	if got := d.Central.Image().LeaderOf(d.partition("t", 0)); got != metadata.NoBroker {
		t.Fatalf("broker %d leads", got)
	}
	d.same("preferred", d.elect(2, 0, ref), "t-0 PREFERRED_LEADER_NOT_AVAILABLE")
	other := p.Replicas[0] + p.Replicas[1] - p.Leader
	d.fence(other)
	d.same("nobody is there", d.elect(2, 1, ref), "t-0 ELIGIBLE_LEADERS_NOT_AVAILABLE")
	brokertest.Wait(d.Cluster, func(done func(error)) {
		d.Central.UnfenceBroker(d.Central.Image().Broker(other).Member(), done)
	})
	d.same("unclean", d.elect(2, 1), "t-0 NONE")
	if now := d.partition("t", 0); now.Leader != other || now.LossGeneration != 1 {
		t.Errorf("%+v", now)
	}
}

func reassignRequest(topic string, index int32, replicas []int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Replicas = topic, index, replicas
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func TestReassignments(t *testing.T) {
	d := newDesk(t, 3)
	d.Part() // nobody catches up meanwhile
	d.create(metadata.TopicSpec{Name: "t", Partitions: -1, ReplicationFactor: -1,
		Assignment: []metadata.ReplicaAssignment{{Partition: 0, Replicas: []int32{1, 2}}, {Partition: 1, Replicas: []int32{2, 3}}}})
	d.each(kmsg.AlterPartitionAssignments, func(v int16) {
		fixed := reassignRequest("t", 0, []int32{1})
		fixed.AllowReplicationFactorChange = false
		wantFixed := protocol.InvalidReplicationFactor
		if v == 0 {
			fixed, wantFixed = reassignRequest("t", 0, []int32{1, 2}), protocol.None // it has no such flag
		}
		for what, c := range map[string]struct {
			req  *kmsg.AlterPartitionAssignmentsRequest
			want protocol.Code
		}{
			"unknown topic":           {reassignRequest("u", 0, []int32{1}), protocol.UnknownTopicOrPartition},
			"unknown partition":       {reassignRequest("t", 2, []int32{1}), protocol.UnknownTopicOrPartition},
			"nothing to cancel":       {reassignRequest("t", 0, nil), protocol.NoReassignmentInProgress},
			"no replicas":             {reassignRequest("t", 0, []int32{}), protocol.InvalidReplicaAssignment},
			"an unknown broker":       {reassignRequest("t", 0, []int32{1, 9}), protocol.InvalidReplicaAssignment},
			"a broker twice":          {reassignRequest("t", 0, []int32{2, 2}), protocol.InvalidReplicaAssignment},
			"as it is":                {reassignRequest("t", 0, []int32{1, 2}), protocol.None},
			"fewer, which is refused": {fixed, wantFixed},
		} {
			resp := ask[*kmsg.AlterPartitionAssignmentsResponse](d, c.req, v)
			d.codeIs(resp.ErrorCode, protocol.None, what)
			d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, c.want, what)
		}
		d.same("reassignments", d.reassignments(nil))
		resp := ask[*kmsg.AlterPartitionAssignmentsResponse](d, reassignRequest("t", 0, []int32{3, 1}), v)
		d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.None, "another broker")
		const under = "t-0 [3 1 2] adding [3] removing [2]"
		d.same("reassignments", d.reassignments(nil), under)
		d.same("reassignments", d.reassignments([]int32{1}))
		d.same("reassignments", d.reassignments([]int32{0, 1}), under)
		resp = ask[*kmsg.AlterPartitionAssignmentsResponse](d, reassignRequest("t", 0, nil), v)
		d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.None, "cancel")
		if got := d.partition("t", 0).Replicas; !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("the replicas are %v", got)
		}
	})
}

// reassignments asks for those of some partitions of topic t; nil: for all.
func (d *desk) reassignments(of []int32) (list []string) {
	d.Helper()
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	if of != nil {
		rt := kmsg.NewListPartitionReassignmentsRequestTopic()
		rt.Topic, rt.Partitions = "t", of
		req.Topics = append(req.Topics, rt)
	}
	resp := ask[*kmsg.ListPartitionReassignmentsResponse](d, req, 0)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			list = append(list, fmt.Sprintf("%s-%d %v adding %v removing %v", t.Topic, p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas))
		}
	}
	return list
}

func TestDescribeQuorum(t *testing.T) {
	d := newDesk(t, 3)
	d.fence(1)
	ofQuorum := func(topic string, partitions ...int32) *kmsg.DescribeQuorumRequest {
		req := kmsg.NewPtrDescribeQuorumRequest()
		rt := kmsg.NewDescribeQuorumRequestTopic()
		rt.Topic = topic
		for _, p := range partitions {
			rp := kmsg.NewDescribeQuorumRequestTopicPartition()
			rp.Partition = p
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
		return req
	}
	d.each(kmsg.DescribeQuorum, func(v int16) {
		image := d.Central.Image()
		p := ask[*kmsg.DescribeQuorumResponse](d, ofQuorum("__cluster_metadata", 0), v).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.LeaderID != 2 || p.LeaderID != image.ControllerID() || p.HighWatermark != image.Revision() ||
			len(p.CurrentVoters) != 2 || p.CurrentVoters[0].ReplicaID != 2 || p.CurrentVoters[0].LogEndOffset != image.Revision() ||
			len(p.Observers) != 1 || p.Observers[0].ReplicaID != 1 || p.Observers[0].LogEndOffset != -1 {
			t.Errorf("%+v", p)
		}
		for _, req := range []*kmsg.DescribeQuorumRequest{ofQuorum("t", 0), ofQuorum("__cluster_metadata", 1), ofQuorum("__cluster_metadata", 0, 1)} {
			for _, p := range ask[*kmsg.DescribeQuorumResponse](d, req, v).Topics[0].Partitions {
				d.codeIs(p.ErrorCode, protocol.UnknownTopicOrPartition, "another partition")
			}
		}
	})
	resp := ask[*kmsg.DescribeQuorumResponse](d, ofQuorum("__cluster_metadata", 0), 2)
	if len(resp.Nodes) != 3 || resp.Nodes[2].NodeID != 3 || resp.Nodes[2].Listeners[0].Port != 9003 {
		t.Errorf("%+v", resp.Nodes)
	}
}

func TestUnregisterBroker(t *testing.T) {
	d := newDesk(t, 2)
	for _, step := range []struct {
		id   int32
		want protocol.Code
	}{{9, protocol.BrokerIDNotRegistered}, {2, protocol.InvalidRequest}} {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = step.id
		resp := ask[*kmsg.UnregisterBrokerResponse](d, req, 0)
		d.codeIs(resp.ErrorCode, step.want, fmt.Sprint("broker ", step.id))
	}
	d.fence(2)
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = 2
	resp := ask[*kmsg.UnregisterBrokerResponse](d, req, 0)
	if resp.ErrorCode != 0 || resp.ErrorMessage != nil || d.Central.Image().Broker(2) != nil {
		t.Errorf("%+v", resp)
	}
}

// TestMetadataOfReplicas: brokers that are fenced are neither told of nor in sync, and lead nothing.
func TestMetadataOfReplicas(t *testing.T) {
	d := replicated(t)
	d.fence(2)
	d.each(kmsg.Metadata, func(v int16) {
		resp := ask[*kmsg.MetadataResponse](d, kmsg.NewPtrMetadataRequest(), v)
		if len(resp.Brokers) != 2 {
			t.Errorf("brokers: %+v", resp.Brokers)
		}
		for _, p := range resp.Topics[0].Partitions {
			if len(p.Replicas) != 3 || len(p.ISR) != 2 || slices.Contains(p.ISR, 2) || p.Leader == 2 || p.ErrorCode != 0 {
				t.Errorf("%+v", p)
			}
			if v >= 5 && !slices.Equal(p.OfflineReplicas, []int32{2}) {
				t.Errorf("offline are %v", p.OfflineReplicas)
			}
		}
	})
	d.fence(1)
	d.fence(3)
	resp := ask[*kmsg.MetadataResponse](d, kmsg.NewPtrMetadataRequest(), 12)
	for _, p := range resp.Topics[0].Partitions {
		if p.Leader != -1 || len(p.ISR) != 0 || len(p.OfflineReplicas) != 3 || p.ErrorCode != int16(protocol.LeaderNotAvailable) {
			t.Errorf("%+v", p)
		}
	}
	req := kmsg.NewPtrDescribeClusterRequest()
	if resp := ask[*kmsg.DescribeClusterResponse](d, req, 2); len(resp.Brokers) != 0 {
		t.Errorf("brokers: %+v", resp.Brokers)
	}
	req.IncludeFencedBrokers = true
	if resp := ask[*kmsg.DescribeClusterResponse](d, req, 2); len(resp.Brokers) != 3 || !resp.Brokers[0].IsFenced {
		t.Errorf("brokers: %+v", resp.Brokers)
	}
}

func TestCreateReplicatedTopics(t *testing.T) {
	d := newDesk(t, 3, "default.replication.factor=2")
	assigned := func(replicas ...[]int32) (list []kmsg.CreateTopicsRequestTopicReplicaAssignment) {
		for i, r := range replicas {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = int32(i), r
			list = append(list, a)
		}
		return list
	}
	d.each(kmsg.CreateTopics, func(v int16) {
		for i, c := range []struct {
			partitions, factor int
			assignment         []kmsg.CreateTopicsRequestTopicReplicaAssignment
			want               protocol.Code
			wantCount          int32
			wantFactor         int16
		}{
			{partitions: 2, factor: 3, wantCount: 2, wantFactor: 3},
			{partitions: -1, factor: -1, wantCount: 1, wantFactor: 2},
			{partitions: -1, factor: -1, assignment: assigned([]int32{3, 1, 2}, []int32{2, 3, 1}), wantCount: 2, wantFactor: 3},
			{partitions: 2, factor: 4, want: protocol.InvalidReplicationFactor},
			{partitions: 2, factor: 2, assignment: assigned([]int32{3, 1}), want: protocol.InvalidRequest},
			{partitions: -1, factor: -1, assignment: assigned([]int32{3, 4}), want: protocol.InvalidReplicaAssignment},
		} {
			name := fmt.Sprintf("v%d-%d", v, i)
			req := kmsg.NewPtrCreateTopicsRequest()
			rt := kmsg.NewCreateTopicsRequestTopic()
			rt.Topic, rt.NumPartitions, rt.ReplicationFactor, rt.ReplicaAssignment = name, int32(c.partitions), int16(c.factor), c.assignment
			req.Topics = append(req.Topics, rt)
			got := ask[*kmsg.CreateTopicsResponse](d, req, v).Topics[0]
			d.codeIs(got.ErrorCode, c.want, name)
			if v >= 5 && c.want == protocol.None && (got.NumPartitions != c.wantCount || got.ReplicationFactor != c.wantFactor) {
				t.Errorf("%s: %+v", name, got)
			}
			if topic := d.Central.Image().Topic(name); c.want == protocol.None && (topic == nil || topic.ReplicationFactor() != c.wantFactor) {
				t.Errorf("%s: %+v", name, topic)
			}
		}
	})
}
