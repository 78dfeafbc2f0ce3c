package millrace

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"millrace/broker"
	front "millrace/broker/console"
	"millrace/broker/group"
	"millrace/protocol"
	"millrace/protocol/console"
	"millrace/reactor"
)

// Version is what STATUS tells; the command sets it.
var Version = "dev"

// controlConnectionsMax bounds the control port: each connection may have a command running, on a goroutine.
const controlConnectionsMax = 256

// control is the console's side of a server: its desk, and its port if that is open.
type control struct {
	desk         *front.Desk
	listener     *reactor.Listener // nil: the port is not open
	groupChanges atomic.Uint64
}

// OpenControl opens the control port (control.listener) and returns its address; "" if the configuration has none.
func (s *Server) OpenControl() (addr string, err error) {
	if s.config.ControlListener == "" {
		return "", nil
	}
	s.control.listener, err = s.reactor.Listen(s.config.ControlListener, reactor.ListenerOptions{
		Framing: reactor.Lines, Handler: &lineHandler{s.control.desk},
		FrameBytesMax: int(s.config.ControlLineMaxBytes), ConnectionsMax: controlConnectionsMax,
		BadLine: func(reason string) []byte { return console.RenderError(nil, console.Text, fmt.Errorf("%s", reason)) },
	})
	if err != nil {
		return "", err
	}
	return s.control.listener.Addr().String(), nil
}

// lineHandler joins the control port to its desk.
type lineHandler struct{ desk *front.Desk }

func (h *lineHandler) Open(*reactor.Conn) any { return h.desk.Open() }

// Overlaps is where a WATCH learns that the next line has come in. No two commands of a session overlap.
func (h *lineHandler) Overlaps(session any, _ []byte) bool {
	session.(*front.Session).Interrupt()
	return false
}

func (h *lineHandler) Serve(r *reactor.Request) {
	h.desk.Serve(r.Session().(*front.Session), r.Frame(), r)
}

func (h *lineHandler) Close(session any) { session.(*front.Session).Interrupt() }

// Command carries out one line of the console, as if it had come in on the control port, and returns the answer. It is
// how --commands and a terminal's standard input are fed.
func (s *Server) Command(line string) (answer string, ok bool) {
	done := make(chan string, 1)
	session := s.control.desk.Open()
	s.control.desk.Serve(session, []byte(line), &answerSlot{done: done, session: session})
	answer = <-done
	return answer, answer == "" || console.Classify(lastLine(answer)) != console.Failure
}

func lastLine(answer string) []byte {
	from := len(answer) - 1
	for from > 0 && answer[from-1] != '\n' {
		from--
	}
	return []byte(answer[from : len(answer)-1])
}

// answerSlot gathers an answer. A WATCH ends with its first picture: nobody could read more.
type answerSlot struct {
	text    []byte
	done    chan<- string
	session *front.Session
}

func (a *answerSlot) Reply(r protocol.Reply) {
	a.take(r)
	a.Drop()
}

func (a *answerSlot) Push(r protocol.Reply) bool {
	a.take(r)
	a.session.Interrupt()
	return true
}

func (a *answerSlot) take(r protocol.Reply) {
	a.text = append(a.text, r.Buf.B...)
	r.Release()
}

func (a *answerSlot) Drop()           { a.done <- string(a.text) }
func (a *answerSlot) Fail(why string) { a.Drop() }

// frontHost is what the console's desk needs of the server.
type frontHost struct{ *Server }

func (h frontHost) StartBroker(host string, port int, done func(int32, error)) {
	h.Server.StartBroker(host, port, func(info BrokerInfo, err error) { done(info.ID, err) })
}

func (h frontHost) RestartBroker(id int32, done func(error)) {
	h.Server.RestartBroker(id, func(_ BrokerInfo, err error) { done(err) })
}

func (h frontHost) Connections(id int32) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if b := h.hosts[id]; b != nil {
		return b.listener.Connections()
	}
	return -1
}

func (h frontHost) GroupChanges() uint64 { return h.control.groupChanges.Load() }

func (h frontHost) Fill(s *console.ServerStatus) {
	s.Version, s.UptimeMs = Version, time.Since(h.began).Milliseconds()
	s.Goroutines = runtime.NumGoroutine()
	stats := h.slabs.Stats()
	s.MemoryUsedBytes, s.MemoryMaxBytes = stats.UsedTotal(), stats.LimitBytes
	for _, b := range h.Brokers() {
		s.Connections += max(0, h.Connections(b.ID))
	}
}

// watchGroups counts the changes of a broker's groups, for WATCH.
func (s *Server) watchGroups(b *broker.Broker) {
	b.WatchGroups(func(group.GroupChange) { s.control.groupChanges.Add(1) })
}

func (s *Server) closeControl() {
	if s.control.desk == nil {
		return
	}
	if s.control.listener != nil {
		s.control.listener.Close()
	}
	s.control.desk.Close()
	s.log.Debug("control port closed", zap.Bool("was_open", s.control.listener != nil))
}
