package api_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// with makes a request and fills it.
func with[R any](new func() *R, fill func(*R)) *R {
	r := new()
	fill(r)
	return r
}

const manyEntries = 10_000

// manyNames are names that nothing has.
func manyNames() []string {
	names := make([]string, manyEntries)
	for i := range names {
		names[i] = fmt.Sprintf("many-%d", i)
	}
	return names
}

// nullFirst turns the empty array or string, compact, that a body begins with into null.
func nullFirst(body []byte) { body[0] = 0 }

// badInputs are all the cases. id is that of topic t.
func badInputs(id [16]byte) (all []badInput) {
	for _, of := range []func([16]byte) []badInput{
		badTopics, badDeletions, badPartitions, badOffsets, badGroups, badCommits, badReads, badElections, badReassignments, badConfigs,
	} {
		all = append(all, of(id)...)
	}
	slices.SortFunc(all, func(a, b badInput) int { // some were made in the order of a map
		return cmp.Or(cmp.Compare(a.request.Key(), b.request.Key()), cmp.Compare(a.version, b.version), cmp.Compare(a.what, b.what))
	})
	return all
}

func badTopics([16]byte) (cases []badInput) {
	create := func(what string, topics ...kmsg.CreateTopicsRequestTopic) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Topics, req.ValidateOnly, req.TimeoutMillis = topics, true, 10_000
		cases = append(cases, badInput{what: what, version: 7, request: req})
	}
	topic := func(name string, partitions int32, replicas int16, fill ...func(*kmsg.CreateTopicsRequestTopic)) kmsg.CreateTopicsRequestTopic {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, replicas
		for _, f := range fill {
			f(&rt)
		}
		return rt
	}
	config := func(name string, value *string) func(*kmsg.CreateTopicsRequestTopic) {
		return func(rt *kmsg.CreateTopicsRequestTopic) {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = name, value
			rt.Configs = append(rt.Configs, rc)
		}
	}
	assign := func(partition int32, replicas ...int32) func(*kmsg.CreateTopicsRequestTopic) {
		return func(rt *kmsg.CreateTopicsRequestTopic) {
			ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			ra.Partition, ra.Replicas = partition, replicas
			rt.ReplicaAssignment = append(rt.ReplicaAssignment, ra)
		}
	}
	create("nothing")
	create("good", topic("new", 1, 1))
	create("exists", topic("t", 1, 1))
	create("twice", topic("new", 1, 1), topic("new", 1, 1), topic("other", 1, 1))
	create("bad names", topic("", 1, 1), topic("a/b", 1, 1), topic(".", 1, 1), topic("..", 1, 1), topic(fmt.Sprintf("%0250d", 1), 1, 1))
	create("the metadata's", topic("__cluster_metadata", 1, 1))
	create("no partitions", topic("new", 0, 1), topic("newer", -2, 1))
	create("bad factors", topic("new", 1, 0), topic("newer", 1, -2), topic("newest", 1, 9))
	create("assigned and counted", topic("new", 1, 1, assign(0, 1)))
	create("assigned to nobody", topic("new", -1, -1, assign(0, 9)))
	create("assigned twice", topic("new", -1, -1, assign(0, 1), assign(0, 1)))
	create("assigned with a gap", topic("new", -1, -1, assign(1, 1)))
	create("assigned to one twice", topic("new", -1, -1, assign(0, 1, 1)))
	create("assigned to none", topic("new", -1, -1, assign(0)))
	bad, one := "x", "1"
	create("bad configs", topic("new", 1, 1, config("nope", &one)), topic("newer", 1, 1, config("retention.ms", &bad)))
	create("a config of null", topic("new", 1, 1, config("retention.ms", nil)))
	return append(cases, badInput{what: "null", version: 7, request: kmsg.NewPtrCreateTopicsRequest(), edit: nullFirst})
}

func badDeletions([16]byte) (cases []badInput) {
	remove := func(what string, version int16, topics ...kmsg.DeleteTopicsRequestTopic) {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Topics, req.TimeoutMillis = topics, 10_000
		for _, t := range topics {
			if t.Topic != nil {
				req.TopicNames = append(req.TopicNames, *t.Topic)
			}
		}
		cases = append(cases, badInput{what: what, version: version, request: req})
	}
	named := func(name string) kmsg.DeleteTopicsRequestTopic { return kmsg.DeleteTopicsRequestTopic{Topic: &name} }
	remove("nothing", 6)
	remove("unknown", 6, named("nope"), named("a/b"), named(""))
	remove("unknown by name", 5, named("nope"), named("a/b"))
	remove("an id that nothing has", 6, kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{9}})
	remove("no id", 6, kmsg.DeleteTopicsRequestTopic{})
	remove("twice", 6, named("nope"), named("nope"))
	one := "1"
	remove("name and id", 6, kmsg.DeleteTopicsRequestTopic{Topic: &one, TopicID: [16]byte{9}})
	var many []kmsg.DeleteTopicsRequestTopic
	for _, name := range manyNames() {
		many = append(many, named(name))
	}
	remove("10,000", 6, many...)
	return append(cases, badInput{what: "null", version: 6, request: kmsg.NewPtrDeleteTopicsRequest(), edit: nullFirst})
}

