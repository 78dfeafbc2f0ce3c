package link_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"millrace/broker"
	"millrace/broker/link"
	"millrace/metadata"
)

// peer listens and answers the first request of each connection with these bytes, whose second four are replaced by the
// correlation id if that is asked for. Then it says nothing more.
func peer(t testing.TB, answer []byte, correlated bool) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			var head [4 + 2 + 2 + 4]byte
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				continue
			}
			if correlated {
				copy(answer[4:], head[8:])
			}
			conn.Write(answer)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

// impatient makes all waiting of a connection shorter.
type impatient struct{ net.Conn }

func (c impatient) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Now().Add(time.Until(at) / 100)
	}
	return c.Conn.SetReadDeadline(at)
}

func dialImpatient(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return impatient{conn}, nil
}

// askOnce asks once and returns the error.
func askOnce(t testing.TB, address string) error {
	t.Helper()
	l := link.Open(link.Options{Self: metadata.Member{Broker: 2, Incarnation: 7}, Dial: dialImpatient,
		Address: func() (string, bool) { return address, true }})
	defer l.Close()
	done := make(chan struct{})
	r := &broker.ReplicaFetch{Changed: []broker.ReplicaPosition{{}}, BytesMax: 1 << 20, PartitionBytesMax: 1 << 20,
		MaxWait: time.Millisecond, Done: func(*broker.ReplicaFetch) { close(done) }}
	l.Fetch(r)
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
	}
	if len(r.Found) > 0 || r.Free != nil {
		t.Errorf("found %+v", r.Found)
	}
	return r.Err
}

func framed(size int, id int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	return append(binary.BigEndian.AppendUint32(b, uint32(id)), body...)
}

// What no broker answers is an error, and makes no memory that it only claims.
func TestBadAnswers(t *testing.T) {
	whole := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0} // no tags, no throttling, no error, no session, no topics, no tags
	for name, x := range map[string]struct {
		answer     []byte
		correlated bool
		want       error
	}{
		"nothing":              {nil, false, os.ErrDeadlineExceeded},
		"half a head":          {[]byte{0, 0}, false, os.ErrDeadlineExceeded},
		"another's id":         {framed(4+len(whole), -77, whole...), false, nil},
		"too small":            {framed(3, 1), true, nil},
		"2 GiB":                {framed(1<<31-1, 1), true, nil},
		"4 GiB":                {framed(1<<32-1, 1), true, nil},
		"60 MiB, but no more":  {framed(60<<20, 1, whole...), true, os.ErrDeadlineExceeded},
		"a billion topics":     {framed(4+len(whole)+4, 1, append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x07}, 0)...), true, nil},
		"a byte more":          {framed(4+len(whole)+1, 1, append(whole, 0)...), true, nil},
		"an error":             {framed(4+len(whole), 1, 0, 0, 0, 0, 0, 0, 71, 0, 0, 0, 0, 1, 0), true, link.CodeError(71)},
		"what was not asked":   {append(framed(4+len(whole), 1, whole...), framed(4, 9)...), true, errAnswered},
		"an answer of no news": {framed(4+len(whole), 1, whole...), true, errAnswered},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := askOnce(t, peer(t, x.answer, x.correlated))
		runtime.ReadMemStats(&after)
		switch {
		case x.want == errAnswered:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || x.want != nil && !errors.Is(err, x.want):
			t.Errorf("%s: %v", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<20 {
			t.Errorf("%s: %d bytes allocated", name, made)
		}
	}
}

var errAnswered = errors.New("no error at all")
