package jobs

import (
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"
)

// Task is something to run. It embeds a Link.
type Task interface {
	// Run is called once per Post, with no other task of the same executor running.
	// The task may be posted again from then on.
	Run()
	JobLink() *Link
}

// Link chains a task into the queue of an executor. Its zero value is ready.
type Link struct {
	next *Link
	task Task // nil: not queued
}

// JobLink returns the link itself; embedding a Link is all a Task needs to have it.
func (l *Link) JobLink() *Link { return l }

// ExecutorOptions of NewExecutor.
type ExecutorOptions struct {
	Name   string        // for messages
	Budget time.Duration // how long a poster works for others; default 100 µs
}

const defaultBudget = 100 * time.Microsecond

// Executor runs tasks one at a time; the order of one poster's tasks is kept.
//
// Its whole state is one word, head:
//
//	nil      idle, nothing queued
//	&busy    somebody runs tasks, nothing queued
//	a link   somebody runs tasks, and a stack of queued links ends in &busy
//	&stopped nothing runs and nothing ever will
//
// Whoever moves head from nil to anything else is the runner, and only the runner
// moves it back, so there is one at a time. The runner takes the whole stack at once
// and reverses it; he goes idle by exchanging &busy for nil, which fails if anything
// was posted meanwhile. So no wake-up is lost and no other flag is needed. A runner
// that is out of budget gives the role to a goroutine; head doesn't change.
//
// The obvious queue, a channel and a goroutine behind it, is the hop that this
// executor is there to avoid.
type Executor struct {
	head     atomic.Pointer[Link]
	stopping atomic.Bool
	waiting  atomic.Int64 // queued and not yet started

	// The runner's own. It goes from one runner to the next through head.
	rest *Link // taken from the stack, in order

	budget  time.Duration
	name    string
	work    func()        // e.goOn, made once so that starting it allocates nothing
	drained chan struct{} // closed with head = &stopped
}

var busy, stopped Link

// NewExecutor returns an idle executor, which has no goroutine.
func NewExecutor(o ExecutorOptions) *Executor {
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	e := &Executor{name: o.Name, budget: o.Budget, drained: make(chan struct{})}
	e.work = e.goOn
	return e
}

// Post queues t. If the executor is idle it runs t, and what others post meanwhile,
// before it returns: t itself whatever it takes, the others until the budget is used,
// looked at between two tasks. False: the executor was stopped and t will never run.
// Posting a task that is still queued panics.
func (e *Executor) Post(t Task) bool {
	l := link(t)
	for !e.stopping.Load() {
		h := e.head.Load()
		if h == nil {
			if e.head.CompareAndSwap(nil, &busy) {
				run(l)
				e.turn(e.budget)
				return true
			}
			continue
		}
		if h == &stopped {
			break
		}
		if e.push(l, h) {
			return true
		}
	}
	l.task = nil
	return false
}

// Defer queues t like Post but never runs anything on the caller.
func (e *Executor) Defer(t Task) bool {
	l := link(t)
	for !e.stopping.Load() {
		h := e.head.Load()
		if h == &stopped {
			break
		}
		if e.push(l, h) {
			if h == nil {
				go e.work()
			}
			return true
		}
	}
	l.task = nil
	return false
}

// link marks the task's link as queued.
func link(t Task) *Link {
	l := t.JobLink()
	if l.task != nil {
		panic(fmt.Sprintf("jobs: %T posted while it is still queued", t))
	}
	l.task = t
	return l
}

// push puts l on the stack whose top is h. If h is nil, the caller is the runner then.
func (e *Executor) push(l, h *Link) bool {
	if l.next = h; h == nil {
		l.next = &busy
	}
	// Counted before it can be seen, or the count could be negative for a moment.
	e.waiting.Add(1)
	if e.head.CompareAndSwap(h, l) {
		return true
	}
	e.waiting.Add(-1)
	return false
}

// run carries out one task. Its name marks the stack of whoever is inside a task.
func run(l *Link) {
	t := l.task
	l.task, l.next = nil, nil
	t.Run()
}

// goOn is the executor's own goroutine. It ends when there is nothing left.
func (e *Executor) goOn() { e.turn(0) }

// turn runs what is queued until there is nothing, or hands over when the budget is
// used; 0 means no budget. The caller is the runner and is it no more afterwards.
func (e *Executor) turn(budget time.Duration) {
	// Most turns are over after the poster's own task, so the clock is first looked
	// at when there is something else to do.
	var since time.Time
	for {
		l := e.take()
		if l == nil {
			return
		}
		if budget > 0 {
			if since.IsZero() {
				since = time.Now()
			} else if time.Since(since) >= budget {
				l.next, e.rest = e.rest, l
				go e.work()
				return
			}
		}
		e.waiting.Add(-1)
		run(l)
	}
}

// take returns the next task in order. If there is none it makes the executor idle
// and returns nil.
func (e *Executor) take() *Link {
	if e.rest == nil {
		if e.head.CompareAndSwap(&busy, nil) {
			// Stop sets stopping and then looks at head, we do it the other way
			// round: one of the two sees that it is over.
			if e.stopping.Load() {
				e.finish()
			}
			return nil
		}
		e.rest = reverse(e.head.Swap(&busy))
	}
	l := e.rest
	e.rest = l.next
	return l
}

// reverse turns a stack that ends in &busy into a list in order of posting.
func reverse(l *Link) *Link {
	var done *Link
	for l != &busy {
		next := l.next
		l.next = done
		done, l = l, next
	}
	return done
}

// finish makes an idle executor a stopped one.
func (e *Executor) finish() {
	if e.head.CompareAndSwap(nil, &stopped) {
		close(e.drained)
	}
}

// Do posts a function, for callers that may allocate. See Post.
func (e *Executor) Do(f func()) bool { return e.Post(&funcTask{f: f}) }

// DoDeferred is Defer for a function.
func (e *Executor) DoDeferred(f func()) bool { return e.Defer(&funcTask{f: f}) }

type funcTask struct {
	Link
	f func()
}

func (t *funcTask) Run() { t.f() }

// Stop refuses new tasks, lets the queued ones finish and returns when nothing runs.
// It may be called several times. It blocks, so calling it inside a task, of whatever
// executor, is an error and panics.
func (e *Executor) Stop() {
	mustBeOutside("Executor "+e.name+": Stop", runName)
	e.stopping.Store(true)
	e.finish()
	<-e.drained
}

// Depth returns how many tasks wait to be started.
func (e *Executor) Depth() int { return int(e.waiting.Load()) }

// Name returns the name given to NewExecutor.
func (e *Executor) Name() string { return e.name }

var runName = runtime.FuncForPC(reflect.ValueOf(run).Pointer()).Name()

// mustBeOutside panics if the function of that name is on the caller's stack. Go
// doesn't tell goroutines apart, so this is how a wait for oneself is found out.
func mustBeOutside(what, function string) {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		if n == 0 {
			return
		}
		frames := runtime.CallersFrames(pcs[:n])
		for {
			f, more := frames.Next()
			if f.Function == function {
				panic("jobs: " + what + " inside " + function + " would wait for itself")
			}
			if !more {
				break
			}
		}
	}
}
