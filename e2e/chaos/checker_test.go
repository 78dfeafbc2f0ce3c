package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// sound is a history with nothing wrong: a writer with acks=all and one with acks=1 on partition 0, one with acks=all on partition 1; a
// consumer and a group of two.
func sound() *history {
	h := &history{topic: "t", partitions: 2, writers: []*writer{
		{name: "a", partition: 0, all: true}, {name: "one", partition: 0}, {name: "b", partition: 1, all: true}}}
	put := func(w int, offset int64) {
		p := h.writers[w].partition
		place := h.writers[w].begin()
		h.writers[w].acked(place, offset, after(place))
		h.final[p] = append(h.final[p], seen{offset, int32(w), int64(place)})
	}
	h.final = make([][]seen, 2)
	for i := range 4 {
		put(0, int64(2*i))
		put(1, int64(2*i+1))
		put(2, int64(i))
	}
	h.writers[0].begin() // sent, and never heard of
	h.readers = []*reader{{name: "consumer", polls: copied(h.final)},
		{name: "member 1", inAll: true, polls: [][]seen{h.final[0][:5], h.final[1][2:]}},
		{name: "member 2", inAll: true, polls: [][]seen{h.final[0][3:], h.final[1][:3]}}}
	return h
}

func copied(all [][]seen) (c [][]seen) {
	for _, p := range all {
		c = append(c, append([]seen(nil), p...))
	}
	return c
}

// twoDown are outages that overlap.
func twoDown() []outage {
	return []outage{{"a", after(1), after(5)}, {"b", after(4), after(9)}}
}

// destroyed has a partition's records read by a checkpoint and then lost, as is declared.
func destroyed(h *history, p int) {
	h.before = []checkpoint{{at: after(8), there: copied(h.final)}}
	h.final[p] = nil
	h.losses, h.outages = []loss{{"t", int32(p), 1, 1 << 30, after(9)}}, []outage{{"a", after(9), after(10)}, {"b", after(9), after(10)}}
}

// without takes an offset out of what is there, and out of what was read.
func without(h *history, p int, offset int64) {
	drop := func(list []seen) (kept []seen) {
		for _, s := range list {
			if s.offset != offset {
				kept = append(kept, s)
			}
		}
		return kept
	}
	h.final[p] = drop(h.final[p])
	for _, r := range h.readers {
		r.polls[p] = drop(r.polls[p])
	}
}

