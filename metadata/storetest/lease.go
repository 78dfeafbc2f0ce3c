package storetest

import (
	"errors"
	"testing"
	"time"

	"millrace/metadata"
)

func putLeased(key, value string, id metadata.LeaseID) metadata.Op {
	return metadata.Op{Key: key, Value: []byte(value), Lease: id}
}

func (f *fixture) grant(ttl time.Duration) metadata.LeaseID {
	f.Helper()
	id, err := f.Grant(f.ctx(), ttl)
	if err != nil || id == 0 {
		f.Fatalf("Grant(%v) = %d, %v", ttl, id, err)
	}
	return id
}

func testLeaseRevoke(t *testing.T, s *fixture) {
	one, two := s.grant(time.Minute), s.grant(time.Minute)
	if one == two {
		t.Fatalf("two leases with the id %d", one)
	}
	from := s.must(putLeased("a", "1", one), putLeased("b", "1", one), putLeased("c", "2", two), put("d", "")) + 1
	if err := s.KeepAlive(s.ctx(), one); err != nil {
		t.Error(err)
	}
	w := s.watch(from)
	if err := s.Revoke(s.ctx(), one); err != nil {
		t.Error(err)
	}
	s.wantContent("c=2", "d=")
	w.until("two events", func() bool { return len(w.batches) > 0 })
	wantEvents(t, w.events(), "a deleted", "b deleted")
	if err := s.KeepAlive(s.ctx(), one); !errors.Is(err, metadata.ErrLeaseNotFound) {
		t.Errorf("KeepAlive of a revoked lease = %v", err)
	}
	if err := s.KeepAlive(s.ctx(), two); err != nil {
		t.Error(err)
	}
}

func testLeaseUnknown(t *testing.T, s *fixture) {
	const nobodys = 1 << 40
	if err := s.KeepAlive(s.ctx(), nobodys); !errors.Is(err, metadata.ErrLeaseNotFound) {
		t.Errorf("KeepAlive = %v", err)
	}
	if err := s.Revoke(s.ctx(), nobodys); !errors.Is(err, metadata.ErrLeaseNotFound) {
		t.Errorf("Revoke = %v", err)
	}
	if _, err := s.commit(metadata.Txn{Ops: []metadata.Op{put("a", ""), putLeased("b", "", nobodys)}}); !errors.Is(err, metadata.ErrLeaseNotFound) {
		t.Errorf("Commit = %v", err)
	}
	s.wantContent()
}

// testLeaseReplaced: a key belongs to the lease of its last put.
func testLeaseReplaced(t *testing.T, s *fixture) {
	one, two := s.grant(time.Minute), s.grant(time.Minute)
	s.must(putLeased("a", "", one), putLeased("b", "", one), putLeased("c", "", one), putLeased("d", "", one))
	s.must(putLeased("a", "", two), put("b", ""), del("c"))
	s.must(put("c", ""))
	if err := s.Revoke(s.ctx(), one); err != nil {
		t.Fatal(err)
	}
	s.wantContent("a=", "b=", "c=")
	if err := s.Revoke(s.ctx(), two); err != nil {
		t.Fatal(err)
	}
	s.wantContent("b=", "c=")
}

// testLeaseExpiry keeps one of two leases alive. The other's keys go, after its
// time and not before.
func testLeaseExpiry(t *testing.T, s *fixture) {
	const ttl = time.Second
	kept := s.grant(time.Minute)
	begun := time.Now()
	lost := s.grant(ttl)
	from := s.must(putLeased("kept", "", kept), putLeased("lost/1", "", lost), putLeased("lost/2", "", lost)) + 1
	w := s.watch(from)
	w.until("the end of the lease", func() bool { return len(w.batches) > 0 && len(w.batches[0].Events) > 0 })
	if took := time.Since(begun); took < ttl {
		t.Errorf("the lease was over after %v, want %v or more", took, ttl)
	}
	wantEvents(t, w.events(), "lost/1 deleted", "lost/2 deleted")
	s.wantContent("kept=")
	if err := s.KeepAlive(s.ctx(), lost); !errors.Is(err, metadata.ErrLeaseNotFound) {
		t.Errorf("KeepAlive of a lease that is over = %v", err)
	}
}
