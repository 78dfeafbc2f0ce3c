package broker_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/broker"
	"millrace/broker/brokertest"
	"millrace/broker/group"
	"millrace/metadata"
)

// The hashes are Java's String.hashCode.
func TestCoordinatorPartition(t *testing.T) {
	tests := []struct {
		id   string
		want int32
	}{
		{"", 0},
		{"a", 97 % 50},
		{"test", 3556498 % 50},
		{"polygenelubricants", 0}, // hashes to −2³¹, which has no positive
		{"hello world", 1794106052 % 50},
		{"한글", ('한'*31 + '글') % 50},
		{"😀", (0xd83d*31 + 0xde00) % 50},
	}
	for _, test := range tests {
		if got := broker.CoordinatorPartition(test.id, 50); got != test.want {
			t.Errorf("CoordinatorPartition(%q) = %d, want %d", test.id, got, test.want)
		}
	}
}

// answer is what came back from a coordinator.
type answer struct {
	result any
	err    error
}

// start asks the broker that coordinates the group, and does not wait.
func start[R any](c *cluster, id string, e group.Event) chan answer {
	c.Helper()
	out := make(chan answer, 1)
	broker.AskCoordinator(c.coordinator(id), id, e, nil, func(r R, err error) { out <- answer{r, err} })
	return out
}

func ask[R any](c *cluster, id string, e group.Event) (R, error) {
	c.Helper()
	select {
	case a := <-start[R](c, id, e):
		r, _ := a.result.(R)
		return r, a.err
	case <-time.After(10 * time.Second):
		c.Fatalf("no answer to %T", e)
		panic("unreachable")
	}
}

// coordinator finds the broker that coordinates a group, as a client does.
func (c *cluster) coordinator(id string) *broker.Broker {
	c.Helper()
	for _, any := range c.Brokers {
		found := make(chan *metadata.Broker, 1)
		any.FindCoordinators([]string{id}, func(b []*metadata.Broker, err error) {
			if err != nil {
				c.Error(err)
				b = []*metadata.Broker{nil}
			}
			found <- b[0]
		})
		if b := <-found; b != nil {
			return c.Brokers[b.ID]
		}
		break
	}
	c.Fatal("no coordinator")
	return nil
}

func joinEvent(id, member string) *group.Join {
	return &group.Join{GroupID: id, MemberID: member, ClientID: "c", SessionTimeoutMs: 1_800_000, RebalanceTimeoutMs: 60_000,
		ProtocolType: "consumer", Protocols: []group.Protocol{{Name: "range"}}, NewMemberUUID: "1"}
}

// member makes a stable group with one member.
func (c *cluster) member(id string) *group.JoinResult {
	c.Helper()
	j, err := ask[*group.JoinResult](c, id, joinEvent(id, ""))
	if err != nil {
		c.Fatal(err)
	}
	if _, err = ask[*group.SyncResult](c, id, &group.Sync{GroupID: id, MemberID: j.MemberID, Generation: j.Generation,
		Assignments: []group.Assignment{{MemberID: j.MemberID, Assignment: []byte("all")}}}); err != nil {
		c.Fatal(err)
	}
	return j
}

func commitEvent(id, topic string, offset int64) *group.Commit {
	return &group.Commit{GroupID: id, Generation: -1, RetentionMs: -1,
		Topics: []group.CommitTopic{{Name: topic, Partitions: []group.CommitPartition{{Offset: offset, LeaderEpoch: -1}}}}}
}

func (c *cluster) commit(id, topic string, offset int64) {
	c.Helper()
	if _, err := ask[*group.CommitResult](c, id, commitEvent(id, topic, offset)); err != nil {
		c.Fatal(err)
	}
}

// committed is the offset of a topic's first partition, -1 if there is none.
func (c *cluster) committed(id, topic string) int64 {
	c.Helper()
	r, err := ask[*group.OffsetsResult](c, id, &group.FetchOffsets{GroupID: id,
		Topics: []group.FetchTopic{{Name: topic, Partitions: []int32{0}}}})
	if err != nil {
		c.Fatal(err)
	}
	return r.Topics[0].Partitions[0].Offset
}

func TestNotTheCoordinator(t *testing.T) {
	c := newCluster(t, 2)
	beat := func(b *broker.Broker) (err error) {
		done := make(chan error, 1)
		broker.AskCoordinator(b, "g", &group.Heartbeat{GroupID: "g", MemberID: "m"}, nil, func(_ any, err error) { done <- err })
		return <-done
	}
	for id, b := range c.Brokers {
		if err := beat(b); !errors.Is(err, group.ErrNotCoordinator) {
			t.Errorf("broker %d before there is a coordinator: %v", id, err)
		}
	}
	leads := c.coordinator("g")
	for id, b := range c.Brokers {
		want := group.ErrNotCoordinator
		if b == leads {
			want = group.ErrUnknownMemberID
		}
		if err := beat(b); !errors.Is(err, want) {
			t.Errorf("broker %d: %v, want %v", id, err, want)
		}
	}
}

