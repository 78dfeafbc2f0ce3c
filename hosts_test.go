package millrace_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

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

// TestKillIsNoticed: with replicas nothing is lost when a broker dies, and the next leaders are there in no time.
func TestKillIsNoticed(t *testing.T) {
	s := open(t, 3, "leader.imbalance.check.interval.seconds=1")
	c := manual(t, strings.Split(s.Bootstrap(), ","))
	if _, err := kadm.NewClient(c).CreateTopic(soon(t), 3, 3, map[string]*string{"min.insync.replicas": kadm.StringPtr("2")}, "t"); err != nil {
		t.Fatal(err)
	}
	load := startStream(t, c, "t")
	load.more(30)
	if err := s.KillBroker(2); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for ctx := soon(t); !s.Image().Broker(2).Fenced; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("the death wasn't noticed")
		}
	}
	t.Logf("fenced after %v", time.Since(began))
	load.more(30)
	if !s.Ready() {
		t.Error("the living are in sync")
	}
	restart(t, s, 2)
	if err := s.AwaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	load.more(30)
	for ctx := soon(t); ; time.Sleep(time.Millisecond) { // and leadership goes back
		led := false
		for _, p := range s.Image().Topic("t").Partitions {
			led = led || p.Leader == 2
		}
		if led {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("broker 2 leads nothing again")
		}
	}
	load.more(30)
	load.check()
}
