package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// describePartitions asks for topics, "name …", from a cursor, "topic:partition" or none, and shows what is told.
func (d *desk) describePartitions(topics, cursor string, limit int32) string {
	d.Helper()
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, name := range strings.Fields(topics) {
		rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
		rt.Topic = strings.Trim(name, `"`)
		req.Topics = append(req.Topics, rt)
	}
	if topic, index, ok := strings.Cut(cursor, ":"); ok {
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic = topic
		if _, err := fmt.Sscan(index, &c.Partition); err != nil {
			d.Fatal(err)
		}
		req.Cursor = &c
	}
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](d, req, 0)
	var shown []string
	for _, rt := range resp.Topics {
		text := *rt.Topic
		if rt.ErrorCode != 0 {
			text += "=" + protocol.Code(rt.ErrorCode).String()
		}
		for _, rp := range rt.Partitions {
			text += fmt.Sprintf(" %d", rp.Partition)
		}
		shown = append(shown, text)
	}
	if resp.NextCursor != nil {
		shown = append(shown, fmt.Sprintf("→ %s:%d", resp.NextCursor.Topic, resp.NextCursor.Partition))
	}
	return strings.Join(shown, "; ")
}

// TestDescribeTopicPartitions: what is told is what Apache Kafka 4.4 tells.
func TestDescribeTopicPartitions(t *testing.T) {
	d := newDesk(t, 1, "max.request.partition.size.limit=4")
	d.topic("a", 2)
	d.topic("t", 3)
	for _, test := range []struct {
		topics, cursor string
		limit          int32
		want           string
	}{
		{"", "", 2000, "a 0 1; t 0 1; → t:2"},
		{"", "t:2", 2000, "t 2"},
		{"", "b:5", 2000, "t 0 1 2"},
		{"", "a:1", 2, "a 1; t 0; → t:1"},
		{"", "t:-1", 2, ""},
		{"t", "", 2000, "t 0 1 2"},
		{"t a t", "", 2, "a 0 1; → t:0"},
		{"t", "", 2, "t 0 1; → t:2"},
		{"t", "t:2", 2, "t 2"},
		{"t", "", 0, "t 0; → t:1"},
		{"t", "", -1, "t 0; → t:1"},
		{"t", "t:7", 10, "t"},
		{"t", "t:-1", 10, "t=INVALID_REQUEST"},
		{"t nope", "s:0", 10, "t=INVALID_REQUEST; nope=INVALID_REQUEST"},
		{"t", "z:0", 10, "t=INVALID_REQUEST"},
		{"nope t", "", 10, "nope=UNKNOWN_TOPIC_OR_PARTITION; t 0 1 2"},
		{"a/b", "", 10, "a/b=INVALID_TOPIC_EXCEPTION"},
		{`""`, "", 10, "=INVALID_TOPIC_EXCEPTION"}, // Apache Kafka stumbles: UNKNOWN_SERVER_ERROR
	} {
		if got := d.describePartitions(test.topics, test.cursor, test.limit); got != test.want {
			t.Errorf("%q from %q, %d at most: %s, want %s", test.topics, test.cursor, test.limit, got, test.want)
		}
	}
}

// TestEligibleLeaderReplicas are told: replicas that left the ISR when it was as small as it may be.
func TestEligibleLeaderReplicas(t *testing.T) {
	d := newDesk(t, 2)
	two := "2"
	d.CreateReplicated("t", 1, 2, map[string]*string{"min.insync.replicas": &two})
	d.Part()
	d.KillBroker(2)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](d, req, 0)
	p := resp.Topics[0].Partitions[0]
	state := d.Central.Image().Topic("t").Partitions[0]
	if fmt.Sprint(p.EligibleLeaderReplicas) != fmt.Sprint(state.ELR) || fmt.Sprint(p.ISR, p.OfflineReplicas) != "[1] [2]" || p.LeaderID != 1 {
		t.Errorf("%+v, but the image has %+v", p, state)
	}
}