// plants are faults, and how each must be told; nothing else may be.
var plants = map[string]struct {
	plant func(h *history)
	want  []string
}{
	"nothing": {func(*history) {}, nil},
	"an acknowledged record is gone": {func(h *history) { without(h, 0, 4) },
		[]string{"lost write: partition 0 offset 4: a #2 was acknowledged"}},
	"one that only its leader had is gone": {func(h *history) { without(h, 0, 3) }, nil},
	"one that only its leader had was read and is gone": {func(h *history) {
		without(h, 0, 7)
		h.readers[0].polls[0] = append(h.readers[0].polls[0], seen{7, 1, 3})
	}, []string{"lost write: partition 0 offset 7: one #3 was read by consumer"}},
	"it is there and was never acknowledged": {func(h *history) {
		for _, list := range []*[]seen{&h.final[0], &h.readers[0].polls[0], &h.readers[1].polls[0]} {
			*list = append((*list)[:len(*list):len(*list)], seen{8, 0, 4})
		}
	}, nil},
	"a declared loss": {func(h *history) {
		for offset := range int64(8) {
			without(h, 0, offset)
		}
		h.losses, h.outages = []loss{{"t", 0, 1, 1 << 30, after(8)}}, twoDown()
	}, nil},
	"a loss of another partition": {func(h *history) {
		without(h, 0, 0)
		h.losses, h.outages = []loss{{"t", 1, 1, 1 << 30, after(8)}, {"u", 0, 1, 1 << 30, after(8)}}, twoDown()
	}, []string{"lost write: partition 0 offset 0: a #0"}},
	"a loss with one node down after the other": {func(h *history) {
		h.losses = []loss{{"t", 0, 1, 1 << 30, after(8)}}
		h.outages = []outage{{"a", after(1), after(2)}, {"b", after(3), after(9)}, {"b", after(4), after(6)}}
	}, []string{"needless loss: t-0, generation 1"}},
	"a loss before the second went down": {func(h *history) {
		h.losses, h.outages = []loss{{"t", 0, 1, 1 << 30, after(3)}}, twoDown()
	}, []string{"needless loss"}},
	"a loss while both are still down": {func(h *history) {
		h.losses, h.outages = []loss{{"t", 0, 1, 0, after(3)}}, []outage{{node: "a", from: after(1)}, {node: "b", from: after(2)}}
	}, nil},
	"a record is there twice": {func(h *history) {
		for _, list := range []*[]seen{&h.final[1], &h.readers[0].polls[1], &h.readers[1].polls[1]} {
			*list = append((*list)[:len(*list):len(*list)], seen{4, 2, 3})
		}
	}, []string{"duplicate: partition 1: b #3 is at offsets 3 and 4"}},
	"twice, by a producer that may": {func(h *history) {
		for _, list := range []*[]seen{&h.final[0], &h.readers[0].polls[0], &h.readers[1].polls[0]} {
			*list = append((*list)[:len(*list):len(*list)], seen{8, 1, 3})
		}
	}, nil},
	"order": {func(h *history) {
		for _, list := range [][]seen{h.final[1], h.readers[0].polls[1]} {
			list[1].place, list[2].place = 2, 1
		}
		h.readers[1].polls[1], h.readers[2].polls[1] = h.final[1][:], nil
		h.writers[2].acks[1].offset, h.writers[2].acks[2].offset = 2, 1
	}, []string{"reorder: partition 1: b #1 at offset 2 comes after #2"}},
	"a consumer goes back": {func(h *history) {
		h.readers[0].polls[1] = append(h.readers[0].polls[1], h.final[1][2])
	}, []string{"non-monotonic poll: partition 1: consumer has offset 2 after 3"}},
	"a consumer skips": {func(h *history) {
		h.readers[0].polls[1] = append(h.readers[0].polls[1][:1], h.final[1][2:]...)
	}, []string{"skipped poll: partition 1: consumer went from offset 0 to 2, and 1 is there"}},
	"a group skips": {func(h *history) { h.readers[2].polls[0] = h.final[0][6:] },
		[]string{"skipped poll: partition 0 offset 5: no member"}},
	"two readers, two values": {func(h *history) { h.readers[0].polls[0][2].place = 3 },
		[]string{"inconsistent offset: partition 0 offset 2: the final read has a #1, consumer has a #3"}},
	"acknowledged at another's offset": {func(h *history) { h.writers[0].acks[1].offset = 4 },
		[]string{"inconsistent offset: partition 0 offset 4"}},
	"another's record has the offset of one that is gone": {func(h *history) {
		h.writers[1].begin()
		for _, list := range [][]seen{h.final[0], h.readers[0].polls[0]} {
			list[4].writer, list[4].place = 1, 4
		}
		h.readers[1].polls[0], h.readers[2].polls[0] = h.final[0], nil
	}, []string{"inconsistent offset: partition 0 offset 4: the final read has one #4, the acknowledgement has a #2",
		"lost write: partition 0 offset 4: a #2 was acknowledged"}},
	"gone before all was destroyed": {func(h *history) {
		destroyed(h, 0)
		h.before[0].there[0] = slices.Delete(h.before[0].there[0], 4, 5)
	}, []string{"lost write: partition 0 offset 4: a #2 was acknowledged"}},
	"all there before all was destroyed": {func(h *history) { destroyed(h, 0) }, nil},
	"acknowledged after it was looked": {func(h *history) {
		destroyed(h, 0)
		h.before[0].at = after(3)
		h.before[0].there[0] = h.before[0].there[0][:6]
	}, nil},
	"doubled before all was destroyed": {func(h *history) {
		destroyed(h, 0)
		h.before[0].there[0] = append(h.before[0].there[0], seen{8, 0, 3})
	}, []string{"duplicate: partition 0: a #3 is at offsets 6 and 8"}},
	"nobody sent it": {func(h *history) {
		for _, list := range []*[]seen{&h.final[0], &h.readers[0].polls[0], &h.readers[1].polls[0]} {
			*list = append((*list)[:len(*list):len(*list)], seen{8, 0, 5})
		}
	}, []string{"phantom: partition 0 offset 8: a #5"}},
}

func TestChecker(t *testing.T) {
	for name, c := range plants {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			h := sound()
			c.plant(h)
			got := h.check()
			for i, v := range got {
				if i >= len(c.want) || !strings.HasPrefix(v.String(), c.want[i]) {
					t.Errorf("found %s", v)
				}
			}
			if len(got) < len(c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestGaps(t *testing.T) {
	h := sound()
	h.writers[2].acks[3].at = after(30)
	got := h.gaps(1500 * time.Millisecond)
	if len(got) != 1 || got[0].partition != 1 || got[0].length() != 28*time.Second {
		t.Errorf("%v", got)
	}
}
