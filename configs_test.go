package millrace_test

import (
	"errors"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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