func badPartitions([16]byte) (cases []badInput) {
	more := func(what string, topics ...kmsg.CreatePartitionsRequestTopic) {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Topics, req.ValidateOnly, req.TimeoutMillis = topics, true, 10_000
		cases = append(cases, badInput{what: what, version: 3, request: req})
	}
	topic := func(name string, count int32, assign ...[]int32) kmsg.CreatePartitionsRequestTopic {
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = name, count
		for _, replicas := range assign {
			rt.Assignment = append(rt.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
		}
		return rt
	}
	more("nothing")
	more("good", topic("t", 4))
	more("unknown", topic("nope", 4), topic("a/b", 4), topic("", 4))
	more("twice", topic("t", 4), topic("t", 4), topic("u", 4))
	more("no more than before", topic("t", 3), topic("u", 1))
	more("below nothing", topic("t", 0), topic("u", -1))
	more("assigned to nobody", topic("t", 4, []int32{9}))
	more("too many assigned", topic("t", 4, []int32{1}, []int32{1}))
	more("assigned to two", topic("t", 4, []int32{1, 9}))
	more("assigned to one twice", topic("t", 4, []int32{1, 1}))
	more("assigned to none", topic("t", 4, []int32{}))
	cases = append(cases, badInput{what: "null", version: 3, request: kmsg.NewPtrCreatePartitionsRequest(), edit: nullFirst})

	records := func(what string, topic string, partitions ...[2]int64) {
		cases = append(cases, badInput{what: what, version: 2, request: with(kmsg.NewPtrDeleteRecordsRequest, func(r *kmsg.DeleteRecordsRequest) {
			r.TimeoutMillis = 10_000
			rt := kmsg.NewDeleteRecordsRequestTopic()
			rt.Topic = topic
			for _, p := range partitions {
				rt.Partitions = append(rt.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: int32(p[0]), Offset: p[1]})
			}
			r.Topics = append(r.Topics, rt)
		})})
	}
	records("unknown topic", "nope", [2]int64{0, 0})
	records("bad topic", "a/b", [2]int64{0, 0})
	records("unknown partitions", "t", [2]int64{9, 0}, [2]int64{-1, 0})
	records("beyond the end", "t", [2]int64{0, 5})
	records("below nothing", "t", [2]int64{0, -2})
	records("to the end", "t", [2]int64{0, -1})
	records("internal", "__consumer_offsets", [2]int64{0, -1})
	records("no partitions", "t")
	many := make([][2]int64, manyEntries)
	for i := range many {
		many[i][0] = int64(i + 3)
	}
	records("10,000", "t", many...)
	cases = append(cases, badInput{what: "null", version: 2, request: kmsg.NewPtrDeleteRecordsRequest(), edit: nullFirst})
	return append(cases, badInput{what: "nothing", version: 2, request: kmsg.NewPtrDeleteRecordsRequest()})
}

func badOffsets(id [16]byte) (cases []badInput) {
	list := func(what string, version int16, topic string, partitions ...[3]int64) {
		cases = append(cases, badInput{what: what, version: version, request: with(kmsg.NewPtrListOffsetsRequest, func(r *kmsg.ListOffsetsRequest) {
			r.ReplicaID = -1
			rt := kmsg.NewListOffsetsRequestTopic()
			rt.Topic = topic
			for _, p := range partitions {
				rp := kmsg.NewListOffsetsRequestTopicPartition()
				rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = int32(p[0]), int32(p[1]), p[2]
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		})})
	}
	for _, version := range []int16{1, 7, 11} {
		list("good", version, "t", [3]int64{0, -1, -1}, [3]int64{1, -1, -2}, [3]int64{2, -1, 7})
		list("unknown topic", version, "nope", [3]int64{0, -1, -1})
		list("bad topic", version, "a/b", [3]int64{0, -1, -1})
		list("unknown partitions", version, "t", [3]int64{9, -1, -1}, [3]int64{-1, -1, -1})
		list("special times", version, "t", [3]int64{0, -1, -3}, [3]int64{1, -1, -4}, [3]int64{2, -1, -5})
		list("a time of nothing", version, "t", [3]int64{0, -1, -6}, [3]int64{1, -1, -7})
		list("twice", version, "t", [3]int64{0, -1, -1}, [3]int64{0, -1, -1}, [3]int64{1, -1, -1})
		list("no partitions", version, "t")
		list("a wrong epoch", version, "t", [3]int64{0, 9, -1})
	}
	many := make([][3]int64, manyEntries)
	for i := range many {
		many[i] = [3]int64{int64(i + 3), -1, -1}
	}
	list("10,000", 11, "t", many...)
	cases = append(cases, badInput{what: "nothing", version: 11, request: kmsg.NewPtrListOffsetsRequest()})

	epochs := func(what string, topic string, partitions ...[3]int32) {
		cases = append(cases, badInput{what: what, version: 4, request: epochRequest(topic, partitions...)})
	}
	epochs("unknown topic", "nope", [3]int32{0, -1, 0})
	epochs("unknown partitions", "t", [3]int32{9, -1, 0}, [3]int32{-1, -1, 0})
	epochs("a wrong epoch", "t", [3]int32{0, 9, 0})
	epochs("twice", "t", [3]int32{0, -1, 0}, [3]int32{0, -1, 0})

	meta := func(what string, version int16, topics ...kmsg.MetadataRequestTopic) {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = false
		req.Topics = append([]kmsg.MetadataRequestTopic{}, topics...)
		cases = append(cases, badInput{what: what, version: version, request: req})
	}
	named := func(name string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &name} }
	for _, version := range []int16{4, 9, 12, 13} {
		meta("nothing", version)
		meta("unknown", version, named("nope"))
		meta("bad names", version, named("a/b"), named("."))
		meta("no name", version, named(""))
		meta("twice", version, named("t"), named("t"))
	}
	meta("an id that nothing has", 13, kmsg.MetadataRequestTopic{TopicID: [16]byte{9}})
	meta("ids", 13, kmsg.MetadataRequestTopic{TopicID: id}, kmsg.MetadataRequestTopic{TopicID: id})
	var names []kmsg.MetadataRequestTopic
	for _, name := range manyNames() {
		names = append(names, named(name))
	}
	meta("10,000", 13, names...)
	return cases
}

