package metadata

import (
	"hash/maphash"
	"maps"
)

// shardCount is a compromise: a change copies the table of shards (2 KiB) and
// one shard (1/256 of the entries), so a topic among 10,000 costs some
// microseconds, and one among 100,000 some ten.
const shardCount = 256

// shards is an immutable map cut into shards. Who wants to change it takes an
// edit, and gets a new one that shares every shard that wasn't touched.
type shards[K comparable, V any] struct {
	table *[shardCount]map[K]V // nil: empty
}

func (s shards[K, V]) get(shard uint8, k K) (V, bool) {
	if s.table == nil {
		var zero V
		return zero, false
	}
	v, ok := s.table[shard][k]
	return v, ok
}

// each calls f for every value, in no order.
func (s shards[K, V]) each(f func(V)) {
	if s.table == nil {
		return
	}
	for _, shard := range s.table {
		for _, v := range shard {
			f(v)
		}
	}
}

// shardsEdit copies a shard when it is first written to.
type shardsEdit[K comparable, V any] struct {
	shards[K, V]
	ownTable bool
	own      [shardCount]bool
}

func (e *shardsEdit[K, V]) writable(shard uint8) map[K]V {
	if !e.ownTable {
		table := new([shardCount]map[K]V)
		if e.table != nil {
			*table = *e.table
		}
		e.table, e.ownTable = table, true
	}
	if !e.own[shard] {
		e.own[shard] = true
		if m := e.table[shard]; m != nil {
			e.table[shard] = maps.Clone(m)
		} else {
			e.table[shard] = make(map[K]V)
		}
	}
	return e.table[shard]
}

func (e *shardsEdit[K, V]) set(shard uint8, k K, v V) { e.writable(shard)[k] = v }

func (e *shardsEdit[K, V]) remove(shard uint8, k K) {
	if _, ok := e.get(shard, k); ok {
		delete(e.writable(shard), k)
	}
}

var nameSeed = maphash.MakeSeed()

func nameShard(name string) uint8      { return uint8(maphash.String(nameSeed, name)) }
func nameShardBytes(name []byte) uint8 { return uint8(maphash.Bytes(nameSeed, name)) }
func idShard(id TopicID) uint8         { return id[15] } // random as it is
