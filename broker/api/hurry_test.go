package api_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
	"millrace/protocol"
)

// led makes a topic with two replicas and returns a partition that broker 1 leads.
func (d *desk) led(name string) (topic *metadata.Topic, index int32) {
	d.Helper()
	d.CreateReplicated(name, 2, 2, nil)
	topic = d.Central.Image().Topic(name)
	if topic.Partitions[0].Leader != 1 {
		index = 1
	}
	return topic, index
}

func fetchAtEnd(topic *metadata.Topic, index int32, from metadata.Member) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes = 60_000, 1, 1<<20
	r.SessionEpoch = -1
	if from != (metadata.Member{}) {
		r.ReplicaState.ID, r.ReplicaState.Epoch = from.Broker, int64(from.Incarnation)
	}
	t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	t.TopicID, p.Partition, p.PartitionMaxBytes, p.CurrentLeaderEpoch = topic.ID, index, 1<<20, topic.Partitions[index].LeaderEpoch
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

// A frame behind a follower's fetch that waits makes it finish; behind a consumer's it waits itself.
func TestFrameBehindFetch(t *testing.T) {
	d := newDesk(t, 2)
	topic, index := d.led("t")
	next := frame(kmsg.NewPtrApiVersionsRequest(), 0)

	follower := d.send(d.session, fetchAtEnd(topic, index, d.Broker(2).Self), 17)
	if d.Overlaps(d.session, next) {
		t.Error("it overlaps")
	}
	resp := receive[*kmsg.FetchResponse](d, follower, 17)
	d.codeIs(resp.ErrorCode, protocol.None, "fetch")
	d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.None, "partition")

	// The same connection as a consumer's, so that what is remembered of the follower counts no more.
	consumer := d.send(d.session, fetchAtEnd(topic, index, metadata.Member{}), 17)
	d.Overlaps(d.session, next)
	select {
	case <-consumer.done:
		t.Error("a consumer's fetch is hurried")
	case <-time.After(50 * time.Millisecond):
	}
	d.Desk.Close(d.session)
	receive[*kmsg.FetchResponse](d, consumer, 17)
}

// A follower may read as much as it asks for, a consumer what fetch.max.bytes allows.
func TestFetchBytesOfFollower(t *testing.T) {
	d := newDesk(t, 2, "fetch.max.bytes=1024")
	topic, index := d.led("t")
	for range 3 {
		r := produceRequest(1, "t", 1, batch(1, 1000))
		r.Topics[0].Partitions[0].Partition = index
		d.codeIs(ask[*kmsg.ProduceResponse](d, r, 9).Topics[0].Partitions[0].ErrorCode, protocol.None, "produce")
	}
	bytesFor := func(from metadata.Member) int {
		resp := ask[*kmsg.FetchResponse](d, fetchAtEnd(topic, index, from), 17)
		return len(resp.Topics[0].Partitions[0].RecordBatches)
	}
	_, p := d.Leader("t", index)
	for p.Figures().HighWatermark < 3 { // broker 2 has them all
		time.Sleep(time.Millisecond)
	}
	if consumer, follower := bytesFor(metadata.Member{}), bytesFor(d.Broker(2).Self); consumer > 2000 || follower < 3000 {
		t.Errorf("a consumer gets %d bytes, a follower %d", consumer, follower)
	}
}

// FetchSnapshot tells a follower what it asked for, and refuses what it can't read.
func TestFetchSnapshot(t *testing.T) {
	d := newDesk(t, 2)
	topic, index := d.led("t")
	request := func(topic string, index, epoch int32) *kmsg.FetchSnapshotRequest {
		r, rt, rp := kmsg.NewPtrFetchSnapshotRequest(), kmsg.NewFetchSnapshotRequestTopic(), kmsg.NewFetchSnapshotRequestTopicPartition()
		rt.Topic, rp.Partition, rp.CurrentLeaderEpoch = topic, index, epoch
		rt.Partitions = append(rt.Partitions, rp)
		r.Topics = append(r.Topics, rt)
		return r
	}
	epoch := topic.Partitions[index].LeaderEpoch
	for name, x := range map[string]struct {
		topic string
		index int32
		epoch int32
		want  protocol.Code
	}{
		"as it is":    {topic.ID.String(), index, epoch, protocol.None},
		"a new epoch": {topic.ID.String(), index, epoch + 1, protocol.UnknownLeaderEpoch},
		"a partition that another broker leads": {topic.ID.String(), 1 - index, topic.Partitions[1-index].LeaderEpoch,
			protocol.NotLeaderOrFollower},
		"no such partition": {topic.ID.String(), 7, epoch, protocol.UnknownTopicOrPartition},
		"no such topic":     {metadata.TopicID{9}.String(), index, epoch, protocol.UnknownTopicID},
		"a name":            {"t", index, epoch, protocol.UnknownTopicID},
	} {
		resp := ask[*kmsg.FetchSnapshotResponse](d, request(x.topic, x.index, x.epoch), 1)
		part := resp.Topics[0].Partitions[0]
		d.codeIs(part.ErrorCode, x.want, name)
		if there := len(part.Bytes) > 0; there != (x.want == protocol.None) || part.Size != int64(len(part.Bytes)) {
			t.Errorf("%s: %d bytes of %d", name, len(part.Bytes), part.Size)
		}
	}
	several := request(topic.ID.String(), index, epoch)
	several.Topics = append(several.Topics, several.Topics[0])
	d.codeIs(ask[*kmsg.FetchSnapshotResponse](d, several, 1).ErrorCode, protocol.InvalidRequest, "two topics")
	d.codeIs(ask[*kmsg.FetchSnapshotResponse](d, kmsg.NewPtrFetchSnapshotRequest(), 1).ErrorCode, protocol.InvalidRequest, "none")
}
