package e2e

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("E2E_CROWD") != "" {
		crowd(os.Getenv("E2E_CROWD"))
		return
	}
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Println(err)
		code = max(code, 1)
	}
	if dir, err := scratch(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}
