package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"millrace/metadata"
)

// commitsMax bounds the commits that wait behind the one that is being carried out.
const commitsMax = 1024

// committer carries out a store's commits, one at a time, each exactly once.
//
// etcd loses a proposal that was on its way to a leader which dies, and doesn't
// say so: the request just isn't answered. Waiting as long as etcd does (5 s and
// more) would make every failover that long, and giving up would leave the caller
// with an outcome that nobody knows. So each transaction also puts the marker,
// a key of this store alone, and compares the marker's last revision. Of several
// attempts one at most can find that revision; the next attempt sees by the
// marker's value whether that was this commit's; and an attempt that is still
// on its way when the next commit is done can't succeed any more.
//
// Rejected: a marker per commit, so that commits may overlap. It costs a lease and
// a deletion for each, and a cluster has one writer that matters, which waits for
// the answer anyway.
type committer struct {
	store  *Store
	marker string

	mu    sync.Mutex
	queue []commit      // guarded by mu
	idle  chan struct{} // guarded by mu: closed when the goroutine ends; nil: there is none

	// Of that goroutine alone.
	seq      uint64           // of the commit; the marker's value
	revision int64            // of the marker's last put; 0: there is none
	known    bool             // revision is true
	lease    clientv3.LeaseID // the marker's
	granted  time.Time
}

type commit struct {
	txn  metadata.Txn
	done func(revision int64, err error)
}

// errVanished: somebody else removed the marker.
var errVanished = errors.New("etcd: the commit marker was removed while a commit was on its way; it isn't known whether that was carried out")

func (c *committer) init(s *Store) {
	c.store = s
	c.marker = s.options.Prefix + "commits/" + rand.Text()
}

// Commit implements metadata.Store. Commits are carried out in the order of the
// calls. With an error other than ErrConflict, ErrLeaseNotFound and etcd's
// refusals it isn't known whether t was carried out; that takes commitTimeout
// without an answer.
func (s *Store) Commit(t metadata.Txn, done func(revision int64, err error)) {
	checkTxn(t)
	if most := s.TxnMax(); len(t.Compares) > most || len(t.Ops) > most {
		done(0, fmt.Errorf("etcd: %d compares and %d ops in one transaction, the most is %d", len(t.Compares), len(t.Ops), most))
		return
	}
	if err := s.commits.enqueue(commit{t, done}); err != nil {
		done(0, err)
	}
}

func (c *committer) enqueue(next commit) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) >= commitsMax {
		return fmt.Errorf("etcd: %d commits wait already", commitsMax)
	}
	if c.idle == nil && !c.store.spawn(c.run) || c.store.isClosed() {
		return metadata.ErrClosed
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	c.queue = append(c.queue, next)
	return nil
}

// drain waits until what was committed is answered, for a while.
func (c *committer) drain() {
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(farewellLimit):
	}
}

// checkTxn panics on what no caller may do.
func checkTxn(t metadata.Txn) {
	puts := make(map[string]struct{}, len(t.Ops))
	for _, op := range t.Ops {
		if _, twice := puts[op.Key]; twice {
			panic(fmt.Sprintf("metadata/etcd: two ops with key %q in one transaction", op.Key))
		}
		puts[op.Key] = struct{}{}
	}
}

// run carries out what waits, and ends.
func (c *committer) run() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			close(c.idle)
			c.queue, c.idle = nil, nil
			c.mu.Unlock()
			return
		}
		next := c.queue[0]
		c.queue[0] = commit{}
		c.queue = c.queue[1:]
		c.mu.Unlock()
		revision, effective, err := c.carryOut(next.txn)
		if revision > 0 {
			c.store.reach(revision, effective)
		}
		next.done(revision, c.store.translate(err))
	}
}

