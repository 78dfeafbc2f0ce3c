package api

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unsafe"

	"millrace/broker"
	"millrace/metadata"
	"millrace/protocol"
	"millrace/protocol/kafka"
)

// fetchSession is an incremental fetch session (KIP-227). Whoever holds it busy owns the parts and the set.
type fetchSession struct {
	set   broker.FetchSet
	parts map[fetchKey]*broker.SetPart
	told  []*broker.SetPart // while an answer is written

	// Guarded by the cache's mutex.
	id, epoch int32
	owner     *Session
	follower  bool // it was made by one, and so is worth more than any consumer's
	size      int  // partitions, as of its last use
	made      time.Time
	used      time.Time
	busy      bool // a fetch is under way
	closed    bool // no longer in the cache
}

// fetchKey names a partition of a session: by topic id or by name, never both.
type fetchKey struct {
	id    metadata.TopicID
	name  string
	index int32
}

// fetchSessionEvictionAge is Kafka's min.incremental.fetch.session.eviction.ms, which isn't configurable there either.
const fetchSessionEvictionAge = 2 * time.Minute

// fetchSessions is the broker's cache of sessions, with Apache Kafka's rules: a new session takes a free slot, or the
// place of the one that was unused for longest if that is two minutes, or else that of a smaller one which is more than
// two minutes old. Otherwise it isn't made, and the client names all its partitions in each fetch. A follower's session
// takes the place of any consumer's, and gives its own only to another follower's.
//
// Unlike there, sessions end with the connection that made them. No client known takes a session to another connection,
// and what ten thousand partitions take, a thousand times, isn't to be kept for the dead.
type fetchSessions struct {
	slots int

	mu   sync.Mutex
	byID map[int32]*fetchSession // guarded by mu

	// What a search for an evictable session did not find, it need not look for again at once: until then there is none
	// for a session of this size or smaller. Guarded by mu.
	noneFor   int
	noneUntil time.Time
}

// open makes a session of this many partitions, busy, or returns nil. evicted is to be dropped by the caller.
func (c *fetchSessions) open(owner *Session, size int, byID, follower bool, now time.Time) (s, evicted *fetchSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byID) >= c.slots {
		if evicted = c.evictable(size, follower, now); evicted == nil {
			return nil, nil
		}
		evicted = c.take(evicted)
	}
	s = &fetchSession{parts: make(map[fetchKey]*broker.SetPart, size), epoch: 1, owner: owner, follower: follower,
		size: size, made: now, used: now, busy: true}
	s.set.ByID = byID
	for s.id == 0 || c.byID[s.id] != nil {
		s.id = 1 + rand.Int32N(math.MaxInt32)
	}
	if c.byID == nil {
		c.byID = map[int32]*fetchSession{}
	}
	c.byID[s.id] = s
	return s, evicted
}

// evictable finds the session that makes room for one of this size.
func (c *fetchSessions) evictable(size int, follower bool, now time.Time) *fetchSession {
	if !follower && size <= c.noneFor && now.Before(c.noneUntil) {
		return nil
	}
	var oldest, least *fetchSession
	for _, s := range c.byID {
		if oldest == nil || s.used.Before(oldest.used) {
			oldest = s
		}
		if s.yields(size, follower, now) && (least == nil || s.worthLess(least)) {
			least = s
		}
	}
	if oldest != nil && now.Sub(oldest.used) > fetchSessionEvictionAge {
		return oldest
	}
	if least == nil && !follower {
		c.noneFor, c.noneUntil = size, now.Add(time.Second)
	}
	return least
}

// yields says whether a session that is in use gives its place to a new one of this size: a consumer's always to a
// follower's, any other to a larger one of its kind when it is two minutes old.
func (s *fetchSession) yields(size int, follower bool, now time.Time) bool {
	if follower != s.follower {
		return follower
	}
	return s.size < size && now.Sub(s.made) > fetchSessionEvictionAge
}

func (s *fetchSession) worthLess(than *fetchSession) bool {
	if s.follower != than.follower {
		return than.follower
	}
	return s.size < than.size
}

// take removes a session from the cache, with the mutex held. It returns it if it is to be dropped by the caller: if it
// is busy, whoever ends its fetch does that.
func (c *fetchSessions) take(s *fetchSession) *fetchSession {
	delete(c.byID, s.id)
	c.noneFor = 0
	s.closed = true
	if s.busy {
		return nil
	}
	return s
}

// close ends a session, if there is one of this id.
func (c *fetchSessions) close(id int32) {
	c.mu.Lock()
	s := c.byID[id]
	if s != nil {
		s = c.take(s)
	}
	c.mu.Unlock()
	s.drop()
}

