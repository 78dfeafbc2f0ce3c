package jobs

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestPlace says where a deadline stands as seen from now.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		now, at   int64
		lvl, slot int
		start     int64
	}{
		{0, 0, 0, 0, 0},
		{0, 63, 0, 63, 63},
		{0, 64, 1, 1, 64},
		{0, 127, 1, 1, 64},
		{0, 4095, 1, 63, 4032},
		{0, 4096, 2, 1, 4096},
		{63, 64, 1, 1, 64},
		{64, 65, 0, 1, 65},
		{100, 127, 0, 63, 127},
		{100, 128, 1, 2, 128},
		{4095, 4096, 2, 1, 4096},
		{1 << 36, 1<<36 + 70, 1, 1, 1<<36 + 64},
		{0, horizon, 6, 63, 63 << 36},
	} {
		l := levels{now: c.now}
		if lvl, slot, start := l.place(c.at); lvl != c.lvl || slot != c.slot || start != c.start {
			t.Errorf("at %d, now %d: level %d slot %d from %d, want %d %d %d", c.at, c.now, lvl, slot, start, c.lvl, c.slot, c.start)
		}
	}
}

// TestLevels plays random steps with a clock of its own against a plain list.
func TestLevels(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var l levels
		timers := make([]Timer, 200)
		due := map[*Timer]int64{}
		now := int64(0)
		for range 3000 {
			tm := &timers[rnd.IntN(len(timers))]
			switch rnd.IntN(4) {
			case 0:
				now += rnd.Int64N(1 << rnd.IntN(20))
				popAll(t, &l, now, due)
			case 1:
				if tm.prev != nil {
					l.remove(tm)
					delete(due, tm)
				}
			default:
				if tm.prev != nil {
					l.remove(tm)
				}
				due[tm] = now + rnd.Int64N(1<<rnd.IntN(36))
				l.insert(tm, due[tm])
			}
			if first := earliest(due); l.nextTurn() > first || (first > now && l.nextTurn() <= l.now) {
				t.Fatalf("seed %d: turns at %d, first timer is due at %d, now %d", seed, l.nextTurn(), first, now)
			}
		}
		popAll(t, &l, horizon, due)
		if len(due) != 0 || l.nextTurn() != never {
			t.Fatalf("seed %d: %d timers are lost", seed, len(due))
		}
	}
}

func earliest(due map[*Timer]int64) int64 {
	first := int64(never)
	for _, at := range due {
		first = min(first, at)
	}
	return first
}

// popAll moves time on and checks that what comes out is what is due, in order.
func popAll(t *testing.T, l *levels, now int64, due map[*Timer]int64) {
	t.Helper()
	var want, got []int64
	for _, at := range due {
		if at <= now {
			want = append(want, at)
		}
	}
	slices.Sort(want)
	for tm := l.pop(now); tm != nil; tm = l.pop(now) {
		got = append(got, due[tm])
		delete(due, tm)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("now %d: fired %v, want %v", now, got, want)
	}
	if l.now != now {
		t.Fatalf("time is %d after going to %d", l.now, now)
	}
}

func TestWheelFiresInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWheel()
		defer w.Stop()
		for _, offset := range []time.Duration{0, 300 * time.Microsecond} {
			time.Sleep(offset)
			for _, d := range []time.Duration{
				-time.Second, 0, 1, time.Millisecond, 1001 * time.Microsecond, 63 * time.Millisecond,
				64 * time.Millisecond, 500 * time.Millisecond, 4096 * time.Millisecond, 30 * time.Second,
				10 * time.Minute, 24 * time.Hour, 400 * 24 * time.Hour,
			} {
				fired := make(chan time.Time, 1)
				var tm Timer
				tm.Init(func() { fired <- time.Now() })
				begin := time.Now()
				w.Schedule(&tm, d)
				late := (<-fired).Sub(begin) - max(d, 0)
				if late < 0 || late > tick {
					t.Errorf("%v: fired %v after the deadline", d, late)
				}
			}
		}
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.wakeAt != never {
			t.Errorf("an empty wheel sleeps until tick %d", w.wakeAt)
		}
	})
}

// TestWheelMovesAndCancels is a script over timers a, b, c.
func TestWheelMovesAndCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWheel()
		defer w.Stop()
		begin := time.Now()
		var log []int // ms at which timer 0, 1 or 2 fired: ms*10 + timer
		timers := make([]Timer, 3)
		for i := range timers {
			timers[i].Init(func() { log = append(log, int(time.Since(begin)/tick)*10+i) })
		}
		a, b, c := &timers[0], &timers[1], &timers[2]
		w.Schedule(a, 100*tick)
		w.Schedule(b, 200*tick)
		w.Schedule(c, 300*tick)
		w.Schedule(c, 50*tick) // earlier than all
		w.Schedule(b, 90*time.Second)
		time.Sleep(60 * tick) // 60
		if !w.Cancel(a) || w.Cancel(a) || w.Cancel(c) {
			t.Error("only a timer that is set can be cancelled, once")
		}
		w.Schedule(c, 10*tick) // fired before, set again
		time.Sleep(20 * tick)  // 80
		w.Schedule(b, time.Hour)
		w.Schedule(b, 20*tick)
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []int{502, 702, 1001}; !slices.Equal(log, want) {
			t.Errorf("fired %v, want %v", log, want)
		}
	})
}

