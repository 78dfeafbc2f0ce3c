package main

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// A seed deals the same faults again; another seed or phase deals others. Every kind has its turn before one comes again.
func TestDealer(t *testing.T) {
	const ttl = 3 * time.Second
	deal := func(seed uint64, p phase) (steps []string, kinds []kind) {
		d := newDealer(seed, p.name, brokerNames, ttl, p.kinds)
		for range p.kinds {
			step := d.next()
			steps, kinds = append(steps, fmt.Sprint(step)), append(kinds, step[0].kind)
			for _, f := range step {
				if f.hold <= 0 || f.hold > ttl+3*time.Second || len(f.nodes) == 0 {
					t.Errorf("%+v", f)
				}
				if long := f.hold > ttl; (f.kind == killShort || f.kind == pauseShort) && long || (f.kind == killLong || f.kind == pauseLong) && !long {
					t.Errorf("%s for %v with a TTL of %v", f.kind, f.hold, ttl)
				}
			}
		}
		return steps, kinds
	}
	for _, p := range phases {
		once, kinds := deal(7, p)
		again, _ := deal(7, p)
		if !slices.Equal(once, again) {
			t.Errorf("%s: %v\nand again %v", p.name, once, again)
		}
		if other, _ := deal(8, p); slices.Equal(once, other) {
			t.Errorf("%s: another seed deals the same", p.name)
		}
		want := slices.Sorted(slices.Values(p.kinds))
		if got := slices.Sorted(slices.Values(kinds)); !slices.Equal(got, want) {
			t.Errorf("%s: a deck has %v, want %v", p.name, got, want)
		}
	}
}

// What passes a proxy is late by its delay each way, whole and in order; what its target refuses is reset.
func TestProxy(t *testing.T) {
	const delay = 30 * time.Millisecond
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	p, err := openProxy("127.0.0.1", echo.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		return c
	}
	c, began := dial(), time.Now()
	sent, got := make([]byte, 100_000), make([]byte, 100_000)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || !slices.Equal(got, sent) {
		t.Errorf("%v, equal %v", err, slices.Equal(got, sent))
	}
	if took := time.Since(began); took < 2*delay {
		t.Errorf("there and back in %v", took)
	}
	_ = echo.Close()
	if n, err := dial().Read(got); err == nil {
		t.Errorf("the target is gone, and %d bytes came", n)
	}
	p.close()
	if n, err := c.Read(got); err == nil {
		t.Errorf("the proxy is gone, and %d bytes came", n)
	}
}