// TestCoordinatorMoves: a broker leaves, and another one goes on with its groups.
func TestCoordinatorMoves(t *testing.T) {
	c := newCluster(t, 2)
	c.CreateTopic("t", 1, nil)
	j := c.member("g")
	c.commit("simple", "t", 7)
	if _, err := ask[*group.CommitResult](c, "g", &group.Commit{GroupID: "g", MemberID: j.MemberID, Generation: 1,
		RetentionMs: -1, Topics: commitEvent("g", "t", 5).Topics}); err != nil {
		t.Fatal(err)
	}
	second := joinEvent("g", "")
	second.NewMemberUUID = "2"
	parked := start[*group.JoinResult](c, "g", second)

	was := c.coordinator("g")
	c.RemoveBroker(was.ID)

	if a := <-parked; !errors.Is(a.err, group.ErrNotCoordinator) {
		t.Errorf("the parked JoinGroup was answered with %v", a.err)
	}
	d, err := askUntilLoaded[*group.DescribeResult](c, "g", func() group.Event { return &group.Describe{GroupID: "g"} })
	if err != nil {
		t.Fatal(err)
	}
	if d.State != group.Stable || len(d.Members) != 1 || string(d.Members[0].Assignment) != "all" {
		t.Errorf("after the move: %+v", d)
	}
	if _, err := ask[any](c, "g", &group.Heartbeat{GroupID: "g", MemberID: j.MemberID, Generation: 1}); err != nil {
		t.Errorf("heartbeat after the move: %v", err)
	}
	if got := c.committed("g", "t"); got != 5 {
		t.Errorf("offset of g after the move is %d", got)
	}
	if got := c.committed("simple", "t"); got != 7 {
		t.Errorf("offset of simple after the move is %d", got)
	}
}

// askUntilLoaded tries again while the log is being replayed, as clients do.
func askUntilLoaded[R any](c *cluster, id string, e func() group.Event) (r R, err error) {
	c.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if r, err = ask[R](c, id, e()); !errors.Is(err, group.ErrLoading) {
			break
		}
	}
	return r, err
}

// TestTopicDeletionDropsOffsets: a topic that is made again starts without the commits of the old one.
func TestTopicDeletionDropsOffsets(t *testing.T) {
	c := newCluster(t, 2)
	c.CreateTopic("t", 1, nil)
	c.CreateTopic("u", 1, nil)
	for i := range 20 { // on several coordinators
		c.commit("g"+strconv.Itoa(i), "t", 10)
		c.commit("g"+strconv.Itoa(i), "u", 20)
	}
	brokertest.Wait(t, func(done func(error)) {
		c.Central.DeleteTopics([]metadata.TopicRef{{Name: "t"}}, func(r []metadata.DeleteResult) { done(r[0].Err) })
	})
	c.CreateTopic("t", 1, nil)
	for i := range 20 {
		id := "g" + strconv.Itoa(i)
		if got := c.committed(id, "t"); got != -1 {
			t.Errorf("%s has offset %d of the old topic", id, got)
		}
		if got := c.committed(id, "u"); got != 20 {
			t.Errorf("%s has offset %d of the other topic", id, got)
		}
	}
}

// TestOffsetsLogStaysSmall: the log is written anew when it has doubled, and nothing gets lost by that.
func TestOffsetsLogStaysSmall(t *testing.T) {
	c := newCluster(t, 2, "offsets.topic.num.partitions=1")
	c.CreateTopic("t", 1, nil)
	c.member("member")
	for i := range 12_000 {
		c.commit(fmt.Sprint("g", i%10), "t", int64(i))
	}
	_, p := c.Leader(metadata.ConsumerOffsetsTopic, 0)
	if f := p.Figures(); f.SizeBytes > 1<<20 || f.LogStartOffset == 0 || f.LogEndOffset < 12_000 {
		t.Errorf("the log of 12,000 commits: %+v", f)
	}
	c.RemoveBroker(c.coordinator("member").ID)
	d, err := askUntilLoaded[*group.DescribeResult](c, "member", func() group.Event { return &group.Describe{GroupID: "member"} })
	if err != nil || d.State != group.Stable {
		t.Errorf("the group with a member after the move: %+v, %v", d, err)
	}
	for i := range 10 {
		if got, want := c.committed(fmt.Sprint("g", i), "t"), int64(11_990+i); got != want {
			t.Errorf("g%d has offset %d, want %d", i, got, want)
		}
	}
}

