package memory

import (
	"testing"

	"go.uber.org/goleak"

	"millrace/metadata"
	"millrace/metadata/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	for name, options := range map[string]Options{"default": {}, "small transactions": {TxnMax: 128}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) metadata.Store {
				s := Open(options)
				t.Cleanup(s.Close)
				return s
			})
		})
	}
}
