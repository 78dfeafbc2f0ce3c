package floor

import "errors"

// KeyEcho is the API key of a request that is answered with 32 bytes: size, correlation id and padding. Apache Kafka
// has no such key.
const KeyEcho = 0x7fff

// EchoBytes is the size of an answer to KeyEcho.
const EchoBytes = 32

// Options says what the server shall be ready for.
type Options struct {
	Addr string // where to listen, IPv4
	// RetainBytes is the memory for what is produced: when it is full the oldest slab is used again.
	RetainBytes int
	// ShelfBytes is the memory that is fetched from, in batches of BatchBytes made of records of RecordBytes.
	ShelfBytes, BatchBytes, RecordBytes int
	Partitions                          int // of every topic that wasn't created with its own number
	// Fresh leaves memory untouched, so that a run pays for the first touch of each page.
	Fresh bool
	// Ready is called once the server listens.
	Ready func()
}

// errFrame is a frame of an impossible size: the connection is closed.
var errFrame = errors.New("a frame too small or too large")
