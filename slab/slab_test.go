package slab

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

func newPool(t testing.TB, o Options) *Pool {
	p := NewPool(o)
	t.Cleanup(func() {
		if n := p.Close(); n != 0 {
			t.Errorf("%d slabs were not released", n)
		}
	})
	return p
}

func get(t testing.TB, p *Pool, sizeBytes int, use Use) *Slab {
	t.Helper()
	s, err := p.Get(sizeBytes, use)
	if err != nil {
		t.Fatalf("Get(%d, %v): %v; %+v", sizeBytes, use, err, p.Stats())
	}
	return s
}

// panics returns what f panicked with, "" if it didn't.
func panics(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = v.(string)
		}
	}()
	f()
	return ""
}

func TestSizeClasses(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 64 * mib})
	if len(p.classes) != 6 {
		t.Skipf("pages of this system leave %d classes", len(p.classes))
	}
	for _, c := range []struct{ size, want int }{
		{0, 4 * kib}, {1, 4 * kib}, {4 * kib, 4 * kib},
		{4*kib + 1, 16 * kib}, {16 * kib, 16 * kib},
		{16*kib + 1, 64 * kib}, {64*kib + 1, 256 * kib},
		{256*kib + 1, mib}, {mib, mib},
		{mib + 1, 4 * mib}, {4 * mib, 4 * mib},
		{4*mib + 1, 4*mib + 4*kib}, {9*mib + 4*kib, 9*mib + 4*kib},
	} {
		s := get(t, p, c.size, UseRecords)
		if len(s.Bytes()) != c.want || cap(s.Bytes()) != c.want {
			t.Errorf("Get(%d) has %d bytes, capacity %d, want %d", c.size, len(s.Bytes()), cap(s.Bytes()), c.want)
		}
		if got := p.Stats().UsedTotal(); got != int64(c.want) {
			t.Errorf("Get(%d) is charged with %d bytes, want %d", c.size, got, c.want)
		}
		s.Bytes()[0], s.Bytes()[c.want-1] = 1, 2
		s.Release()
	}
}

func TestClassesFollowThePageSize(t *testing.T) {
	for _, c := range []struct{ page, smallest, count int }{
		{4 * kib, 4 * kib, 6}, {16 * kib, 16 * kib, 5}, {64 * kib, 64 * kib, 4},
	} {
		all := makeClasses(c.page)
		if len(all) != c.count || all[0].size != c.smallest {
			t.Errorf("pages of %d: %d classes from %d, want %d from %d", c.page, len(all), all[0].size, c.count, c.smallest)
		}
	}
}

func TestReferences(t *testing.T) {
	p := newPool(t, Options{LimitBytes: mib})
	s := get(t, p, 1, UseNetwork)
	for want := int32(1); want <= 3; want++ {
		if s.Refs() != want {
			t.Fatalf("%d references, want %d", s.Refs(), want)
		}
		s.Retain()
	}
	for range 4 {
		if p.Stats().UsedBytes[UseNetwork] == 0 {
			t.Fatal("given back while there are references")
		}
		s.Release()
	}
	if st := p.Stats(); st.UsedTotal() != 0 || st.FreeBytes != int64(p.classes[0].size) || st.Slabs != 0 {
		t.Fatalf("after the last Release: %+v", st)
	}
}

