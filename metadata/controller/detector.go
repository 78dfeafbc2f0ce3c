package controller

import (
	"millrace/metadata"
)

// Detector tells the controller whom to fence and unfence. It is a step machine:
// it has no clock, the time comes in with what happens, in milliseconds.
//
// It knows two things about a broker. Its sign of life in the store
// (metadata.BrokerAlive) ends with its lease: that is what counts when nothing else
// is heard. And the controller keeps a session, a connection, to each broker: if
// that is reset and a new one is refused, the process is gone, and it is fenced
// without waiting for the lease (Refused).
//
// To fence early is safe, also when it is wrong. A fence says nothing about the
// broker's RAM: its entries hold on to the incarnation, not to the lease. If the
// broker lives after all, it finds itself out of the ISR, commits nothing without those
// who are in it, and comes back as any follower does. What an early fence
// costs in vain is one election.
//
// Silence is trusted less. When the store wasn't heard for a while, leases may have
// ended only because nobody could renew them. So for one TTL from then on nobody is fenced
// for silence. That is also so when a process has just started; one that heard the store all the time, and
// then comes into office, needn't wait.
type Detector struct {
	ttlMs   int64 // 0: there are no leases
	graceMs int64 // until then nobody is fenced for silence
	heardMs int64 // when the store answered last
	refused map[metadata.Member]struct{}
}

// NewDetector makes one that knows nothing of what was before nowMs. Leases
// live ttlMs; 0: brokers have none, and only Refused counts.
func NewDetector(ttlMs, nowMs int64) *Detector {
	return &Detector{ttlMs: ttlMs, graceMs: nowMs + ttlMs, heardMs: nowMs, refused: make(map[metadata.Member]struct{})}
}

// Heard says that the store has answered: a lease was renewed, say. It should be
// called several times in a TTL.
func (d *Detector) Heard(nowMs int64) {
	if d.away(nowMs) {
		d.graceMs = nowMs + d.ttlMs
	}
	d.heardMs = max(d.heardMs, nowMs)
}

// away tells whether the store didn't answer for so long that leases may be ending.
func (d *Detector) away(nowMs int64) bool { return nowMs-d.heardMs > d.ttlMs/2 }

// Refused says that the session to m was reset, and a new connection refused. It
// holds until Connected, or until the broker registers in another life.
func (d *Detector) Refused(m metadata.Member) { d.refused[m] = struct{}{} }

// Connected says that there is a session to m.
func (d *Detector) Connected(m metadata.Member) { delete(d.refused, m) }

// Forget drops what is known of brokers whose life is over.
func (d *Detector) Forget(img *metadata.Image) {
	for m := range d.refused {
		if img.Void(m) {
			delete(d.refused, m)
		}
	}
}

// Verdict is what a Detector has to say.
type Verdict struct {
	Fence   []metadata.Member // all at once
	Unfence []metadata.Member
}

// Judge looks at the cluster. It says the same again until the image shows that it
// has been done.
func (d *Detector) Judge(img *metadata.Image, nowMs int64) (v Verdict) {
	d.Forget(img)
	silence := d.ttlMs > 0 && nowMs >= d.graceMs && !d.away(nowMs)
	for _, b := range img.Brokers() {
		m := b.Member()
		_, refused := d.refused[m]
		alive := d.ttlMs > 0 && img.Alive(m.Broker) == m.Incarnation
		switch {
		case !b.Fenced && (refused || silence && !alive):
			v.Fence = append(v.Fence, m)
		case b.Fenced && alive && !refused:
			v.Unfence = append(v.Unfence, m)
		}
	}
	return v
}
