package slab

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestRandomSteps compares the pool's budget with the plain statement of it, step by
// step, and looks at what the pool promises to hold always.
func TestRandomSteps(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		o := Options{LimitBytes: 24 * mib, ReserveInternalBytes: 3 * mib, ReserveNetworkBytes: 2 * mib}
		p := newPool(t, o)
		reserve := [uses]int64{UseInternal: o.ReserveInternalBytes, UseNetwork: o.ReserveNetworkBytes}
		var used [uses]int64
		var held []*Slab
		now := time.Unix(0, 0)
		for range 2000 {
			switch k := rnd.IntN(20); {
			case k == 0:
				now = now.Add(time.Second)
				p.Trim(3*time.Second, now)
			case k < 9 && len(held) > 0:
				i := rnd.IntN(len(held))
				s := held[i]
				used[s.use] -= int64(len(s.mem))
				s.Release()
				held[i] = held[len(held)-1]
				held = held[:len(held)-1]
			default:
				use, size := Use(rnd.IntN(int(uses))), 1<<(10+rnd.IntN(14))
				_, charge := p.fit(size)
				want := used
				want[use] += int64(charge)
				fits := int64(0)
				for u := range want {
					fits += max(want[u], reserve[u])
				}
				s, err := p.Get(size, use)
				if (err == nil) != (fits <= o.LimitBytes) {
					t.Fatalf("seed %d: Get(%d, %v): %v, used %v", seed, size, use, err, used)
				}
				if err == nil {
					held, used = append(held, s), want
				}
			}
			st := p.Stats()
			if st.UsedBytes != used || st.Slabs != len(held) || st.UsedTotal()+st.FreeBytes > o.LimitBytes ||
				st.MappedBytes < st.UsedTotal()+st.FreeBytes {
				t.Fatalf("seed %d: %+v, want used %v in %d slabs", seed, st, used, len(held))
			}
		}
		for _, s := range held {
			s.Release()
		}
	}
}

// TestSlabsAreExclusive has goroutines write their mark into all that they are handed,
// pass references to each other, and look whether the mark is still there.
func TestSlabsAreExclusive(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 8 * mib, ReserveNetworkBytes: mib})
	passed := make(chan *Slab, 16)
	var makers, readers sync.WaitGroup
	for id := range uint64(4) {
		makers.Go(func() {
			rnd := rand.New(rand.NewPCG(id, 2))
			for i := range uint64(1500) {
				s, err := p.Get(1<<(10+rnd.IntN(11)), Use(rnd.IntN(int(uses))))
				if errors.Is(err, ErrFull) {
					continue
				}
				b, mark := s.Bytes(), id<<32|i
				binary.LittleEndian.PutUint64(b, mark)
				binary.LittleEndian.PutUint64(b[len(b)-8:], mark)
				s.Retain()
				passed <- s
				s.Release()
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for s := range passed {
				b := s.Bytes()
				if first, last := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[len(b)-8:]); first != last {
					t.Errorf("marks %x and %x in one slab", first, last)
				}
				s.Release()
			}
		})
	}
	stop, trimmed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(trimmed)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				p.Trim(3, time.Unix(0, int64(i)))
			}
		}
	}()
	makers.Wait()
	close(passed)
	readers.Wait()
	close(stop)
	<-trimmed
	if st := p.Stats(); st.UsedTotal() != 0 || st.Slabs != 0 {
		t.Fatalf("everything was released: %+v", st)
	}
}
