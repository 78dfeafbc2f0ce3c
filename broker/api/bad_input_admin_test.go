package api_test

import "github.com/twmb/franz-go/pkg/kmsg"

func badGroups([16]byte) (cases []badInput) {
	add := func(what string, version int16, r kmsg.Request) {
		cases = append(cases, badInput{what: what, version: version, request: r})
	}
	for _, version := range []int16{5, 6} {
		for what, ids := range map[string][]string{"nothing": nil, "unknown": {"nope"}, "no id": {""}, "twice": {"nope", "nope"}} {
			add(what, version, with(kmsg.NewPtrDescribeGroupsRequest, func(r *kmsg.DescribeGroupsRequest) { r.Groups = ids }))
		}
	}
	add("10,000", 6, with(kmsg.NewPtrDescribeGroupsRequest, func(r *kmsg.DescribeGroupsRequest) { r.Groups = manyNames() }))
	for what, ids := range map[string][]string{"nothing": nil, "unknown": {"nope"}, "no id": {""}, "twice": {"nope", "nope"}, "10,000": manyNames()} {
		add(what, 2, with(kmsg.NewPtrDeleteGroupsRequest, func(r *kmsg.DeleteGroupsRequest) { r.Groups = ids }))
	}
	for what, keys := range map[string][]string{"nothing": nil, "no id": {""}, "twice": {"x", "x"}} {
		add(what, 4, with(kmsg.NewPtrFindCoordinatorRequest, func(r *kmsg.FindCoordinatorRequest) { r.CoordinatorKeys = keys }))
	}
	add("a type of nothing", 4, with(kmsg.NewPtrFindCoordinatorRequest, func(r *kmsg.FindCoordinatorRequest) {
		r.CoordinatorKeys, r.CoordinatorType = []string{"x"}, 9
	}))
	add("a type of nothing", 3, with(kmsg.NewPtrFindCoordinatorRequest, func(r *kmsg.FindCoordinatorRequest) {
		r.CoordinatorKey, r.CoordinatorType = "x", 9
	}))
	for _, id := range []string{"", "nope"} {
		add("group "+id, 4, with(kmsg.NewPtrHeartbeatRequest, func(r *kmsg.HeartbeatRequest) { r.Group, r.MemberID, r.Generation = id, "m", 1 }))
		add("group "+id, 5, with(kmsg.NewPtrSyncGroupRequest, func(r *kmsg.SyncGroupRequest) { r.Group, r.MemberID, r.Generation = id, "m", 1 }))
		add("group "+id, 5, with(kmsg.NewPtrLeaveGroupRequest, func(r *kmsg.LeaveGroupRequest) {
			r.Group, r.Members = id, []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
		}))
		add("nobody of group "+id, 5, with(kmsg.NewPtrLeaveGroupRequest, func(r *kmsg.LeaveGroupRequest) { r.Group = id }))
		for what, edit := range map[string]func(*kmsg.JoinGroupRequest){
			"no protocols":       func(r *kmsg.JoinGroupRequest) { r.Protocols = nil },
			"no type":            func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" },
			"unknown member":     func(r *kmsg.JoinGroupRequest) { r.MemberID = "m" },
			"short session":      func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 },
			"endless session":    func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 << 30 },
			"negative rebalance": func(r *kmsg.JoinGroupRequest) { r.MemberID, r.RebalanceTimeoutMillis = "m", -5 },
		} {
			group := id
			if id != "" {
				group = "joined" // on Apache Kafka it is there even if nobody gets in
			}
			add(what+" of group "+id, 9, with(func() *kmsg.JoinGroupRequest { return joinRequest(group, "") }, edit))
		}
	}
	add("null", 4, kmsg.NewPtrHeartbeatRequest())
	cases[len(cases)-1].edit = nullFirst
	add("a producer id of nobody", 4, with(kmsg.NewPtrInitProducerIDRequest, func(r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = 5, 5 }))
	return cases
}

