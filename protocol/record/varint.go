package record

// Varints of the record format: zigzag, at most 5 bytes for 32 bits and 10 for
// 64 (bits beyond are dropped, as in Kafka's ByteUtils). The readers take an
// index and return the next one, −1 if there is no varint at i: that keeps the
// walk over records free of slices that would have to be re-sliced. The caller
// guarantees 0 ≤ i ≤ len(p).

// varint reads a 32-bit varint. The one-byte case is split off to be inlined.
func varint(p []byte, i int) (v int32, next int) {
	if i < len(p) && p[i] < 0x80 {
		return int32(p[i]>>1) ^ -int32(p[i]&1), i + 1
	}
	return varintSlow(p, i)
}

func varintSlow(p []byte, i int) (v int32, next int) {
	var u uint32
	for shift := 0; shift < 35; shift += 7 {
		if i >= len(p) {
			return 0, -1
		}
		c := p[i]
		i++
		u |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i
		}
	}
	return 0, -1
}

// varlong reads a 64-bit varint.
func varlong(p []byte, i int) (v int64, next int) {
	var u uint64
	for shift := 0; shift < 70; shift += 7 {
		if i >= len(p) {
			return 0, -1
		}
		c := p[i]
		i++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i
		}
	}
	return 0, -1
}

// appendVarint appends a zigzag varint; a 32-bit value has the same bytes as
// the 64-bit one, so that one writer does for both.
func appendVarint(p []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		p = append(p, byte(u)|0x80)
		u >>= 7
	}
	return append(p, byte(u))
}

// varintBytes is the size of what appendVarint appends.
func varintBytes(v int64) int {
	n := 1
	for u := (uint64(v)<<1 ^ uint64(v>>63)) >> 7; u != 0; u >>= 7 {
		n++
	}
	return n
}
