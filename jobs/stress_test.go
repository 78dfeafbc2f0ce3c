package jobs

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// owned is state that only tasks of one executor touch: the race detector watches.
type owned struct {
	busy bool
	ran  int
	last []int // by poster
}

type numbered struct {
	Link
	t           *testing.T
	o           *owned
	poster, seq int
}

func (n *numbered) Run() {
	if n.o.busy {
		n.t.Error("two tasks at the same time")
	}
	n.o.busy = true
	if last := n.o.last[n.poster]; n.seq != last+1 {
		n.t.Errorf("poster %d: task %d after %d", n.poster, n.seq, last)
	}
	n.o.last[n.poster] = n.seq
	n.o.ran++
	n.o.busy = false
}

// TestOrderAndExactlyOnce has several posters post numbered tasks in both ways.
func TestOrderAndExactlyOnce(t *testing.T) {
	const posters, each = 4, 20_000
	e := NewExecutor(ExecutorOptions{Budget: 1}) // hand over as often as can be
	o := &owned{last: make([]int, posters)}
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for seq := 1; seq <= each; seq++ {
				task := &numbered{t: t, o: o, poster: p, seq: seq}
				if seq%3 == 0 {
					e.Defer(task)
				} else {
					e.Post(task)
				}
			}
		})
	}
	wg.Wait()
	e.Stop()
	if o.ran != posters*each || e.Depth() != 0 {
		t.Errorf("%d tasks ran of %d, depth %d", o.ran, posters*each, e.Depth())
	}
}

// TestIdleIsTakenOnce has posters meet before each task, so that they find the executor
// idle at the same moment. Only one of them may become the runner.
func TestIdleIsTakenOnce(t *testing.T) {
	const posters, rounds = 3, 20_000
	e := NewExecutor(ExecutorOptions{Name: "x"})
	o := &owned{last: make([]int, posters)}
	var arrived atomic.Int64
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for seq := 1; seq <= rounds; seq++ {
				task := &numbered{t: t, o: o, poster: p, seq: seq}
				arrived.Add(1)
				for i := 0; arrived.Load() < int64(seq*posters); i++ {
					if i > 200 {
						runtime.Gosched() // the others need the processor
					}
				}
				e.Post(task)
			}
		})
	}
	wg.Wait()
	e.Stop()
	if o.ran != posters*rounds || e.Depth() != 0 {
		t.Errorf("%d tasks ran of %d, depth %d", o.ran, posters*rounds, e.Depth())
	}
}

// hopper is an operation that walks from executor to executor, as a produce request
// walks over its partitions.
type hopper struct {
	Link
	executors []*Executor
	visits    []int // by executor, owned by it
	path      []int
	done      *sync.WaitGroup
}

func (h *hopper) Run() {
	at := h.path[0]
	h.visits[at]++
	if h.path = h.path[1:]; len(h.path) == 0 {
		h.done.Done()
		return
	}
	h.executors[h.path[0]].Post(h)
}

func TestOperationsHop(t *testing.T) {
	const count, hops = 5000, 10
	executors := make([]*Executor, 5)
	for i := range executors {
		executors[i] = NewExecutor(ExecutorOptions{Budget: 1000})
	}
	visits := make([]int, len(executors))
	var done, posters sync.WaitGroup
	for seed := range uint64(3) {
		posters.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 0))
			for range count {
				h := &hopper{executors: executors, visits: visits, done: &done}
				for range hops {
					h.path = append(h.path, rnd.IntN(len(executors)))
				}
				done.Add(1)
				executors[h.path[0]].Post(h)
			}
		})
	}
	posters.Wait()
	done.Wait()
	sum := 0
	for i, e := range executors {
		e.Stop()
		sum += visits[i]
	}
	if sum != 3*count*hops {
		t.Errorf("%d hops, want %d", sum, 3*count*hops)
	}
}

// TestStopWhilePosting sees that exactly the accepted tasks run, and none after Stop.
func TestStopWhilePosting(t *testing.T) {
	for range 100 {
		e := NewExecutor(ExecutorOptions{Budget: 1})
		var accepted, ran atomic.Int64
		var over atomic.Bool
		var wg sync.WaitGroup
		for p := range 3 {
			wg.Go(func() {
				for i := 0; ; i++ {
					post := e.Do
					if (i+p)%2 == 0 {
						post = e.DoDeferred
					}
					if !post(func() {
						ran.Add(1)
						if over.Load() {
							t.Error("a task runs after Stop")
						}
					}) {
						return
					}
					accepted.Add(1)
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				e.Stop()
				over.Store(true)
			})
		}
		wg.Wait()
		if accepted.Load() != ran.Load() {
			t.Fatalf("%d accepted, %d ran", accepted.Load(), ran.Load())
		}
	}
}
