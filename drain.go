package millrace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"millrace/metadata"
)

// A broker's way out. It hands over what it leads, and has copied what nobody else would have enough of, while it goes on
// serving; then it leaves every ISR. Each step is planned by the central server (metadata/controller's Drain), and asked for
// again when the cluster has changed.
const (
	drainPause = 20 * time.Millisecond  // between steps, however often the cluster changes
	drainAgain = 500 * time.Millisecond // until the next step, however seldom
)

// StuckError says why a broker couldn't leave in time.
type StuckError struct {
	Broker int32
	State  metadata.DrainState
}

func (e *StuckError) Error() string {
	var why []string
	for _, part := range []struct {
		list []metadata.PartitionRef
		text string
	}{
		{e.State.Stuck, "have no other broker to go to"},
		{e.State.Copying, "are still being copied"},
		{e.State.Waiting, "wait for their other replicas to be in sync"},
	} {
		if len(part.list) > 0 {
			why = append(why, fmt.Sprintf("%d partitions %s (%s)", len(part.list), part.text, refs(part.list)))
		}
	}
	if e.State.Leading > 0 {
		why = append(why, fmt.Sprintf("%d partitions have no other leader", e.State.Leading))
	}
	if len(why) == 0 {
		why = []string{"the metadata store didn't answer"}
	}
	return fmt.Sprintf("broker %d can't leave yet: %s", e.Broker, strings.Join(why, "; "))
}

// refs names a few partitions of a list.
func refs(list []metadata.PartitionRef) string {
	const most = 10
	var b strings.Builder
	for i, ref := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s-%d", ref.Topic, ref.Partition)
	}
	return b.String()
}

// DrainBroker moves what a broker of the cluster leads, and what nobody else has, to other brokers, while it goes on serving.
// With leave it is out of every ISR at the end, so that its process may stop and nothing is lost; it stays registered,
// and comes back by starting again. After millrace.drain.timeout.ms the error is a *StuckError; the broker then drains on, and
// CancelDrain ends that. done must not block.
func (s *Server) DrainBroker(id int32, leave bool, done func(error)) {
	ctx, cancel := context.WithTimeout(context.Background(), s.drainTimeout())
	s.inBackground(func(err error) {
		defer cancel()
		if err == nil {
			err = s.drain(ctx, id, leave)
		}
		done(err)
	})
}

// CancelDrain has a broker stay that drains, or has been drained without leave. done must not block.
func (s *Server) CancelDrain(id int32, done func(error)) {
	b := s.Image().Broker(id)
	if b == nil {
		done(ErrUnknownBroker)
		return
	}
	s.central.CancelDrain(b.Member(), done)
}

// OnlyCopies lists the partitions whose records are lost if the broker goes now.
func (s *Server) OnlyCopies(id int32) []metadata.PartitionRef { return s.central.OnlyCopies(id) }

func (s *Server) drainTimeout() time.Duration {
	return time.Duration(s.config.DrainTimeoutMs) * time.Millisecond
}

// inBackground runs f on a goroutine that Close waits for; with ErrClosed, and at once, if the server is closed.
func (s *Server) inBackground(f func(error)) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.background.Go(func() { f(nil) })
	}
	s.mu.Unlock()
	if closed {
		f(ErrClosed)
	}
}

// drain takes one step after the other until the broker is out, or ctx is done.
func (s *Server) drain(ctx context.Context, id int32, leave bool) error {
	b := s.Image().Broker(id)
	if b == nil {
		return ErrUnknownBroker
	}
	var last metadata.DrainState
	for {
		news := s.news.wait()
		state, err := await(func(done func(metadata.DrainState, error)) { s.central.Drain(b.Member(), leave, done) })
		switch {
		case err == nil:
			last = state
		case !errors.Is(err, metadata.ErrUnavailable):
			return err
		}
		if err == nil && (state.Left || !leave && state.Ready() && state.Leading == 0) {
			return nil
		}
		if err := s.rest(ctx, news); err != nil {
			if errors.Is(err, ErrClosed) {
				return err
			}
			return &StuckError{id, last}
		}
	}
}

// rest waits for news, but no shorter than drainPause and no longer than drainAgain.
func (s *Server) rest(ctx context.Context, news <-chan struct{}) error {
	pause, again := time.NewTimer(drainPause), time.NewTimer(drainAgain)
	defer pause.Stop()
	defer again.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
	select {
	case <-news:
	case <-again.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
	return nil
}

// Shutdown stops the server as an operator means it: in a cluster of several processes its brokers are drained first,
// until ctx is done, so that nothing is lost and no client sees an error. What was left behind stands in the log.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.several() && s.config.ControlledShutdown {
		s.drainAll(ctx)
	}
	return s.Close()
}

// drainAll has all brokers of this process leave at once: each counts for the others until it has left.
func (s *Server) drainAll(ctx context.Context) {
	brokers := s.members()
	if !s.company() {
		s.log.Warn("there is no other broker that could take over", zap.Int("brokers", len(brokers)))
		return
	}
	began := time.Now()
	results := make(chan error, len(brokers))
	for _, m := range brokers {
		s.inBackground(func(err error) {
			if err == nil {
				err = s.drain(ctx, m.Broker, true)
			}
			results <- err
		})
	}
	drained := 0
	for range brokers {
		if err := <-results; err != nil {
			s.log.Error("not drained", zap.Error(err))
			continue
		}
		drained++
	}
	s.log.Info("drained", zap.Int("brokers", drained), zap.Int("of", len(brokers)), zap.Duration("took", time.Since(began)))
}

// company tells whether a broker of another process lives.
func (s *Server) company() bool {
	own := make(map[metadata.Member]bool)
	for _, m := range s.members() {
		own[m] = true
	}
	for _, b := range s.Image().Brokers() {
		if !b.Fenced && !own[b.Member()] {
			return true
		}
	}
	return false
}
