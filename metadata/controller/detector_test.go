package controller

import (
	"fmt"
	"strings"
	"testing"

	"millrace/metadata"
)

// TestDetector runs scripts of what happens, at a time in seconds; the TTL is 6 s. What the detector says is
// done at once. A step is "TIME WHAT", and after "=" what comes of it: "-1" broker 1 is fenced, "+1" it is not any more.
//
//	alive N, silent N     its sign of life in the store
//	restart N             it registers in another life, and is alive
//	heard                 the store has answered
//	refused N, session N  the session to it was refused, or is there
//	office                another controller begins
//	tick
func TestDetector(t *testing.T) {
	tests := []struct{ name, steps string }{
		{"silence after the grace", "0 heard; 3 heard; 6 heard; 6 tick =; 6 silent 1 = -1; 7 tick =; 7 alive 1 = +1"},
		{"silence in the grace", "0 silent 1 =; 3 heard; 5 tick =; 5 heard; 6 tick = -1"},
		{"back within the grace", "0 silent 1 =; 3 heard; 5 alive 1 =; 5 heard; 6 tick ="},
		{"two fall together", "3 heard; 6 heard; 6 silent 1 = -1; 6 silent 2 = -2; 7 alive 2 = +2; 7 alive 1 = +1"},
		{"refused, in the grace too", "1 refused 1 = -1; 2 tick =; 3 heard"},
		{"refused, and the lease goes on", "3 heard; 6 heard; 7 refused 1 = -1; 8 tick =; 9 heard; 12 heard; 13 silent 1 =; 13 alive 1 ="},
		{"refused by mistake", "3 heard; 6 heard; 7 refused 1 = -1; 8 session 1 = +1; 9 tick ="},
		{"refused, and restarted", "3 heard; 6 heard; 7 refused 1 = -1; 8 restart 1 =; 8 tick ="},
		{"refused in a former life", "3 heard; 6 heard; 6 restart 1 =; 7 refused 1@1 =; 8 tick ="},
		{"the store is away", "3 heard; 6 heard; 10 tick =; 20 silent 1 =; 21 tick =; 22 heard; 22 tick =; 25 heard; 27 tick =; 27 heard; 28 tick = -1"},
		{"the store is away, and everybody comes back", "3 heard; 6 heard; 20 silent 1 =; 20 silent 2 =; 21 heard; 22 alive 1 =; 22 alive 2 =; 24 heard; 27 heard; 28 tick ="},
		{"the store is away for longer than the grace", "2 heard; 20 heard; 20 silent 1 =; 22 heard; 25 heard; 26 heard; 26 tick = -1"},
		{"the store answers late", "2 heard; 5 heard; 8 heard; 8 silent 1 = -1"},
		{"another controller", "3 heard; 6 heard; 7 office; 7 silent 1 =; 9 heard; 12 heard; 12 tick =; 13 tick = -1"},
		{"a broker without a sign of life", "3 heard; 6 heard; 6 tick =; 6 silent 2 = -2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { runDetector(t, test.steps) })
	}
}

func runDetector(t *testing.T, steps string) {
	d := NewDetector(6000, 0)
	img := cluster(2)
	for _, b := range img.Brokers() {
		img = img.Apply(metadata.BrokerAlive{ID: b.ID, Incarnation: b.Incarnation, Revision: 1})
	}
	first := img.Broker(1).Member()
	for step := range strings.SplitSeq(steps, ";") {
		what, want, judged := strings.Cut(strings.TrimSpace(step), "=")
		var seconds, id int
		var verb string
		fmt.Sscan(what, &seconds, &verb, &id)
		nowMs := int64(seconds) * 1000
		m := metadata.Member{Broker: int32(id)}
		if b := img.Broker(m.Broker); b != nil {
			m = b.Member()
		}
		if strings.Contains(what, "@1") {
			m = first
		}
		switch verb {
		case "alive":
			img = img.Apply(metadata.BrokerAlive{ID: m.Broker, Incarnation: m.Incarnation, Revision: 2})
		case "silent":
			img = img.Apply(metadata.BrokerSilent{ID: m.Broker})
		case "restart":
			b := &metadata.Broker{ID: m.Broker, Incarnation: m.Incarnation + 1000}
			img = img.Apply(metadata.BrokerRegistered{Broker: b}, metadata.BrokerAlive{ID: b.ID, Incarnation: b.Incarnation})
		case "heard":
			d.Heard(nowMs)
		case "refused":
			d.Refused(m)
		case "session":
			d.Connected(m)
		case "office":
			d = NewDetector(6000, nowMs)
		}
		if !judged {
			continue
		}
		var got []string
		got, img = obey(d.Judge(img, nowMs), img)
		if text := strings.Join(got, " "); text != strings.TrimSpace(want) {
			t.Errorf("%s: %q, want %q", what, text, strings.TrimSpace(want))
		}
	}
}

func obey(v Verdict, img *metadata.Image) (said []string, next *metadata.Image) {
	p := Policy{}.WithDefaults()
	for _, m := range v.Fence {
		said = append(said, fmt.Sprintf("-%d", m.Broker))
	}
	img = img.Apply(p.FenceBrokers(img, v.Fence)...)
	for _, m := range v.Unfence {
		said = append(said, fmt.Sprintf("+%d", m.Broker))
		deltas, _ := p.UnfenceBroker(img, m)
		img = img.Apply(deltas...)
	}
	return said, img
}

// TestDetectorWithoutLeases: only what was seen counts, and nobody is unfenced by it.
func TestDetectorWithoutLeases(t *testing.T) {
	d := NewDetector(0, 0)
	img := cluster(2)
	if v := d.Judge(img, 1_000_000); len(v.Fence)+len(v.Unfence) != 0 {
		t.Errorf("%+v", v)
	}
	d.Refused(img.Broker(2).Member())
	said, img := obey(d.Judge(img, 1_000_001), img)
	if len(said) != 1 || said[0] != "-2" {
		t.Errorf("said %v", said)
	}
	d.Connected(img.Broker(2).Member())
	if v := d.Judge(img, 1_000_002); len(v.Fence)+len(v.Unfence) != 0 {
		t.Errorf("%+v", v)
	}
}
