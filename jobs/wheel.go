package jobs

import (
	"reflect"
	"runtime"
	"sync"
	"time"
)

// Timer is a deadline that is part of whatever waits for it. It must not be copied
// once it was used.
type Timer struct {
	next *Timer
	prev **Timer // whatever points to this timer; nil: not set
	at   int64   // tick
	slot uint16  // level and slot
	fire func()
}

// Init sets what happens at the deadline. It is called once, before the first Schedule.
// fire runs on the wheel's goroutine, holds up all other timers and so must only post.
func (t *Timer) Init(fire func()) {
	if t.fire != nil {
		panic("jobs: timer initialised twice")
	}
	t.fire = fire
}

const tick = time.Millisecond

// Wheel keeps timers with a granularity of one millisecond. A timer never fires before
// its deadline and, if the machine is not busy, less than two milliseconds after it.
// Timers due within the same millisecond fire in no particular order. All methods are
// safe from any goroutine, those on one timer included.
//
// One goroutine sleeps until the next deadline; when no timer is set it just sleeps.
type Wheel struct {
	start time.Time
	stop  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	levels  levels
	wakeAt  int64       // the tick the goroutine sleeps until; never: no deadline
	sleep   *time.Timer // set to wakeAt
	stopped bool
}

// NewWheel returns a wheel, whose goroutine runs until Stop.
func NewWheel() *Wheel {
	w := &Wheel{
		start: time.Now(), wakeAt: never, sleep: time.NewTimer(time.Hour),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	w.sleep.Stop()
	go w.loop()
	return w
}

// Schedule sets t to fire in d, rounded up to the next millisecond. A timer that is set
// is moved; one that has just fired is set again. On a stopped wheel nothing happens.
func (w *Wheel) Schedule(t *Timer, d time.Duration) {
	if t.fire == nil {
		panic("jobs: Schedule before Init")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if t.prev != nil {
		w.levels.remove(t)
	}
	elapsed := time.Since(w.start)
	// The slots are laid out as seen from the levels' now, so it should not lag far
	// behind when the wheel has slept.
	if now := int64(elapsed / tick); w.levels.nextTurn() > now {
		w.levels.now = now
	}
	turn := w.levels.insert(t, ceilTick(elapsed, d))
	if turn < w.wakeAt {
		w.wakeUpAt(turn, elapsed)
	}
}

// ceilTick returns the first tick that is not before elapsed+d and is after elapsed,
// so that a timer that sets itself again can't keep the wheel from sleeping.
func ceilTick(elapsed, d time.Duration) int64 {
	d = min(max(d, 1), horizon*tick-elapsed)
	return int64((elapsed + d + tick - 1) / tick)
}

func (w *Wheel) wakeUpAt(turn int64, elapsed time.Duration) {
	w.wakeAt = turn
	w.sleep.Reset(time.Duration(turn)*tick - elapsed)
}

// Cancel takes back a timer. True: it was set and will not fire. False: it has fired,
// is about to on the wheel's goroutine, or was not set.
func (w *Wheel) Cancel(t *Timer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.prev == nil {
		return false
	}
	w.levels.remove(t)
	return true
}

func (w *Wheel) loop() {
	defer close(w.ended)
	for {
		select {
		case <-w.stop:
			return
		case <-w.sleep.C:
		}
		for t := w.due(); t != nil; t = w.due() {
			fire(t)
		}
	}
}

// due takes out one timer that is due, or sets the sleep to the next deadline. Both in
// one section, so that no Schedule falls between them.
func (w *Wheel) due() *Timer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil
	}
	elapsed := time.Since(w.start)
	if t := w.levels.pop(int64(elapsed / tick)); t != nil {
		return t
	}
	w.wakeAt = never
	if next := w.levels.nextTurn(); next != never {
		w.wakeUpAt(next, elapsed)
	}
	return nil
}

// fire runs one timer. Its name marks the stack of whoever is inside a callback.
func fire(t *Timer) { t.fire() }

var fireName = runtime.FuncForPC(reflect.ValueOf(fire).Pointer()).Name()

// Stop ends the wheel. When it returns, no callback runs and none will: timers that
// are set are forgotten. It may be called several times; inside a callback it panics.
func (w *Wheel) Stop() {
	mustBeOutside("Wheel: Stop", fireName)
	w.mu.Lock()
	if !w.stopped {
		w.stopped = true
		close(w.stop)
		w.sleep.Stop()
	}
	w.mu.Unlock()
	<-w.ended
}
