package console

import "encoding/binary"

// Murmur2 is the hash by which Kafka's Java client chooses a partition for a key (org.apache.kafka.common.utils.Utils.murmur2: 32 bits,
// its own seed), so that a key lands on the same partition from the console as from Java, or from librdkafka with partitioner=murmur2.
func Murmur2(key []byte) int32 {
	const (
		seed     = 0x9747b28c
		multiply = 0x5bd1e995
		rotate   = 24
	)
	h := uint32(seed) ^ uint32(len(key))
	for len(key) >= 4 {
		k := binary.LittleEndian.Uint32(key) * multiply
		k ^= k >> rotate
		h = h*multiply ^ k*multiply
		key = key[4:]
	}
	switch len(key) {
	case 3:
		h ^= uint32(key[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(key[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(key[0])
		h *= multiply
	}
	h ^= h >> 13
	h *= multiply
	h ^= h >> 15
	return int32(h)
}

// PartitionFor is the partition of a key among n (at least 1): the hash without its sign, modulo n. An empty key counts as a key.
func PartitionFor(key []byte, n int32) int32 {
	return (Murmur2(key) & 0x7fffffff) % n
}
