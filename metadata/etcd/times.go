package etcd

import "time"

// How long the store waits, all in one place. A request that changes nothing the
// second time (all of ours, see commit.go) is tried again after attemptTimeout, at
// the next endpoint; so one that takes connections and answers nothing costs one
// attempt.
const (
	dialTimeoutDefault = 5 * time.Second

	attemptTimeout = time.Second      // the first try of a request
	slowTimeout    = 4 * time.Second  // the longest try: for an etcd, or a check of a password, that takes its time
	pageTimeout    = 8 * time.Second  // the longest try of a page of a listing
	requestTimeout = 15 * time.Second // all tries of a request, if its context says no less
	commitTimeout  = 10 * time.Second // all tries of a commit; after it the outcome is unknown
	retryDelayMin  = 20 * time.Millisecond
	retryDelayMax  = 500 * time.Millisecond
	farewellLimit  = 500 * time.Millisecond // Close's last request, a courtesy

	// The connection. gRPC doesn't ping more often than every 10 s, and etcd
	// closes the connection of a client that pings more often than every 5 s.
	pingEvery       = 10 * time.Second
	pingTimeout     = 3 * time.Second
	connectTimeout  = 2 * time.Second
	reconnectMin    = 100 * time.Millisecond
	reconnectMax    = time.Second
	reconnectJitter = 0.2
	reconnectFactor = 1.6

	// A watch. It asks for its progress at once when a revision must be reached
	// that has no events, later when events are to be expected, and now and then
	// when nothing happens, to find out whether anybody is there.
	progressLater = 200 * time.Millisecond
	progressAgain = 50 * time.Millisecond
	watchIdle     = 2 * time.Second
	watchStall    = 1500 * time.Millisecond // nothing heard for so long: another stream
	watchOpenMax  = 4 * watchStall          // for a stream to open, after it took too long before
	watchBackMin  = 10 * time.Millisecond
	watchBackMax  = time.Second

	// How long a marker outlives a store that has stopped committing. Its lease is
	// renewed by the first commit after half of it.
	markerTTL = time.Hour
)

// How long an embedded member waits.
const (
	formPollEvery   = 100 * time.Millisecond // for the others, while it isn't known what this one is to be
	formAskTimeout  = time.Second            // one question to another member
	formNoticeEvery = 10 * time.Second       // between lines in the log that say what is waited for
	formReadyLimit  = 20 * time.Second       // a new member that isn't ready by then tries again, as another
	formAgainDelay  = time.Second

	joinTimeout   = 5 * time.Second        // for another member to take this one in
	joinChange    = time.Second            // there, for one change of the members to be committed
	joinPollEvery = 20 * time.Millisecond  // until the others know this member, and until it is ready
	joinGrace     = 300 * time.Millisecond // from having something of the cluster's data to being ready

	handOverLimit = time.Second // for another member to take the lead over from one that stops

	frontRequestTimeout = 5 * time.Second // for a request to the front to arrive
	frontAnswerTimeout  = 20 * time.Second
)
