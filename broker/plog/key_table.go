package plog

import (
	"crypto/sha256"
	"math/bits"

	"millrace/slab"
)

// keyTable tells the last offset of each key in a part of the log. As in Apache Kafka's cleaner a key is 16 bytes of a
// cryptographic hash of it: two keys with the same hash would cost one of them its records, and nobody can make such two.
//
// It lies in a slab, so it counts against the memory's limit, and never grows: a pass of the cleaner takes as much of the
// log as there is room for keys. An entry is the hash and offset + 1; zero is an empty entry.
type keyTable struct {
	slab    *slab.Slab
	mem     []byte
	entries uint64
	used    uint64
	cleared int // bytes of mem that have been set to zero
}

const (
	keyEntryBytes = 24
	hashBytes     = 16

	// keyTableBytesMax is room for half a million keys.
	keyTableBytesMax = 16 << 20

	// clearStepBytes is how much of a table is cleared at a time: fresh memory costs a page fault for each page.
	clearStepBytes = 512 << 10
)

type keyHash [hashBytes]byte

func hashOf(key []byte) keyHash {
	sum := sha256.Sum256(key)
	return keyHash(sum[:])
}

// newKeyTable takes memory for the keys of a part of the log of so many bytes, or what can be had.
func newKeyTable(pool *slab.Pool, bytes int64, use slab.Use) (*keyTable, error) {
	want := smallestSlab
	for int64(want) < bytes/2 && want < keyTableBytesMax {
		want *= 4
	}
	for {
		got, err := pool.Get(want, use)
		if err == nil {
			mem := got.Bytes()
			return &keyTable{slab: got, mem: mem, entries: uint64(len(mem) / keyEntryBytes)}, nil
		}
		if want /= 4; want < smallestSlab {
			return nil, storageError(err)
		}
	}
}

// clear sets some of the memory to zero; done: all of it is.
func (t *keyTable) clear() (done bool) {
	to := min(t.cleared+clearStepBytes, len(t.mem))
	clear(t.mem[t.cleared:to])
	t.cleared = to
	return to == len(t.mem)
}

// entry of a key: its own, or the empty one where it belongs.
func (t *keyTable) entry(h keyHash) []byte {
	i, _ := bits.Mul64(le.Uint64(h[:]), t.entries)
	for {
		e := t.mem[i*keyEntryBytes : (i+1)*keyEntryBytes]
		if le.Uint64(e[hashBytes:]) == 0 || keyHash(e[:hashBytes]) == h {
			return e
		}
		if i++; i == t.entries {
			i = 0
		}
	}
}

// put notes a key's offset; false: the table is full.
func (t *keyTable) put(h keyHash, offset int64) bool {
	e := t.entry(h)
	if le.Uint64(e[hashBytes:]) == 0 {
		if t.used >= t.entries-t.entries/4 { // a fuller one makes for long searches
			return false
		}
		t.used++
		copy(e, h[:])
	}
	le.PutUint64(e[hashBytes:], uint64(offset)+1)
	return true
}

// last is the last offset of a key, −1 if it isn't there.
func (t *keyTable) last(h keyHash) int64 { return int64(le.Uint64(t.entry(h)[hashBytes:])) - 1 }
