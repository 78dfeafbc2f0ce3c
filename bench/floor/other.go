//go:build !linux

package floor

import (
	"context"
	"errors"
)

// Run needs Linux.
func Run(context.Context, Options) error { return errors.New("the floor needs Linux") }
