package millrace

import (
	"sync/atomic"

	"millrace/broker/api"
	"millrace/reactor"
)

// kafkaHandler joins a listener to the front desk of its broker. The desk comes when the broker is registered, which
// is after its address is bound.
type kafkaHandler struct{ desk atomic.Pointer[api.Desk] }

// kafkaSession is a connection and the desk that serves it.
type kafkaSession struct {
	*api.Session
	desk *api.Desk
}

func (h *kafkaHandler) Open(c *reactor.Conn) any {
	desk := h.desk.Load()
	if desk == nil {
		c.Close("") // it can't be: connections are held until there is a desk
		return nil
	}
	return &kafkaSession{desk.Open(c.LocalAddr(), c.RemoteAddr()), desk}
}

func (h *kafkaHandler) Overlaps(session any, frame []byte) bool {
	s, ok := session.(*kafkaSession)
	return ok && s.desk.Overlaps(s.Session, frame)
}

func (h *kafkaHandler) Serve(r *reactor.Request) {
	s := r.Session().(*kafkaSession)
	s.desk.Serve(s.Session, r.Frame(), r)
}

func (h *kafkaHandler) Close(session any) {
	if s, ok := session.(*kafkaSession); ok {
		s.desk.Close(s.Session)
	}
}
