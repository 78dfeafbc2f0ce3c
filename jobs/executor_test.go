package jobs

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// trace is a task that notes when it starts and ends, and does something between.
type trace struct {
	Link
	name string
	log  *[]string
	body func()
}

func (t *trace) Run() {
	*t.log = append(*t.log, t.name)
	if t.body != nil {
		t.body()
		*t.log = append(*t.log, t.name+"'")
	}
}

// newExecutor never hands over, so what runs where doesn't depend on the machine.
func newExecutor(t testing.TB) *Executor {
	e := NewExecutor(ExecutorOptions{Name: t.Name(), Budget: time.Hour})
	t.Cleanup(e.Stop)
	return e
}

// TestPosterRuns has tasks post to each other, on one goroutine. A name stands for the
// start of a task, with ' for its end.
func TestPosterRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(log *[]string, a, b *Executor)
		want  string
	}{
		{"idle", func(log *[]string, a, _ *Executor) {
			a.Post(&trace{name: "1", log: log})
			a.Post(&trace{name: "2", log: log})
		}, "1 2"},
		{"from inside", func(log *[]string, a, _ *Executor) {
			a.Post(&trace{name: "1", log: log, body: func() {
				a.Post(&trace{name: "2", log: log})
				a.Post(&trace{name: "3", log: log})
			}})
		}, "1 1' 2 3"},
		{"to another", func(log *[]string, a, b *Executor) {
			a.Post(&trace{name: "a", log: log, body: func() {
				b.Post(&trace{name: "b", log: log})
			}})
		}, "a b a'"},
		{"there and back", func(log *[]string, a, b *Executor) {
			a.Post(&trace{name: "a1", log: log, body: func() {
				b.Post(&trace{name: "b1", log: log, body: func() {
					a.Post(&trace{name: "a2", log: log, body: func() {
						b.Post(&trace{name: "b2", log: log})
					}})
				}})
			}})
		}, "a1 b1 b1' a1' a2 b2 a2'"},
		{"deferred from inside", func(log *[]string, a, _ *Executor) {
			a.Post(&trace{name: "1", log: log, body: func() {
				a.Defer(&trace{name: "2", log: log})
				a.Post(&trace{name: "3", log: log})
			}})
		}, "1 1' 2 3"},
	} {
		a, b := newExecutor(t), newExecutor(t)
		var log []string
		c.build(&log, a, b)
		if got := strings.Join(log, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// again is a task that posts itself until it has run often enough, and measures the
// stack it runs on.
type again struct {
	Link
	e     *Executor
	left  int
	depth int
	done  chan struct{}
}

func (t *again) Run() {
	if t.left--; t.left == 0 {
		close(t.done)
		return
	}
	if t.left%100 == 0 {
		var pcs [256]uintptr
		t.depth = max(t.depth, runtime.Callers(0, pcs[:]))
	}
	t.e.Post(t)
}

func TestPostingFromInsideDoesNotRecurse(t *testing.T) {
	e := NewExecutor(ExecutorOptions{})
	task := &again{e: e, left: 100_000, done: make(chan struct{})}
	e.Post(task)
	<-task.done
	e.Stop()
	if task.depth > 30 {
		t.Errorf("%d frames on the stack", task.depth)
	}
}

// TestBudget uses the bubble's clock: a task "works" by sleeping.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewExecutor(ExecutorOptions{Budget: 100 * time.Microsecond})
		var done atomic.Int32
		work := func() { time.Sleep(60 * time.Microsecond); done.Add(1) }
		e.Do(func() {
			time.Sleep(time.Second) // one's own task is outside the budget
			for range 5 {
				e.Do(work)
			}
		})
		if n := done.Load(); n != 2 {
			t.Errorf("the poster did %d tasks of 60 µs for others within 100 µs, want 2", n)
		}
		if d := e.Depth(); d != 3 {
			t.Errorf("depth %d, want 3", d)
		}
		e.Stop() // waits for the executor's own goroutine
		if n := done.Load(); n != 5 || e.Depth() != 0 {
			t.Errorf("after Stop %d tasks done, depth %d", n, e.Depth())
		}
	})
}

