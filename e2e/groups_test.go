package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func produceStrings(t testing.TB, s *Server, topic string, values ...string) {
	t.Helper()
	c := Client(t, s, kgo.DefaultProduceTopic(topic))
	for _, v := range values {
		if err := c.ProduceSync(Context(t, 10*time.Second), kgo.StringRecord(v)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
}

func numbered(prefix string, count int) (values []string) {
	for i := range count {
		values = append(values, fmt.Sprint(prefix, i))
	}
	return values
}

// groupReaders read a topic with a group and commit, each with another client.
func groupReaders(t *testing.T, s *Server) map[string]func(group, topic string, count int) ([]string, error) {
	values := func(out Output, err error) (got []string, _ error) {
		for line := range strings.Lines(out.Stdout) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), "value "); ok {
				got = append(got, value)
			}
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out.Stderr)
		}
		return got, err
	}
	java, node, kcat := Java(t), Node(t), needTool(t, "kcat")
	return map[string]func(group, topic string, count int) ([]string, error){
		"kafka-clients": func(group, topic string, count int) ([]string, error) {
			return values(Program{Args: append(slices.Clone(java), "Cases", "consume", s.List(), group, topic)}.run())
		},
		"kafkajs": func(group, topic string, count int) ([]string, error) {
			return values(Program{Args: []string{node, "clients/node/cases.js", "consume", s.List(), group, topic, fmt.Sprint(count)}}.run())
		},
		"kcat": func(group, topic string, count int) ([]string, error) {
			return values(Program{Args: []string{kcat, "-G", group, "-q", "-b", s.List(), "-c", fmt.Sprint(count), "-f", "value %s\n",
				"-X", "auto.offset.reset=earliest", topic}}.run())
		},
		"sarama": func(group, topic string, count int) ([]string, error) {
			return saramaGroupRead(t, s.Bootstrap, saramaConfig(sarama.DefaultVersion), group, topic, count)
		},
	}
}

// A16: a topic was deleted and made again and its group kept the old commit, beyond the new end; nothing was ever consumed.
func TestA16_RecreatedTopicIsReadFromTheStart(t *testing.T) {
	s := Shared(t)
	for name, read := range groupReaders(t, s) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic, group := Name(t, "t"), Name(t, "g")
			CreateTopic(t, s, topic, 1)
			first := Metadata(t, s, topic).Topics[0].TopicID
			produceStrings(t, s, topic, numbered("old", 10)...)
			if got, err := read(group, topic, 10); err != nil || !slices.Equal(got, numbered("old", 10)) {
				t.Fatalf("first: %v, %v", got, err)
			}
			admin := Admin(t, s)
			if committed, err := admin.FetchOffsets(Context(t, 10*time.Second), group); err != nil || committed[topic][0].At != 10 {
				t.Fatalf("committed: %+v, %v", committed[topic][0], err)
			}
			recreate(t, s, topic)
			if again := Metadata(t, s, topic).Topics[0].TopicID; again == first {
				t.Error("the new topic has the old one's id")
			}
			committed, err := admin.FetchOffsets(Context(t, 10*time.Second), group)
			if offset, there := committed.Lookup(topic, 0); err != nil || there && offset.At >= 0 {
				t.Errorf("the commit outlived its topic: %+v, %v", offset, err)
			}
			produceStrings(t, s, topic, numbered("new", 5)...)
			if p := Fetch(Dial(t, Leader(t, s, topic, 0)), 11, topic, 0, 10); p.ErrorCode != kerr.OffsetOutOfRange.Code {
				t.Errorf("fetch at the old end: error %d", p.ErrorCode)
			}
			if got, err := read(group, topic, 5); err != nil || !slices.Equal(got, numbered("new", 5)) {
				t.Errorf("after recreation: %v, %v", got, err)
			}
		})
	}
}

