package api_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"millrace/broker/brokertest"
	"millrace/metadata"
	"millrace/protocol"
)

const (
	topicType  = kmsg.ConfigResourceTypeTopic
	brokerType = kmsg.ConfigResourceTypeBroker
	loggerType = kmsg.ConfigResourceTypeBrokerLogger

	opSet      = kmsg.IncrementalAlterConfigOpSet
	opDelete   = kmsg.IncrementalAlterConfigOpDelete
	opAppend   = kmsg.IncrementalAlterConfigOpAppend
	opSubtract = kmsg.IncrementalAlterConfigOpSubtract
)

// change is one of an IncrementalAlterConfigs; the value "null" is null.
type change struct {
	op          kmsg.IncrementalAlterConfigOp
	name, value string
}

func (x change) text() *string {
	if x.value == "null" {
		return nil
	}
	return &x.value
}

func changeRequest(kind kmsg.ConfigResourceType, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, x := range changes {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Name, rc.Op, rc.Value = x.name, x.op, x.text()
		r.Configs = append(r.Configs, rc)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// configure changes settings of one resource, and returns the code.
func (d *desk) configure(version int16, kind kmsg.ConfigResourceType, name string, changes ...change) int16 {
	d.Helper()
	return ask[*kmsg.IncrementalAlterConfigsResponse](d, changeRequest(kind, name, changes...), version).Resources[0].ErrorCode
}

// described is a setting as DescribeConfigs tells it: value and source.
func (d *desk) described(kind kmsg.ConfigResourceType, resource, name string) string {
	d.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, resource, []string{name}
	req.Resources = append(req.Resources, r)
	resp := ask[*kmsg.DescribeConfigsResponse](d, req, 4).Resources[0]
	if resp.ErrorCode != 0 || len(resp.Configs) != 1 {
		return fmt.Sprintf("%v, %d entries", protocol.Code(resp.ErrorCode), len(resp.Configs))
	}
	c := resp.Configs[0]
	return fmt.Sprintf("%v %v", deref(c.Value), c.Source)
}

func deref(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// alteration is a change of the settings of one resource, and the code that answers it. Topic "t" is the test's.
type alteration struct {
	kind    kmsg.ConfigResourceType
	name    string
	want    protocol.Code
	changes []change
}

// alterations have the codes of Apache Kafka 4.4.
var alterations = []alteration{
	{topicType, "t", protocol.None, []change{{opSet, "retention.ms", "1000"}}},
	{topicType, "t", protocol.None, []change{{opDelete, "retention.ms", "null"}, {opDelete, "nope", "5"}}},
	{topicType, "t", protocol.None, nil},
	{topicType, "t", protocol.InvalidConfig, []change{{opSet, "nope", "1"}}},
	{topicType, "t", protocol.InvalidConfig, []change{{opSet, "retention.ms", "x"}}},
	{topicType, "t", protocol.InvalidConfig, []change{{opSet, "compression.type", "gzip"}}},
	{topicType, "t", protocol.InvalidRequest, []change{{opSet, "retention.ms", "null"}}},
	{topicType, "t", protocol.InvalidRequest, []change{{opAppend, "cleanup.policy", "null"}}},
	{topicType, "t", protocol.InvalidRequest, []change{{opSet, "retention.ms", "1"}, {opDelete, "retention.ms", "null"}}},
	{topicType, "t", protocol.None, []change{{opAppend, "cleanup.policy", "compact,compact"}}},
	{topicType, "t", protocol.None, []change{{opSubtract, "cleanup.policy", "delete,nope"}}},
	{topicType, "t", protocol.InvalidConfig, []change{{opAppend, "cleanup.policy", "x"}}},
	{topicType, "t", protocol.InvalidConfig, []change{{opAppend, "retention.ms", "1"}}},
	{topicType, "t", protocol.InvalidConfig, []change{{opSubtract, "nope", "1"}}},
	{topicType, "t", protocol.UnknownServerError, []change{{9, "retention.ms", "1"}}},
	{topicType, "none", protocol.UnknownTopicOrPartition, []change{{opSet, "retention.ms", "1"}}},
	{topicType, "none", protocol.InvalidConfig, []change{{opSet, "retention.ms", "x"}}},
	{topicType, "a/b", protocol.InvalidTopicException, []change{{opSet, "retention.ms", "1"}}},
	{topicType, "", protocol.InvalidRequest, []change{{opSet, "retention.ms", "1"}}},
	{3, "t", protocol.InvalidRequest, []change{{opSet, "retention.ms", "1"}}},

	{brokerType, "1", protocol.None, []change{{opSet, "log.retention.ms", "1000"}, {opSet, "nope", "1"}}},
	{brokerType, "1", protocol.None, []change{{opAppend, "log.cleanup.policy", "compact"}}},
	{brokerType, "", protocol.None, []change{{opSet, "log.retention.ms", "1000"}}},
	{brokerType, "1", protocol.InvalidRequest, []change{{opSet, "num.partitions", "5"}}},
	{brokerType, "", protocol.InvalidRequest, []change{{opSet, "num.partitions", "5"}}},
	{brokerType, "", protocol.InvalidRequest, []change{{opSet, "listeners", "PLAINTEXT://:1"}}},
	{brokerType, "1", protocol.InvalidRequest, []change{{opSet, "log.retention.ms", "x"}}},
	{brokerType, "1", protocol.InvalidConfig, []change{{opAppend, "log.retention.ms", "1"}}},
	{brokerType, "2", protocol.InvalidRequest, []change{{opSet, "log.retention.ms", "1"}}},
	{brokerType, "x", protocol.InvalidRequest, []change{{opSet, "log.retention.ms", "1"}}},

	{loggerType, "1", protocol.None, []change{{opSet, "root", "DEBUG"}}},
	{loggerType, "1", protocol.InvalidConfig, []change{{opSet, "root", "LOUD"}}},
	{loggerType, "1", protocol.InvalidConfig, []change{{opSet, "nope", "INFO"}}},
	{loggerType, "1", protocol.InvalidRequest, []change{{opAppend, "root", "INFO"}}},
	{loggerType, "1", protocol.InvalidRequest, []change{{opDelete, "root", "null"}}},
	{loggerType, "", protocol.InvalidRequest, []change{{opSet, "root", "INFO"}}},
}

func TestIncrementalAlterConfigs(t *testing.T) {
	d := newDesk(t, 2)
	level := zap.NewAtomicLevel()
	d.LogLevel = &level
	long := make([]change, 10_000)
	for i := range long {
		long[i] = change{opSet, fmt.Sprint("no", i), "1"}
	}
	d.each(kmsg.IncrementalAlterConfigs, func(version int16) {
		d.topic("t"+fmt.Sprint(version), 1)
		for _, test := range append(alterations, alteration{topicType, "t", protocol.InvalidConfig, long}) {
			name := test.name
			if name == "t" {
				name += fmt.Sprint(version)
			}
			what := fmt.Sprintf("%v %q", test.kind, test.name)
			if len(test.changes) < 10 {
				what += fmt.Sprint(test.changes)
			}
			d.codeIs(d.configure(version, test.kind, name, test.changes...), test.want, what)
		}
	})
	if level.Level() != zap.DebugLevel || d.described(loggerType, "1", "root") != "DEBUG DYNAMIC_BROKER_LOGGER_CONFIG" {
		t.Errorf("the log's level is %v, told as %s", level, d.described(loggerType, "1", "root"))
	}
	empty := ask[*kmsg.IncrementalAlterConfigsResponse](d, kmsg.NewPtrIncrementalAlterConfigsRequest(), 1)
	if len(empty.Resources) != 0 {
		t.Errorf("nothing asked for: %+v", empty)
	}
}

// TestAlteredTwice: a resource that is named twice is answered twice, and not touched; the others are.
func TestAlteredTwice(t *testing.T) {
	d := newDesk(t, 1)
	d.topic("a", 1)
	d.topic("b", 1)
	req := changeRequest(topicType, "a", change{opSet, "retention.ms", "1000"})
	for _, name := range []string{"b", "a", "b/"} {
		req.Resources = append(req.Resources, changeRequest(topicType, name, change{opSet, "retention.ms", "2000"}).Resources...)
	}
	req.ValidateOnly = true
	for range 2 {
		resp := ask[*kmsg.IncrementalAlterConfigsResponse](d, req, 1)
		for i, want := range []protocol.Code{protocol.InvalidRequest, protocol.None, protocol.InvalidRequest, protocol.InvalidTopicException} {
			d.codeIs(resp.Resources[i].ErrorCode, want, resp.Resources[i].ResourceName)
		}
		want := "2000 DYNAMIC_TOPIC_CONFIG"
		if req.ValidateOnly {
			want = "604800000 DEFAULT_CONFIG"
		}
		if got := d.described(topicType, "b", "retention.ms"); got != want {
			t.Errorf("validate only %v: b has retention.ms %s, want %s", req.ValidateOnly, got, want)
		}
		req.ValidateOnly = false
	}
	if got := d.described(topicType, "a", "retention.ms"); got != "604800000 DEFAULT_CONFIG" {
		t.Errorf("a has retention.ms %s", got)
	}
}

func TestAlterConfigs(t *testing.T) {
	d := newDesk(t, 1)
	d.each(kmsg.AlterConfigs, func(version int16) {
		d.topic(fmt.Sprint("t", version), 1)
		for _, test := range []alteration{
			{topicType, "t", protocol.None, []change{{0, "retention.ms", "1000"}, {0, "cleanup.policy", "compact"}}},
			{topicType, "t", protocol.InvalidRequest, []change{{0, "retention.ms", "null"}}},
			{topicType, "t", protocol.InvalidConfig, []change{{0, "nope", "1"}}},
			{topicType, "t", protocol.InvalidRequest, []change{{0, "retention.ms", "1"}, {0, "retention.ms", "1"}}},
			{topicType, "none", protocol.UnknownTopicOrPartition, []change{{0, "retention.ms", "1"}}},
			{brokerType, "1", protocol.InvalidRequest, []change{{0, "num.partitions", "1"}}},
			{brokerType, "1", protocol.None, []change{{0, "log.retention.ms", "1"}}},
			{loggerType, "1", protocol.InvalidRequest, []change{{0, "root", "INFO"}}},
			{topicType, "t", protocol.None, []change{{0, "max.message.bytes", "1000"}}},
		} {
			req := kmsg.NewPtrAlterConfigsRequest()
			r := kmsg.NewAlterConfigsRequestResource()
			r.ResourceType, r.ResourceName = test.kind, test.name
			if test.name == "t" {
				r.ResourceName += fmt.Sprint(version)
			}
			for _, x := range test.changes {
				rc := kmsg.NewAlterConfigsRequestResourceConfig()
				rc.Name, rc.Value = x.name, x.text()
				r.Configs = append(r.Configs, rc)
			}
			req.Resources = append(req.Resources, r)
			resp := ask[*kmsg.AlterConfigsResponse](d, req, version)
			d.codeIs(resp.Resources[0].ErrorCode, test.want, fmt.Sprintf("%v %q %v", test.kind, test.name, test.changes))
		}
		if configs := d.Central.Image().Topic(fmt.Sprint("t", version)).Configs; len(configs) != 1 || configs["max.message.bytes"] != "1000" {
			t.Errorf("after it was replaced: %v", configs)
		}
	})
}

// TestConfigsTakeEffect at once: on a topic of its own, of a broker, of all brokers; the nearest counts.
func TestConfigsTakeEffect(t *testing.T) {
	d := newDesk(t, 1)
	d.topic("t", 1)
	produced := func() protocol.Code {
		resp := ask[*kmsg.ProduceResponse](d, produceRequest(1, "t", 1, batch(1, 1000)), 9)
		return protocol.Code(resp.Topics[0].Partitions[0].ErrorCode)
	}
	set := func(kind kmsg.ConfigResourceType, resource, name, value string) {
		t.Helper()
		op := opSet
		if value == "null" {
			op = opDelete
		}
		d.codeIs(d.configure(1, kind, resource, change{op, name, value}), protocol.None, name)
	}
	for _, test := range []struct {
		kind                  kmsg.ConfigResourceType
		resource, name, value string
		want                  protocol.Code
		told                  string
	}{
		{brokerType, "", "message.max.bytes", "500", protocol.MessageTooLarge, "500 DYNAMIC_DEFAULT_BROKER_CONFIG"},
		{brokerType, "1", "message.max.bytes", "5000", protocol.None, "5000 DYNAMIC_BROKER_CONFIG"},
		{topicType, "t", "max.message.bytes", "600", protocol.MessageTooLarge, "600 DYNAMIC_TOPIC_CONFIG"},
		{brokerType, "1", "message.max.bytes", "null", protocol.MessageTooLarge, "600 DYNAMIC_TOPIC_CONFIG"},
		{topicType, "t", "max.message.bytes", "null", protocol.MessageTooLarge, "500 DYNAMIC_DEFAULT_BROKER_CONFIG"},
		{brokerType, "", "message.max.bytes", "null", protocol.None, "1048588 DEFAULT_CONFIG"},
		{topicType, "t", "min.insync.replicas", "2", protocol.None, "1048588 DEFAULT_CONFIG"}, // of one replica that counts as 1
		{topicType, "t", "message.timestamp.type", "LogAppendTime", protocol.None, "1048588 DEFAULT_CONFIG"},
	} {
		set(test.kind, test.resource, test.name, test.value)
		if got := produced(); got != test.want {
			t.Errorf("%s=%s of %v %q: a produce answers %v, want %v", test.name, test.value, test.kind, test.resource, got, test.want)
		}
		if got := d.described(topicType, "t", "max.message.bytes"); got != test.told {
			t.Errorf("%s=%s of %v %q: told as %s, want %s", test.name, test.value, test.kind, test.resource, got, test.told)
		}
	}
	resp := ask[*kmsg.ProduceResponse](d, produceRequest(1, "t", 1, batch(1, 10)), 9)
	if resp.Topics[0].Partitions[0].LogAppendTime < 0 {
		t.Error("the broker's time isn't in the answer")
	}
	_, p := d.Leader("t", 0)
	set(topicType, "t", "segment.ms", "1")
	set(topicType, "t", "retention.ms", "1")
	brokertest.Eventually(t, "retention.ms has its effect", func() bool { return p.Figures().LogStartOffset > 0 })
	set(brokerType, "", "min.insync.replicas", "2")
	if got := d.Central.Image().Topic("t").Partitions[0].MinInSync; got != 2 {
		t.Errorf("MinInSync %d of a topic that had it set", got)
	}
	d.topic("u", 1)
	if got := d.Central.Image().Topic("u").Partitions[0].MinInSync; got != 2 {
		t.Errorf("MinInSync %d of a new topic", got)
	}
	if got := d.Central.Image().ResourceConfigs(metadata.DefaultBroker)["min.insync.replicas"]; got != "2" {
		t.Errorf("kept as %q", got)
	}
}