// carryOut says at which revision t was carried out, or conflicts, and whether a
// watch will see events of it.
func (c *committer) carryOut(t metadata.Txn) (revision int64, effective bool, err error) {
	ctx, cancel := context.WithTimeout(c.store.ctx, commitTimeout)
	defer cancel()
	if len(t.Ops) == 0 {
		revision, err = c.check(ctx, t)
		return revision, false, err
	}
	c.seq++
	renewed := false
	delay := retryDelayMin
	again := false // an attempt was or may still be carried out, for all we know
	for attempt := 0; ; attempt++ {
		if !again {
			if err = c.prepare(ctx); err != nil {
				return 0, false, err
			}
		}
		resp, err := c.attempt(ctx, c.store.limit(attempt, slowTimeout), t, again)
		var v verdict
		switch {
		case err == nil && resp.Succeeded:
			c.revision = resp.Header.GetRevision()
			return c.revision, hasEffect(resp), nil
		case err == nil:
			v = c.judge(resp, again)
		case refused(err) && again:
			v = c.settle(ctx)
		case !refused(err):
			again = true
			c.store.log.Debug("a commit wasn't answered, trying again", zap.Error(err))
			if !pause(ctx, delay) {
				c.known = false
				return 0, false, err
			}
			delay = min(2*delay, retryDelayMax)
			continue
		}
		if v.carriedOut || v.err != nil {
			return v.revision, v.carriedOut, v.err
		}
		again = false
		if is(err, rpctypes.ErrLeaseNotFound) && !renewed {
			renewed, c.lease = true, 0 // perhaps it is the marker's that is gone
		} else if err != nil {
			return 0, false, err
		}
	}
}

// check is a commit that writes nothing: it may be tried as often as one likes. It
// reads something, for etcd takes a transaction that does nothing at all for one that
// may be answered by a member that is behind.
func (c *committer) check(ctx context.Context, t metadata.Txn) (revision int64, err error) {
	err = c.store.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
		read := clientv3.OpGet(c.marker, clientv3.WithCountOnly())
		resp, err := etcd.Txn(ctx).If(c.store.compares(t)...).Then(read).Else(read).Commit()
		if err == nil {
			revision = resp.Header.GetRevision()
			if !resp.Succeeded {
				err = metadata.ErrConflict
			}
		}
		if errors.Is(err, metadata.ErrConflict) {
			return nil
		}
		return err
	})
	return revision, err
}

// prepare makes sure of the marker's lease and revision.
func (c *committer) prepare(ctx context.Context) error {
	s := c.store
	if now := time.Now(); c.lease == 0 || now.Sub(c.granted) > markerTTL/2 {
		err := s.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
			resp, err := etcd.Grant(ctx, int64(markerTTL/time.Second))
			if err == nil {
				c.lease, c.granted, c.known = resp.ID, now, false
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.known {
		return nil
	}
	return s.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) error {
		resp, err := etcd.Get(ctx, c.marker)
		if err == nil {
			c.revision, c.known = modRevision(resp.Kvs), true
		}
		return err
	})
}

func modRevision(kvs []*mvccpb.KeyValue) int64 {
	if len(kvs) == 0 {
		return 0
	}
	return kvs[0].GetModRevision()
}

// attempt sends t once. If it doesn't hold, the answer tells what the marker is; if
// an earlier attempt may still be on its way, it also moves the marker on,
// unless that attempt did.
func (c *committer) attempt(ctx context.Context, limit time.Duration, t metadata.Txn, again bool) (resp *clientv3.TxnResponse, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	mine := c.unmoved()
	then := append(c.store.ops(t), clientv3.OpPut(c.marker, strconv.FormatUint(c.seq, 10), clientv3.WithLease(c.lease)))
	otherwise := clientv3.OpGet(c.marker)
	if again {
		otherwise = c.fence()
	}
	err = c.store.on(func(etcd *clientv3.Client) (err error) {
		resp, err = etcd.Txn(ctx).If(append(c.store.compares(t), mine)...).Then(then...).Else(otherwise).Commit()
		return err
	})
	return resp, err
}

func (c *committer) unmoved() clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(c.marker), "=", c.revision)
}

