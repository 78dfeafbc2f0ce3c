package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"millrace/metadata"
)

// context bounds a request by requestTimeout and by the store's life.
func (s *Store) context(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// try makes attempts until one succeeds, is refused, or ctx is done; each on the
// next member, if the one before got no answer. It is for requests that may be
// carried out twice.
func (s *Store) try(ctx context.Context, most time.Duration, f func(context.Context, *clientv3.Client) error) error {
	delay := retryDelayMin
	for attempt := 0; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, s.limit(attempt, most))
		err := s.on(func(etcd *clientv3.Client) error { return f(one, etcd) })
		cancel()
		if err == nil || refused(err) || !pause(ctx, delay) {
			return err
		}
		delay = min(2*delay, retryDelayMax)
	}
}

// limit is how long an attempt may take: attemptTimeout on each member, then twice
// that, and so on up to most.
func (s *Store) limit(attempt int, most time.Duration) time.Duration {
	return min(attemptTimeout<<min(attempt/len(s.endpoints), 10), most)
}

// pause waits for d; false: ctx was done before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// refused says that err is etcd's answer, which another try wouldn't change. All
// else (no leader, no connection, no answer in time) may pass.
func refused(err error) bool {
	for _, passing := range []error{
		rpctypes.ErrNotCapable, rpctypes.ErrMemberNotFound, // the member has just started
		rpctypes.ErrTooManyRequests,
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, // the client has got a new token by now
	} {
		if is(err, passing) {
			return false
		}
	}
	if errors.Is(err, metadata.ErrCompacted) {
		return true
	}
	switch codeOf(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.ResourceExhausted:
		return true
	}
	return false
}

// Unreachable says that Open found nobody, or nobody with a quorum: that may pass.
func Unreachable(err error) bool {
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	}
	return false
}

// is says whether err is one of etcd's errors. Some of its client's ways don't
// translate what comes over the wire.
func is(err, target error) bool {
	return errors.Is(err, target) || err != nil && errors.Is(rpctypes.Error(err), target)
}

func codeOf(err error) codes.Code {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e.Code()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	if errors.Is(err, context.Canceled) {
		return codes.Canceled
	}
	return status.Code(err)
}

// translate puts an error into the interface's words.
func (s *Store) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case is(err, rpctypes.ErrLeaseNotFound):
		return metadata.ErrLeaseNotFound
	case is(err, rpctypes.ErrCompacted):
		return metadata.ErrCompacted
	case s.isClosed():
		return metadata.ErrClosed
	}
	return err
}
