package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

// try makes attempts until one succeeds, is refused, or ctx is done. The first has
// attemptTimeout, each later one twice that of the one before, up to most. It is for
// requests that may be carried out twice.
func (s *Store) try(ctx context.Context, most time.Duration, f func(context.Context) error) error {
	attempt := attemptTimeout
	for delay := retryDelayMin; ; delay, attempt = min(2*delay, retryDelayMax), min(2*attempt, most) {
		one, cancel := context.WithTimeout(ctx, attempt)
		err := f(one)
		cancel()
		if err == nil || refused(err) {
			return err
		}
		if !pause(ctx, delay) {
			return err
		}
	}
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
	if errors.Is(err, rpctypes.ErrNotCapable) || errors.Is(err, rpctypes.ErrTooManyRequests) ||
		errors.Is(err, rpctypes.ErrMemberNotFound) || errors.Is(err, rpctypes.ErrGRPCNotCapable) {
		return false // the member has just started, or has much to do
	}
	switch codeOf(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.ResourceExhausted:
		return true
	}
	return false
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
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return metadata.ErrLeaseNotFound
	case errors.Is(err, rpctypes.ErrCompacted):
		return metadata.ErrCompacted
	case s.isClosed():
		return metadata.ErrClosed
	}
	return err
}
