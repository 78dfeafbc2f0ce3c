package api

import (
	"testing"
	"time"
)

// Who gets a slot when all are taken: Apache Kafka's rules.
func TestFetchSessionCache(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, x := range map[string]struct {
		slots     int
		sizes     []int // of the sessions that are there, made at 0 s, 1 s, …
		usedAfter []int // s, of each
		size      int   // of the new one
		after     int   // s
		evicted   int   // −1: none, and the new one isn't made; −2: none, there is room
	}{
		"room":                     {2, []int{5}, []int{0}, 1, 1, -2},
		"no slots":                 {0, nil, nil, 1, 1000, -1},
		"all are new":              {2, []int{1, 1}, []int{0, 1}, 100, 60, -1},
		"the oldest unused":        {2, []int{500, 1}, []int{5, 2}, 1, 126, 1},
		"used, and as large":       {2, []int{7, 7}, []int{200, 200}, 7, 210, -1},
		"used, and one is smaller": {2, []int{7, 6}, []int{200, 200}, 7, 210, 1},
		"smaller, but young":       {2, []int{7, 6}, []int{100, 100}, 7, 110, -1},
	} {
		c := &fetchSessions{slots: x.slots}
		var there []*fetchSession
		for i, size := range x.sizes {
			s, _ := c.open(nil, size, false, false, start.Add(time.Duration(i)*time.Second))
			s.busy, s.used = false, start.Add(time.Duration(x.usedAfter[i])*time.Second)
			there = append(there, s)
		}
		s, evicted := c.open(nil, x.size, false, false, start.Add(time.Duration(x.after)*time.Second))
		if (s == nil) != (x.evicted == -1) {
			t.Errorf("%s: made: %v", name, s != nil)
		}
		for i, old := range there {
			if gone := i == x.evicted; gone != (old == evicted) || gone != old.closed {
				t.Errorf("%s: session %d evicted: %v", name, i, old.closed)
			}
		}
		if len(c.byID) > x.slots {
			t.Errorf("%s: %d sessions", name, len(c.byID))
		}
	}
}

// A follower's session takes the place of a consumer's, however new that is, and keeps its own from all consumers.
func TestFetchSessionCacheFollowers(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for name, x := range map[string]struct {
		sizes    []int // of consumers' sessions if > 0, of followers' if < 0
		size     int   // of the new one
		follower bool
		after    int // s, all are in use
		evicted  int // −1: none
	}{
		"a follower for a new consumer":      {[]int{9, 5}, 1, true, 1, 1},
		"a follower for the consumer":        {[]int{-1, 5}, 1, true, 1, 1},
		"an old one among followers":         {[]int{-1, 500}, 9, true, 200, 1},
		"no follower for a young follower":   {[]int{-1, -2}, 9, true, 1, -1},
		"a follower for an old smaller one":  {[]int{-3, -2}, 9, true, 200, 1},
		"no consumer for an old follower":    {[]int{-1, -1}, 900, false, 200, -1},
		"a consumer for an old consumer":     {[]int{-1, 2}, 3, false, 200, 1},
		"no consumer for an as large others": {[]int{-1, 3}, 3, false, 200, -1},
	} {
		c := &fetchSessions{slots: len(x.sizes)}
		var there []*fetchSession
		now := start.Add(time.Duration(x.after) * time.Second)
		for _, size := range x.sizes {
			s, _ := c.open(nil, max(size, -size), true, size < 0, start)
			s.busy, s.used = false, now
			there = append(there, s)
		}
		for _, again := range []bool{false, true} { // the second time is after a search that found nothing
			if again && x.evicted >= 0 {
				continue
			}
			made, evicted := c.open(nil, x.size, true, x.follower, now)
			if (made == nil) != (x.evicted < 0) || evicted != nil && (x.evicted < 0 || evicted != there[x.evicted]) {
				t.Errorf("%s: made: %v, evicted: %+v", name, made != nil, evicted)
			}
		}
	}
}
