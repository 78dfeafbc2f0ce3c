package api

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/replica"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// answeredPart encodes what was found in one partition as an answer to whoever asked, and decodes it as a client does.
func answeredPart(t *testing.T, from metadata.Member, part broker.FetchPart) kmsg.FetchResponseTopicPartition {
	t.Helper()
	c := &fetchCall{out: protocol.NewReply()}
	defer c.out.Release()
	c.op.From = from
	c.response.Begin(&c.out, 17, 1, 0, protocol.None, 0, 1)
	c.response.Topic(nil, [16]byte{1}, 1)
	c.partition(3, &part)
	c.response.End(nil)
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 17
	const head = 4 + 4 + 1 // size, correlation id, tags
	if err := resp.ReadFrom(c.out.AppendTo(nil)[head:]); err != nil {
		t.Fatal(err)
	}
	return resp.Topics[0].Partitions[0]
}

// What a follower is told beyond what a consumer is.
func TestFetchAnswerOfFollower(t *testing.T) {
	consumer, follower := metadata.Member{}, metadata.Member{Broker: 2, Incarnation: math.MaxUint64 - 5}
	found := func(edit func(p *broker.FetchPart)) broker.FetchPart {
		p := broker.FetchPart{HighWatermark: 70, LastStableOffset: 60, LogStartOffset: 50, DivergingEpoch: -1, DivergingEnd: -1}
		edit(&p)
		return p
	}
	want := func(code protocol.Code, high, stable, start int64) kmsg.FetchResponseTopicPartition {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = 3, int16(code), high, stable, start
		return p
	}
	diverging := want(protocol.None, 70, 60, 50)
	diverging.DivergingEpoch.Epoch, diverging.DivergingEpoch.EndOffset = 4, 65
	cut := func(p *broker.FetchPart) { p.DivergingEpoch, p.DivergingEnd = 4, 65 }
	fail := func(err error) func(*broker.FetchPart) { return func(p *broker.FetchPart) { p.Err = err } }
	for name, x := range map[string]struct {
		from metadata.Member
		part broker.FetchPart
		want kmsg.FetchResponseTopicPartition
	}{
		"diverging":                    {follower, found(cut), diverging},
		"a consumer has no divergence": {consumer, found(cut), want(protocol.None, 70, 60, 50)},
		"out of range": {follower, found(fail(replica.ErrOffsetOutOfRange)),
			want(protocol.OffsetOutOfRange, 70, -1, 50)},
		"a consumer out of range": {consumer, found(fail(replica.ErrOffsetOutOfRange)),
			want(protocol.OffsetOutOfRange, -1, -1, -1)},
		"stale incarnation": {follower, found(fail(replica.ErrStaleIncarnation)), want(protocol.StaleBrokerEpoch, -1, -1, -1)},
		"a consumer doesn't know the code": {consumer, found(fail(replica.ErrStaleIncarnation)),
			want(protocol.NotLeaderOrFollower, -1, -1, -1)},
		"not a replica": {follower, found(fail(replica.ErrNotReplica)), want(protocol.UnknownLeaderEpoch, -1, -1, -1)},
		"unknown":       {follower, found(fail(errors.New("?"))), want(protocol.UnknownServerError, -1, -1, -1)},
	} {
		got := answeredPart(t, x.from, x.part)
		if diff := cmp.Diff(x.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(kmsg.Tags{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A fetch is a follower's if it says so, in each of the ways to say it.
func TestFollowerOf(t *testing.T) {
	ask := func(version int16, id int32, epoch int64) metadata.Member {
		r := kmsg.NewPtrFetchRequest()
		r.Version, r.ReplicaID, r.ReplicaState.ID, r.ReplicaState.Epoch = version, id, id, epoch
		var f kafka.FetchRequest
		if err := f.Parse(kafka.Header{Key: r.Key(), Version: version, Body: r.AppendTo(nil)}); err != nil {
			t.Fatal(err)
		}
		return followerOf(&f)
	}
	for _, x := range []struct {
		version int16
		id      int32
		epoch   int64
		want    metadata.Member
	}{
		{17, -1, -1, metadata.Member{}},
		{11, -1, -1, metadata.Member{}},
		{17, -2, -1, metadata.Member{}}, // a "debugging consumer"
		{17, 0, 5, metadata.Member{Broker: 0, Incarnation: 5}},
		{18, 7, -6, metadata.Member{Broker: 7, Incarnation: math.MaxUint64 - 5}},
		{12, 7, 0, metadata.Member{Broker: 7, Incarnation: math.MaxUint64}}, // no epoch in this version
	} {
		if got := ask(x.version, x.id, x.epoch); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
