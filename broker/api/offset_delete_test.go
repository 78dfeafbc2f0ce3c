package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
)

// deleteOffsets asks for the offsets of partitions, "topic:partition …", and shows the answer the same way.
func (d *desk) deleteOffsets(id, partitions string) string {
	d.Helper()
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = id
	for _, text := range strings.Fields(partitions) {
		topic, index, _ := strings.Cut(text, ":")
		rt := kmsg.NewOffsetDeleteRequestTopic()
		rt.Topic = topic
		for one := range strings.SplitSeq(index, ",") {
			rp := kmsg.NewOffsetDeleteRequestTopicPartition()
			if _, err := fmt.Sscan(one, &rp.Partition); err == nil {
				rt.Partitions = append(rt.Partitions, rp)
			}
		}
		req.Topics = append(req.Topics, rt)
	}
	resp := ask[*kmsg.OffsetDeleteResponse](d, req, 0)
	shown := []string{protocol.Code(resp.ErrorCode).String()}
	for _, rt := range resp.Topics {
		for _, rp := range rt.Partitions {
			shown = append(shown, fmt.Sprintf("%s:%d=%v", rt.Topic, rp.Partition, protocol.Code(rp.ErrorCode)))
		}
	}
	return strings.Join(shown, " ")
}

// TestOffsetDelete: the codes are those of Apache Kafka 4.4.
func TestOffsetDelete(t *testing.T) {
	d := newDesk(t, 1)
	topic := d.topic("t", 3)
	if got := d.deleteOffsets("g", "t:0"); got != "NOT_COORDINATOR" {
		t.Errorf("before there is a coordinator: %s", got)
	}
	findCoordinator(d)
	for i := range int32(3) {
		ask[*kmsg.OffsetCommitResponse](d, commitRequest("g", topic, "t", i, 1), 8)
	}
	joined := d.join("member", 5)
	if joined.ErrorCode != 0 {
		t.Fatal(joined)
	}
	for _, test := range []struct{ group, partitions, want string }{
		{"", "t:0", "INVALID_GROUP_ID"},
		{"nobody", "t:0", "GROUP_ID_NOT_FOUND"},
		{"nobody", "", "GROUP_ID_NOT_FOUND"},
		{"g", "", "NONE"},
		{"g", "t:", "NONE"},
		{"g", "nope:0", "NONE nope:0=UNKNOWN_TOPIC_OR_PARTITION"},
		{"g", "t:9,1", "NONE t:9=UNKNOWN_TOPIC_OR_PARTITION t:1=NONE"},
		{"g", "t:0,0 t:0", "NONE t:0=NONE t:0=NONE t:0=NONE"},
		{"g", "t:0", "NONE t:0=NONE"},
		{"member", "t:0", "NONE t:0=GROUP_SUBSCRIBED_TO_TOPIC"}, // what its member reads can't be told
	} {
		if got := d.deleteOffsets(test.group, test.partitions); got != test.want {
			t.Errorf("%s of %q: %s, want %s", test.partitions, test.group, got, test.want)
		}
	}
	many := "t:"
	for i := range 10_000 {
		many += fmt.Sprint(i, ",")
	}
	if got := d.deleteOffsets("g", many); strings.Count(got, "UNKNOWN_TOPIC_OR_PARTITION") != 9_997 || strings.Count(got, "=NONE") != 3 {
		t.Errorf("10,000 partitions: %.100s…", got)
	}
}
