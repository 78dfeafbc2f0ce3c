package reactor

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// Answers leave in the order of the requests, in whatever order and on whatever
// goroutine they are given.
func TestOrder(t *testing.T) {
	for _, loops := range []int{1, 2} {
		t.Run(name("loops=", loops), func(t *testing.T) {
			f := start(t, Options{Loops: loops})
			const conns, rounds = 4, 250
			requests := make(chan *Request, 1<<16)
			ln := f.listen(ListenerOptions{Handler: &funcs{overlaps: always,
				serve: func(r *Request) { requests <- r }}})
			stop := answerShuffled(requests)
			defer stop()
			defer ln.Close()
			var wg sync.WaitGroup
			for i := range conns {
				c := dial(t, ln)
				wg.Go(func() { orderRounds(c, rounds, rand.New(rand.NewPCG(uint64(i), 1))) })
			}
			wg.Wait()
		})
	}
}

// answerShuffled answers requests from several goroutines, some at once, some after
// others that came later, and one in eight not at all.
func answerShuffled(requests chan *Request) (stop func()) {
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 2))
			var held []*Request
			for {
				r, more := next(requests, len(held) > 0)
				switch {
				case r != nil:
					held = append(held, r)
				case !more && len(held) == 0:
					return
				}
				if r != nil && rnd.IntN(2) == 0 {
					continue
				}
				k := rnd.IntN(len(held))
				held[0], held[k] = held[k], held[0]
				if numberOf(held[0].Frame())%8 == 7 {
					held[0].Drop()
				} else {
					held[0].Reply(echo(held[0].Frame()))
				}
				held = held[1:]
			}
		})
	}
	return func() { close(requests); wg.Wait() }
}

// next takes a request if there is one, or waits for it if there is nothing else to do.
func next(requests chan *Request, busy bool) (r *Request, more bool) {
	if !busy {
		r, more = <-requests
		return r, more
	}
	select {
	case r, more = <-requests:
		return r, more
	default:
		return nil, true
	}
}

func orderRounds(c *client, rounds int, rnd *rand.Rand) {
	number := 0
	for range rounds {
		n := 1 + rnd.IntN(20)
		var out []byte
		var want [][]byte
		for range n {
			q := request(0, number, 8+rnd.IntN(3000))
			out = append(out, q...)
			if number%8 != 7 {
				want = append(want, q)
			}
			number++
		}
		c.send(out)
		for _, q := range want {
			c.want(q)
		}
	}
}

// What doesn't overlap starts when all before it is answered, and holds up what comes
// after it; what overlaps starts while others that do are unanswered.
func TestOverlaps(t *testing.T) {
	const o, x = 0, 1 // keys: overlaps, doesn't
	for _, tc := range []struct {
		keys  []int16
		steps [][]int // requests that start together, in this order
	}{
		{[]int16{o, o, o}, [][]int{{0, 1, 2}}},
		{[]int16{x, x, x}, [][]int{{0}, {1}, {2}}},
		{[]int16{o, x, o}, [][]int{{0}, {1}, {2}}},
		{[]int16{o, o, x, x, o, o}, [][]int{{0, 1}, {2}, {3}, {4, 5}}},
		{[]int16{x, o, o, x}, [][]int{{0}, {1, 2}, {3}}},
	} {
		t.Run(name(tc.keys), func(t *testing.T) {
			f := start(t, Options{})
			p := newPile()
			ln := f.listen(ListenerOptions{Handler: &funcs{serve: p.add,
				overlaps: func(_ any, frame []byte) bool { return frame[1] == o }}})
			c := dial(t, ln)
			var out []byte
			for i, key := range tc.keys {
				out = append(out, request(key, i, 100)...)
			}
			c.send(out)
			for _, step := range tc.steps {
				started := p.take(len(step))
				if len(started) != len(step) {
					t.Fatalf("%d started, want %v", len(started), step)
				}
				for i := range started {
					if n := numberOf(started[i].Frame()); n != step[i] {
						t.Fatalf("%d started, want %v", n, step)
					}
				}
				for i := range started { // in reverse
					r := started[len(started)-1-i]
					r.Reply(echo(r.Frame()))
				}
			}
			for i, key := range tc.keys {
				c.want(request(key, i, 100))
			}
		})
	}
}

// Thousands of requests in one write, answered at once, from a goroutine, and with
// answers that don't fit into the socket together.
func TestPipelining(t *testing.T) {
	for _, tc := range []struct {
		name    string
		n, size int
		async   bool
	}{
		{"tiny inline", 20000, 8, false},
		{"tiny async", 20000, 8, true},
		{"medium inline", 2000, 5000, false},
		{"medium async", 2000, 5000, true},
		{"large inline", 60, 300 << 10, false},
		{"large async", 60, 300 << 10, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := start(t, Options{})
			h := &funcs{overlaps: always}
			if tc.async {
				work := make(chan *Request, tc.n)
				h.serve = func(r *Request) { work <- r }
				var wg sync.WaitGroup
				wg.Go(func() {
					for r := range work {
						r.Reply(echo(r.Frame()))
					}
				})
				defer func() { close(work); wg.Wait() }()
			}
			ln := f.listen(ListenerOptions{Handler: h})
			defer ln.Close()
			c := dial(t, ln)
			go func() {
				for i := range tc.n {
					if _, err := c.Write(request(0, i, tc.size)); err != nil {
						return
					}
				}
			}()
			for i := range tc.n {
				c.want(request(0, i, tc.size))
			}
		})
	}
}