func badCommits(id [16]byte) (cases []badInput) {
	for _, version := range []int16{2, 8, 10} {
		commit := func(what, group, member string, generation int32, topics ...kmsg.OffsetCommitRequestTopic) {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group, req.MemberID, req.Generation, req.Topics, req.RetentionTimeMillis = group, member, generation, topics, -1
			cases = append(cases, badInput{what: what, version: version, request: req})
		}
		topic := func(name string, id [16]byte, partitions ...int32) kmsg.OffsetCommitRequestTopic {
			rt := kmsg.NewOffsetCommitRequestTopic()
			rt.Topic, rt.TopicID = name, id
			for _, p := range partitions {
				rp := kmsg.NewOffsetCommitRequestTopicPartition()
				rp.Partition, rp.Offset = p, 1
				rt.Partitions = append(rt.Partitions, rp)
			}
			return rt
		}
		commit("nothing", "g", "", -1)
		commit("unknown topic", "g", "", -1, topic("nope", [16]byte{9}, 0))
		commit("unknown partitions", "g", "", -1, topic("t", id, 9, -1))
		commit("twice", "g", "", -1, topic("t", id, 0, 0))
		commit("no group id", "", "", -1, topic("t", id, 0))
		commit("a member of nothing", "nowhere", "m", 1, topic("t", id, 0))
		commit("a wrong member", "g", "m", 1, topic("t", id, 0))
		commit("no partitions", "g", "", -1, topic("t", id))
	}
	fetch := func(what string, version int16, group string, topics ...kmsg.OffsetFetchRequestGroupTopic) {
		cases = append(cases, badInput{what: what, version: version, request: with(kmsg.NewPtrOffsetFetchRequest, func(r *kmsg.OffsetFetchRequest) {
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group, rg.Topics = group, append([]kmsg.OffsetFetchRequestGroupTopic{}, topics...)
			r.Groups = append(r.Groups, rg)
		})})
	}
	for _, version := range []int16{8, 10} {
		fetch("nothing", version, "g")
		fetch("unknown group", version, "nowhere", kmsg.OffsetFetchRequestGroupTopic{Topic: "t", TopicID: id, Partitions: []int32{0, 9}})
		fetch("unknown topic", version, "g", kmsg.OffsetFetchRequestGroupTopic{Topic: "nope", TopicID: [16]byte{9}, Partitions: []int32{0}})
		fetch("no group id", version, "", kmsg.OffsetFetchRequestGroupTopic{Topic: "t", TopicID: id, Partitions: []int32{0}})
	}
	for what, asked := range map[string][]any{
		"unknown group": {"nowhere", "t", int32(0)}, "no group id": {"", "t", int32(0)}, "unknown topic": {"g", "nope", int32(0)},
		"unknown partition": {"g", "t", int32(9)},
	} {
		cases = append(cases, badInput{what: what, request: with(kmsg.NewPtrOffsetDeleteRequest, func(r *kmsg.OffsetDeleteRequest) {
			rt := kmsg.NewOffsetDeleteRequestTopic()
			rt.Topic, rt.Partitions = asked[1].(string), []kmsg.OffsetDeleteRequestTopicPartition{{Partition: asked[2].(int32)}}
			r.Group, r.Topics = asked[0].(string), append(r.Topics, rt)
		})})
	}
	return cases
}

func badElections([16]byte) (cases []badInput) {
	elect := func(what string, kind int8, topics ...kmsg.ElectLeadersRequestTopic) {
		cases = append(cases, badInput{what: what, version: 2, request: with(kmsg.NewPtrElectLeadersRequest, func(r *kmsg.ElectLeadersRequest) {
			r.ElectionType, r.TimeoutMillis = kind, 10_000
			r.Topics = append([]kmsg.ElectLeadersRequestTopic{}, topics...)
		})})
	}
	topic := func(name string, partitions ...int32) kmsg.ElectLeadersRequestTopic {
		return kmsg.ElectLeadersRequestTopic{Topic: name, Partitions: partitions}
	}
	elect("nothing", 0)
	elect("not needed", 0, topic("t", 0))
	elect("not needed, unclean", 1, topic("t", 0))
	elect("unknown", 0, topic("nope", 0), topic("a/b", 0))
	elect("unknown partitions", 0, topic("t", 9, -1))
	elect("twice", 0, topic("t", 0, 0))
	elect("no partitions", 0, topic("t"))
	elect("a type of nothing", 9, topic("t", 0))
	return cases
}

