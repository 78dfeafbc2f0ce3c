package plog

import (
	"errors"
	"fmt"

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

// errFull is made once, since a full pool refuses many.
var errFull = fmt.Errorf("%w: %w", ErrStorage, slab.ErrFull)

func storageError(err error) error {
	if err == slab.ErrFull {
		return errFull
	}
	return fmt.Errorf("%w: %w", ErrStorage, err)
}
