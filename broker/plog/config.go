package plog

import (
	"math"

	"millrace/slab"
)

// TimestampType is message.timestamp.type.
type TimestampType uint8

const (
	// CreateTime keeps the producer's timestamps.
	CreateTime TimestampType = iota
	// LogAppendTime gives all records of a batch the broker's time.
	LogAppendTime
)

// Config is what a topic's configuration says about the log of a partition.
// Start from DefaultConfig: zero is a meaningful value of most fields.
type Config struct {
	RetentionMs    int64 // retention.ms; negative: unlimited
	RetentionBytes int64 // retention.bytes; negative: unlimited
	SegmentBytes   int64 // segment.bytes; also the bound of one batch
	SegmentMs      int64 // segment.ms, by the broker's clock

	// RetentionCheckMs is log.retention.check.interval.ms: for so long after its
	// last append (or for RetentionMs, if that is less) a segment is safe from
	// retention.ms, however old its records' timestamps are.
	RetentionCheckMs int64

	MaxMessageBytes int32 // max.message.bytes, of a batch as it is stored

	TimestampType        TimestampType // message.timestamp.type
	TimestampBeforeMaxMs int64         // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64         // message.timestamp.after.max.ms

	Compact                bool    // cleanup.policy has compact
	DeleteRetentionMs      int64   // delete.retention.ms
	MinCompactionLagMs     int64   // min.compaction.lag.ms
	MaxCompactionLagMs     int64   // max.compaction.lag.ms
	MinCleanableDirtyRatio float64 // min.cleanable.dirty.ratio

	Use slab.Use // on whose account the slabs are
}

// DefaultConfig holds Apache Kafka 4's defaults.
func DefaultConfig() Config {
	const hourMs = 60 * 60 * 1000
	return Config{
		RetentionMs:            7 * 24 * hourMs,
		RetentionBytes:         -1,
		SegmentBytes:           1 << 30,
		SegmentMs:              7 * 24 * hourMs,
		RetentionCheckMs:       hourMs / 12,
		MaxMessageBytes:        1<<20 + 12,
		TimestampBeforeMaxMs:   math.MaxInt64,
		TimestampAfterMaxMs:    hourMs,
		DeleteRetentionMs:      24 * hourMs,
		MaxCompactionLagMs:     math.MaxInt64,
		MinCleanableDirtyRatio: 0.5,
		Use:                    slab.UseRecords,
	}
}

const (
	smallestSlab = 4 << 10
	largestSlab  = 1 << 20

	// Batches above largestSlab/4 would leave much of a slab of largestSlab
	// empty behind the last that fits. Their log may have one class more.
	slabForLarge = 4 << 20
)

// segmentLimit is the number of bytes at which a segment is full, whatever its
// slab could hold. Below smallestSlab it would only waste memory.
func (c *Config) segmentLimit() int {
	limit := min(c.SegmentBytes, slabForLarge)
	if c.RetentionBytes >= 0 {
		limit = min(limit, c.RetentionBytes/4)
	}
	return int(max(limit, smallestSlab))
}

// rollMs is the age at which a segment is closed: on a compacted topic early enough that compaction can keep its promise.
func (c *Config) rollMs() int64 {
	if c.Compact {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}

// slabBytes is the size of the slab to get for a batch of size bytes in a log
// whose slabs come to held bytes: the next class above that, so that slabs grow
// ×4 with the log and shrink with it. The batch may be larger.
func (c *Config) slabBytes(size int, held int64) int {
	largest := largestSlab
	if size > largestSlab/4 {
		largest = slabForLarge
	}
	largest = min(largest, c.segmentLimit())
	want := smallestSlab
	for int64(want) <= held && want*4 <= largest {
		want *= 4
	}
	return max(want, size)
}