// closeOf ends the sessions that a connection made.
func (c *fetchSessions) closeOf(owner *Session) {
	var left []*fetchSession
	c.mu.Lock()
	for _, s := range c.byID {
		if s.owner == owner {
			left = append(left, c.take(s))
		}
	}
	c.mu.Unlock()
	for _, s := range left {
		s.drop()
	}
}

// begin finds the session of an incremental fetch and makes it busy. Of two fetches at a time the second is refused
// with the code that makes the client start anew; Apache Kafka refuses the first, which the client has given up.
func (c *fetchSessions) begin(r *kafka.FetchRequest, now time.Time) (*fetchSession, protocol.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byID[r.SessionID]
	switch {
	case s == nil:
		return nil, protocol.FetchSessionIDNotFound
	case s.epoch != r.SessionEpoch, s.busy:
		return nil, protocol.InvalidFetchSessionEpoch
	case s.set.ByID != (r.Version >= 13):
		return nil, protocol.FetchSessionTopicIDError
	}
	s.busy, s.used = true, now
	if s.epoch++; s.epoch <= 0 {
		s.epoch = 1 // behind MaxInt32; 0 means a new session
	}
	return s, protocol.None
}

// end makes a session idle again.
func (c *fetchSessions) end(s *fetchSession) {
	c.mu.Lock()
	s.busy, s.size = false, len(s.parts)
	closed := s.closed
	c.mu.Unlock()
	if closed {
		s.drop()
	}
}

// drop gives back what a session that has left the cache holds. s may be nil.
func (s *fetchSession) drop() {
	if s == nil {
		return
	}
	parts := make([]*broker.SetPart, 0, len(s.parts))
	for _, part := range s.parts {
		parts = append(parts, part)
	}
	s.set.Drop(parts)
	s.parts = nil
}

// update takes up what a request names and what it forgets.
func (s *fetchSession) update(r *kafka.FetchRequest) {
	for i := range r.Topics {
		t := &r.Topics[i]
		key, name := fetchKey{id: t.ID, name: alias(t.Name)}, ""
		var room []broker.SetPart // for those that are new: a topic's parts lie together
		for j := range t.Partitions {
			asked := &t.Partitions[j]
			key.index = asked.Index
			part := s.parts[key]
			if part == nil {
				if len(room) == 0 {
					room, name = make([]broker.SetPart, len(t.Partitions)-j), strings.Clone(key.name)
				}
				part, room = &room[0], room[1:]
				part.Topic, part.TopicID, part.Index = name, t.ID, asked.Index
				s.parts[fetchKey{id: t.ID, name: name, index: asked.Index}] = part
			}
			part.LeaderEpoch, part.Offset, part.BytesMax = asked.CurrentLeaderEpoch, asked.FetchOffset, int(asked.MaxBytes)
			part.LastEpoch, part.DivergingEpoch = asked.LastFetchedEpoch, -1
			s.set.Ask(part)
		}
	}
	var dropped []*broker.SetPart
	for i := range r.Forgotten {
		t := &r.Forgotten[i]
		key := fetchKey{id: t.ID, name: alias(t.Name)}
		for _, key.index = range t.Partitions {
			if part := s.parts[key]; part != nil {
				delete(s.parts, key)
				dropped = append(dropped, part)
			}
		}
	}
	if dropped != nil {
		s.set.Drop(dropped)
	}
}

// alias is a name that lies in a request as a string, for a look-up. It lives no longer than the request.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf is the reverse, for the encoder, which only reads it.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// replySession answers a fetch from a session: with all its partitions at first, later with those that have news.
// Partitions of a topic that don't come one after the other make the topic come several times, as on Apache Kafka.
func (c *fetchCall) replySession() {
	s := c.session
	s.told = s.told[:0]
	topics := 0
	for _, part := range s.set.Read() {
		if !part.News() {
			continue
		}
		if n := len(s.told); n == 0 || !sameTopic(s.told[n-1], part) {
			topics++
		}
		s.told = append(s.told, part)
	}
	c.response.Begin(&c.out, c.request.Version, c.correlationID, 0, protocol.None, s.id, topics)
	for rest := s.told; len(rest) > 0; {
		n := 1
		for n < len(rest) && sameTopic(rest[0], rest[n]) {
			n++
		}
		c.topic(bytesOf(rest[0].Topic), rest[0].TopicID, n)
		for _, part := range rest[:n] {
			c.partition(part.Index, &part.FetchPart)
		}
		rest = rest[n:]
	}
	c.end()
	clear(s.told)
	s.set.Settle()
}

func sameTopic(a, b *broker.SetPart) bool { return a.Topic == b.Topic && a.TopicID == b.TopicID }
