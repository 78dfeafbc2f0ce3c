package kafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// API is one line of the table: an API and the versions in which we serve it.
type API struct {
	Key  int16
	Name string // as Apache Kafka's documentation spells it
	// Min and Max are the versions that we serve, both included.
	Min, Max int16
	// Flexible is the first version with compact types and tagged fields (KIP-482).
	Flexible int16
	// AdvertisedMin is the lowest version that ApiVersions names. It is Min, but for Produce: librdkafka before 2.8
	// takes a minimum above 0 to mean that gzip, snappy and lz4 are unknown, and then sends uncompressed (KAFKA-18659).
	AdvertisedMin int16
	// Internal is what brokers ask of each other: ApiVersions doesn't name it.
	Internal bool
}

// table is sorted by key. To serve one more API is to add its line here and its handler in broker/api.
var table = []API{
	api(kmsg.Produce, "Produce", 3, 13, 9).advertisedFrom(0),
	api(kmsg.Fetch, "Fetch", 4, 18, 12),
	api(kmsg.ListOffsets, "ListOffsets", 1, 11, 6),
	api(kmsg.Metadata, "Metadata", 0, 13, 9),
	api(kmsg.OffsetCommit, "OffsetCommit", 2, 10, 8),
	api(kmsg.OffsetFetch, "OffsetFetch", 1, 10, 6),
	api(kmsg.FindCoordinator, "FindCoordinator", 0, 6, 3),
	api(kmsg.JoinGroup, "JoinGroup", 0, 9, 6),
	api(kmsg.Heartbeat, "Heartbeat", 0, 4, 4),
	api(kmsg.LeaveGroup, "LeaveGroup", 0, 5, 4),
	api(kmsg.SyncGroup, "SyncGroup", 0, 5, 4),
	api(kmsg.DescribeGroups, "DescribeGroups", 0, 6, 5),
	api(kmsg.ListGroups, "ListGroups", 0, 5, 3),
	api(kmsg.ApiVersions, "ApiVersions", 0, 5, 3),
	api(kmsg.CreateTopics, "CreateTopics", 2, 7, 5),
	api(kmsg.DeleteTopics, "DeleteTopics", 1, 6, 4),
	api(kmsg.DeleteRecords, "DeleteRecords", 0, 2, 2),
	api(kmsg.InitProducerID, "InitProducerId", 0, 5, 2),
	api(kmsg.OffsetForLeaderEpoch, "OffsetForLeaderEpoch", 2, 4, 4),
	api(kmsg.AddPartitionsToTxn, "AddPartitionsToTxn", 0, 5, 3),
	api(kmsg.AddOffsetsToTxn, "AddOffsetsToTxn", 0, 4, 3),
	api(kmsg.EndTxn, "EndTxn", 0, 5, 3),
	api(kmsg.WriteTxnMarkers, "WriteTxnMarkers", 1, 2, 1),
	api(kmsg.TxnOffsetCommit, "TxnOffsetCommit", 0, 6, 3),
	api(kmsg.DescribeConfigs, "DescribeConfigs", 1, 4, 4),
	api(kmsg.AlterConfigs, "AlterConfigs", 0, 2, 2),
	api(kmsg.AlterReplicaLogDirs, "AlterReplicaLogDirs", 1, 2, 2),
	api(kmsg.DescribeLogDirs, "DescribeLogDirs", 1, 5, 2),
	api(kmsg.CreatePartitions, "CreatePartitions", 0, 3, 2),
	api(kmsg.DeleteGroups, "DeleteGroups", 0, 3, 2),
	api(kmsg.ElectLeaders, "ElectLeaders", 0, 2, 2),
	api(kmsg.IncrementalAlterConfigs, "IncrementalAlterConfigs", 0, 1, 1),
	api(kmsg.AlterPartitionAssignments, "AlterPartitionReassignments", 0, 1, 0),
	api(kmsg.ListPartitionReassignments, "ListPartitionReassignments", 0, 0, 0),
	api(kmsg.OffsetDelete, "OffsetDelete", 0, 0, 1),
	api(kmsg.DescribeQuorum, "DescribeQuorum", 0, 2, 0),
	api(kmsg.UpdateFeatures, "UpdateFeatures", 0, 2, 0),
	api(kmsg.FetchSnapshot, "FetchSnapshot", 1, 1, 0).internal(),
	api(kmsg.DescribeCluster, "DescribeCluster", 0, 2, 0),
	api(kmsg.DescribeProducers, "DescribeProducers", 0, 0, 0),
	api(kmsg.UnregisterBroker, "UnregisterBroker", 0, 0, 0),
	api(kmsg.DescribeTransactions, "DescribeTransactions", 0, 0, 0),
	api(kmsg.ListTransactions, "ListTransactions", 0, 2, 0),
	api(kmsg.ConsumerGroupHeartbeat, "ConsumerGroupHeartbeat", 0, 1, 0),
	api(kmsg.ConsumerGroupDescribe, "ConsumerGroupDescribe", 0, 1, 0),
	api(kmsg.ListConfigResources, "ListConfigResources", 0, 1, 0),
	api(kmsg.DescribeTopicPartitions, "DescribeTopicPartitions", 0, 0, 0),
}

