package api_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/protocol"
	"millrace/protocol/record"
)

// A compacted topic refuses a batch with records that have no key, and says which (KIP-467).
func TestProduceWithoutKey(t *testing.T) {
	d := newDesk(t, 1)
	d.CreateTopic("c", 1, map[string]*string{"cleanup.policy": new("compact")})
	batchOf := func(codec record.Codec, keys ...string) []byte {
		var b record.Builder
		b.Reset(record.Options{Codec: codec})
		for i, key := range keys {
			r := record.Record{Timestamp: 1, Value: fmt.Append(nil, i)}
			if key != "" {
				r.Key = []byte(key)
			}
			b.Append(r)
		}
		return b.Bytes()
	}
	for _, codec := range []record.Codec{record.None, record.Lz4} {
		resp := ask[*kmsg.ProduceResponse](d, produceRequest(-1, "c", 1, batchOf(codec, "a", "", "b", "")), 9)
		got := resp.Topics[0].Partitions[0]
		d.codeIs(got.ErrorCode, protocol.InvalidRecord, "without a key")
		var at []int32
		for _, e := range got.ErrorRecords {
			at = append(at, e.RelativeOffset)
			if want := "Compacted topic cannot accept message without key in topic partition c-0."; e.ErrorMessage == nil || *e.ErrorMessage != want {
				t.Errorf("%v, want %q", e.ErrorMessage, want)
			}
		}
		if diff := cmp.Diff([]int32{1, 3}, at); diff != "" || got.ErrorMessage == nil || got.BaseOffset != -1 {
			t.Errorf("%s %v, offset %d", diff, got.ErrorMessage, got.BaseOffset)
		}
		resp = ask[*kmsg.ProduceResponse](d, produceRequest(-1, "c", 1, batchOf(codec, "a", "b")), 9)
		d.codeIs(resp.Topics[0].Partitions[0].ErrorCode, protocol.None, "with keys")
	}
}
