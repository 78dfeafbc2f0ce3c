package jobs

import "math/bits"

// levels is the wheel as a pure machine: no clock, no goroutine, no lock. Time is a
// number of ticks that comes in from outside and never runs back.
//
// Level 0 has one slot per tick, each slot of level n covers 64 slots of the level
// below. A timer stands in the level of the highest digit (of base 64) in which its
// deadline differs from now. When now reaches the start of a slot above level 0, its
// timers move to the levels below: at most once per level, so a timer costs O(levels)
// in all, and setting, moving and removing it O(1). A bit per slot tells which slots
// hold something, so the next one is found without looking at empty ones.
//
// A heap would cost log n for each move, and nearly all timers here are moved or
// removed long before they are due.
type levels struct {
	now   int64
	level [levelCount]level
}

const (
	slotBits   = 6
	slotCount  = 1 << slotBits
	levelCount = 7                            // 2^42 ticks of 1 ms: 139 years
	horizon    = 1<<(slotBits*levelCount) - 1 // no deadline is later
	never      = 1<<63 - 1
)

type level struct {
	occupied uint64
	slots    [slotCount]*Timer
}

// place returns where a deadline stands, and the tick at which that slot starts.
func (l *levels) place(at int64) (lvl, slot int, start int64) {
	if diff := uint64(at ^ l.now); diff != 0 {
		lvl = (bits.Len64(diff) - 1) / slotBits
	}
	shift := lvl * slotBits
	return lvl, int(at>>shift) & (slotCount - 1), at >> shift << shift
}

// insert adds a timer that is in no slot, due at tick at, or now if that is past. It
// returns the tick at which the wheel has to turn for it.
func (l *levels) insert(t *Timer, at int64) int64 {
	t.at = min(max(at, l.now), horizon)
	lvl, slot, start := l.place(t.at)
	head := &l.level[lvl].slots[slot]
	t.next, t.prev = *head, head
	if t.next != nil {
		t.next.prev = &t.next
	}
	*head = t
	t.slot = uint16(lvl<<slotBits | slot)
	l.level[lvl].occupied |= 1 << slot
	return start
}

// remove takes a timer out of its slot.
func (l *levels) remove(t *Timer) {
	*t.prev = t.next
	if t.next != nil {
		t.next.prev = t.prev
	}
	t.next, t.prev = nil, nil
	lvl, slot := t.slot>>slotBits, t.slot&(slotCount-1)
	if lv := &l.level[lvl]; lv.slots[slot] == nil {
		lv.occupied &^= 1 << slot
	}
}

// first returns the occupied slot that starts first. All slots of a level start
// before those of the levels above, because they lie in what is left of one slot there.
func (l *levels) first() (lvl, slot int, start int64, ok bool) {
	for lvl := range l.level {
		occupied := l.level[lvl].occupied
		if occupied == 0 {
			continue
		}
		slot := bits.TrailingZeros64(occupied)
		shift := lvl * slotBits
		above := l.now >> (shift + slotBits) << (shift + slotBits)
		return lvl, slot, above | int64(slot)<<shift, true
	}
	return 0, 0, never, false
}

// pop moves time on to now, at most, and takes out one timer that is due by then. It
// returns nil when none is left, and only then has time arrived at now.
func (l *levels) pop(now int64) *Timer {
	for {
		lvl, slot, start, ok := l.first()
		if !ok || start > now {
			l.now = max(l.now, now)
			return nil
		}
		l.now = start
		t := l.level[lvl].slots[slot]
		if lvl == 0 {
			l.remove(t)
			return t
		}
		l.level[lvl].slots[slot] = nil
		l.level[lvl].occupied &^= 1 << slot
		for t != nil {
			next := t.next
			l.insert(t, t.at)
			t = next
		}
	}
}

// nextTurn returns the tick at which there is something to do, or never.
func (l *levels) nextTurn() int64 {
	_, _, start, _ := l.first()
	return start
}
