package millrace_test

import (
	"errors"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestConfigsAreAltered by a client that is told nothing of Millrace: topics, one broker, all brokers.
func TestConfigsAreAltered(t *testing.T) {
	s := open(t, 2)
	admin := kadm.NewClient(client(t, s, kgo.MetadataMinAge(50*time.Millisecond)))
	if _, err := admin.CreateTopic(soon(t), 2, 2, nil, "t"); err != nil {
		t.Fatal(err)
	}
	alter := func(answers kadm.AlterConfigsResponses, err error) {
		t.Helper()
		for _, a := range answers {
			if a.Err != nil {
				t.Errorf("%s: %v %s", a.Name, a.Err, a.ErrMessage)
			}
		}
		if err != nil || len(answers) == 0 {
			t.Fatal(len(answers), err)
		}
	}
	told := func(all kadm.ResourceConfigs, err error) (value string) {
		t.Helper()
		if err != nil || len(all) != 1 || all[0].Err != nil {
			t.Fatal(all, err)
		}
		for _, c := range all[0].Configs {
			if c.Key == "retention.ms" || c.Key == "max.connections" {
				value = c.MaybeValue() + " " + c.Source.String()
			}
		}
		return value
	}
	one := func(name, value string) []kadm.AlterConfig {
		return []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}
	}
	alter(admin.AlterBrokerConfigs(soon(t), one("log.retention.ms", "5000"))) // of all
	if got := told(admin.DescribeTopicConfigs(soon(t), "t")); got != "5000 DYNAMIC_DEFAULT_BROKER_CONFIG" {
		t.Errorf("by the brokers' common settings: %s", got)
	}
	alter(admin.AlterTopicConfigs(soon(t), one("retention.ms", "7000"), "t"))
	if got := told(admin.DescribeTopicConfigs(soon(t), "t")); got != "7000 DYNAMIC_TOPIC_CONFIG" {
		t.Errorf("by the topic's: %s", got)
	}
	alter(admin.AlterTopicConfigsState(soon(t), one("cleanup.policy", "compact"), "t"))
	if got := told(admin.DescribeTopicConfigs(soon(t), "t")); got != "5000 DYNAMIC_DEFAULT_BROKER_CONFIG" {
		t.Errorf("all of the topic's were replaced: %s", got)
	}
	alter(admin.AlterBrokerConfigs(soon(t), one("max.connections", "1"), 2))
	if got := told(admin.DescribeBrokerConfigs(soon(t), 2)); got != "1 DYNAMIC_BROKER_CONFIG" {
		t.Errorf("by broker 2's: %s", got)
	}
	addr := s.Image().Broker(2).Endpoints[0]
	refused, err := net.Dial("tcp", net.JoinHostPort(addr.Host, strconv.Itoa(int(addr.Port))))
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Close()
	_ = refused.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := refused.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection over max.connections: %v", err)
	}
}

// TestAdminTools: what an administrator's client sees of directories and offsets.
func TestAdminTools(t *testing.T) {
	s := open(t, 2)
	admin := kadm.NewClient(client(t, s, kgo.MetadataMinAge(50*time.Millisecond)))
	for _, name := range []string{"t", "u"} {
		if _, err := admin.CreateTopic(soon(t), 1, 2, nil, name); err != nil {
			t.Fatal(err)
		}
	}
	// Only now: a consumer's first question would create its topic.
	c := client(t, s, kgo.MetadataMinAge(50*time.Millisecond), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())
	if err := c.ProduceSync(soon(t), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := c.PollFetches(soon(t)).Err(); err != nil {
		t.Fatal(err)
	}
	dirs, err := admin.DescribeAllLogDirs(soon(t), nil)
	if err != nil || len(dirs) != 2 {
		t.Fatal(dirs, err)
	}
	eventually(t, "the follower's copy is as large", func() bool {
		dirs, err := admin.DescribeAllLogDirs(soon(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := dirs[1].LookupPartition("t", 0)
		two, _ := dirs[2].LookupPartition("t", 0)
		return one.Size > 0 && one.Size == two.Size && one.Dir == two.Dir
	})
	var offsets kadm.Offsets
	offsets.AddOffset("t", 0, 1, -1)
	offsets.AddOffset("u", 0, 1, -1)
	if err := admin.CommitAllOffsets(soon(t), "g", offsets); err == nil {
		t.Error("somebody outside commits for a group that has members")
	}
	if err := c.CommitRecords(soon(t), &kgo.Record{Topic: "t", Offset: 0, LeaderEpoch: -1}); err != nil {
		t.Fatal(err)
	}
	var set kadm.TopicsSet
	set.Add("t", 0)
	if r, err := admin.DeleteOffsets(soon(t), "g", set); err != nil || !errors.Is(r["t"][0], kerr.GroupSubscribedToTopic) {
		t.Errorf("while it is read: %v, %v", r, err)
	}
	c.LeaveGroup()
	if r, err := admin.DeleteOffsets(soon(t), "g", set); err != nil || r.Error() != nil {
		t.Errorf("when nobody reads it: %v, %v", r, err)
	}
	if left, err := admin.FetchOffsets(soon(t), "g"); err != nil || len(left.Sorted()) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
