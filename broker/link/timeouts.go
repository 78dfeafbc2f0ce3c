package link

import "time"

// Every time that this package waits for, and for how long.
const (
	dialTimeout  = 3 * time.Second
	greetTimeout = 3 * time.Second // for the answer that shows a broker behind a connection

	// requestTimeout is how long a broker may keep silent when it should answer, beyond what a fetch allows it to wait; and
	// how long it may leave unread what it is sent. When a way is open again after a cut, the old connection may stay silent
	// for as long as it was cut (TCP's retransmissions double their pauses), and a new one is there at once: so this is short.
	requestTimeout = 3 * time.Second

	// markersTimeout is how long a broker may take for markers: it waits for its replicas (broker.WriteMarkers), and some more.
	markersTimeout = 45 * time.Second

	// A connection that lives less than redialSteady is one that doesn't work: the pauses before the next attempts go on
	// doubling, from none over redialPauseMin to redialPauseMax. A Link leaves its pauses to whoever uses it.
	redialSteady   = 10 * time.Second
	redialPauseMin = 50 * time.Millisecond
	redialPauseMax = 3 * time.Second

	// A peer whose machine is gone is noticed by the kernel's probes, in the time of one lease or two.
	keepAliveIdle     = 10 * time.Second
	keepAliveInterval = 3 * time.Second
	keepAliveCount    = 3
)
