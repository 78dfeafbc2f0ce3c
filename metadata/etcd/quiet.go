package etcd

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// etcd logs a great deal, at levels that suit an operator of etcd. Here its
// news is for debugging, and a warning is written once a minute at most.
const (
	sameMessageEvery = time.Minute
	sameMessages     = 1
)

// usual are warnings that say what is meant to be so, or what another message says
// too: "peer became inactive" and "failed to reach the peer URL".
var usual = map[string]bool{
	"Running http and grpc server on single port. This is not recommended for production.": true,
	"simple token is not cryptographically signed":                                         true,
	"closed TCP streaming connection with remote peer":                                     true,
	"lost TCP streaming connection with remote peer":                                       true,
	"failed to find remote peer in cluster":                                                true,
	"failed to get version":                                                                true,
	"prober detected unhealthy status":                                                     true,
	"failed to apply request":                                                              true,
	"Failed to detect schema version":                                                      true,
	"failed to update storage version":                                                     true,
	"request stats":                                                                        true,
}

// quiet is log for etcd's own use. While hushed holds everything goes to debug.
func quiet(log *zap.Logger, name string, hushed *atomic.Bool) *zap.Logger {
	wrap := zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return quietCore{zapcore.NewSamplerWithOptions(core, sameMessageEvery, sameMessages, 0), hushed}
	})
	// A fatal error of etcd's must not take the process down without the stack
	// that tells why; and while it starts it can be had as an error.
	return log.Named(name).WithOptions(wrap, zap.WithFatalHook(zapcore.WriteThenPanic))
}

type quietCore struct {
	zapcore.Core
	hushed *atomic.Bool
}

func (c quietCore) level(l zapcore.Level) zapcore.Level {
	if l == zapcore.InfoLevel || (l <= zapcore.ErrorLevel && c.hushed.Load()) {
		return zapcore.DebugLevel
	}
	return l
}

func (c quietCore) Enabled(l zapcore.Level) bool { return c.Core.Enabled(c.level(l)) }

func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	return quietCore{c.Core.With(fields), c.hushed}
}

func (c quietCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	e.Level = c.level(e.Level)
	if usual[e.Message] {
		e.Level = zapcore.DebugLevel
	}
	if !c.Core.Enabled(e.Level) {
		return to
	}
	return c.Core.Check(e, to)
}
