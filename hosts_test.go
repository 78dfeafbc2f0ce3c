package millrace_test

import (
	"errors"
	"testing"

	"millrace"
)

// restart brings a broker back that was killed.
func restart(t testing.TB, s *millrace.Server, id int32) millrace.BrokerInfo {
	t.Helper()
	type outcome struct {
		info millrace.BrokerInfo
		err  error
	}
	done := make(chan outcome, 1)
	s.RestartBroker(id, func(info millrace.BrokerInfo, err error) { done <- outcome{info, err} })
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.info
}

// TestKillAndRestart: a broker that died comes back under its id and at its address, in another life.
func TestKillAndRestart(t *testing.T) {
	s := open(t, 3)
	before := s.Image().Broker(2)
	if err := s.KillBroker(2); err != nil {
		t.Fatal(err)
	}
	if s.Broker(2) != nil || s.Image().Broker(2) == nil {
		t.Error("the broker's death was told to somebody, or isn't one")
	}
	if err := s.KillBroker(2); !errors.Is(err, millrace.ErrUnknownBroker) {
		t.Errorf("KillBroker of the dead = %v", err)
	}
	info := restart(t, s, 2)
	after := s.Image().Broker(2)
	if info.ID != 2 || s.Broker(2) == nil || after.Incarnation == before.Incarnation || after.Endpoints[0] != before.Endpoints[0] {
		t.Errorf("restarted as %+v, %+v; before it was %+v", info, after, before)
	}
	s.RestartBroker(2, func(_ millrace.BrokerInfo, err error) {
		if !errors.Is(err, millrace.ErrUnknownBroker) {
			t.Errorf("RestartBroker of the living = %v", err)
		}
	})
	if err := s.KillBroker(3); err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveBroker(3); err != nil {
		t.Fatal(err)
	}
	if s.Image().Broker(3) != nil {
		t.Error("a dead broker wasn't removed")
	}
}
