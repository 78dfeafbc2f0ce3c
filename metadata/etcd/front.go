//go:build !noembed

package etcd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// front is a member's peer listener. It answers our own requests, below
// /millrace/, and passes everything else on to etcd, which listens on a unix
// socket. So the members need one port of each other, and a member can be asked
// what it is before its etcd runs.
type front struct {
	listener net.Listener
	backend  string // etcd's socket
	answer   func(method, path string, body []byte) (status int, reply any)
	slots    chan struct{} // one for each connection
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool // guarded by mu; nil after close
	closed bool              // guarded by mu
}

const (
	frontPath     = "/millrace/"
	frontConnsMax = 512
	frontBodyMax  = 64 << 10
)

func startFront(l net.Listener, backend string, answer func(method, path string, body []byte) (int, any)) *front {
	f := &front{listener: l, backend: backend, answer: answer, slots: make(chan struct{}, frontConnsMax), conns: make(map[net.Conn]bool)}
	f.wg.Go(f.accept)
	return f
}

// close cuts every connection, and returns when nothing runs any more.
func (f *front) close() {
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	_ = f.listener.Close()
	f.wg.Wait()
}

func (f *front) accept() {
	for {
		c, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of files: others will be closed
			time.Sleep(retryDelayMin)
			continue
		}
		select {
		case f.slots <- struct{}{}:
		default:
			_ = c.Close()
			continue
		}
		f.wg.Go(func() {
			defer func() { <-f.slots }()
			f.serve(c)
		})
	}
}

// hold has close cut c too; false: it is closed already.
func (f *front) hold(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_ = c.Close()
		return false
	}
	f.conns[c] = true
	return true
}

func (f *front) release(c net.Conn) {
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
	_ = c.Close()
}

// serve looks at the first bytes of a connection. One on which etcd's peers talk
// never carries a request of ours later: each side keeps its own connections.
func (f *front) serve(c net.Conn) {
	if !f.hold(c) {
		return
	}
	defer f.release(c)
	_ = c.SetDeadline(time.Now().Add(frontRequestTimeout))
	r := bufio.NewReader(c)
	start, err := r.Peek(len("POST " + frontPath))
	if err != nil {
		return
	}
	if bytes.HasPrefix(start, []byte("GET "+frontPath)) || bytes.HasPrefix(start, []byte("POST "+frontPath)) {
		f.serveOurs(c, r)
		return
	}
	_ = c.SetDeadline(time.Time{})
	f.pass(c, r)
}

func (f *front) serveOurs(c net.Conn, r *bufio.Reader) {
	request, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, frontBodyMax))
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(frontAnswerTimeout))
	status, reply := f.answer(request.Method, strings.TrimPrefix(request.URL.Path, frontPath), body)
	text, err := json.Marshal(reply)
	if err != nil {
		panic("metadata/etcd: " + err.Error())
	}
	response := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(text)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
	}
	_ = response.Write(c)
}

// pass copies both ways until both have ended, or one has failed.
func (f *front) pass(c net.Conn, r *bufio.Reader) {
	etcd, err := net.Dial("unix", f.backend)
	if err != nil || !f.hold(etcd) {
		return
	}
	defer f.release(etcd)
	head := make([]byte, r.Buffered())
	_, _ = io.ReadFull(r, head)
	if _, err := etcd.Write(head); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { transfer(c, etcd) })
	transfer(etcd, c)
	back.Wait()
}

// transfer copies from to to, and tells to that it ended. If it failed both are
// closed, which ends the other direction too.
func transfer(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil && half.CloseWrite() == nil {
		return
	}
	_ = to.Close()
	_ = from.Close()
}
