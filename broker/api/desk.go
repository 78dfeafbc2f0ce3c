package api

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"millrace/broker"
	"millrace/config"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// Deps is what a desk works with.
type Deps struct {
	Broker  *broker.Broker
	Cluster Cluster
	Config  *config.Config
	Log     *zap.Logger

	// LogLevel is that of the process' log, which clients may change; nil: they may not.
	LogLevel *zap.AtomicLevel
}

// Desk serves Kafka clients on behalf of one broker. It may be used from many loops.
type Desk struct {
	Deps
	produces      producePool
	fetchSessions fetchSessions
	answers       metadataCache
}

// NewDesk opens a desk.
func NewDesk(d Deps) *Desk {
	return &Desk{Deps: d, fetchSessions: fetchSessions{slots: int(d.Config.FetchSessionSlots)}}
}

// Slot is where the answer to one request goes. Exactly one of its methods is called, once, from any goroutine.
type Slot interface {
	// Reply gives the answer; the reply's memory passes to the slot.
	Reply(protocol.Reply)
	// Drop says that there is no answer (acks=0).
	Drop()
	// Fail closes the connection; reason goes to the log.
	Fail(reason string)
}

// Session is what the desk knows of one connection. It belongs to the connection's loop.
type Session struct {
	Local, Remote netip.AddrPort

	id       uint64     // no other session of the process has it
	fetch    *fetchCall // kept for the next fetch: a connection has one at a time
	sessions bool       // it has made fetch sessions
	follows  bool       // fetch is a follower's
}

// Open begins a session. local is the address by which the client reached us: where no address is advertised, it is
// what the client is told.
func (d *Desk) Open(local, remote netip.AddrPort) *Session {
	return &Session{Local: local, Remote: remote, id: sessions.Add(1)}
}

var sessions atomic.Uint64

// Close ends a session: a fetch that waits is told, so that nothing is kept for a dead peer.
func (d *Desk) Close(s *Session) {
	if s.fetch != nil {
		s.fetch.op.Cancel()
	}
	if s.sessions {
		d.fetchSessions.closeOf(s)
	}
}

// Overlaps says whether a request may start while earlier ones of its connection are unanswered. Only produces may:
// they are ordered by their partitions' workers, and their throughput depends on it. Everything else starts when its
// predecessors are answered, as on Apache Kafka. It is called on the connection's loop, for each frame that is complete;
// a frame behind a follower's fetch makes that finish.
func (d *Desk) Overlaps(s *Session, frame []byte) bool {
	s.hurry()
	return len(frame) >= 2 && frame[0] == 0 && frame[1] == byte(kmsg.Produce)
}

// call is one request on its way.
type call struct {
	*Desk
	session *Session
	slot    Slot
	header  kafka.Header
}

// Serve takes one frame, without its size. It is called on the connection's loop, in the order of the frames.
func (d *Desk) Serve(s *Session, frame []byte, slot Slot) {
	h, err := kafka.ParseHeader(frame)
	if err != nil {
		d.refuse(h, slot, err)
		return
	}
	switch h.Key {
	case kmsg.Produce.Int16():
		d.produce(s, h, slot)
		return
	case kmsg.Fetch.Int16():
		d.fetch(s, h, slot)
		return
	case kmsg.Metadata.Int16():
		if known := d.answers.find(d.Cluster.Image().Revision(), metadataKeyOf(s, h), h.Body); known != nil {
			slot.Reply(known.Reply(h.CorrelationID))
			return
		}
	}
	req, err := kafka.Decode(h)
	if err != nil {
		d.refuse(h, slot, err)
		return
	}
	handle, ok := handlers[h.Key]
	if !ok {
		slot.Fail(fmt.Sprintf("no handler for API key %d", h.Key))
		return
	}
	handle(&call{Desk: d, session: s, slot: slot, header: h}, req)
}

// refuse answers what can't be read. A client that asks for versions we don't know must learn ours; anything else
// ends the connection, as on Apache Kafka, since what follows in the stream can't be trusted.
func (d *Desk) refuse(h kafka.Header, slot Slot, err error) {
	if h.Key == kmsg.ApiVersions.Int16() && errors.Is(err, kafka.ErrUnsupportedVersion) {
		slot.Reply(kafka.UnsupportedVersion(h.CorrelationID))
		return
	}
	slot.Fail(err.Error())
}

