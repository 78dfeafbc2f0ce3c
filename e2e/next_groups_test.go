package e2e

import (
	"strings"
	"testing"
	"time"
)

// The Java client's consumers with group.protocol=consumer (KIP-848), which is to become its default: assignments by the server, a static
// member, a topic that grows, a subscription by a RE2 pattern, commits, and what administrators see of it.
func TestNextGroupsJava(t *testing.T) {
	java := Java(t)
	s := Start(t, Options{Set: map[string]string{ // so that members hear of changes soon
		"group.consumer.min.heartbeat.interval.ms": "100", "group.consumer.heartbeat.interval.ms": "300"}})
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 4)
	produceStrings(t, s, topic, numbered("v", 10)...)
	out, err := Program{Args: append(java, "NextGroups", s.List(), topic, Name(t, "g")), Timeout: 2 * time.Minute}.run()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.Stdout, clip(out.Stderr))
	}
	want := []string{
		"one Consumer uniform 4 of 1",
		"two Consumer uniform 4 of 2",
		"grown Consumer uniform 6 of 2",
		"left Consumer uniform 6 of 1",
		"committed 10",
		"pattern Consumer uniform 6 of 1",
		"empty Consumer uniform 0 of 0",
		"types [Consumer consumer]",
		"deleted",
		"bad pattern: InvalidRegularExpression",
	}
	if got := strings.TrimSpace(out.Stdout); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, strings.Join(want, "\n"), clip(out.Stderr))
	}
}