func TestDeferNeverRunsOnTheCaller(t *testing.T) {
	e := newExecutor(t)
	for range 100 {
		gate, done := make(chan struct{}), make(chan struct{})
		e.DoDeferred(func() { <-gate; close(done) }) // would wait for ever on this goroutine
		if !e.DoDeferred(func() {}) {
			t.Fatal("refused")
		}
		close(gate)
		<-done
	}
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewExecutor(ExecutorOptions{Name: "x"})
		gate, stopped, ran := make(chan struct{}), make(chan struct{}), 0
		e.DoDeferred(func() { <-gate })
		for range 10 {
			e.Do(func() { ran++ })
		}
		late := &trace{log: new([]string)}
		e.Do(func() {
			if e.Post(late) || e.Defer(late) {
				t.Error("a task posted to an executor that is being stopped")
			}
		})
		go func() { e.Stop(); close(stopped) }()
		synctest.Wait()
		select {
		case <-stopped:
			t.Fatal("Stop returned while a task ran")
		default:
		}
		if e.Post(late) || e.Defer(late) || e.Do(func() {}) {
			t.Error("accepted a task while stopping")
		}
		close(gate)
		<-stopped
		if ran != 10 || e.Depth() != 0 {
			t.Errorf("%d of 10 queued tasks ran, depth %d", ran, e.Depth())
		}
		if e.Post(late) || e.Defer(late) {
			t.Error("accepted a task after Stop")
		}
		e.Stop() // again
		other := NewExecutor(ExecutorOptions{})
		if !other.Post(late) {
			t.Error("a refused task can't be posted elsewhere")
		}
		other.Stop()
	})
}

func TestProgrammerErrorsPanic(t *testing.T) {
	a, b := newExecutor(t), newExecutor(t)
	inside := func(f func()) func() {
		return func() {
			var got string
			a.Do(func() { got = panics(f) })
			if got != "" {
				panic(got)
			}
		}
	}
	var deep func(n int)
	deep = func(n int) {
		if n == 0 {
			b.Stop()
			return
		}
		deep(n - 1)
	}
	mustPanic(t, "stop oneself", "would wait for itself", inside(a.Stop))
	mustPanic(t, "stop another", "would wait for itself", inside(b.Stop))
	mustPanic(t, "stop deep down", "would wait for itself", inside(func() { deep(1000) }))
	mustPanic(t, "post twice", "still queued", inside(func() {
		task := &trace{log: new([]string)}
		a.Post(task)
		a.Defer(task)
	}))
	var once Once
	once.Fire()
	mustPanic(t, "complete twice", "completed twice", once.Fire)
}

func TestOnce(t *testing.T) {
	var o Once
	if o.Fired() || !o.TryFire() || o.TryFire() || !o.Fired() {
		t.Error("TryFire must be true once")
	}
	o.Rearm()
	o.Fire()
	if o.TryFire() {
		t.Error("fired, and then again")
	}
}

type nothing struct{ Link }

func (*nothing) Run() {}

// double posts two others from inside, which are queued and run by the poster.
type double struct {
	Link
	e    *Executor
	a, b nothing
}

func (t *double) Run() { t.e.Post(&t.a); t.e.Defer(&t.b) }

type signal struct {
	Link
	c chan struct{}
}

func (t *signal) Run() { t.c <- struct{}{} }

func TestPostingDoesNotAllocate(t *testing.T) {
	e := newExecutor(t)
	idle, inside, far := &nothing{}, &double{e: e}, &signal{c: make(chan struct{})}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"idle", func() { e.Post(idle) }},
		{"queued", func() { e.Post(inside) }},
		{"deferred", func() { e.Defer(far); <-far.c }},
	} {
		if n := testing.AllocsPerRun(1000, c.f); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}
