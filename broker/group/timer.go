package group

// timer is a deadline of a member, a group or a record on its way. Most are moved again and again and never fire: each
// heartbeat moves one. So moving it to a later time only notes dueMs; its place in the heap stays until that comes up.
type timer struct {
	fire  func()
	dueMs int64  // when it shall fire
	slot  int    // 1 + index in the heap; 0: not in it
	keyMs int64  // its place in the heap, ≤ dueMs
	order uint64 // ties fire in the order in which they were put in, so that runs repeat exactly
}

// timers is a binary heap of timers by keyMs.
type timers struct {
	heap  []*timer
	order uint64
}

// set makes t fire at dueMs instead of whenever it would have.
func (s *timers) set(t *timer, dueMs int64) {
	t.dueMs = dueMs
	switch {
	case t.slot == 0:
		s.order++
		t.keyMs, t.order = dueMs, s.order
		s.heap = append(s.heap, t)
		t.slot = len(s.heap)
		s.up(t.slot - 1)
	case dueMs < t.keyMs:
		t.keyMs = dueMs
		s.up(t.slot - 1)
	}
}

// cancel takes t out at once, so that what it belongs to is free.
func (s *timers) cancel(t *timer) {
	if t.slot == 0 {
		return
	}
	i, last := t.slot-1, len(s.heap)-1
	if i != last {
		s.swap(i, last)
	}
	s.heap[last] = nil
	s.heap = s.heap[:last]
	t.slot = 0
	if i != last {
		s.down(i)
		s.up(i)
	}
}

func (s *timers) nextMs() int64 {
	if len(s.heap) == 0 {
		return never
	}
	return s.heap[0].keyMs
}

// run fires what is due. A timer that sets itself again must set a later time, or run would never end.
func (s *timers) run(nowMs int64) {
	for len(s.heap) > 0 && s.heap[0].keyMs <= nowMs {
		t := s.heap[0]
		if t.dueMs > nowMs { // moved since
			s.order++
			t.keyMs, t.order = t.dueMs, s.order
			s.down(0)
			continue
		}
		s.cancel(t)
		t.fire()
	}
}

func (s *timers) less(i, j int) bool {
	a, b := s.heap[i], s.heap[j]
	return a.keyMs < b.keyMs || a.keyMs == b.keyMs && a.order < b.order
}

func (s *timers) swap(i, j int) {
	s.heap[i], s.heap[j] = s.heap[j], s.heap[i]
	s.heap[i].slot, s.heap[j].slot = i+1, j+1
}

func (s *timers) up(i int) {
	for i > 0 && s.less(i, (i-1)/2) {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (s *timers) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(s.heap); c++ {
			if s.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		s.swap(i, least)
		i = least
	}
}
