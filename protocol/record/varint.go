package record

// Varints of the record format: zigzag, at most 5 bytes for 32 bits and 10 for
// 64; bits beyond are dropped, as in Kafka's ByteUtils. The two readers return
// the raw number, in which odd means negative, and the index behind it: −1 if
// there is no varint at i. They are written for their one-byte case to be
// inlined, as a walk over records does little else; the price is that the caller
// must see to 0 ≤ i < len(p).

// raw32 reads a varint of 32 bits.
func raw32(p []byte, i int) (u uint32, next int) {
	if u, next = uint32(p[i]), i+1; u >= 0x80 {
		u, next = long32(p, i)
	}
	return
}

// raw64 reads a varint of 64 bits.
func raw64(p []byte, i int) (u uint64, next int) {
	if u, next = uint64(p[i]), i+1; u >= 0x80 {
		u, next = long64(p, i)
	}
	return
}

func long32(p []byte, i int) (u uint32, next int) {
	for shift := 0; shift < 35 && i < len(p); shift += 7 {
		c := p[i]
		i++
		u |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

func long64(p []byte, i int) (u uint64, next int) {
	for shift := 0; shift < 70 && i < len(p); shift += 7 {
		c := p[i]
		i++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

func zigzag32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }
func zigzag64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// appendVarint appends a varint. A 32-bit value has the same bytes as the 64-bit
// one, so that one writer does for both.
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