// fence ends every attempt that is still on its way: if the marker is as it was,
// it is put, without the lease, which may be what is wrong. Else it is read.
func (c *committer) fence() clientv3.Op {
	return clientv3.OpTxn([]clientv3.Cmp{c.unmoved()}, []clientv3.Op{clientv3.OpPut(c.marker, "-")}, []clientv3.Op{clientv3.OpGet(c.marker)})
}

// verdict is what etcd's answer says about the commit. With neither carriedOut
// nor err nothing was done, and nothing will be.
type verdict struct {
	carriedOut bool
	revision   int64
	err        error
}

// judge reads the answer to a transaction that didn't hold.
func (c *committer) judge(resp *clientv3.TxnResponse, again bool) verdict {
	now := resp.Header.GetRevision()
	answer := resp.Responses[0]
	if again {
		inner := answer.GetResponseTxn()
		if inner.GetSucceeded() {
			c.revision = now
			return verdict{revision: now, err: metadata.ErrConflict}
		}
		answer = inner.GetResponses()[0]
	}
	kvs := answer.GetResponseRange().GetKvs()
	was := c.revision
	c.revision = modRevision(kvs)
	switch {
	case c.revision == was:
		return verdict{revision: now, err: metadata.ErrConflict}
	case len(kvs) == 0 && again:
		c.known = false
		return verdict{err: errVanished}
	case len(kvs) > 0 && string(kvs[0].GetValue()) == strconv.FormatUint(c.seq, 10):
		return verdict{carriedOut: true, revision: c.revision}
	}
	return verdict{} // an older commit's, of unknown outcome until now
}

// settle finds out what became of the attempts that weren't answered.
func (c *committer) settle(ctx context.Context) verdict {
	var resp *clientv3.TxnResponse
	err := c.store.try(ctx, slowTimeout, func(ctx context.Context, etcd *clientv3.Client) (err error) {
		resp, err = etcd.Txn(ctx).Then(c.fence()).Commit()
		return err
	})
	if err != nil {
		c.known = false
		return verdict{err: err}
	}
	v := c.judge(resp, true)
	if errors.Is(v.err, metadata.ErrConflict) {
		return verdict{}
	}
	return v
}

// farewell takes the marker away, if etcd is there. It comes when nothing runs.
func (c *committer) farewell() {
	if c.lease == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewellLimit)
	defer cancel()
	_ = c.store.on(func(etcd *clientv3.Client) error {
		_, err := etcd.Revoke(ctx, c.lease)
		return err
	})
}

func (s *Store) compares(t metadata.Txn) []clientv3.Cmp {
	cmps := make([]clientv3.Cmp, 0, len(t.Compares)+1)
	for _, c := range t.Compares {
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(s.meta+c.Key), "=", c.Revision))
	}
	return cmps
}

func (s *Store) ops(t metadata.Txn) []clientv3.Op {
	ops := make([]clientv3.Op, 0, len(t.Ops)+1)
	for _, op := range t.Ops {
		key := s.meta + op.Key
		switch op.Kind {
		case metadata.OpPut:
			ops = append(ops, clientv3.OpPut(key, string(op.Value), clientv3.WithLease(clientv3.LeaseID(op.Lease))))
		case metadata.OpDelete:
			ops = append(ops, clientv3.OpDelete(key))
		case metadata.OpDeletePrefix:
			ops = append(ops, clientv3.OpDelete(key, clientv3.WithPrefix()))
		default:
			panic(fmt.Sprintf("metadata/etcd: unknown op %d", op.Kind))
		}
	}
	return ops
}

// hasEffect looks at all ops but the last, which puts the marker.
func hasEffect(resp *clientv3.TxnResponse) bool {
	for _, r := range resp.Responses[:len(resp.Responses)-1] {
		switch r := r.GetResponse().(type) {
		case *etcdserverpb.ResponseOp_ResponsePut:
			return true
		case *etcdserverpb.ResponseOp_ResponseDeleteRange:
			if r.ResponseDeleteRange.GetDeleted() > 0 {
				return true
			}
		}
	}
	return false
}
