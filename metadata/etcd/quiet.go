package etcd

import (
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

// usual are warnings that say how this package means it.
var usual = map[string]bool{
	"Running http and grpc server on single port. This is not recommended for production.": true,
	"simple token is not cryptographically signed":                                         true,
}

// quiet is log for etcd's own use. client: nothing but errors is above debug: the
// store itself says what is the matter.
func quiet(log *zap.Logger, name string, client bool) *zap.Logger {
	wrap := zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return quietCore{zapcore.NewSamplerWithOptions(core, sameMessageEvery, sameMessages, 0), client}
	})
	// A fatal error of etcd's must not take the process down without the stack
	// that tells why; and while it starts it can be had as an error.
	return log.Named(name).WithOptions(wrap, zap.WithFatalHook(zapcore.WriteThenPanic))
}

type quietCore struct {
	zapcore.Core
	client bool
}

func (c quietCore) level(l zapcore.Level) zapcore.Level {
	if l == zapcore.InfoLevel || (l == zapcore.WarnLevel && c.client) {
		return zapcore.DebugLevel
	}
	return l
}

func (c quietCore) Enabled(l zapcore.Level) bool { return c.Core.Enabled(c.level(l)) }

func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	return quietCore{c.Core.With(fields), c.client}
}

func (c quietCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if usual[e.Message] {
		return to
	}
	e.Level = c.level(e.Level)
	if !c.Core.Enabled(e.Level) {
		return to
	}
	return c.Core.Check(e, to)
}
