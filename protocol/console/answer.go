package console

// Answer is what a command leads to: one of the types below. broker/console fills them in, Render writes them.
//
// Numbers that aren't known are −1 where a count can't be; times are milliseconds since 1970.
type Answer interface {
	text(p *printer) // the lines of the answer
	objects() []any  // the same as JSON objects, one a line
	summary() string // what stands after OK
}

type (
	// Done is an answer that is one sentence.
	Done struct{ Message string }

	// BrokerCreated answers CREATE_BROKER. The row's Port is the real one.
	BrokerCreated struct{ Broker BrokerRow }

	// BrokerList answers BROKERS.
	BrokerList []BrokerRow

	// BrokerRow is one broker.
	BrokerRow struct {
		Broker      int32  `json:"broker"`
		Host        string `json:"host"`
		Port        int32  `json:"port"`
		Rack        string `json:"rack,omitempty"`
		Incarnation uint64 `json:"-"`           // written in hexadecimal: JavaScript's numbers end at 2^53
		State       string `json:"state"`       // up, fenced, draining
		Controller  bool   `json:"controller"`  // answers as the cluster's controller
		Leaders     int    `json:"leaders"`     // partitions that it leads
		Replicas    int    `json:"replicas"`    // partitions that it holds
		Connections int    `json:"connections"` // that are open
		SizeBytes   int64  `json:"size_bytes"`  // of its records
	}

	// BrokerGone answers KILL_BROKER, DRAIN and ONLY_COPIES: Lost are the partitions of which no other broker has the records.
	BrokerGone struct {
		Broker  int32          `json:"broker"`
		Message string         `json:"-"`
		Lost    []PartitionRow `json:"only_copies"`
	}

	// TopicCreated answers CREATE_TOPIC.
	TopicCreated struct{ Topic TopicRow }

	// TopicList answers TOPICS.
	TopicList []TopicRow

	// TopicRow is one topic.
	TopicRow struct {
		Topic             string `json:"topic"`
		ID                string `json:"id"`
		Partitions        int    `json:"partitions"`
		ReplicationFactor int    `json:"replication_factor"`
		Records           int64  `json:"records"` // offsets between start and high watermark, all partitions
		SizeBytes         int64  `json:"size_bytes"`
		Internal          bool   `json:"internal"`
	}

	// TopicDescription answers DESCRIBE_TOPIC.
	TopicDescription struct {
		TopicRow
		Configs []ConfigRow    `json:"configs"` // those that the topic overrides
		Rows    []PartitionRow `json:"partition_list"`
	}

	// ConfigRow is one topic config.
	ConfigRow struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}

	// PartitionRow is one partition.
	PartitionRow struct {
		Topic           string  `json:"topic"`
		Partition       int32   `json:"partition"`
		Leader          int32   `json:"leader"` // −1: none
		LeaderEpoch     int32   `json:"leader_epoch"`
		PartitionEpoch  int32   `json:"partition_epoch"`
		Replicas        []int32 `json:"replicas"`
		ISR             []int32 `json:"isr"`
		ELR             []int32 `json:"elr"` // out of the ISR, and with all that is committed
		Adding          []int32 `json:"adding,omitempty"`
		Removing        []int32 `json:"removing,omitempty"`
		UnderReplicated bool    `json:"under_replicated"`
		LossGeneration  int32   `json:"loss_generation"` // how often its records were lost
		StartOffset     int64   `json:"start_offset"`
		HighWatermark   int64   `json:"high_watermark"`
		EndOffset       int64   `json:"end_offset"`
		SizeBytes       int64   `json:"size_bytes"`
	}

	// Produced answers PRODUCE.
	Produced struct {
		Topic       string `json:"topic"`
		Partition   int32  `json:"partition"`
		Offset      int64  `json:"offset"`
		TimestampMs int64  `json:"timestamp_ms"`
	}

	// RecordList answers CONSUME.
	RecordList struct {
		Records       []RecordRow
		NextOffset    int64 // where the next CONSUME goes on
		HighWatermark int64
	}

	// RecordRow is one record. The bytes are only read.
	RecordRow struct {
		Partition   int32
		Offset      int64
		TimestampMs int64  // −1: none
		Key, Value  []byte // nil: null
		Headers     []Header
	}

	// GroupList answers GROUPS.
	GroupList []GroupRow

	// GroupRow is one consumer group.
	GroupRow struct {
		Group       string `json:"group"`
		State       string `json:"state"` // Empty, PreparingRebalance, CompletingRebalance, Stable, Dead
		Protocol    string `json:"protocol"`
		Generation  int32  `json:"generation"`
		Members     int    `json:"members"`
		Coordinator int32  `json:"coordinator"`
		Lag         int64  `json:"lag"` // −1: unknown
	}

	// LagReport answers LAG.
	LagReport struct {
		GroupRow
		Rows []LagRow `json:"partitions"`
	}

	// LagRow is a group's place in one partition.
	LagRow struct {
		Group         string `json:"group"`
		Topic         string `json:"topic"`
		Partition     int32  `json:"partition"`
		CurrentOffset int64  `json:"current_offset"` // committed; −1: none
		EndOffset     int64  `json:"end_offset"`     // the high watermark, as Kafka's tools show it
		Lag           int64  `json:"lag"`            // −1: unknown, nothing was committed
		MemberID      string `json:"member_id"`      // "" nobody reads it
		Host          string `json:"host"`
		ClientID      string `json:"client_id"`
	}

	// ServerStatus answers STATUS.
	ServerStatus struct {
		Version           string `json:"version"`
		ClusterID         string `json:"cluster_id"`
		ControllerID      int32  `json:"controller_id"`
		MetadataRevision  int64  `json:"metadata_revision"`
		UptimeMs          int64  `json:"uptime_ms"`
		Brokers           int    `json:"brokers"`
		Topics            int    `json:"topics"`
		Partitions        int    `json:"partitions"`
		OfflinePartitions int    `json:"offline_partitions"`
		UnderReplicated   int    `json:"under_replicated_partitions"`
		Groups            int    `json:"groups"`
		Connections       int    `json:"connections"`
		Goroutines        int    `json:"goroutines"`
		RecordBytes       int64  `json:"record_bytes"`
		MemoryUsedBytes   int64  `json:"memory_used_bytes"` // of the limit below
		MemoryMaxBytes    int64  `json:"memory_max_bytes"`
	}

	// WatchState is one picture of the cluster, as WATCH shows it.
	WatchState struct {
		TimeMs     int64          `json:"time_ms"`
		Revision   int64          `json:"metadata_revision"`
		Brokers    []BrokerRow    `json:"brokers"`
		Partitions []PartitionRow `json:"partitions"`
		Groups     []GroupRow     `json:"groups"`
		Lags       []LagRow       `json:"lags"`
		LeftOut    int            `json:"left_out"` // partitions and lags that were too many to show

		Offline         int          `json:"offline_partitions"`          // all of them, shown or not
		UnderReplicated int          `json:"under_replicated_partitions"` // the same
		Events          []WatchEvent `json:"events"`                      // since the last picture
		EventsLeftOut   int          `json:"events_left_out"`             // that were too many
	}

	// WatchEvent is a change that an operator wants to know of. What it isn't about is −1.
	WatchEvent struct {
		TimeMs         int64     `json:"time_ms"`
		Event          EventKind `json:"event"`
		Broker         int32     `json:"broker"`
		Topic          string    `json:"topic,omitempty"`
		Partition      int32     `json:"partition"`
		Leader         int32     `json:"leader"`
		LeaderEpoch    int32     `json:"leader_epoch"`
		ISR            []int32   `json:"isr,omitempty"`
		LossGeneration int32     `json:"loss_generation"`
	}

	// EventKind is one of the constants below.
	EventKind string

	// HelpText answers HELP. About is "" for all commands.
	HelpText struct{ About string }
)

// The kinds of WatchEvent.
const (
	BrokerRegistered EventKind = "broker_registered" // a broker came, or came back without its RAM
	BrokerFenced     EventKind = "broker_fenced"     // it isn't heard of
	BrokerUnfenced   EventKind = "broker_unfenced"   // it is heard of again, with its RAM
	BrokerDraining   EventKind = "broker_draining"
	BrokerStays      EventKind = "broker_stays" // it doesn't drain any more
	BrokerRemoved    EventKind = "broker_removed"
	NewLeader        EventKind = "leader" // −1: nobody leads any more
	NewISR           EventKind = "isr"    // under the same leader
	RecordsLost      EventKind = "loss"   // declared: no replica is left that had all of them
)