// answer sends the response of a request that kmsg decoded. The response must come from the request's ResponseKind,
// which carries its version.
func (c *call) answer(r kmsg.Response) {
	c.slot.Reply(kafka.Encode(r, c.header.CorrelationID))
}

// image is the cluster as of now. A handler takes it once, so that its answer is of one piece.
func (c *call) image() *metadata.Image { return c.Cluster.Image() }

// handler serves one API.
type handler func(*call, kmsg.Request)

// on makes a handler of a method that takes the request's own type.
func on[R kmsg.Request](f func(*call, R)) handler {
	return func(c *call, r kmsg.Request) { f(c, r.(R)) }
}

// handlers has every API but Produce and Fetch, by key.
var handlers = map[int16]handler{
	kmsg.ListOffsets.Int16():          on((*call).listOffsets),
	kmsg.Metadata.Int16():             on((*call).metadata),
	kmsg.OffsetCommit.Int16():         on((*call).offsetCommit),
	kmsg.OffsetFetch.Int16():          on((*call).offsetFetch),
	kmsg.FindCoordinator.Int16():      on((*call).findCoordinator),
	kmsg.JoinGroup.Int16():            on((*call).joinGroup),
	kmsg.Heartbeat.Int16():            on((*call).heartbeat),
	kmsg.LeaveGroup.Int16():           on((*call).leaveGroup),
	kmsg.SyncGroup.Int16():            on((*call).syncGroup),
	kmsg.DescribeGroups.Int16():       on((*call).describeGroups),
	kmsg.ListGroups.Int16():           on((*call).listGroups),
	kmsg.DeleteGroups.Int16():         on((*call).deleteGroups),
	kmsg.ApiVersions.Int16():          on((*call).apiVersions),
	kmsg.CreateTopics.Int16():         on((*call).createTopics),
	kmsg.DeleteTopics.Int16():         on((*call).deleteTopics),
	kmsg.DeleteRecords.Int16():        on((*call).deleteRecords),
	kmsg.InitProducerID.Int16():       on((*call).initProducerID),
	kmsg.DescribeConfigs.Int16():      on((*call).describeConfigs),
	kmsg.OffsetForLeaderEpoch.Int16(): on((*call).offsetForLeaderEpoch),
	kmsg.AlterConfigs.Int16():         on((*call).alterConfigs),
	kmsg.CreatePartitions.Int16():     on((*call).createPartitions),
	kmsg.DescribeCluster.Int16():      on((*call).describeCluster),

	kmsg.IncrementalAlterConfigs.Int16():    on((*call).incrementalAlterConfigs),
	kmsg.OffsetDelete.Int16():               on((*call).offsetDelete),
	kmsg.ListConfigResources.Int16():        on((*call).listConfigResources),
	kmsg.DescribeLogDirs.Int16():            on((*call).describeLogDirs),
	kmsg.AlterReplicaLogDirs.Int16():        on((*call).alterReplicaLogDirs),
	kmsg.DescribeTopicPartitions.Int16():    on((*call).describeTopicPartitions),
	kmsg.UpdateFeatures.Int16():             on((*call).updateFeatures),
	kmsg.AddPartitionsToTxn.Int16():         on((*call).addPartitionsToTxn),
	kmsg.AddOffsetsToTxn.Int16():            on((*call).addOffsetsToTxn),
	kmsg.EndTxn.Int16():                     on((*call).endTxn),
	kmsg.WriteTxnMarkers.Int16():            on((*call).writeTxnMarkers),
	kmsg.TxnOffsetCommit.Int16():            on((*call).txnOffsetCommit),
	kmsg.DescribeProducers.Int16():          on((*call).describeProducers),
	kmsg.DescribeTransactions.Int16():       on((*call).describeTransactions),
	kmsg.ListTransactions.Int16():           on((*call).listTransactions),
	kmsg.ElectLeaders.Int16():               on((*call).electLeaders),
	kmsg.AlterPartitionAssignments.Int16():  on((*call).alterPartitionReassignments),
	kmsg.ListPartitionReassignments.Int16(): on((*call).listPartitionReassignments),
	kmsg.DescribeQuorum.Int16():             on((*call).describeQuorum),
	kmsg.FetchSnapshot.Int16():              on((*call).fetchSnapshot),
	kmsg.UnregisterBroker.Int16():           on((*call).unregisterBroker),
	kmsg.ConsumerGroupHeartbeat.Int16():     on((*call).consumerGroupHeartbeat),
	kmsg.ConsumerGroupDescribe.Int16():      on((*call).consumerGroupDescribe),
}
