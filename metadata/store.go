package metadata

import (
	"context"
	"errors"
	"time"
)

// The world's errors that a Store answers with.
var (
	ErrConflict      = errors.New("metadata store: a compared key has changed")
	ErrCompacted     = errors.New("metadata store: the revision was compacted")
	ErrLeaseNotFound = errors.New("metadata store: no such lease")
	ErrClosed        = errors.New("metadata store: closed")
)

// Store keeps the cluster's metadata: a map of keys to values with one
// revision counter, as etcd's (https://etcd.io/docs/v3.6/learning/data_model/).
// Each Txn that changes anything makes one new revision. A Store is safe for
// concurrent use. What every Store must do is held by package storetest.
//
// Values and events are shared: nobody writes to a Value after handing it to
// a Store, or after getting it from one.
type Store interface {
	// Range returns the keys that start with prefix, in byte order, as of one
	// revision. An empty store is at revision 0 or higher.
	Range(ctx context.Context, prefix string) (kvs []KeyValue, revision int64, err error)

	// Commit carries out t as a whole or not at all, and then calls done
	// exactly once: on the caller before Commit returns, or later on a
	// goroutine of the store, never with a lock held.
	//   - err nil: t is in the store, as of revision;
	//   - ErrConflict: a compare failed, nothing was done; revision is the
	//     store's at that moment, so a watch that has reached it has seen why;
	//   - any other error: it isn't known whether t was carried out.
	// A Txn that has no effect may make a new revision or not (etcd's commits leave a mark).
	Commit(t Txn, done func(revision int64, err error))

	// TxnMax is the most compares, and the most ops, that one Txn may have.
	// 0: no limit.
	TxnMax() int

	// Watch delivers every event from revision from on, in order, one call at
	// a time. All events of a revision come in one batch. deliver must not
	// block, and may call the store. Every revision that Commit has answered
	// with is reached, if need be by a batch without events. Watching goes on
	// until cancel or until deliver gets an error: ErrCompacted (list again, and
	// watch from there) or ErrClosed. After cancel has returned no call of
	// deliver begins; one that has begun may still be running.
	Watch(from int64, deliver func(Batch, error)) (cancel func())

	// Grant makes a lease: ttl after the last KeepAlive, or at Revoke, the
	// keys that were put with it are deleted in one revision. ttl is rounded
	// up to what the store can do (etcd: seconds).
	Grant(ctx context.Context, ttl time.Duration) (LeaseID, error)
	KeepAlive(ctx context.Context, id LeaseID) error // ErrLeaseNotFound: too late
	Revoke(ctx context.Context, id LeaseID) error
}

// LeaseID names a lease; 0 is none. It tells who is alive and nothing else: it
// is never taken for a broker's incarnation.
type LeaseID int64

// KeyValue is one key as a Store holds it.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision int64 // of the Txn that put it last
}

// Compare holds when the key was last put in exactly this revision; 0: when
// there is no such key.
type Compare struct {
	Key      string
	Revision int64
}

// OpKind says what an Op does.
type OpKind uint8

// The kinds of Op.
const (
	OpPut          OpKind = iota
	OpDelete              // no effect if there is no such key
	OpDeletePrefix        // every key that starts with Key, which ends in '/'
)

// Op is one step of a Txn.
type Op struct {
	Kind  OpKind
	Key   string
	Value []byte  // OpPut
	Lease LeaseID // OpPut: the key goes when the lease does; 0: never
}

// Txn is carried out if every compare holds. No two ops may touch one key.
type Txn struct {
	Compares []Compare
	Ops      []Op
}

// Event is one key's change.
type Event struct {
	Key      string
	Value    []byte // nil if Deleted
	Deleted  bool
	Revision int64
}

// Batch is what happened up to Revision since the batch before it.
type Batch struct {
	Revision int64
	Events   []Event // by revision
}
