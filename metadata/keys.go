package metadata

import (
	"strconv"
	"strings"
)

// The keys, below the prefix that a Store may put before all of them:
//
//	cluster                     the cluster's id
//	brokers/<id>                a registration, or the note that the broker was removed
//	topics/<name>               id, and the replicas of each partition as created
//	configs/topics/<topic id>   the topic's own settings
//	configs/<kind>/<name>       settings of brokers (by id, or "default"), groups and client metrics
//	partitions/<topic id>/<n>   a partition that isn't any more as it was created
//	producer-ids                the first producer id that is free
//	controller                  who decides about the cluster; goes with that one's lease
//	alive/<broker id>           a broker's life that is heard of; goes with its lease
//
// Creating a topic is one key however many partitions it has, so it happens as
// a whole even in a store whose transactions are small. A partition gets a key
// of its own with its first change. Partitions and settings hang on the id and
// not on the name: what is left of a deleted topic can't reach its successor.
const (
	keyCluster     = "cluster"
	keyProducerIDs = "producer-ids"
	keyController  = "controller"

	dirBrokers    = "brokers/"
	dirAlive      = "alive/"
	dirTopics     = "topics/"
	dirConfigs    = "configs/topics/"
	dirResources  = "configs/"
	dirPartitions = "partitions/"
)

func brokerKey(id int32) string       { return dirBrokers + strconv.Itoa(int(id)) }
func aliveKey(id int32) string        { return dirAlive + strconv.Itoa(int(id)) }
func topicKey(name string) string     { return dirTopics + name }
func configKey(id TopicID) string     { return dirConfigs + id.String() }
func partitionsDir(id TopicID) string { return dirPartitions + id.String() + "/" }
func partitionKey(id TopicID, index int32) string {
	return partitionsDir(id) + strconv.Itoa(int(index))
}

// keyKind orders what was written in one revision: what others refer to comes
// first, and an end before a beginning.
type keyKind uint8

const (
	kindUnknown keyKind = iota // of a later release: not ours to judge
	kindCluster
	kindProducerIDs
	kindController
	kindBroker
	kindAlive
	kindTopicDeleted
	kindTopic
	kindConfig
	kindResourceConfig
	kindPartition
)

func kindOf(ev Event) keyKind {
	switch {
	case ev.Key == keyCluster:
		return kindCluster
	case ev.Key == keyProducerIDs:
		return kindProducerIDs
	case ev.Key == keyController:
		return kindController
	case strings.HasPrefix(ev.Key, dirBrokers):
		return kindBroker
	case strings.HasPrefix(ev.Key, dirAlive):
		return kindAlive
	case strings.HasPrefix(ev.Key, dirTopics) && ev.Deleted:
		return kindTopicDeleted
	case strings.HasPrefix(ev.Key, dirTopics):
		return kindTopic
	case strings.HasPrefix(ev.Key, dirConfigs):
		return kindConfig
	case strings.HasPrefix(ev.Key, dirResources):
		if _, ok := parseResourceKey(ev.Key); ok {
			return kindResourceConfig
		}
		return kindUnknown
	case strings.HasPrefix(ev.Key, dirPartitions):
		return kindPartition
	}
	return kindUnknown
}

// parsePartitionKey reads what partitionKey writes, and nothing else.
func parsePartitionKey(key string) (id TopicID, index int32, ok bool) {
	text, number, ok := strings.Cut(strings.TrimPrefix(key, dirPartitions), "/")
	if !ok {
		return id, 0, false
	}
	id, err := ParseTopicID(text)
	if err != nil {
		return id, 0, false
	}
	index, ok = parseID(number)
	return id, index, ok
}

// parseID reads a number ≥ 0 in its one decimal form.
func parseID(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return int32(n), true
}
