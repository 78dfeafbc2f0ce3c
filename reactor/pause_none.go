//go:build poll_opt

package reactor

import "errors"

// pauser can't do anything: with this tag gnet keeps pointers in the poller's events,
// which must not be overwritten. See Reactor.canPause for what is done instead.
type pauser struct{ _ int }

func (pauser) pause(int) error  { return errors.ErrUnsupported }
func (pauser) resume(int) error { return errors.ErrUnsupported }

func endUnseen(int) bool { return false }
