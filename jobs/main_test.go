package jobs

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// panics returns what f panicked with, "" if it didn't.
func panics(f func()) (message string) {
	defer func() {
		if v := recover(); v != nil {
			message = v.(string)
		}
	}()
	f()
	return ""
}

// mustPanic fails unless f panics with a message that contains want.
func mustPanic(t *testing.T, name, want string, f func()) {
	t.Helper()
	if got := panics(f); !strings.Contains(got, want) || got == "" {
		t.Errorf("%s: panic %q, want %q", name, got, want)
	}
}
