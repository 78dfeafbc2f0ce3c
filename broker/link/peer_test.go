package link_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker"
	"millrace/broker/link"
	"millrace/broker/txn"
	"millrace/protocol"
)

// peerOf is a peer of a broker that answers each request as answer says; nil: it hangs up.
func peerOf(t *testing.T, answer func(kmsg.Request) kmsg.Response) *link.Peer {
	t.Helper()
	p := link.OpenPeer(link.PeerOptions{
		Address: func() (string, bool) { return "somewhere", true },
		Dial: func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			go serveRequests(there, answer)
			return here, nil
		}})
	t.Cleanup(func() { p.Close(); p.Wait() })
	return p
}

func serveRequests(c net.Conn, answer func(kmsg.Request) kmsg.Response) {
	defer c.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame)))
		req.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
		header := 8 + 2 + int(binary.BigEndian.Uint16(frame[8:])) + 1
		if err := req.ReadFrom(frame[header:]); err != nil {
			return
		}
		resp := answer(req)
		if resp == nil {
			return
		}
		out := append([]byte{0, 0, 0, 0}, frame[4:8]...)
		out = resp.AppendTo(append(out, 0))
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func markers(p *link.Peer) []error {
	done := make(chan []error, 1)
	p.WriteMarkers(&broker.MarkerRequest{ProducerID: 7, Commit: true, CoordinatorEpoch: 3,
		Partitions: []txn.Partition{{Topic: "a", Index: 0}, {Topic: "a", Index: 1}, {Topic: "b", Index: 0}}}, func(errs []error) { done <- errs })
	return <-done
}

func TestPeerWritesMarkers(t *testing.T) {
	p := peerOf(t, func(r kmsg.Request) kmsg.Response {
		req, resp := r.(*kmsg.WriteTxnMarkersRequest), r.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
		codes := []protocol.Code{protocol.None, protocol.TransactionCoordinatorFenced, protocol.NotLeaderOrFollower}
		for _, m := range req.Markers {
			rm := kmsg.NewWriteTxnMarkersResponseMarker()
			for _, t := range m.Topics {
				rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
				for _, index := range t.Partitions {
					rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: index, ErrorCode: int16(codes[0])})
					codes = codes[1:]
				}
				rm.Topics = append(rm.Topics, rt)
			}
			resp.Markers = append(resp.Markers, rm)
		}
		return resp
	})
	errs := markers(p)
	if len(errs) != 3 || errs[0] != nil || !errors.Is(errs[1], broker.ErrCoordinatorFenced) || errs[2] == nil {
		t.Errorf("%v", errs)
	}
}

// Whatever a broker answers, or if it doesn't, each question has an answer of the right size.
func TestPeerOfAnOddBroker(t *testing.T) {
	empty := func(r kmsg.Request) kmsg.Response { return r.ResponseKind() }
	short := func(r kmsg.Request) kmsg.Response {
		switch resp := r.ResponseKind().(type) {
		case *kmsg.WriteTxnMarkersResponse:
			resp.Markers = append(resp.Markers, kmsg.NewWriteTxnMarkersResponseMarker())
			return resp
		case *kmsg.AddPartitionsToTxnResponse:
			resp.Transactions = append(resp.Transactions, kmsg.NewAddPartitionsToTxnResponseTransaction())
			return resp
		}
		return nil
	}
	for name, answer := range map[string]func(kmsg.Request) kmsg.Response{
		"hangs up": func(kmsg.Request) kmsg.Response { return nil }, "empty": empty, "short": short,
	} {
		p := peerOf(t, answer)
		for range 2 {
			if errs := markers(p); len(errs) != 3 || errs[0] == nil || errs[2] == nil {
				t.Errorf("%s: %v", name, errs)
			}
			done := make(chan error, 1)
			p.AddPartitions(&txn.Add{TransactionalID: "p", Partitions: []txn.Partition{{Topic: "a"}}}, func(_ []error, err error) { done <- err })
			if err := <-done; !errors.Is(err, txn.ErrCoordinatorNotAvailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	p := peerOf(t, empty)
	p.Close()
	p.Wait()
	if errs := markers(p); len(errs) != 3 || errs[0] == nil {
		t.Errorf("closed: %v", errs)
	}
}