func recreate(t *testing.T, s *Server, topic string) {
	t.Helper()
	admin := Admin(t, s)
	if deleted, err := admin.DeleteTopics(Context(t, 10*time.Second), topic); err != nil || deleted[topic].Err != nil {
		t.Fatal(err, deleted[topic].Err)
	}
	until(t, 10*time.Second, "the topic can be made again", func() bool {
		_, err := admin.CreateTopic(Context(t, 10*time.Second), 1, 1, nil, topic)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// A18: a group hung in PreparingRebalance though its members were gone, since not every removal asked again whether all had joined. Members
// start, leave and die at random; then one is left, and then none.
func TestA18_ChurnSettles(t *testing.T) {
	s := Shared(t)
	python, kcat := Python(t), needTool(t, "kcat")
	for name, c := range map[string]struct {
		pause   time.Duration
		actions int
		command func(group, topic string) []string
	}{
		"kcat": {20 * time.Millisecond, 150, func(group, topic string) []string {
			return []string{kcat, "-G", group, "-q", "-b", s.List(), "-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=300", topic}
		}},
		"confluent-kafka": {150 * time.Millisecond, 30, func(group, topic string) []string {
			return []string{python, "clients/python/cases.py", "member", s.List(), "confluent-kafka", group, topic}
		}},
		"kafka-python": {200 * time.Millisecond, 25, func(group, topic string) []string {
			return []string{python, "clients/python/cases.py", "member", s.List(), "kafka-python", group, topic}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic, group := Name(t, "t"), Name(t, "g")
			CreateTopic(t, s, topic, 5)
			random := rand.New(rand.NewPCG(18, 1))
			members := make([]*Running, 5)
			for range c.actions {
				i := random.IntN(len(members))
				switch {
				case members[i] == nil:
					members[i] = Launch(t, Program{Args: c.command(group, topic)})
				case random.IntN(2) == 0:
					members[i].Signal(syscall.SIGKILL)
					members[i] = nil
				default:
					members[i].Signal(syscall.SIGTERM)
					members[i] = nil
				}
				time.Sleep(c.pause)
			}
			for _, m := range members {
				if m != nil {
					m.Signal(syscall.SIGKILL)
				}
			}
			survivor := Launch(t, Program{Args: c.command(group, topic)})
			// The dead ones' sessions take 6 s to end; the survivor may also have to wait for one rebalance to begin again.
			awaitGroup(t, s, group, 15*time.Second, "Stable", 1)
			survivor.Signal(syscall.SIGKILL)
			awaitGroup(t, s, group, 9*time.Second, "Empty", 0)
		})
	}
}

func awaitGroup(t testing.TB, s *Server, group string, limit time.Duration, state string, members int) {
	t.Helper()
	admin := Admin(t, s)
	var last kadm.DescribedGroup
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		described, err := admin.DescribeGroups(Context(t, 10*time.Second), group)
		if err == nil {
			last = described[group]
			if last.State == state && len(last.Members) == members {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not %s with %d members within %v: %s, %d members", state, members, limit, last.State, len(last.Members))
}

// A37: a static member that came back kept its old client id and timeouts. All that the new JoinGroup says replaces the old, without a
// rebalance, and the next death is noticed by the new session timeout.
func TestA37_StaticMemberTakesItsNewSettings(t *testing.T) {
	python, s := Python(t), Shared(t)
	topic, group := Name(t, "t"), Name(t, "g")
	CreateTopic(t, s, topic, 2)
	member := func(instance, client string, sessionMs int) *Running {
		return Launch(t, Program{Args: []string{python, "clients/python/cases.py", "member", s.List(), "confluent-kafka", group, topic,
			"group.instance.id=" + instance, "client.id=" + client, fmt.Sprint("session.timeout.ms=", sessionMs)}})
	}
	other := member("other", "other", 30_000)
	other.Await(t, "assigned 0,1", 10*time.Second)
	old := member("static", "old", 30_000)
	old.Await(t, "assigned ", 10*time.Second)
	awaitGroup(t, s, group, 10*time.Second, "Stable", 2)
	until(t, 10*time.Second, "the other one has its half", func() bool {
		return slices.Contains([]string{"assigned 0", "assigned 1"}, lastLine(other.Text()))
	})
	before := other.Text()

	old.Signal(syscall.SIGKILL)
	again := member("static", "new", 6000)
	again.Await(t, "assigned ", 10*time.Second)
	described, err := Admin(t, s).DescribeGroups(Context(t, 10*time.Second), group)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range described[group].Members {
		if m.InstanceID != nil && *m.InstanceID == "static" && m.ClientID != "new" && !External() { // Apache Kafka 4.4 still shows the old one
			t.Errorf("the member has client id %q", m.ClientID)
		}
	}
	if got := other.Text(); got != before {
		t.Errorf("the return of a static member caused a rebalance: %s", got)
	}
	again.Signal(syscall.SIGKILL)
	start := time.Now()
	other.Await(t, "assigned 0,1", 12*time.Second)
	if took := time.Since(start); took < 4*time.Second {
		t.Errorf("its partitions moved after %v already, its session is 6 s", took)
	}
}

// A37: whoever still uses the member id from before is fenced.
func TestA37_OldMemberIDIsFenced(t *testing.T) {
	s := Shared(t)
	group, instance, existing := Name(t, "g"), "static", Name(t, "t")
	CreateTopic(t, s, existing, 1)
	c := Dial(t, Coordinator(t, s, group))
	join := func() *kmsg.JoinGroupResponse {
		joined := c.Do(JoinRequest(7, group, "", &instance, 6000)).(*kmsg.JoinGroupResponse)
		if joined.ErrorCode != 0 {
			t.Fatalf("join: error %d", joined.ErrorCode)
		}
		r := kmsg.NewPtrSyncGroupRequest()
		r.Version, r.Group, r.Generation, r.MemberID, r.InstanceID = 3, group, joined.Generation, joined.MemberID, &instance
		if synced := c.Do(r).(*kmsg.SyncGroupResponse); synced.ErrorCode != 0 {
			t.Fatalf("sync: error %d", synced.ErrorCode)
		}
		return joined
	}
	first, second := join(), join()
	if first.MemberID == second.MemberID || first.Generation != second.Generation {
		t.Errorf("first %s in generation %d, then %s in %d", first.MemberID, first.Generation, second.MemberID, second.Generation)
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.Generation, beat.MemberID, beat.InstanceID = 3, group, first.Generation, first.MemberID, &instance
	if got := c.Do(beat).(*kmsg.HeartbeatResponse).ErrorCode; got != kerr.FencedInstanceID.Code {
		t.Errorf("heartbeat of the old one: error %d", got)
	}
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.Generation, commit.MemberID, commit.InstanceID = 7, group, first.Generation, first.MemberID, &instance
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = existing, append(topic.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
	commit.Topics = append(commit.Topics, topic)
	if got := c.Do(commit).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode; got != kerr.FencedInstanceID.Code {
		t.Errorf("commit of the old one: error %d", got)
	}
	if got := c.Do(JoinRequest(7, group, first.MemberID, &instance, 6000)).(*kmsg.JoinGroupResponse).ErrorCode; got != kerr.FencedInstanceID.Code {
		t.Errorf("join of the old one: error %d", got)
	}
}

// A39: JoinGroup v0 has no rebalance timeout; read as −1 it let no old member rejoin in time, and the group rebalanced for ever. It is the
// session timeout there.
func TestA39_OldMembersSettle(t *testing.T) {
	s := Shared(t)
	for name, versions := range map[string][]int16{"v0": {0, 0, 0}, "mixed": {0, 9, 0}, "v1": {1, 1, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := Name(t, "g")
			var members []*Member
			for i, version := range versions {
				members = append(members, StartMember(t, s, group, version, 6000))
				until(t, 15*time.Second, fmt.Sprintf("%d members are in one generation", i+1), func() bool { return sameGeneration(members) })
			}
			settled := members[0].Generation()
			time.Sleep(time.Second) // an endless rebalance would show
			if !sameGeneration(members) || members[0].Generation() != settled {
				t.Errorf("the group goes on rebalancing: from generation %d to %d", settled, members[0].Generation())
			}
			if settled > 3 {
				t.Errorf("three members one after the other took %d generations", settled)
			}
			awaitGroup(t, s, group, time.Second, "Stable", len(members))
		})
	}
}

func sameGeneration(members []*Member) bool {
	for _, m := range members {
		if g := m.Generation(); g == 0 || g != members[0].Generation() {
			return false
		}
	}
	return true
}

// A40: librdkafka sometimes asks for a member id twice and uses only the second. Apache Kafka then waits for the first one's session to
// end; to do better is allowed, to do worse is not.
func TestA40_UnusedMemberID(t *testing.T) {
	s := Shared(t)
	const sessionMs = 6000
	took := unusedMemberID(t, s, sessionMs)
	t.Logf("stable %v after an unused member id with a session of %d ms", took.Round(time.Millisecond), sessionMs)
	if took > (sessionMs+2500)*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	if took < time.Second { // the unused id is not waited for; then it must not be for a long session either
		if took := unusedMemberID(t, s, 45_000); took > 2*time.Second {
			t.Errorf("with a session of 45 s it took %v", took)
		}
	}
}

func unusedMemberID(t *testing.T, s *Server, sessionMs int32) time.Duration {
	group := Name(t, "g")
	c := Dial(t, Coordinator(t, s, group))
	start := time.Now()
	c.Send(JoinRequest(5, group, "", nil, sessionMs))
	time.Sleep(2 * time.Millisecond)
	c.Send(JoinRequest(5, group, "", nil, sessionMs))
	var ids []string
	for range 2 {
		_, response, err := parse(JoinRequest(5, "", "", nil, 0), c.Read())
		if err != nil {
			t.Fatal(err)
		}
		joined := response.(*kmsg.JoinGroupResponse)
		if joined.ErrorCode != kerr.MemberIDRequired.Code {
			t.Fatalf("error %d", joined.ErrorCode)
		}
		ids = append(ids, joined.MemberID)
	}
	joined := c.Do(JoinRequest(5, group, ids[1], nil, sessionMs)).(*kmsg.JoinGroupResponse)
	if joined.ErrorCode != 0 || joined.LeaderID != ids[1] {
		t.Fatalf("%+v", joined)
	}
	return time.Since(start)
}
