package broker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// happening is one batch of a log as far as transactions go: of a producer's transaction, or its marker.
type happening struct {
	producer       int64
	marker, commit bool
}

// TestTransactionsModel compares what is kept with what a look at the whole log says: after appends, truncations, and whatever
// is forgotten.
func TestTransactionsModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var log []happening
		var kept transactions
		start, high := int64(0), int64(0)
		for range 150 {
			switch r.IntN(10) {
			case 0:
				high += r.Int64N(int64(len(log)) - high + 1)
			case 1:
				start += r.Int64N(high - start + 1)
				kept.forget(start, high, 0)
			case 2:
				to := high + r.Int64N(int64(len(log))-high+1)
				log = log[:to]
				kept.truncate(to)
			default:
				h := happening{producer: r.Int64N(4), marker: r.IntN(3) == 0, commit: r.IntN(2) == 0}
				at := int64(len(log))
				open := openIn(log, h.producer) >= 0
				log = append(log, h)
				if h.marker {
					kept.end(h.producer, 0, h.commit, at)
				} else if !open {
					kept.begin(h.producer, 0, at)
				}
			}
			compare(t, log, &kept, start, high)
			if t.Failed() {
				t.Fatalf("seed %d, log %+v", seed, log)
			}
		}
	}
}

// openIn is where a producer's open transaction begins in a log; -1: it has none.
func openIn(log []happening, producer int64) int64 {
	first := int64(-1)
	for i, h := range log {
		switch {
		case h.producer != producer:
		case h.marker:
			first = -1
		case first < 0:
			first = int64(i)
		}
	}
	return first
}

func compare(t *testing.T, log []happening, kept *transactions, start, high int64) {
	t.Helper()
	stable := high
	for producer := range int64(4) {
		if first := openIn(log[:high], producer); first >= 0 {
			stable = min(stable, first)
		}
	}
	if got := kept.stable(high); got != stable {
		t.Errorf("last stable offset %d, want %d of %d", got, stable, high)
	}
	for from := start; from < high; from += 3 {
		upTo := min(high, from+5)
		var want, got []string
		for producer := range int64(4) {
			first := int64(-1)
			for i, h := range log {
				switch at := int64(i); {
				case h.producer != producer:
				case h.marker && first >= 0:
					if !h.commit && at >= from && first < upTo {
						want = append(want, fmt.Sprint(producer, first))
					}
					first = -1
				case !h.marker && first < 0:
					first = at
				}
			}
		}
		for _, a := range kept.abortedIn(from, upTo) {
			got = append(got, fmt.Sprint(a.ProducerID, a.First))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("aborted in [%d, %d): %q, want %q", from, upTo, got, want)
		}
	}
	for at := start; at <= high; at += 4 { // what a snapshot of a log that begins there says
		open := kept.openAt(at)
		n := 0
		for producer := range int64(4) {
			if openIn(log[:at], producer) >= 0 {
				n++
			}
		}
		if at == start && len(open) > n {
			t.Errorf("open at %d: %+v", at, open)
		}
	}
}

// The marker of the transaction before may come when the next is being verified: with version 2 it has that one's epoch.
func TestVerificationOutlivesTheMarkerBefore(t *testing.T) {
	for _, test := range []struct {
		adds  bool
		epoch int16
		want  bool
	}{{true, 3, true}, {true, 4, false}, {false, 3, false}, {false, 2, true}} {
		var kept transactions
		kept.verify(7, verification{epoch: 3, adds: test.adds})
		kept.end(7, test.epoch, true, 10)
		if _, got := kept.verified[7]; got != test.want {
			t.Errorf("adds %v, marker of epoch %d: %v", test.adds, test.epoch, got)
		}
	}
}