// TestSessionEnds: the deadlines of the machine come true on the wheel.
func TestSessionEnds(t *testing.T) {
	c := newCluster(t, 1, "group.min.session.timeout.ms=1", "group.initial.rebalance.delay.ms=20")
	b := c.coordinator("g")
	changes := make(chan group.GroupChange, 100)
	b.WatchGroups(func(g group.GroupChange) { changes <- g })
	defer b.WatchGroups(nil)
	e := joinEvent("g", "")
	e.SessionTimeoutMs = 50
	if j, err := ask[*group.JoinResult](c, "g", e); err != nil || j.Generation != 1 {
		t.Fatal(j, err)
	}
	var states []string
	for g := range changes {
		states = append(states, g.State.String())
		if g.State == group.Empty {
			break
		}
	}
	want := []string{"PreparingRebalance", "CompletingRebalance", "PreparingRebalance", "Empty"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListGroups(t *testing.T) {
	c := newCluster(t, 2)
	c.CreateTopic("t", 1, nil)
	for i := range 30 {
		c.commit("g"+strconv.Itoa(i), "t", 1)
	}
	c.member("stable")
	list := func(states, types []string) (n int) {
		for _, b := range c.Brokers {
			done := make(chan int, 1)
			b.ListGroups(states, types, func(groups []group.ListedGroup, err error) {
				if err != nil {
					t.Error(err)
				}
				done <- len(groups)
			})
			n += <-done
		}
		return n
	}
	tests := []struct {
		states, types []string
		want          int
	}{
		{nil, nil, 31},
		{[]string{"stable"}, nil, 1},
		{[]string{"Empty"}, []string{"classic"}, 30},
		{nil, []string{"consumer"}, 0},
	}
	for _, test := range tests {
		if got := list(test.states, test.types); got != test.want {
			t.Errorf("%v, %v: %d groups, want %d", test.states, test.types, got, test.want)
		}
	}
}

// TestReadyOnTheWorker: what a request checks just before it is served is checked on the coordinator's worker.
func TestReadyOnTheWorker(t *testing.T) {
	c := newCluster(t, 1)
	c.CreateTopic("t", 1, nil)
	b := c.coordinator("g")
	called := make(chan struct{})
	broker.AskCoordinator(b, "g", commitEvent("g", "t", 1), func() bool { close(called); return false },
		func(*group.CommitResult, error) { t.Error("answered") })
	<-called
	if got := c.committed("g", "t"); got != -1 {
		t.Errorf("committed %d", got)
	}
}

// A new leader of __consumer_offsets coordinates when all that it has read is committed: what is not may go with the next
// election, and nobody may have seen an offset that does.
func TestCoordinatorWaitsForTheHighWatermark(t *testing.T) {
	c := newCluster(t, 3, "offsets.topic.num.partitions=1")
	c.CreateTopic("t", 1, nil)
	c.commit("g", "t", 7)
	const topic = metadata.ConsumerOffsetsTopic
	c.await("its replicas are in sync", c.inSync(topic, 3))
	state := c.Central.Image().Topic(topic).Partitions[0]
	silent := c.Broker(state.Replicas[2])
	silent.Close() // nobody has noticed: it is in the ISR, and doesn't answer
	next := state.Replicas[1]
	late := start[*group.CommitResult](c, "g", commitEvent("g", "t", 8))
	follower, err := c.Broker(next).Partition(topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, leader := c.Leader(topic, 0)
	c.await("the other follower has the commit", func() bool { return follower.Figures().LogEndOffset == leader.Figures().LogEndOffset })
	c.KillBroker(state.Replicas[0])
	if a := <-late; a.err == nil {
		t.Error("it was acknowledged")
	}
	fetch := func() group.Event {
		return &group.FetchOffsets{GroupID: "g", Topics: []group.FetchTopic{{Name: "t", Partitions: []int32{0}}}}
	}
	for range 20 {
		if r, err := ask[*group.OffsetsResult](c, "g", fetch()); !errors.Is(err, group.ErrLoading) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	c.Forget(silent)
	c.AddBroker(state.Replicas[0])
	c.await("it is committed", func() bool {
		r, err := ask[*group.OffsetsResult](c, "g", fetch())
		return err == nil && r.Topics[0].Partitions[0].Offset == 8
	})
}