func badReassignments([16]byte) (cases []badInput) {
	alter := func(what string, topics ...kmsg.AlterPartitionAssignmentsRequestTopic) {
		cases = append(cases, badInput{what: what, version: 1, request: with(kmsg.NewPtrAlterPartitionAssignmentsRequest,
			func(r *kmsg.AlterPartitionAssignmentsRequest) { r.Topics, r.TimeoutMillis = topics, 10_000 })})
	}
	topic := func(name string, partition int32, replicas []int32) kmsg.AlterPartitionAssignmentsRequestTopic {
		rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
		rt.Topic = name
		rt.Partitions = []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: partition, Replicas: replicas}}
		return rt
	}
	alter("nothing")
	alter("unknown", topic("nope", 0, []int32{1}), topic("a/b", 0, []int32{1}))
	alter("unknown partitions", topic("t", 9, []int32{1}), topic("u", -1, []int32{1}))
	alter("to nobody", topic("t", 0, []int32{9}))
	alter("to none", topic("t", 0, []int32{}))
	alter("to one twice", topic("t", 0, []int32{1, 1}))
	alter("to a negative one", topic("t", 0, []int32{-1}))
	alter("cancelled, but not under way", topic("t", 0, nil))
	alter("as it is", topic("t", 0, []int32{1}))
	list := func(what string, topic string, partitions ...int32) {
		cases = append(cases, badInput{what: what, request: with(kmsg.NewPtrListPartitionReassignmentsRequest,
			func(r *kmsg.ListPartitionReassignmentsRequest) {
				r.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: topic, Partitions: partitions}}
				r.TimeoutMillis = 10_000
			})})
	}
	list("unknown", "nope", 0)
	list("unknown partitions", "t", 9, -1)
	cases = append(cases, badInput{what: "of nobody", request: with(kmsg.NewPtrUnregisterBrokerRequest,
		func(r *kmsg.UnregisterBrokerRequest) { r.BrokerID = 99 })})
	for _, kind := range []int8{0, 2, 9} {
		cases = append(cases, badInput{what: "endpoint type " + string('0'+rune(kind)), version: 2, request: with(kmsg.NewPtrDescribeClusterRequest,
			func(r *kmsg.DescribeClusterRequest) { r.EndpointType = kind })})
	}
	return cases
}

func badConfigs([16]byte) (cases []badInput) {
	describe := func(what string, kind kmsg.ConfigResourceType, name string) {
		cases = append(cases, badInput{what: what, version: 4, request: with(kmsg.NewPtrDescribeConfigsRequest, func(r *kmsg.DescribeConfigsRequest) {
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = kind, name
			r.Resources = append(r.Resources, rr)
		})})
	}
	describe("unknown topic", topicType, "nope")
	describe("bad topic", topicType, "a/b")
	describe("no topic", topicType, "")
	describe("another broker", brokerType, "9")
	describe("no number", brokerType, "x")
	describe("all brokers", brokerType, "")
	describe("a logger's broker", loggerType, "9")
	describe("no logger's broker", loggerType, "")
	describe("type 0", 0, "t")
	describe("type 3", 3, "t")
	cases = append(cases, badInput{what: "nothing", version: 4, request: kmsg.NewPtrDescribeConfigsRequest()},
		badInput{what: "null", version: 4, request: kmsg.NewPtrDescribeConfigsRequest(), edit: nullFirst},
		badInput{what: "null", version: 1, request: kmsg.NewPtrIncrementalAlterConfigsRequest(), edit: nullFirst},
		badInput{what: "null", version: 2, request: kmsg.NewPtrAlterConfigsRequest(), edit: nullFirst},
		badInput{what: "twice", version: 4, request: with(kmsg.NewPtrDescribeConfigsRequest, func(r *kmsg.DescribeConfigsRequest) {
			rr := kmsg.NewDescribeConfigsRequestResource()
			rr.ResourceType, rr.ResourceName = topicType, "t"
			r.Resources = append(r.Resources, rr, rr)
		})})
	return cases
}
