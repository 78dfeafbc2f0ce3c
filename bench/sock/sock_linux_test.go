package sock

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOutboxSendsEverythingOnce pushes more than a socket takes, and reads in odd pieces.
func TestOutboxSendsEverythingOnce(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	var out Outbox
	var want, got []byte
	for i := range 3000 { // more pieces than one call takes
		piece := bytes.Repeat([]byte{byte(i)}, i%700)
		out.Push(piece)
		want = append(want, piece...)
	}
	sent, part := 0, make([]byte, 7001)
	for turns := 0; len(got) < len(want); turns++ {
		n, err := out.Flush(pair[0])
		if err != nil || turns > 10*len(want)/len(part) {
			t.Fatalf("turn %d: %v", turns, err)
		}
		sent += n
		if n, errno := Read(pair[1], part); errno == 0 {
			got = append(got, part[:n]...)
		}
	}
	if !bytes.Equal(got, want) || sent != len(want) || out.Len() != 0 {
		t.Errorf("%d of %d bytes, %d sent, %d pieces left; equal %v", len(got), len(want), sent, out.Len(), bytes.Equal(got, want))
	}
}

func TestPoller(t *testing.T) {
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(listener) }()
	p, err := NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Add(listener, 7, In); err != nil {
		t.Fatal(err)
	}
	for _, timeout := range []time.Duration{0, 100 * time.Microsecond} {
		if events, err := p.Wait(timeout); err != nil || len(events) != 0 {
			t.Errorf("%v: %v, %v; want nothing", timeout, events, err)
		}
	}
	name, err := unix.Getsockname(listener)
	if err != nil {
		t.Fatal(err)
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(client)
	if err := unix.Connect(client, name); err != nil {
		t.Fatal(err)
	}
	events, err := p.Wait(-1)
	if err != nil || len(events) != 1 || events[0] != (Event{Token: 7, In: true}) {
		t.Fatalf("%v, %v", events, err)
	}
	server, err := Accept(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(server)
	if _, err := Accept(listener); err != Again {
		t.Errorf("a second connection: %v", err)
	}
}

func TestDialSaysWhere(t *testing.T) {
	if fd, err := Dial("127.0.0.1:1"); err == nil {
		Close(fd)
		t.Error("no error")
	}
	if _, err := Dial("nowhere"); err == nil {
		t.Error("no error for an address without a port")
	}
}
