package plog

import (
	"errors"
	"fmt"

	"millrace/protocol/record"
	"millrace/slab"
)

var (
	// ErrOffsetOutOfRange: below StartOffset or above EndOffset.
	ErrOffsetOutOfRange = errors.New("offset out of range")

	// ErrMessageTooLarge: the batch is larger than max.message.bytes.
	ErrMessageTooLarge = errors.New("record batch is larger than max.message.bytes")

	// ErrRecordListTooLarge: the batch is larger than segment.bytes.
	ErrRecordListTooLarge = errors.New("record batch is larger than segment.bytes")

	// ErrInvalidTimestamp: a record's timestamp is further from now than
	// message.timestamp.before.max.ms or message.timestamp.after.max.ms allow,
	// or the batch claims to be LogAppendTime on a topic that is.
	ErrInvalidTimestamp = errors.New("record timestamp is out of range")

	// ErrStorage: no memory for the batch now. Retriable; wraps the pool's
	// error.
	ErrStorage = errors.New("log storage")
)

// NoKeyError: records without a key were to be appended to the log of a compacted topic. Indexes say which of the batch,
// the first ones if they are many.
type NoKeyError struct{ Indexes []int32 }

// noKeysTold bounds the answer that a small batch can cause.
const noKeysTold = 100

func (e *NoKeyError) Error() string { return "compacted topic cannot accept message without key" }

// Unwrap: the batch is one that may not be appended.
func (e *NoKeyError) Unwrap() error { return record.ErrInvalidRecord }

// What AppendReplicated refuses; fixed values, since a follower asks again and
// again.
var (
	errCRC       = fmt.Errorf("%w: checksum does not match", record.ErrCorrupt)
	errCutOff    = fmt.Errorf("%w: bytes end before the batch does", record.ErrCorrupt)
	errNotNext   = fmt.Errorf("%w: it begins below the end of the log", record.ErrCorrupt)
	errEpochFell = fmt.Errorf("%w: leader epoch below that of the batch before", record.ErrCorrupt)
)

// errTableFull ends the filling of a keyTable.
var errTableFull = errors.New("no room for more keys")

// errFull is made once, since a full pool refuses many.
var errFull = fmt.Errorf("%w: %w", ErrStorage, slab.ErrFull)

func storageError(err error) error {
	if err == slab.ErrFull {
		return errFull
	}
	return fmt.Errorf("%w: %w", ErrStorage, err)
}
