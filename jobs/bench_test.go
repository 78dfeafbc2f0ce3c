package jobs

import (
	"testing"
	"time"
)

// BenchmarkPost is what the queue adds to doing the work at once.
func BenchmarkPost(b *testing.B) {
	b.Run("idle", func(b *testing.B) {
		e, task := newExecutor(b), &nothing{}
		for b.Loop() {
			e.Post(task)
		}
	})
	b.Run("queued", func(b *testing.B) { // per task, of three
		e, task := newExecutor(b), &double{}
		task.e = e
		for b.Loop() {
			e.Post(task)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3, "ns/task")
	})
	b.Run("contended", func(b *testing.B) {
		e := newExecutor(b)
		b.RunParallel(func(pb *testing.PB) {
			tasks := make([]*numberless, 1024)
			for i := range tasks {
				tasks[i] = &numberless{free: make(chan struct{}, 1)}
				tasks[i].free <- struct{}{}
			}
			for i := 0; pb.Next(); i++ {
				task := tasks[i%len(tasks)]
				<-task.free
				e.Post(task)
			}
		})
	})
	b.Run("deferred, there and back", func(b *testing.B) {
		e, task := newExecutor(b), &signal{c: make(chan struct{})}
		for b.Loop() {
			e.Defer(task)
			<-task.c
		}
	})
	b.Run("channel, there and back", func(b *testing.B) { // what V3 replaces
		in, out := make(chan struct{}, 1), make(chan struct{})
		go func() {
			for range in {
				out <- struct{}{}
			}
			close(out)
		}()
		for b.Loop() {
			in <- struct{}{}
			<-out
		}
		close(in)
		<-out
	})
}

// numberless may be posted again when it has run.
type numberless struct {
	Link
	free chan struct{}
}

func (t *numberless) Run() { t.free <- struct{}{} }

func BenchmarkGate(b *testing.B) {
	g := NewGate(1 << 20)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g.Add(1000)
			g.Done(1000)
		}
	})
}

func BenchmarkWheel(b *testing.B) {
	w := NewWheel()
	defer w.Stop()
	timers := make([]Timer, 100_000)
	for i := range timers {
		timers[i].Init(func() {})
		w.Schedule(&timers[i], time.Hour+time.Duration(i)*time.Second)
	}
	b.Run("move", func(b *testing.B) {
		i := 0
		for b.Loop() {
			w.Schedule(&timers[i%len(timers)], 30*time.Second)
			i++
		}
	})
	b.Run("set and cancel", func(b *testing.B) {
		var tm Timer
		tm.Init(func() {})
		for b.Loop() {
			w.Schedule(&tm, 500*time.Millisecond)
			w.Cancel(&tm)
		}
	})
	b.Run("set and cancel, parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			var tm Timer
			tm.Init(func() {})
			for pb.Next() {
				w.Schedule(&tm, 500*time.Millisecond)
				w.Cancel(&tm)
			}
		})
	})
}

// BenchmarkClock is what looking at the budget, or setting a timer, pays for the time.
func BenchmarkClock(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		_ = time.Since(start)
	}
}

// BenchmarkLevels is the life of a timer that fires, all cascades included.
func BenchmarkLevels(b *testing.B) {
	var l levels
	timers := make([]Timer, 1000)
	now := int64(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(timers) == 0 {
			now += 40_000
			for l.pop(now) != nil {
			}
		}
		l.insert(&timers[i%len(timers)], now+int64(i*7919%30_000))
	}
}
