package main

import (
	"fmt"
	"slices"
	"time"
)

// The kinds of violations, in Jepsen's words where it has some.
const (
	lostWrite          = "lost write"          // acknowledged by all, or read, and not there
	duplicate          = "duplicate"           // an idempotent producer's record is there twice
	reorder            = "reorder"             // an idempotent producer's records are not in its order
	nonMonotonicPoll   = "non-monotonic poll"  // a consumer went back
	skippedPoll        = "skipped poll"        // a consumer, or all of a group, went past a record that is there
	inconsistentOffset = "inconsistent offset" // two values at one offset
	phantom            = "phantom"             // a record that nobody sent
	needlessLoss       = "needless loss"       // declared while at most one node's RAM was away
	unavailable        = "unavailable"         // not healed in time; by the run
	crash              = "crash"               // a process ended by itself; by the run
)

// violation is something that must not be.
type violation struct{ kind, detail string }

func (v violation) String() string { return v.kind + ": " + v.detail }

// checker judges a history.
type checker struct {
	*history
	at         []map[int64]seen // by partition: what is at an offset, as first told
	told       []map[int64]string
	there      []map[int64]bool // by partition: the offsets of final
	kept       map[sent]bool    // the records of what is being checked
	violations []violation
}

// sent is a record as its writer knows it.
type sent struct {
	writer int32
	place  int64
}

// check gives what is wrong with a history. It must not change any more.
func (h *history) check() []violation {
	c := &checker{history: h, kept: map[sent]bool{}}
	for p := range h.partitions {
		c.at, c.told = append(c.at, map[int64]seen{}), append(c.told, map[int64]string{})
		c.there = append(c.there, map[int64]bool{})
		for _, s := range h.final[p] {
			c.there[p][s.offset] = true
		}
	}
	for i, b := range h.before {
		c.whole(b.there, fmt.Sprintf("checkpoint %d", i+1), b.at, h.losses[:b.losses])
	}
	c.whole(h.final, "the final read", time.Time{}, h.losses)
	for p := range h.partitions {
		c.readings(p)
	}
	c.group()
	c.declared()
	return c.violations
}

// whole checks what was read of everything: its order, and that all is there that was acknowledged by all before a moment (zero: ever) and
// is not below a loss.
func (c *checker) whole(there [][]seen, who string, before time.Time, losses []loss) {
	clear(c.kept)
	for p, list := range there {
		c.records(p, list, who)
		c.order(p, list)
	}
	for i, w := range c.writers {
		c.writes(int32(i), w, before, losses)
	}
}

func (c *checker) report(kind, format string, args ...any) {
	c.violations = append(c.violations, violation{kind, fmt.Sprintf(format, args...)})
}

// observe holds what somebody saw at an offset against what others saw there.
func (c *checker) observe(p int, s seen, who string) {
	was, known := c.at[p][s.offset]
	if !known {
		c.at[p][s.offset], c.told[p][s.offset] = s, who
		return
	}
	if was != s {
		c.report(inconsistentOffset, "partition %d offset %d: %s has %s, %s has %s", p, s.offset, c.told[p][s.offset], c.name(was), who, c.name(s))
	}
}

func (c *checker) name(s seen) string {
	if s.writer < 0 || int(s.writer) >= len(c.writers) {
		return "a foreign record"
	}
	return fmt.Sprintf("%s #%d", c.writers[s.writer].name, s.place)
}

// records checks each record of a read of everything.
func (c *checker) records(p int, list []seen, who string) {
	last := int64(-1)
	for _, s := range list {
		if s.offset <= last {
			c.report(nonMonotonicPoll, "partition %d: %s has offset %d after %d", p, who, s.offset, last)
		}
		last = s.offset
		if s.writer < 0 || int(s.writer) >= len(c.writers) || s.place >= int64(len(c.writers[s.writer].acks)) || c.writers[s.writer].partition != int32(p) {
			c.report(phantom, "partition %d offset %d: %s", p, s.offset, c.name(s))
		}
		c.kept[sent{s.writer, s.place}] = true
		c.observe(p, s, who)
	}
}

// readings checks what consumers read of a partition.
func (c *checker) readings(p int) {
	for _, r := range c.readers {
		for _, s := range r.polls[p] {
			c.observe(p, s, r.name)
			if !c.there[p][s.offset] && !c.excused(c.losses, p, s.offset) {
				c.report(lostWrite, "partition %d offset %d: %s was read by %s and is gone", p, s.offset, c.name(s), r.name)
			}
		}
		if !r.inAll {
			c.polls(p, r)
		}
	}
}