func TestProgrammerErrorsPanic(t *testing.T) {
	released := func(f func(s *Slab)) func() {
		return func() {
			p := NewPool(Options{LimitBytes: mib})
			s, _ := p.Get(1, UseRecords)
			s.Release()
			f(s)
		}
	}
	p := newPool(t, Options{LimitBytes: mib})
	for _, c := range []struct {
		name string
		f    func()
		want string
	}{
		{"release twice", released(func(s *Slab) { s.Release() }), "released more often than retained"},
		{"retain late", released(func(s *Slab) { s.Retain() }), "Retain of a released slab"},
		{"negative size", func() { _, _ = p.Get(-1, UseRecords) }, "Get(-1, records)"},
		{"no such use", func() { _, _ = p.Get(1, uses) }, "Get(1, Use(3))"},
		{"no limit", func() { NewPool(Options{}) }, "impossible budget"},
		{"negative reserve", func() { NewPool(Options{LimitBytes: 1, ReserveNetworkBytes: -1}) }, "impossible budget"},
		{"reserves too large", func() {
			NewPool(Options{LimitBytes: 10, ReserveInternalBytes: 6, ReserveNetworkBytes: 5})
		}, "impossible budget"},
	} {
		if got := panics(c.f); !strings.Contains(got, c.want) {
			t.Errorf("%s: panic %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBudget is a script: each step gets a number of 64 KiB slabs, or releases them if
// it is negative, and says how many of them are refused.
func TestBudget(t *testing.T) {
	const unit = 64 * kib
	p := newPool(t, Options{LimitBytes: 10 * unit, ReserveInternalBytes: 2 * unit, ReserveNetworkBytes: 3 * unit})
	held := map[Use][]*Slab{}
	for i, step := range []struct {
		use     Use
		n       int
		refused int
	}{
		{UseRecords, 7, 2},  // 5 and the reserves of 2 and 3
		{UseNetwork, 2, 0},  // in its reserve
		{UseRecords, 1, 1},  // the third is still the network's
		{UseNetwork, 3, 2},  // its third, and then no more: 2 are kept for internal
		{UseInternal, 3, 1}, // likewise
		{UseRecords, -2, 0}, // makes room for anyone
		{UseInternal, 3, 1}, // beyond its reserve
		{UseRecords, 1, 1},
		{UseNetwork, -3, 0}, // the reserve becomes the network's again
		{UseRecords, 1, 1},
		{UseInternal, 1, 1},
		{UseNetwork, 4, 1},
	} {
		refused := 0
		for range step.n {
			s, err := p.Get(unit, step.use)
			if errors.Is(err, ErrFull) {
				refused++
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			held[step.use] = append(held[step.use], s)
		}
		for range -step.n {
			held[step.use][0].Release()
			held[step.use] = held[step.use][1:]
		}
		if refused != step.refused {
			t.Fatalf("step %d %+v: %d refused; %+v", i, step, refused, p.Stats())
		}
	}
	for _, slabs := range held {
		for _, s := range slabs {
			s.Release()
		}
	}
}

func TestPressure(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 16 * mib, ReserveInternalBytes: 2 * mib, ReserveNetworkBytes: 4 * mib})
	is := func(want float64, when string) {
		t.Helper()
		if got := p.Pressure(); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	is(0, "empty")
	network := get(t, p, 4*mib, UseNetwork)
	is(0, "the network's reserve is used")
	records := get(t, p, 4*mib, UseRecords)
	is(0.4, "records take 4 MiB of 10")
	internal := get(t, p, 4*mib, UseInternal)
	is(0.5, "internal topics take 2 MiB beyond their reserve")
	internal.Release()
	records.Release()
	network.Release()
	is(0, "all given back")
}

func TestRefusedIsNotCharged(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 3 * mib})
	for _, size := range []int{4 * mib, 1 << 40} {
		if s, err := p.Get(size, UseNetwork); s != nil || !errors.Is(err, ErrFull) {
			t.Fatalf("Get(%d) = %v, %v", size, s, err)
		}
	}
	want := Stats{LimitBytes: 3 * mib, Refused: 2}
	if got := p.Stats(); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

// TestSystemRefuses asks for more than there is address space.
func TestSystemRefuses(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 1 << 60})
	s, err := p.Get(1<<55, UseRecords)
	if s != nil || !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOMEM) {
		t.Fatalf("Get(1<<55) = %v, %v", s, err)
	}
	if st := p.Stats(); st.UsedTotal() != 0 || st.MappedBytes != 0 || st.Refused != 1 {
		t.Fatalf("%+v", st)
	}
}

func TestFreedSlabsAreUsedAgain(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 64 * mib})
	for range 10 {
		var held []*Slab
		for range 20 {
			held = append(held, get(t, p, 100*kib, UseRecords))
		}
		for _, s := range held {
			s.Release()
		}
	}
	if st := p.Stats(); st.MappedBytes != 5*mib || st.FreeBytes != 20*256*kib {
		t.Fatalf("20 slabs of 256 KiB, ten times over: %+v", st)
	}
}

