//go:build !linux

package load

import (
	"context"
	"errors"

	"millrace/bench/proc"
)

// The raw clients need Linux; franz-go's and the Java ones work everywhere.
var errLinux = errors.New("the raw clients need Linux: use the franz client")

func Produce(context.Context, Spec) (*Result, error)    { return nil, errLinux }
func Fill(context.Context, Spec) error                  { return errLinux }
func Fetch(context.Context, Spec) (*Result, error)      { return nil, errLinux }
func Drain(context.Context, Spec) (*Result, error)      { return nil, errLinux }
func EndToEnd(context.Context, Spec) (*Result, error)   { return nil, errLinux }
func Fanout(context.Context, Spec) (*Result, error)     { return nil, errLinux }
func Partitions(context.Context, Spec) (*Result, error) { return nil, errLinux }

func Echo(context.Context, Spec, int16, int) (*Result, error) { return nil, errLinux }

func Hello() []byte { return nil }

func Connections(context.Context, Spec, []byte, func(int)) (*Result, error) { return nil, errLinux }

type Held struct{}

func Hold(context.Context, string, int, []byte, func() proc.Usage) (*Held, error) {
	return nil, errLinux
}

func (*Held) Close() {}

func RedisProduce(context.Context, Spec) (*Result, error)  { return nil, errLinux }
func RedisFetch(context.Context, Spec) (*Result, error)    { return nil, errLinux }
func RedisEndToEnd(context.Context, Spec) (*Result, error) { return nil, errLinux }
func NATSProduce(context.Context, Spec) (*Result, error)   { return nil, errLinux }
func NATSFetch(context.Context, Spec) (*Result, error)     { return nil, errLinux }
func NATSEndToEnd(context.Context, Spec) (*Result, error)  { return nil, errLinux }

func RedisHello() []byte { return nil }
func NATSHello() []byte  { return nil }