// TestQuietWheelKeepsUp sees that a timer set after a long sleep is laid out as seen
// from now: the wheel wakes for it once, and not to work off the time it slept.
func TestQuietWheelKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWheel()
		defer w.Stop()
		var tm, far Timer
		tm.Init(func() {})
		far.Init(func() {})
		w.Schedule(&far, 1000*time.Hour)
		for _, quiet := range []time.Duration{time.Second, time.Hour, 100 * time.Hour} {
			time.Sleep(quiet)
			w.Schedule(&tm, tick)
			w.mu.Lock() // the clock stands still while we run
			wakeAt, now := w.wakeAt, int64(time.Since(w.start)/tick)
			w.mu.Unlock()
			if wakeAt != now+1 {
				t.Errorf("after %v: sleeps until tick %d, now %d", quiet, wakeAt, now)
			}
		}
	})
}

func TestTimerSetsItselfAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWheel()
		defer w.Stop()
		var tm Timer
		n, done := 0, make(chan struct{})
		tm.Init(func() {
			if n++; n == 1000 {
				close(done)
				return
			}
			w.Schedule(&tm, 0)
		})
		begin := time.Now()
		w.Schedule(&tm, 0)
		<-done
		if d := time.Since(begin); d != 1000*tick {
			t.Errorf("1000 times in %v, want once a tick", d)
		}
	})
}

func TestWheelStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWheel()
		var tm, inside Timer
		fired := 0
		tm.Init(func() { fired++ })
		var message string
		inside.Init(func() { message = panics(w.Stop) })
		w.Schedule(&tm, time.Second)
		w.Schedule(&inside, tick)
		time.Sleep(10 * tick)
		synctest.Wait()
		if message == "" {
			t.Error("Stop inside a callback didn't panic")
		}
		w.Stop()
		w.Stop()
		w.Schedule(&inside, tick)
		time.Sleep(time.Minute)
		if fired != 0 {
			t.Error("fired after Stop")
		}
	})
}

func TestTimerMisuse(t *testing.T) {
	w := NewWheel()
	defer w.Stop()
	var tm Timer
	mustPanic(t, "schedule before init", "before Init", func() { w.Schedule(&tm, 1) })
	tm.Init(func() {})
	mustPanic(t, "init twice", "twice", func() { tm.Init(func() {}) })
}

// TestWheelStress has several goroutines set, move and cancel timers of their own. Each
// setting must end in exactly one of: fired, cancelled, moved.
func TestWheelStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWheel()
		var wg sync.WaitGroup
		for seed := range uint64(4) {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, 0))
				var fired atomic.Int64
				timers := make([]Timer, 50)
				for i := range timers {
					timers[i].Init(func() { fired.Add(1) })
				}
				set, cancelled := map[int]bool{}, 0
				for range 2000 {
					i := rnd.IntN(len(timers))
					switch {
					case rnd.IntN(8) == 0:
						time.Sleep(time.Duration(rnd.Int64N(int64(20 * tick))))
					case w.Cancel(&timers[i]):
						cancelled++
					}
					if rnd.IntN(2) == 0 && !set[i] {
						set[i] = true
						w.Schedule(&timers[i], time.Duration(rnd.Int64N(int64(time.Minute))))
					}
				}
				time.Sleep(2 * time.Minute)
				if got := int(fired.Load()) + cancelled; got != len(set) {
					t.Errorf("%d set, %d fired or cancelled", len(set), got)
				}
			})
		}
		wg.Wait()
		w.Stop()
	})
}

func TestSchedulingDoesNotAllocate(t *testing.T) {
	w := NewWheel()
	defer w.Stop()
	timers := make([]Timer, 100)
	for i := range timers {
		timers[i].Init(func() {})
		w.Schedule(&timers[i], time.Hour)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		tm := &timers[i%len(timers)]
		w.Schedule(tm, time.Duration(1000-i%1000)*time.Second)
		w.Cancel(tm)
		w.Schedule(tm, time.Minute)
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRealWheel runs once with the machine's clock.
func TestRealWheel(t *testing.T) {
	w := NewWheel()
	defer w.Stop()
	type result struct {
		i    int
		late time.Duration
	}
	results := make(chan result, 20)
	timers := make([]Timer, cap(results))
	for i := range timers {
		d := time.Duration(1+i*7%20) * 5 * tick
		begin := time.Now()
		timers[i].Init(func() { results <- result{i, time.Since(begin) - d} })
		w.Schedule(&timers[i], d)
	}
	var all []result
	for range timers {
		all = append(all, <-results)
	}
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.late, b.late) })
	if all[0].late < 0 {
		t.Errorf("timer %d fired %v early", all[0].i, -all[0].late)
	}
	t.Logf("late: median %v, most %v", all[len(all)/2].late, all[len(all)-1].late)
}