func badReads(id [16]byte) (cases []badInput) {
	fetch := func(what string, version int16, name string, topic [16]byte, partitions ...[3]int64) {
		cases = append(cases, badInput{what: what, version: version, request: with(kmsg.NewPtrFetchRequest, func(r *kmsg.FetchRequest) {
			r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.SessionEpoch = -1, 0, 0, 1<<20, -1
			rt := kmsg.NewFetchRequestTopic()
			rt.Topic, rt.TopicID = name, topic
			for _, p := range partitions {
				rp := kmsg.NewFetchRequestTopicPartition()
				rp.Partition, rp.CurrentLeaderEpoch, rp.FetchOffset, rp.PartitionMaxBytes = int32(p[0]), int32(p[1]), p[2], 1<<20
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		})})
	}
	for _, version := range []int16{4, 12, 13, 18} {
		nope := [16]byte{9}
		fetch("good", version, "t", id, [3]int64{0, -1, 0})
		fetch("unknown topic", version, "nope", nope, [3]int64{0, -1, 0})
		fetch("unknown partitions", version, "t", id, [3]int64{9, -1, 0}, [3]int64{-1, -1, 0})
		fetch("beyond the end", version, "t", id, [3]int64{0, -1, 5})
		fetch("below nothing", version, "t", id, [3]int64{0, -1, -1})
		fetch("a wrong epoch", version, "t", id, [3]int64{0, 9, 0})
		fetch("no partitions", version, "t", id)
	}
	fetch("bad topic", 12, "a/b", id, [3]int64{0, -1, 0})
	session := func(what string, sessionID, epoch int32) {
		cases = append(cases, badInput{what: what, version: 18, request: with(kmsg.NewPtrFetchRequest, func(r *kmsg.FetchRequest) {
			r.ReplicaID, r.MaxWaitMillis, r.SessionID, r.SessionEpoch = -1, 0, sessionID, epoch
		})})
	}
	session("a session that isn't there", 77, 1)
	session("an epoch without session", 0, 5)
	session("the end of a session that isn't there", 77, -1)

	produce := func(what string, version int16, acks int16, name string, topic [16]byte, partition int32, records []byte) {
		cases = append(cases, badInput{what: what, version: version, request: with(kmsg.NewPtrProduceRequest, func(r *kmsg.ProduceRequest) {
			r.Acks, r.TimeoutMillis = acks, 10_000
			rt, rp := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
			rt.Topic, rt.TopicID, rp.Partition, rp.Records = name, topic, partition, records
			rt.Partitions = append(rt.Partitions, rp)
			r.Topics = append(r.Topics, rt)
		})})
	}
	good := batch(1, 1)
	broken := append([]byte{}, good...)
	broken[len(broken)-1] ^= 1
	for _, version := range []int16{3, 9, 12, 13} {
		produce("unknown topic", version, 1, "nope", [16]byte{9}, 0, good)
		produce("unknown partition", version, 1, "u", id, 9, good)
		produce("acks of 5", version, 5, "u", id, 0, good)
		produce("a broken checksum", version, 1, "u", id, 0, broken)
		produce("no records", version, 1, "u", id, 0, []byte{})
		produce("null records", version, 1, "u", id, 0, nil)
	}
	produce("internal topic", 12, 1, "__consumer_offsets", id, 0, good)
	produce("bad topic", 12, 1, "a/b", id, 0, good)
	cases = append(cases, badInput{what: "nothing", version: 12, request: with(kmsg.NewPtrProduceRequest, func(r *kmsg.ProduceRequest) { r.Acks = 1 })})
	return cases
}
