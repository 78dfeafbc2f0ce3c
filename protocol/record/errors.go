package record

import "errors"

// The kinds of error of this package. The texts that Check and Next return say
// more; they are fixed values, so that refusing hostile bytes allocates nothing.
var (
	// ErrCorrupt: CRC or length field are wrong, or the magic byte is unknown.
	// On the wire: CORRUPT_MESSAGE.
	ErrCorrupt = errors.New("corrupt record batch")

	// ErrInvalidRecord: the bytes arrived as they were sent, but are no batch
	// that a client may append. On the wire: INVALID_RECORD.
	ErrInvalidRecord = errors.New("invalid record")

	// ErrUnsupportedCompression: the attributes name a codec that doesn't
	// exist. On the wire: UNSUPPORTED_COMPRESSION_TYPE.
	ErrUnsupportedCompression = errors.New("unsupported compression type")

	// ErrTooLarge: the records decompress to more than Scratch.MaxBytes.
	ErrTooLarge = errors.New("decompressed records are too large")

	// ErrTruncated: the bytes end before the batch does. It is an
	// ErrInvalidRecord, since a produce request with a part of a batch is one.
	ErrTruncated error = &fault{ErrInvalidRecord, "bytes end before the batch does"}

	// ErrUnsupportedMagic: message format 0 or 1. Apache Kafka answers it with
	// INVALID_RECORD to Produce 3 and later (ProduceRequest.validateRecords;
	// UNSUPPORTED_FOR_MESSAGE_FORMAT is for old formats on a broker that still
	// accepts them), so it is an ErrInvalidRecord.
	ErrUnsupportedMagic error = &fault{ErrInvalidRecord, "message formats 0 and 1 are not supported, only 2"}
)

// The faults that Next, Single and Check find.
var (
	errMagic       = &fault{ErrCorrupt, "unknown magic byte"}
	errLength      = &fault{ErrCorrupt, "batch length is below that of a batch header"}
	errCRC         = &fault{ErrCorrupt, "checksum does not match"}
	errEmpty       = &fault{ErrInvalidRecord, "no record batch"}
	errSeveral     = &fault{ErrInvalidRecord, "more than one record batch"}
	errBaseOffset  = &fault{ErrInvalidRecord, "base offset of a batch to append must be 0"}
	errCount       = &fault{ErrInvalidRecord, "record count does not match last offset delta"}
	errControl     = &fault{ErrInvalidRecord, "clients may not write control batches"}
	errSequence    = &fault{ErrInvalidRecord, "producer id without a sequence number"}
	errRecord      = &fault{ErrInvalidRecord, "malformed record"}
	errOffsetDelta = &fault{ErrInvalidRecord, "offset deltas are not 0, 1, 2 …"}
	errRemaining   = &fault{ErrInvalidRecord, "bytes left behind the last record"}
	errImplausible = &fault{ErrInvalidRecord, "more records are claimed than the bytes could hold"}
	errCodec       = &fault{ErrUnsupportedCompression, "unknown codec in the attributes"}
	errDecompress  = &fault{ErrInvalidRecord, "records do not decompress"}
)

// fault is a fixed error with a kind that errors.Is finds.
type fault struct {
	kind error
	text string
}

func (f *fault) Error() string { return f.kind.Error() + ": " + f.text }
func (f *fault) Unwrap() error { return f.kind }
