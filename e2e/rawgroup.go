package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Member is a group member made of plain requests: it joins, syncs, heartbeats, and joins again when it is told to.
type Member struct {
	t           testing.TB
	conn        *Conn
	group       string
	joinVersion int16
	instance    *string
	sessionMs   int32

	stop chan struct{}
	done sync.WaitGroup

	mu         sync.Mutex
	id         string // guarded by mu, like all below
	generation int32  // of the last finished join and sync; 0: none
	joins      int
	errors     []int16 // that were not expected
}

// StartMember lets a member run until the test's end. sessionMs is its session timeout.
func StartMember(t testing.TB, s *Server, group string, joinVersion int16, sessionMs int32) *Member {
	t.Helper()
	m := &Member{t: t, conn: Dial(t, Coordinator(t, s, group)), group: group, joinVersion: joinVersion, sessionMs: sessionMs, stop: make(chan struct{})}
	m.done.Go(m.run)
	t.Cleanup(m.Stop)
	return m
}

// Stop ends the member without a word to the broker.
func (m *Member) Stop() {
	select {
	case <-m.stop:
	default:
		close(m.stop)
		m.conn.Close()
	}
	m.done.Wait()
}

// Generation is the one that the member last joined and synced, 0 while it is at it.
func (m *Member) Generation() int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.generation
}

// try sends a request; nil after Stop.
func (m *Member) try(r kmsg.Request) kmsg.Response {
	frame, _ := m.conn.Frame(r)
	if _, err := m.conn.conn.Write(frame); err != nil {
		return nil
	}
	answer, err := readFrame(m.conn.conn)
	if err != nil {
		return nil
	}
	_, response, err := parse(r, answer)
	if err != nil {
		m.t.Error(err)
		return nil
	}
	return response
}

func (m *Member) run() {
	for {
		generation, again := m.join()
		if !again {
			return
		}
		if generation == 0 {
			continue
		}
		m.mu.Lock()
		m.generation = generation
		m.mu.Unlock()
		if !m.beat(generation) {
			return
		}
		m.mu.Lock()
		m.generation = 0
		m.mu.Unlock()
	}
}

// JoinRequest is what a consumer with one subscription sends.
func JoinRequest(version int16, group, member string, instance *string, sessionMs int32) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID = version, group, member, instance
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis, r.ProtocolType = sessionMs, 10_000, "consumer"
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}
	r.Protocols = append(r.Protocols, p)
	return r
}

// join goes through JoinGroup and SyncGroup. Generation 0 means that they are to be tried again.
func (m *Member) join() (generation int32, again bool) {
	m.mu.Lock()
	r := JoinRequest(m.joinVersion, m.group, m.id, m.instance, m.sessionMs)
	m.joins++
	m.mu.Unlock()
	joined, ok := m.try(r).(*kmsg.JoinGroupResponse)
	if !ok {
		return 0, false
	}
	switch kerr.ErrorForCode(joined.ErrorCode) {
	case nil, kerr.MemberIDRequired:
		m.mu.Lock()
		m.id = joined.MemberID
		m.mu.Unlock()
		if joined.ErrorCode != 0 {
			return 0, true
		}
	default:
		return 0, m.unexpected(joined.ErrorCode)
	}
	s := kmsg.NewPtrSyncGroupRequest()
	s.Version, s.Group, s.Generation, s.MemberID, s.InstanceID = 3, m.group, joined.Generation, joined.MemberID, m.instance
	for _, member := range joined.Members { // only the leader is told them
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = member.MemberID, []byte(member.MemberID)
		s.GroupAssignment = append(s.GroupAssignment, a)
	}
	synced, ok := m.try(s).(*kmsg.SyncGroupResponse)
	switch {
	case !ok:
		return 0, false
	case synced.ErrorCode == kerr.RebalanceInProgress.Code:
		return 0, true
	case synced.ErrorCode != 0:
		return 0, m.unexpected(synced.ErrorCode)
	case string(synced.MemberAssignment) != joined.MemberID:
		m.t.Errorf("member %s was given the assignment %q", joined.MemberID, synced.MemberAssignment)
	}
	return joined.Generation, true
}

// beat heartbeats until a rebalance begins.
func (m *Member) beat(generation int32) (again bool) {
	for {
		select {
		case <-m.stop:
			return false
		case <-time.After(50 * time.Millisecond):
		}
		r := kmsg.NewPtrHeartbeatRequest()
		r.Version, r.Group, r.Generation, r.MemberID, r.InstanceID = 3, m.group, generation, m.id, m.instance
		beat, ok := m.try(r).(*kmsg.HeartbeatResponse)
		switch {
		case !ok:
			return false
		case beat.ErrorCode == kerr.RebalanceInProgress.Code:
			return true
		case beat.ErrorCode != 0:
			return m.unexpected(beat.ErrorCode)
		}
	}
}

func (m *Member) unexpected(code int16) bool {
	m.t.Errorf("member %s: error %v", m.id, kerr.ErrorForCode(code))
	return false
}

// Coordinator is the address of a group's coordinator. It waits until there is one.
func Coordinator(t testing.TB, s *Server, group string) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c := Dial(t, s.Bootstrap[0])
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version, r.CoordinatorKey = 2, group
		found := c.Do(r).(*kmsg.FindCoordinatorResponse)
		c.Close()
		if found.ErrorCode == 0 {
			return hostPort(found.Host, found.Port)
		}
		if time.Now().After(deadline) {
			t.Fatalf("no coordinator for %s: error %d", group, found.ErrorCode)
		}
	}
}
