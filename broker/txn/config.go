package txn

// Config holds the limits of a coordinator; the names in the comments are Kafka's broker settings.
type Config struct {
	MaxTimeoutMs          int32 // transaction.max.timeout.ms
	IDExpirationMs        int64 // transactional.id.expiration.ms
	ExpiryCheckIntervalMs int64 // transaction.remove.expired.transaction.cleanup.interval.ms
	// PersistTimeoutMs is how long an answer waits for its record to be durable; what the record says counts even if it is
	// durable later. It is request.timeout.ms in Kafka.
	PersistTimeoutMs int64
	MarkerRetryMs    int64 // the pause before a marker, or the record of a completed transaction, is written again
}

// DefaultConfig is Kafka's.
func DefaultConfig() Config {
	return Config{
		MaxTimeoutMs:          15 * 60 * 1_000,
		IDExpirationMs:        7 * 24 * 60 * 60 * 1_000,
		ExpiryCheckIntervalMs: 60 * 60 * 1_000,
		PersistTimeoutMs:      30_000,
		MarkerRetryMs:         100,
	}
}
