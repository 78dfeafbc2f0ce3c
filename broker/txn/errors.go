package txn

import "errors"

// The answers a coordinator can give besides success. Each is one error code of the protocol; the front desk translates. They
// are compared with errors.Is.
var (
	// ErrCoordinatorNotAvailable (15): the record was not durable in time, or the log refused it for now.
	ErrCoordinatorNotAvailable = errors.New("transaction coordinator not available")
	// ErrNotCoordinator (16): this partition is led elsewhere.
	ErrNotCoordinator = errors.New("not the transaction coordinator")
	// ErrLoading (14): the log is still being replayed. Given by the driver, not by the machine.
	ErrLoading = errors.New("transaction coordinator load in progress")
	// ErrInvalidRequest (42): a transactional id that is empty or too long.
	ErrInvalidRequest = errors.New("invalid transactional id")
	// ErrInvalidTxnState (48): the transaction can't do that in its state.
	ErrInvalidTxnState = errors.New("invalid state of the transaction")
	// ErrInvalidProducerIDMapping (49): the transactional id is unknown, or has another producer id.
	ErrInvalidProducerIDMapping = errors.New("the producer id does not belong to the transactional id")
	// ErrInvalidTransactionTimeout (50): not in 1 … transaction.max.timeout.ms.
	ErrInvalidTransactionTimeout = errors.New("invalid transaction timeout")
	// ErrConcurrentTransactions (51): the transaction is in between two states; try again.
	ErrConcurrentTransactions = errors.New("the transaction is being completed")
	// ErrProducerFenced (90; INVALID_PRODUCER_EPOCH to older clients): another producer has taken the transactional id over.
	ErrProducerFenced = errors.New("the producer was fenced")
	// ErrTransactionalIDNotFound (105): DescribeTransactions of an unknown id.
	ErrTransactionalIDNotFound = errors.New("transactional id not found")
	// ErrTransactionAbortable (120, KIP-890): the partition does not belong to the transaction.
	ErrTransactionAbortable = errors.New("the partition does not belong to the transaction")
	// ErrUnknownServerError (-1): for the driver, where Kafka too has nothing better to say.
	ErrUnknownServerError = errors.New("unknown server error")
)

// Errors of Load.
var (
	// ErrUnknownRecord is a record of a kind that isn't known. It can be skipped.
	ErrUnknownRecord = errors.New("unknown kind of record")
	// ErrCorruptRecord is a record that can't be read.
	ErrCorruptRecord = errors.New("corrupt record")
)
