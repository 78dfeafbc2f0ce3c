//go:build noembed

package etcd

import (
	"context"
	"errors"
	"time"
)

// ErrNotEmbedded is what StartEmbedded answers in a build with the tag noembed.
var ErrNotEmbedded = errors.New("this build has no etcd in it (build tag noembed): use an etcd that runs elsewhere, or another build")

// Embedded can't be had in this build.
type Embedded struct{}

// StartEmbedded returns ErrNotEmbedded.
func StartEmbedded(context.Context, EmbeddedOptions) (*Embedded, error) { return nil, ErrNotEmbedded }

// Done is never closed.
func (e *Embedded) Done() <-chan struct{} { return nil }

// Err is nil.
func (e *Embedded) Err() error { return nil }

// Endpoints are none.
func (e *Embedded) Endpoints() []string { return nil }

// ReadyAfter is 0.
func (e *Embedded) ReadyAfter() time.Duration { return 0 }

// Leading is false.
func (e *Embedded) Leading() bool { return false }

// Close does nothing.
func (e *Embedded) Close() {}
