package millrace_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
)

// nextGen are the options of a member of a group of the consumer protocol (KIP-848).
func nextGen(group string, opts ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ServerSideBalancer(), kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.MetadataMaxAge(time.Second)}, opts...)
}

// quick lets members hear of changes within a second.
var quick = []string{"group.consumer.min.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms=500",
	"group.consumer.min.session.timeout.ms=3000", "group.consumer.session.timeout.ms=6000"}

// consumerGroup describes a group of the consumer protocol.
func consumerGroup(t testing.TB, s *millrace.Server, name string) kadm.DescribedConsumerGroup {
	t.Helper()
	groups, err := kadm.NewClient(client(t, s)).DescribeConsumerGroups(soon(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return groups[name]
}

// spread is the state of a group and how many partitions each member has, and nothing while somebody is not yet where they shall be.
func spread(t testing.TB, s *millrace.Server, name string) string {
	t.Helper()
	g := consumerGroup(t, s, name)
	var sizes []int
	for _, m := range g.Members {
		n := 0
		for _, partitions := range m.Assignment {
			n += len(partitions)
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return fmt.Sprint(g.State, sizes)
}

// numbered writes so many records with values that count up from first.
func numbered(t testing.TB, c *kgo.Client, topic string, first, n int) (values []string) {
	t.Helper()
	var records []*kgo.Record
	for i := range n {
		value := fmt.Sprint(first + i)
		values = append(values, value)
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(value), Value: []byte(value)})
	}
	if err := c.ProduceSync(soon(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return values
}

// TestConsumerGroup: members of the consumer protocol come and go, the topic grows, one that says nothing is expelled; nothing is
// read twice by members that leave in an orderly way, and nothing is left out.
func TestConsumerGroup(t *testing.T) {
	s := open(t, 2, quick...)
	ctx := soon(t)
	p := client(t, s, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MetadataMinAge(100*time.Millisecond))
	admin := kadm.NewClient(p)
	if _, err := admin.CreateTopic(ctx, 4, -1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	g := &group{seen: map[string]int{}}
	t.Cleanup(g.wg.Wait)
	join := func(opts ...kgo.Opt) (*kgo.Client, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		c := client(t, s, nextGen("g", append(opts, kgo.ConsumeTopics("t"))...)...)
		g.consume(ctx, c)
		t.Cleanup(cancel)
		return c, cancel
	}
	values := numbered(t, p, "t", 0, 100)
	one, stopOne := join()
	eventually(t, "one member has everything", func() bool { return spread(t, s, "g") == "Stable[4]" && g.count() == 100 })
	_, stopTwo := join(kgo.InstanceID("i"))
	eventually(t, "two members share", func() bool { return spread(t, s, "g") == "Stable[2 2]" })
	values = append(values, numbered(t, p, "t", 100, 100)...)
	eventually(t, "both read", func() bool { return g.count() == 200 })

	if r, err := admin.UpdatePartitions(ctx, 7, "t"); err != nil || r.Error() != nil {
		t.Fatal(err, r.Error())
	}
	eventually(t, "the topic has grown", func() bool { return spread(t, s, "g") == "Stable[3 4]" })
	values = append(values, numbered(t, p, "t", 200, 200)...)
	eventually(t, "the new partitions are read", func() bool { return g.count() == 400 })

	if listed, err := admin.ListGroups(ctx); err != nil || listed["g"].State != "Stable" || listed["g"].ProtocolType != "consumer" {
		t.Errorf("listed as %+v, %v", listed, err)
	}
	stopOne()
	one.Close()
	eventually(t, "one has left", func() bool { return spread(t, s, "g") == "Stable[7]" })
	values = append(values, numbered(t, p, "t", 400, 100)...)
	eventually(t, "the other reads all", func() bool { return len(g.missing(values)) == 0 })
	for v, n := range g.seen {
		if n != 1 {
			t.Errorf("%s was read %d times", v, n)
		}
	}
	stopTwo()
}

// TestConsumerGroupPattern: a member that subscribes by a regular expression, which the server resolves, reads topics that come.
func TestConsumerGroupPattern(t *testing.T) {
	s := open(t, 1, quick...)
	g := &group{seen: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(g.wg.Wait)
	t.Cleanup(stop)
	p := client(t, s)
	values := numbered(t, p, "t-1", 0, 10)
	numbered(t, p, "u", 1000, 10)
	c := client(t, s, nextGen("g", kgo.ConsumeRegex(), kgo.ConsumeTopics("t-[0-9]+"))...)
	g.consume(ctx, c)
	eventually(t, "what was there is read", func() bool { return g.count() == 10 })
	values = append(values, numbered(t, p, "t-22", 10, 10)...)
	eventually(t, "a topic that came is read", func() bool { return g.count() == 20 })
	if missing := g.missing(values); len(missing) > 0 {
		t.Errorf("not read: %v", missing)
	}
	if m := consumerGroup(t, s, "g").Members; len(m) != 1 || m[0].SubscribedTopicRegex == nil ||
		!strings.Contains(*m[0].SubscribedTopicRegex, "t-[0-9]+") {
		t.Errorf("members %+v", m)
	}
}

// TestConsumerGroupLosesMember: a member that dies without a word is expelled after its session.
func TestConsumerGroupLosesMember(t *testing.T) {
	s := open(t, 2, quick...)
	if _, err := kadm.NewClient(client(t, s)).CreateTopic(soon(t), 4, -1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	g := &group{seen: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(g.wg.Wait)
	t.Cleanup(stop)
	g.consume(ctx, client(t, s, nextGen("g", kgo.ConsumeTopics("t"))...))
	dying, die := context.WithCancel(t.Context())
	g.consume(ctx, client(t, s, nextGen("g", kgo.ConsumeTopics("t"), kgo.WithContext(dying))...))
	eventually(t, "two members share", func() bool { return spread(t, s, "g") == "Stable[2 2]" })
	die() // all that the client does ends, its heartbeats too
	eventually(t, "one has everything", func() bool { return spread(t, s, "g") == "Stable[4]" })
}

// TestConsumerGroupMoves: the broker that coordinates a group leaves. Its members keep what they have: the next coordinator knows them,
// their epochs and their partitions from the log, so nothing is assigned anew.
func TestConsumerGroupMoves(t *testing.T) {
	s := open(t, 3, quick...)
	p := client(t, s, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MetadataMinAge(100*time.Millisecond))
	admin := kadm.NewClient(p)
	if _, err := admin.CreateTopic(soon(t), 4, 3, nil, "t"); err != nil {
		t.Fatal(err)
	}
	g := &group{seen: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(g.wg.Wait)
	t.Cleanup(stop)
	for range 2 {
		g.consume(ctx, client(t, s, nextGen("g", kgo.ConsumeTopics("t"))...))
	}
	values := numbered(t, p, "t", 0, 100)
	eventually(t, "two members share", func() bool { return spread(t, s, "g") == "Stable[2 2]" && g.count() == 100 })
	before := consumerGroup(t, s, "g")
	if err := s.RemoveBroker(before.Coordinator.NodeID); err != nil {
		t.Fatal(err)
	}
	values = append(values, numbered(t, p, "t", 100, 100)...)
	eventually(t, "the group goes on", func() bool { return len(g.missing(values)) == 0 })
	if after := consumerGroup(t, s, "g"); after.Epoch != before.Epoch || len(after.Members) != 2 || after.State != "Stable" ||
		after.Coordinator.NodeID == before.Coordinator.NodeID {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