// The keys that the code here names. kmsg has a constant for each.
const (
	keyProduce       = int16(kmsg.Produce)
	keyFetch         = int16(kmsg.Fetch)
	keyApiVersions   = int16(kmsg.ApiVersions)
	keyFetchSnapshot = int16(kmsg.FetchSnapshot)
)

// keyMax bounds byKey, which finds a key's line without a search: every request asks for it.
const keyMax = 127

var (
	byKey      = index(table)
	advertised = advertise(table)
)

func api(key kmsg.Key, name string, min, max, flexible int16) API {
	return API{Key: int16(key), Name: name, Min: min, Max: max, Flexible: flexible, AdvertisedMin: min}
}

func (a API) advertisedFrom(min int16) API {
	a.AdvertisedMin = min
	return a
}

func (a API) internal() API {
	a.Internal = true
	return a
}

func index(apis []API) (at [keyMax + 1]*API) {
	for i := range apis {
		at[apis[i].Key] = &apis[i]
	}
	return at
}

func advertise(apis []API) []kmsg.ApiVersionsResponseApiKey {
	keys := make([]kmsg.ApiVersionsResponseApiKey, 0, len(apis))
	for _, a := range apis {
		if a.Internal {
			continue
		}
		key := kmsg.NewApiVersionsResponseApiKey()
		key.ApiKey, key.MinVersion, key.MaxVersion = a.Key, a.AdvertisedMin, a.Max
		keys = append(keys, key)
	}
	return keys
}

// Lookup returns the table's line of a key, nil if we don't serve it. The line is shared: don't change it.
func Lookup(key int16) *API {
	if key < 0 || key > keyMax {
		return nil
	}
	return byKey[key]
}

// Supported reports whether we serve an API in this version.
func Supported(key, version int16) bool {
	a := Lookup(key)
	return a != nil && a.serves(version)
}

// Advertised returns what an ApiVersions answer lists, sorted by key. The slice is shared: don't change it.
func Advertised() []kmsg.ApiVersionsResponseApiKey { return advertised }

// APIs returns a copy of the table, sorted by key.
func APIs() []API { return slices.Clone(table) }

func (a *API) serves(version int16) bool { return version >= a.Min && version <= a.Max }

// flexible reports whether this version has compact types and tagged fields.
func (a *API) flexible(version int16) bool { return version >= a.Flexible }

// Markdown renders the table for the user's guide.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| key | API | versions | advertised | flexible from |\n|---:|---|---|---|---:|\n")
	for _, a := range table {
		advertised := "–"
		if !a.Internal {
			advertised = fmt.Sprintf("%d–%d", a.AdvertisedMin, a.Max)
		}
		fmt.Fprintf(&b, "| %d | %s | %d–%d | %s | %d |\n", a.Key, a.Name, a.Min, a.Max, advertised, a.Flexible)
	}
	return b.String()
}
