package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// TestLeaderHints: who asks the wrong broker, or in an old epoch, is told the leader and where it is (KIP-951).
func TestLeaderHints(t *testing.T) {
	d := newDesk(t, 2)
	topic := d.topic("t", 2) // broker 1 leads partition 0, broker 2 partition 1
	const there = "2/0 at [2=127.0.0.1:9002]"
	d.each(kmsg.Produce, func(version int16) {
		req := produceRequest(1, "t", 3, batch(1, 1))
		req.Topics[0].TopicID = topic.ID
		resp := ask[*kmsg.ProduceResponse](d, req, version)
		want := map[int32]string{0: "NONE -1/-1", 1: "NOT_LEADER_OR_FOLLOWER -1/-1", 2: "UNKNOWN_TOPIC_OR_PARTITION -1/-1"}
		if version >= 10 {
			want[1] = "NOT_LEADER_OR_FOLLOWER 2/0"
		}
		for _, p := range resp.Topics[0].Partitions {
			got := fmt.Sprintf("%v %d/%d", protocol.Code(p.ErrorCode), p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
			if got != want[p.Partition] {
				t.Errorf("produce version %d, partition %d: %s, want %s", version, p.Partition, got, want[p.Partition])
			}
		}
		if len(resp.Brokers) > 1 || (len(resp.Brokers) == 1) != (version >= 10) {
			t.Errorf("produce version %d: endpoints %+v", version, resp.Brokers)
		}
	})
	for _, session := range []bool{false, true} {
		d.each(kmsg.Fetch, func(version int16) {
			got := d.fetchedLeader(version, session, topic.ID, -1)
			want := "-1/-1 at []"
			if version >= 16 {
				want = there
			}
			if got != want {
				t.Errorf("fetch version %d, session %v: %s, want %s", version, session, got, want)
			}
		})
	}
	d.KillBroker(2)
	if got := d.fetchedLeader(18, false, topic.ID, -1); got != "-1/-1 at []" {
		t.Errorf("nobody leads: %s", got)
	}
}

// fetchedLeader fetches from partition 1 and shows whom the answer names.
func (d *desk) fetchedLeader(version int16, session bool, id [16]byte, epoch int32) string {
	d.Helper()
	req := fetchRequest("t", 2, 0)
	req.Topics[0].TopicID = id
	req.Topics[0].Partitions = req.Topics[0].Partitions[1:]
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
	req.SessionEpoch = -1
	if session {
		req.SessionEpoch = 0
	}
	resp := ask[*kmsg.FetchResponse](d, req, version)
	p := resp.Topics[0].Partitions[0]
	endpoints := []string{}
	for _, b := range resp.Brokers {
		endpoints = append(endpoints, fmt.Sprintf("%d=%s:%d", b.NodeID, b.Host, b.Port))
	}
	return fmt.Sprintf("%d/%d at %v", p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch, endpoints)
}

// TestLeaderHintOfAnOldEpoch: the leader itself is named, with its epoch; a produce names nobody but where it isn't led.
func TestLeaderHintOfAnOldEpoch(t *testing.T) {
	d := newDesk(t, 2)
	d.CreateReplicated("t", 2, 2, nil)
	d.KillBroker(2) // it led partition 1, which is in epoch 1 now
	id := d.Central.Image().Topic("t").ID
	if got, want := d.fetchedLeader(18, false, id, 0), "1/1 at [1=127.0.0.1:9001]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
