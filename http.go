package millrace

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"go.uber.org/zap"
)

// blockProfileRate is one sample per so many nanoseconds of blocking: enough for a profile, and nothing that is seen in
// a measurement.
const blockProfileRate = 100_000

// OpenHTTP serves /healthz (the process runs), /readyz (Server.Ready) and /debug/pprof on http.listener and returns its address; "" if the configuration has none.
// It is for the loopback only and has goroutines of its own: nothing of it is on a broker's way.
func (s *Server) OpenHTTP() (addr string, err error) {
	if s.config.HTTPListener == "" {
		return "", nil
	}
	l, err := net.Listen("tcp", s.config.HTTPListener)
	if err != nil {
		return "", fmt.Errorf("http.listener: %w", err)
	}
	runtime.SetBlockProfileRate(blockProfileRate)
	runtime.SetMutexProfileFraction(100)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.Ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not in sync yet")
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { // ends with Close
		if err := s.http.Serve(l); err != nil && err != http.ErrServerClosed {
			s.log.Error("http", zap.Error(err))
		}
	}()
	return l.Addr().String(), nil
}
