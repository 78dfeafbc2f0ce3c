package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// node is one process of the cluster, in one life after the other. It belongs to the goroutine that carries out the faults; what the
// process says comes in on another.
type node struct {
	name  string
	net   *network
	args  []string
	dir   string           // for its log
	lost  func(loss)       // a line that declares a loss
	ended func(what error) // it ended, and nobody asked it to

	lives int
	now   *life
}

// life is a process.
type life struct {
	cmd     *exec.Cmd
	log     string
	started time.Time
	ready   chan struct{} // closed when it has said so
	over    chan struct{} // closed when it has ended
	err     error         // then

	mu      sync.Mutex
	asked   bool // to end; guarded by mu
	partial []byte
	once    sync.Once
	node    *node
	file    io.WriteCloser
}

// start starts the process. It may not be ready yet.
func (n *node) start() error {
	n.lives++
	path := filepath.Join(n.dir, fmt.Sprintf("%s-%d.log", n.name, n.lives))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	l := &life{log: path, started: time.Now(), ready: make(chan struct{}), over: make(chan struct{}), node: n, file: file}
	l.cmd = n.net.command(n.name, n.args...)
	l.cmd.Stdout, l.cmd.Stderr = l, l
	l.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MILLRACE_") || strings.HasPrefix(v, "KAFKA_") })
	l.cmd.Env = append(l.cmd.Env, "GORACE=halt_on_error=1") // a binary with the race detector ends where it finds something
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := l.cmd.Start(); err != nil {
		return errors.Join(err, file.Close())
	}
	n.now = l
	go func() {
		l.err = l.cmd.Wait()
		_ = l.file.Close()
		l.mu.Lock()
		asked := l.asked
		l.mu.Unlock()
		close(l.over)
		if !asked {
			n.ended(fmt.Errorf("%s ended by itself (%v): %s", n.name, l.err, tail(path)))
		}
	}()
	return nil
}

func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}

// awaitReady waits until the process has said that it serves.
func (n *node) awaitReady(limit time.Duration) error {
	select {
	case <-n.now.ready:
		return nil
	case <-n.now.over:
		return fmt.Errorf("%s has ended: %s", n.name, tail(n.now.log))
	case <-time.After(limit):
		return fmt.Errorf("%s isn't ready after %v: %s", n.name, limit, tail(n.now.log))
	}
}

func (n *node) alive() bool {
	if n.now == nil {
		return false
	}
	select {
	case <-n.now.over:
		return false
	default:
		return true
	}
}

// kill ends the process at once, and waits until it is gone.
func (n *node) kill() {
	n.expectEnd()
	n.signal(syscall.SIGKILL)
	<-n.now.over
}

// stop asks the process to end and waits for that.
func (n *node) stop(limit time.Duration) error {
	n.expectEnd()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.now.over:
		if n.now.err != nil {
			return fmt.Errorf("%s failed when it was stopped (%v): %s", n.name, n.now.err, tail(n.now.log))
		}
		return nil
	case <-time.After(limit):
		n.signal(syscall.SIGQUIT) // tells what its goroutines do
		time.Sleep(200 * time.Millisecond)
		n.kill()
		return fmt.Errorf("%s did not stop within %v; its log is %s", n.name, limit, n.now.log)
	}
}

func (n *node) expectEnd() {
	n.now.mu.Lock()
	n.now.asked = true
	n.now.mu.Unlock()
}

func (n *node) signal(s syscall.Signal) {
	if n.alive() {
		_ = n.now.cmd.Process.Signal(s)
	}
}

// Write takes what the process says.
func (l *life) Write(b []byte) (int, error) {
	l.partial = append(l.partial, b...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			break
		}
		l.line(line)
		l.partial = slices.Clone(rest)
	}
	return l.file.Write(b)
}

func (l *life) line(line []byte) {
	if !bytes.Contains(line, []byte(`"ready"`)) && !bytes.Contains(line, []byte(`"loss_generation"`)) {
		return
	}
	var said struct {
		Message    string `json:"msg"`
		Topic      string `json:"topic"`
		Partition  int32  `json:"partition"`
		Generation int32  `json:"loss_generation"`
		Below      int64  `json:"offsets_below"`
	}
	if json.Unmarshal(line, &said) != nil {
		return
	}
	switch {
	case said.Message == "ready":
		l.once.Do(func() { close(l.ready) })
	case said.Generation > 0 && said.Below > 0:
		l.node.lost(loss{said.Topic, said.Partition, said.Generation, said.Below, time.Now()})
	}
}
