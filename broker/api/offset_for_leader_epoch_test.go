package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/brokertest"
	"millrace/protocol"
)

// epochRequest asks for the ends of epochs of one topic: partition, current leader epoch, epoch.
func epochRequest(topic string, asked ...[3]int32) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = topic
	for _, a := range asked {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = a[0], a[1], a[2]
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// TestOffsetForLeaderEpoch: the codes are those of Apache Kafka 4.4.
func TestOffsetForLeaderEpoch(t *testing.T) {
	d := newDesk(t, 2)
	d.CreateReplicated("t", 2, 2, nil)
	leads := d.Central.Image().Topic("t").Partitions[0].Leader
	if leads != 1 {
		t.Fatalf("broker %d leads partition 0", leads)
	}
	ask[*kmsg.ProduceResponse](d, produceRequest(1, "t", 1, batch(3, 10)), 9)
	d.each(kmsg.OffsetForLeaderEpoch, func(version int16) {
		for _, test := range []struct {
			topic                     string
			partition, current, epoch int32
			code                      protocol.Code
			endEpoch                  int32
			end                       int64
		}{
			{"t", 0, -1, 0, protocol.None, 0, 3},
			{"t", 0, 0, 0, protocol.None, 0, 3},
			{"t", 0, 5, 0, protocol.UnknownLeaderEpoch, -1, -1},
			{"t", 0, -1, 5, protocol.None, -1, -1},
			{"t", 0, -1, -1, protocol.None, -1, -1},
			{"t", 1, -1, 0, protocol.NotLeaderOrFollower, -1, -1},
			{"t", 9, -1, 0, protocol.UnknownTopicOrPartition, -1, -1},
			{"t", -1, -1, 0, protocol.UnknownTopicOrPartition, -1, -1},
			{"nope", 0, -1, 0, protocol.UnknownTopicOrPartition, -1, -1},
			{"a/b", 0, -1, 0, protocol.UnknownTopicOrPartition, -1, -1},
		} {
			a := [3]int32{test.partition, test.current, test.epoch}
			resp := ask[*kmsg.OffsetForLeaderEpochResponse](d, epochRequest(test.topic, a, a), version) // twice is fine
			for _, p := range resp.Topics[0].Partitions {
				what := fmt.Sprintf("%s %v", test.topic, a)
				d.codeIs(p.ErrorCode, test.code, what)
				if p.LeaderEpoch != test.endEpoch || p.EndOffset != test.end || p.Partition != test.partition {
					t.Errorf("%s: %+v", what, p)
				}
			}
		}
		empty := ask[*kmsg.OffsetForLeaderEpochResponse](d, kmsg.NewPtrOffsetForLeaderEpochRequest(), version)
		if len(empty.Topics) != 0 {
			t.Errorf("nothing asked for: %+v", empty)
		}
		if resp := ask[*kmsg.OffsetForLeaderEpochResponse](d, epochRequest("t"), version); len(resp.Topics[0].Partitions) != 0 {
			t.Errorf("no partitions: %+v", resp)
		}
		many := make([][3]int32, 10_000)
		for i := range many {
			many[i] = [3]int32{int32(i), -1, 0}
		}
		if resp := ask[*kmsg.OffsetForLeaderEpochResponse](d, epochRequest("t", many...), version); len(resp.Topics[0].Partitions) != len(many) {
			t.Errorf("%d of %d partitions", len(resp.Topics[0].Partitions), len(many))
		}
	})
}

// TestEpochsEnd: a leader's epoch ends where its successor's begins, also for a client that asks the successor.
func TestEpochsEnd(t *testing.T) {
	d := newDesk(t, 2)
	other := d.deskOf(2)
	d.CreateReplicated("t", 2, 2, nil)
	request := produceRequest(-1, "t", 2, batch(3, 10))
	request.Topics[0].Partitions = request.Topics[0].Partitions[1:] // partition 1 is led by broker 2
	resp := ask[*kmsg.ProduceResponse](other, request, 9)
	d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.None, "produced")
	d.KillBroker(2)
	brokertest.Eventually(t, "broker 1 leads", func() bool {
		_, p := d.Leader("t", 1)
		return p.Leading()
	})
	ask[*kmsg.ProduceResponse](d, request, 9)
	answer := func(current, epoch int32) string {
		p := ask[*kmsg.OffsetForLeaderEpochResponse](d, epochRequest("t", [3]int32{1, current, epoch}), 4).Topics[0].Partitions[0]
		return fmt.Sprintf("%v %d %d", protocol.Code(p.ErrorCode), p.LeaderEpoch, p.EndOffset)
	}
	for asked, want := range map[[2]int32]string{
		{-1, 0}: "NONE 0 3", {-1, 1}: "NONE 1 6", {1, 0}: "NONE 0 3", {0, 0}: "FENCED_LEADER_EPOCH -1 -1", {2, 0}: "UNKNOWN_LEADER_EPOCH -1 -1",
	} {
		if got := answer(asked[0], asked[1]); got != want {
			t.Errorf("epoch %d asked in epoch %d: %s, want %s", asked[1], asked[0], got, want)
		}
	}
}
