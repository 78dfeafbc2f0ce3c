package millrace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/protocol/console"
)

// watchUntil reads pictures until one has want, and tells when it came.
func (l *line) watchUntil(want string) (picture string, at time.Time) {
	l.Helper()
	for {
		text, end := l.answer()
		if end != console.Part {
			l.Fatalf("WATCH ended with %s", text)
		}
		if strings.Contains(text, want) {
			return text, time.Now()
		}
	}
}

// TestConsoleKillAndStart: with one replica, a broker's death costs the records, which is told: before, by the answer, and
// by WATCH when it is declared.
func TestConsoleKillAndStart(t *testing.T) {
	s := open(t, 2, "control.listener=127.0.0.1:0")
	addr := openControl(t, s)
	l, watcher := dial(t, addr), dial(t, addr)
	l.do("CREATE_TOPIC t 2 1")
	l.do("PRODUCE t partition=0 x")
	if text, end := watcher.say("WATCH 60"); end != console.Part {
		t.Fatalf("%s", text)
	}
	leader := s.Image().Topic("t").Partitions[0].Leader
	if text := l.do(fmt.Sprintf("KILL_BROKER %d", leader)); !strings.Contains(text, "the only copies of 1 partition") ||
		!strings.Contains(text, " t ") {
		t.Errorf("%s", text)
	}
	if text, end := l.say(fmt.Sprintf("KILL_BROKER %d", leader)); end != console.Failure {
		t.Errorf("the dead was killed: %s", text)
	}
	began := time.Now()
	if text := l.do(fmt.Sprintf("START_BROKER %d", leader)); !strings.Contains(text, "is there again") {
		t.Errorf("%s", text)
	}
	picture, at := watcher.watchUntil("t-0: the records are LOST, loss generation 1")
	if at.Sub(began) > time.Second {
		t.Errorf("the loss was pushed after %v", at.Sub(began))
	}
	if !strings.Contains(picture, fmt.Sprintf("broker %d leads, epoch ", leader)) {
		t.Errorf("%s", picture)
	}
	for command, want := range map[string]string{
		"START_BROKER 1":           "no broker",
		"KILL_BROKER 9":            "no broker",
		"DRAIN 9":                  "no broker",
		"ELECT t 0":                "leads",
		"ELECT t 1 unclean":        "leads",
		"ELECT t 7":                "no partition t-7",
		"ELECT u 0":                "no topic",
		"REASSIGN t 0 cancel":      "No reassignment",
		"REASSIGN t 0 9":           "no such broker",
		"REASSIGN nowhere 0 1,2,3": "no topic",
	} {
		if text, end := l.say(command); end != console.Failure || !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("%s: %s, which should have %q", command, text, want)
		}
	}
}

// TestConsoleWatchJSON: a machine that watches finds the events and the epochs in the picture.
func TestConsoleWatchJSON(t *testing.T) {
	s := open(t, 2, "control.listener=127.0.0.1:0")
	addr := openControl(t, s)
	l, watcher := dial(t, addr), dial(t, addr)
	l.do("CREATE_TOPIC t 1 1")
	watcher.do("FORMAT json")
	fmt.Fprintln(watcher, "WATCH 60")
	leader := s.Image().Topic("t").Partitions[0].Leader
	next := func() (w console.WatchState) {
		t.Helper()
		if !watcher.lines.Scan() {
			t.Fatal(watcher.lines.Err())
		}
		if err := json.Unmarshal(watcher.lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	if first := next(); len(first.Events) != 0 || len(first.Partitions) != 1 || first.Partitions[0].Leader != leader || first.Offline != 0 {
		t.Errorf("%+v", first)
	}
	l.do(fmt.Sprintf("REMOVE_BROKER %d", leader))
	for {
		events := next().Events
		i := slices.IndexFunc(events, func(e console.WatchEvent) bool { return e.Event == console.NewLeader })
		if i < 0 {
			continue
		}
		if e := events[i]; e.Topic != "t" || e.Partition != 0 || e.Leader == leader || e.LeaderEpoch != 1 || len(e.ISR) != 1 ||
			e.Broker != -1 || time.Since(time.UnixMilli(e.TimeMs)) > time.Minute {
			t.Errorf("%+v", e)
		}
		return
	}
}

// TestConsoleReplicated: records are written to all replicas, a broker that is drained or dead takes none with it, and
// leadership goes where an administrator wants it.
func TestConsoleReplicated(t *testing.T) {
	s := open(t, 3, "control.listener=127.0.0.1:0", "auto.leader.rebalance.enable=false")
	addr := openControl(t, s)
	l, watcher := dial(t, addr), dial(t, addr)
	watcher.say("WATCH 60")
	l.do("CREATE_TOPIC t 1 3 min.insync.replicas=2")
	l.do("CREATE_TOPIC one 3 1")
	for range 10 {
		l.do("PRODUCE t partition=0 x")
	}
	first := s.Image().Topic("t").Partitions[0].Leader
	if text := l.do(fmt.Sprintf("DRAIN %d", first)); !strings.Contains(text, "2 partitions led by others now, 1 partition copied that only it had, 0 partitions without another place") {
		t.Errorf("%s", text)
	}
	watcher.watchUntil(fmt.Sprintf("broker %d drains", first))
	if text := l.do("BROKERS"); !strings.Contains(text, "draining") {
		t.Errorf("%s", text)
	}
	if text := l.do(fmt.Sprintf("KILL_BROKER %d", first)); !strings.Contains(text, "the only copies of 0 partitions") {
		t.Errorf("%s", text)
	}
	picture, _ := watcher.watchUntil(fmt.Sprintf("broker %d is fenced", first))
	if !strings.Contains(picture, "0 partitions offline, 1 under-replicated") {
		t.Errorf("%s", picture)
	}
	if text := l.do("DESCRIBE_TOPIC t"); !strings.Contains(text, " 0       0             10              10          ") {
		t.Errorf("%s", text)
	}
	if text := l.do("CONSUME t 0 start 100"); !strings.Contains(text, "10 records") {
		t.Errorf("%s", text)
	}
	l.do(fmt.Sprintf("START_BROKER %d", first))
	eventually(t, "it is back in sync", func() bool { return inSync(s, "t", 3) })
	if text := l.do("ELECT t 0"); !strings.Contains(text, fmt.Sprintf("broker %d leads t-0", first)) {
		t.Errorf("%s", text)
	}
	other := first%3 + 1
	l.do(fmt.Sprintf("REASSIGN t 0 %d", other))
	eventually(t, "the reassignment is over", func() bool {
		p := partition(s, "t", 0)
		return len(p.Replicas) == 1 && p.Leader == other && !p.Reassigning()
	})
	if text := l.do("CONSUME t 0 start 100"); !strings.Contains(text, "10 records") {
		t.Errorf("%s", text)
	}
}