// TestFreeSlabsMakeRoom fills the limit with slabs of one size, frees them, and wants
// the same bytes in another size.
func TestFreeSlabsMakeRoom(t *testing.T) {
	sizes := []int{64 * kib, 256 * kib, mib, 4 * mib, 8 * mib}
	for _, from := range sizes {
		for _, to := range sizes {
			p := newPool(t, Options{LimitBytes: 16 * mib})
			for _, size := range []int{from, to} {
				var held []*Slab
				for range 16 * mib / size {
					s := get(t, p, size, UseRecords)
					clear(s.Bytes())
					held = append(held, s)
				}
				if _, err := p.Get(1, UseRecords); !errors.Is(err, ErrFull) {
					t.Fatalf("%d then %d: more than the limit: %v", from, to, err)
				}
				for _, s := range held {
					s.Release()
				}
			}
			if st := p.Stats(); st.FreeBytes > st.LimitBytes {
				t.Errorf("%d then %d: %+v", from, to, st)
			}
		}
	}
}

func TestTrim(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 64 * mib})
	at := time.Unix(1000, 0)
	trim := func(seconds int, wantFree, wantMapped int64) {
		t.Helper()
		p.Trim(10*time.Second, at.Add(time.Duration(seconds)*time.Second))
		if st := p.Stats(); st.FreeBytes != wantFree || st.MappedBytes != wantMapped {
			t.Fatalf("after %d s: free %d, mapped %d, want %d, %d", seconds, st.FreeBytes, st.MappedBytes, wantFree, wantMapped)
		}
	}
	kept := get(t, p, 16*kib, UseRecords)
	a, b := get(t, p, 16*kib, UseRecords), get(t, p, 16*kib, UseRecords)
	big := get(t, p, 2*mib, UseRecords)
	a.Release()
	big.Release()
	trim(0, 4*mib+16*kib, 5*mib) // seen for the first time
	trim(9, 4*mib+16*kib, 5*mib) // not quiet for long enough
	b.Release()
	trim(10, 16*kib, mib) // a and big; b was seen just now, and kept holds the region
	b = get(t, p, 16*kib, UseRecords)
	b.Release()
	trim(19, 16*kib, mib) // used meanwhile, so it counts from here
	kept.Release()
	trim(28, 32*kib, mib)
	trim(29, 16*kib, mib)
	trim(38, 0, 0)
	get(t, p, 16*kib, UseRecords).Release()
}

func TestTrimOfManySlabs(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 64 * mib})
	var held []*Slab
	for range 600 {
		held = append(held, get(t, p, 4*kib, UseRecords))
	}
	for i, s := range held {
		if i != 300 {
			s.Release()
		}
	}
	p.Trim(0, time.Unix(1, 0))
	if st := p.Stats(); st.FreeBytes != 0 || st.MappedBytes != mib {
		t.Fatalf("one slab left of three regions: %+v", st)
	}
	held[300].Release()
}

func TestClose(t *testing.T) {
	p := NewPool(Options{LimitBytes: 64 * mib})
	a, b, big := get(t, p, 1, UseRecords), get(t, p, 1, UseRecords), get(t, p, 5*mib, UseRecords)
	a.Release()
	if n := p.Close(); n != 2 {
		t.Fatalf("Close returned %d, want 2", n)
	}
	if _, err := p.Get(1, UseRecords); !errors.Is(err, ErrClosed) {
		t.Fatalf("Get after Close: %v", err)
	}
	b.Bytes()[0], big.Bytes()[0] = 1, 1 // still ours
	b.Release()
	big.Release()
	if n := p.Close(); n != 0 {
		t.Fatalf("second Close returned %d", n)
	}
	if st := p.Stats(); st.MappedBytes != 0 || st.FreeBytes != 0 {
		t.Fatalf("after the last Release: %+v", st)
	}
}

func TestGetAndReleaseDoNotAllocate(t *testing.T) {
	p := newPool(t, Options{LimitBytes: 64 * mib})
	for _, size := range []int{4 * kib, 64 * kib, mib} {
		get(t, p, size, UseRecords).Release()
		if n := testing.AllocsPerRun(100, func() {
			s, _ := p.Get(size, UseRecords)
			s.Retain()
			s.Release()
			s.Release()
		}); n != 0 {
			t.Errorf("%d bytes: %v allocations", size, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Get(100*mib, UseRecords) }); n != 0 {
		t.Errorf("refused: %v allocations", n)
	}
}

func TestUseNames(t *testing.T) {
	for u, want := range map[Use]string{UseRecords: "records", UseInternal: "internal", UseNetwork: "network", 7: "Use(7)"} {
		if u.String() != want {
			t.Errorf("%d is %q, want %q", u, u, want)
		}
	}
}
