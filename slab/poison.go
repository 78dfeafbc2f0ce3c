package slab

import "bytes"

const poisonByte = 0xdb

var poisonPage = bytes.Repeat([]byte{poisonByte}, 4<<10)

// fill overwrites a slab that has just been released.
func fill(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, poisonPage):]
	}
}

// checkFilled panics if somebody wrote to a slab while it was free.
func checkFilled(b []byte) {
	for len(b) > 0 {
		n := min(len(b), len(poisonPage))
		if !bytes.Equal(b[:n], poisonPage[:n]) {
			panic("slab: bytes of a released slab were written to")
		}
		b = b[n:]
	}
}
