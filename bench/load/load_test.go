package load

import (
	"testing"
	"time"
)

func TestQueueKeepsOrderWhileItGrows(t *testing.T) {
	var q queue
	start := time.Unix(0, 0)
	in, out := 0, 0
	for round := range 200 {
		for range round % 7 {
			q.push(start.Add(time.Duration(in)))
			in++
		}
		for range min(round%5, q.len()) {
			if got := q.pop().Sub(start); got != time.Duration(out) {
				t.Fatalf("%d came out where %d was due", got, out)
			}
			out++
		}
	}
	if q.len() != in-out || q.len() < 65 {
		t.Errorf("%d are left of %d − %d", q.len(), in, out)
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(100, 0)
	p := newPace(start, 3000)
	for i, want := range []time.Duration{0, 333333, 666666, time.Millisecond} {
		p.sent = int64(i)
		if got := p.due().Sub(start); got != want {
			t.Errorf("request %d is due after %v, want %v", i, got, want)
		}
	}
	p.sent = 3000 * 3600 // an hour later nothing has drifted
	if got := p.due().Sub(start); got < time.Hour-time.Microsecond || got > time.Hour+time.Microsecond {
		t.Errorf("after an hour: %v", got)
	}
}

func TestTimeline(t *testing.T) {
	l := timeline{start: 10, records: 4, times: []time.Time{time.Unix(1, 0), time.Unix(2, 0)}}
	for offset, want := range map[int64]int64{9: 0, 10: 1, 13: 1, 14: 2, 17: 2, 18: 0} {
		got, ok := l.at(offset)
		if ok != (want > 0) || ok && got.Unix() != want {
			t.Errorf("at(%d) = %v, %v", offset, got, ok)
		}
	}
	if l.end() != 18 {
		t.Errorf("end %d", l.end())
	}
}

func TestJavaOutput(t *testing.T) {
	p, err := parsePerfLine("some warning\n20000 records sent, 3999.2 records/sec (3.81 MB/sec), 1.0 ms avg latency, 9.0 ms max latency.\n" +
		"100000 records sent, 52475.1 records/sec (50.04 MB/sec), 410.12 ms avg latency, 1497.00 ms max latency, 382 ms 50th, " +
		"1300 ms 95th, 1480 ms 99th, 1495 ms 99.9th.\n")
	if err != nil || p != (perfLine{100000, 52475.1, 382, 1480}) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := parsePerfLine("nothing of the kind\n"); err == nil {
		t.Error("a line out of nothing")
	}
	mb, n, rate, err := parseConsumerLine("start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, a, b\n" +
		"2026-01-01 00:00:00:000, 2026-01-01 00:00:01:000, 95.3674, 95.3, 100000, 99900.1, 300, 700\n")
	if err != nil || mb != 95.3674 || n != 100000 || rate != 99900.1 {
		t.Errorf("%v MB, %d records, %v/s, %v", mb, n, rate, err)
	}
	if _, _, _, err := parseConsumerLine("WARN\n"); err == nil {
		t.Error("a row out of nothing")
	}
}

func TestMeterKeepsToItsWindow(t *testing.T) {
	start := time.Unix(1000, 0)
	tests := []struct {
		name      string
		rate      float64
		from, now time.Duration // relative to the window's start
		open      bool
		want      int64
	}{
		{"closed loop, in the window", 0, time.Second, 2 * time.Second, true, 1},
		{"closed loop, sent before the window", 0, -time.Second, time.Second, true, 1},
		{"closed loop, after the window", 0, time.Second, 2 * time.Second, false, 0},
		{"open loop, in the window", 10, time.Second, 2 * time.Second, true, 1},
		{"open loop, due in the warm-up", 10, -time.Second, time.Second, true, 0},
		{"open loop, due in the window, answered after it", 10, time.Second, 9 * time.Second, false, 1},
	}
	for _, tt := range tests {
		m := newMeter(&Spec{Rate: tt.rate}, func() time.Duration { return 0 })
		m.begin(start)
		m.open = tt.open
		m.took(start.Add(tt.from), start.Add(tt.now))
		if got := m.latency.TotalCount(); got != tt.want {
			t.Errorf("%s: %d latencies, want %d", tt.name, got, tt.want)
		}
	}
}
