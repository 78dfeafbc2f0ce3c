package console

import "time"

// Command is one parsed line: a value of one of the types below.
type Command interface{ command() }

// The commands. Text that a user gave is a copy and belongs to whoever holds the command.
type (
	// CreateBroker starts a broker that listens on Host (no brackets; a zone id is kept) and Port (0: any free one).
	CreateBroker struct {
		Host string
		Port int32
	}
	// RemoveBroker stops a broker. With Now nobody waits until others have what only it has.
	RemoveBroker struct {
		ID  int32
		Now bool
	}
	// KillBroker has a broker drop its RAM without a word to anyone, as a crash would.
	KillBroker struct{ ID int32 }
	// StartBroker starts a broker again that was killed.
	StartBroker struct{ ID int32 }
	// Drain moves what a broker leads, and what nobody else has, to others.
	Drain struct {
		ID     int32
		Cancel bool // it is to stay after all
	}
	// OnlyCopies lists what is lost if a broker goes now.
	OnlyCopies struct{ ID int32 }
	// Brokers lists the brokers.
	Brokers struct{}
	// CreateTopic creates a topic.
	CreateTopic struct {
		Name              string
		Partitions        int32             // −1: num.partitions
		ReplicationFactor int16             // −1: default.replication.factor
		Configs           map[string]string // nil: none
	}
	// DeleteTopic deletes a topic.
	DeleteTopic struct{ Name string }
	// Topics lists the topics.
	Topics struct{}
	// DescribeTopic shows one topic.
	DescribeTopic struct{ Name string }
	// Elect holds an election for one partition.
	Elect struct {
		Topic     string
		Partition int32
		Unclean   bool // else the preferred leader is elected
	}
	// Reassign moves a partition to other brokers.
	Reassign struct {
		Topic     string
		Partition int32
		Replicas  []int32 // the first is the preferred leader; nil: what is under way is called off
	}
	// Produce appends one record.
	Produce struct {
		Topic       string
		Partition   int32  // −1: by key, round robin without one
		Key, Value  []byte // nil: null
		Headers     []Header
		TimestampMs int64 // −1: now
	}
	// Consume reads records of one partition, those that are there already.
	Consume struct {
		Topic     string
		Partition int32
		From      Position
		Max       int32 // records, at least 1
	}
	// Groups lists the consumer groups.
	Groups struct{}
	// Lag shows how far a group is behind, for each partition that it has committed offsets for or reads.
	Lag struct{ Group string }
	// Status shows the server in figures.
	Status struct{}
	// Watch shows the cluster's state at once, on each change and at least each Interval, until a line comes in.
	Watch struct{ Interval time.Duration }
	// Help explains all commands, or one (upper case; known).
	Help struct{ About string }
	// Format chooses how this connection's answers are written from now on.
	Format struct{ Format Encoding }
	// Quit ends the connection.
	Quit struct{}
)

func (CreateBroker) command()  {}
func (RemoveBroker) command()  {}
func (OnlyCopies) command()    {}
func (KillBroker) command()    {}
func (StartBroker) command()   {}
func (Drain) command()         {}
func (Brokers) command()       {}
func (CreateTopic) command()   {}
func (DeleteTopic) command()   {}
func (Topics) command()        {}
func (DescribeTopic) command() {}
func (Elect) command()         {}
func (Reassign) command()      {}
func (Produce) command()       {}
func (Consume) command()       {}
func (Groups) command()        {}
func (Lag) command()           {}
func (Status) command()        {}
func (Watch) command()         {}
func (Help) command()          {}
func (Format) command()        {}
func (Quit) command()          {}

// Header is a record's header. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Position is where to read from: Offset records after Base.
type Position struct {
	Base   Base
	Offset int64 // negative only with End
}

// Base is what a Position counts from.
type Base uint8

const (
	Zero  Base = iota // offset 0, whether it is still there or not
	Start             // the log start offset
	End               // the high watermark
)

// Encoding is how answers are written.
type Encoding uint8

const (
	Text Encoding = iota
	JSON
)

// DefaultConsumeMax is how many records CONSUME answers if it isn't told, MaxConsumeMax the most it may be asked for.
const (
	DefaultConsumeMax = 10
	MaxConsumeMax     = 100_000
)

// WATCH: how often it answers although nothing changed.
const (
	DefaultWatchInterval = 5 * time.Second
	MinWatchInterval     = 100 * time.Millisecond
	MaxWatchInterval     = time.Hour
)
