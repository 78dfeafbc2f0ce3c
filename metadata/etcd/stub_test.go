//go:build noembed

package etcd

import (
	"errors"
	"testing"
)

func TestNotEmbedded(t *testing.T) {
	if _, err := StartEmbedded(t.Context(), EmbeddedOptions{}); !errors.Is(err, ErrNotEmbedded) {
		t.Errorf("StartEmbedded = %v", err)
	}
}