// polls checks the order of what a consumer of whole partitions saw, and that it saw all.
func (c *checker) polls(p int, r *reader) {
	final, next, last := c.final[p], 0, int64(-1)
	for _, s := range r.polls[p] {
		if s.offset <= last {
			c.report(nonMonotonicPoll, "partition %d: %s has offset %d after %d", p, r.name, s.offset, last)
			continue
		}
		for next < len(final) && final[next].offset < s.offset {
			if final[next].offset > last {
				c.report(skippedPoll, "partition %d: %s went from offset %d to %d, and %d is there", p, r.name, last, s.offset, final[next].offset)
			}
			next++
		}
		last = s.offset
	}
}

// excused tells whether what was at an offset is below one of the declared losses.
func (c *checker) excused(losses []loss, p int, offset int64) bool {
	return slices.ContainsFunc(losses, func(l loss) bool {
		return l.topic == c.topic && l.partition == int32(p) && l.below > offset
	})
}

// writes checks that a writer's acknowledged records were kept.
func (c *checker) writes(i int32, w *writer, before time.Time, losses []loss) {
	if !w.all {
		return // acknowledged by one, who may have died with it; what was read is checked
	}
	p := int(w.partition)
	for place, a := range w.acks {
		if a.offset < 0 || !before.IsZero() && !a.at.Before(before) {
			continue
		}
		c.observe(p, seen{a.offset, i, int64(place)}, "the acknowledgement")
		if !c.kept[sent{i, int64(place)}] && !c.excused(losses, p, a.offset) {
			c.report(lostWrite, "partition %d offset %d: %s #%d was acknowledged at %s and is gone", p, a.offset, w.name, place,
				a.at.Format("15:04:05.000"))
		}
	}
}

// order looks for duplicates and disorder in what idempotent producers wrote.
func (c *checker) order(p int, list []seen) {
	first, latest := map[sent]int64{}, map[int32]int64{}
	for _, s := range list {
		if s.writer < 0 || int(s.writer) >= len(c.writers) || !c.writers[s.writer].all {
			continue
		}
		k := sent{s.writer, s.place}
		if at, twice := first[k]; twice {
			c.report(duplicate, "partition %d: %s is at offsets %d and %d", p, c.name(s), at, s.offset)
			continue
		}
		first[k] = s.offset
		if was, known := latest[s.writer]; known && was > s.place {
			c.report(reorder, "partition %d: %s at offset %d comes after #%d", p, c.name(s), s.offset, was)
		}
		latest[s.writer] = max(latest[s.writer], s.place)
	}
}

// group checks that the members of the group together saw everything. They are given time to get to the end.
func (c *checker) group() {
	members := 0
	for _, r := range c.readers {
		if r.inAll {
			members++
		}
	}
	if members == 0 {
		return
	}
	for p := range c.partitions {
		got := map[int64]bool{}
		for _, r := range c.readers {
			if r.inAll {
				for _, s := range r.polls[p] {
					got[s.offset] = true
				}
			}
		}
		for _, s := range c.final[p] {
			if !got[s.offset] {
				c.report(skippedPoll, "partition %d offset %d: no member of the group saw %s", p, s.offset, c.name(s))
			}
		}
	}
}

// declared checks that each loss had a reason: two nodes without RAM at one moment before it.
func (c *checker) declared() {
	for _, l := range c.losses {
		if !slices.ContainsFunc(c.outages, func(a outage) bool {
			return slices.ContainsFunc(c.outages, func(b outage) bool { return a.node < b.node && overlapped(a, b, l.at) })
		}) {
			c.report(needlessLoss, "%s, at %s: at most one node was down", l, l.at.Format("15:04:05.000"))
		}
	}
}

// overlapped tells whether two outages had a moment in common before a time.
func overlapped(a, b outage, before time.Time) bool {
	from := a.from
	if b.from.After(from) {
		from = b.from
	}
	ended := func(o outage) bool { return !o.to.IsZero() && o.to.Before(from) }
	return !from.After(before) && !ended(a) && !ended(b)
}

// ackTimes are the times of acknowledgements by all, of one partition, sorted.
func (h *history) ackTimes(p int32) (times []time.Time) {
	for _, w := range h.writers {
		if w.all && w.partition == p {
			for _, a := range w.acks {
				if !a.at.IsZero() {
					times = append(times, a.at)
				}
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}
