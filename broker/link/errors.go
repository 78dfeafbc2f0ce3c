package link

import (
	"errors"

	"millrace/broker/replica"
	"millrace/protocol"
)

var (
	// ErrClosed: the link was closed.
	ErrClosed = errors.New("the link is closed")

	errNoAddress   = errors.New("the broker's address is not known")
	errUnasked     = errors.New("the broker answers what was not asked")
	errAnswerLarge = errors.New("the broker's answer is larger than anything that was asked for")
)

// CodeError is what another broker answered instead of what was asked for: any code but NONE.
type CodeError protocol.Code

// Error is the code's name.
func (e CodeError) Error() string { return protocol.Code(e).String() }

// errorOf is the error of a code; nil for NONE. OFFSET_OUT_OF_RANGE alone means something to a follower.
func errorOf(code protocol.Code) error {
	switch code {
	case protocol.None:
		return nil
	case protocol.OffsetOutOfRange:
		return replica.ErrOffsetOutOfRange
	}
	return CodeError(code)
}
