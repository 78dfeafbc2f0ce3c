package api

import (
	"net/netip"
	"sync"

	"millrace/protocol/kafka"
)

// metadataCache keeps the Metadata answers of one revision of the cluster's image, by the request's own bytes: the
// same question has the same answer until the image changes. So a thousand clients that come back at once and ask for
// ten thousand topics share one answer, which the sockets send from where it lies; and the usual small question is
// neither decoded nor encoded.
//
// Answers that depend on more than image, request and the client's way to us must not come here: those of requests
// that create topics don't.
type metadataCache struct {
	mu       sync.Mutex
	revision int64
	bytes    int
	answers  map[metadataKey]kafka.Encoded
}

type metadataKey struct {
	version int16
	local   netip.Addr // part of the answer where no address is advertised
	body    string
}

const (
	// metadataCacheBytes bounds what is kept, questions too. Beyond it everything goes: with the few questions that
	// clients ask again and again that is as good as knowing which was used last.
	metadataCacheBytes = 16 << 20
	metadataEntryBytes = 200 // of a map's entry, about
)

// metadataKeyOf is the key of a request, but for its body.
func metadataKeyOf(s *Session, h kafka.Header) metadataKey {
	return metadataKey{version: h.Version, local: s.Local.Addr().Unmap()}
}

// find is the answer at a revision, or nil.
func (m *metadataCache) find(revision int64, k metadataKey, body []byte) kafka.Encoded {
	m.mu.Lock()
	defer m.mu.Unlock()
	if revision != m.revision {
		return nil
	}
	return m.answers[metadataKey{k.version, k.local, string(body)}]
}

// keep takes an answer in, and forgets those of earlier revisions.
func (m *metadataCache) keep(revision int64, k metadataKey, body []byte, answer kafka.Encoded) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if revision < m.revision {
		return
	}
	n := len(answer) + len(body) + metadataEntryBytes
	if m.answers == nil || revision > m.revision || m.bytes+n > metadataCacheBytes {
		m.answers, m.bytes, m.revision = map[metadataKey]kafka.Encoded{}, 0, revision
	}
	k.body = string(body)
	if _, known := m.answers[k]; !known { // another loop may have been faster
		m.bytes += n
	}
	m.answers[k] = answer
}
