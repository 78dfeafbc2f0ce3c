package reactor

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Clients that send, read, stop reading, shut down, close and reset in every order,
// while requests are answered from anywhere, listeners come and go and memory and gate
// are tight. What must hold is what the fixture checks at the end, the order of the
// answers that arrive, and that it ends.
func TestChaos(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	f := start(t, Options{Loops: 2, InFlightBytesMax: 1 << 20, ConnOutboundBytesMax: 64 << 10,
		OutboundBytesMax: 1 << 20})
	requests := make(chan *Request, 1<<16)
	stop := answerShuffled(requests)
	defer stop()
	for round := range rounds {
		h := &funcs{serve: func(r *Request) { requests <- r },
			overlaps: func(_ any, frame []byte) bool { return frame[1] == 0 }}
		ln := f.listen(ListenerOptions{Handler: h, RequestsMax: 1 + round*5})
		var wg sync.WaitGroup
		for i := range 40 {
			c := dial(t, ln)
			wg.Go(func() { chaosClient(c, rand.New(rand.NewPCG(uint64(round), uint64(i)))) })
		}
		if round%3 == 0 {
			ln.Close() // in the midst of it
		}
		wg.Wait()
		ln.Close()
		if h.opens.Load() != h.closes.Load() {
			t.Fatalf("%d connections were opened, %d closed", h.opens.Load(), h.closes.Load())
		}
	}
}

func chaosClient(c *client, rnd *rand.Rand) {
	defer c.Close()
	sent, got := 0, 0
	for range 30 {
		switch n := rnd.IntN(20); {
		case n < 10:
			size := 8 + rnd.IntN(2000)
			if n == 0 {
				size = rnd.IntN(200 << 10)
			}
			if _, err := c.Write(request(int16(rnd.IntN(2)), sent, size)); err != nil {
				return
			}
			sent++
		case n < 17:
			for got < sent && got%8 == 7 {
				got++ // has no answer
			}
			if got == sent {
				continue
			}
			b, err := c.tryNext()
			if err != nil {
				return // closed by the server
			}
			if numberOf(b) != got {
				c.t.Errorf("answer %d, want %d", numberOf(b), got)
				return
			}
			got++
		case n == 17:
			_, _ = c.Write(request(0, sent, 3000)[:rnd.IntN(3000)])
			return
		case n == 18:
			setReset(c)
			return
		default:
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			for {
				if _, err := c.tryNext(); err != nil {
					return
				}
			}
		}
	}
}
