package kafka

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The table as the protocol's documentation has it; a change here is a change of what clients see.
const wantTable = `| key | API | versions | advertised | flexible from |
|---:|---|---|---|---:|
| 0 | Produce | 3–13 | 0–13 | 9 |
| 1 | Fetch | 4–18 | 4–18 | 12 |
| 2 | ListOffsets | 1–11 | 1–11 | 6 |
| 3 | Metadata | 0–13 | 0–13 | 9 |
| 8 | OffsetCommit | 2–10 | 2–10 | 8 |
| 9 | OffsetFetch | 1–10 | 1–10 | 6 |
| 10 | FindCoordinator | 0–6 | 0–6 | 3 |
| 11 | JoinGroup | 0–9 | 0–9 | 6 |
| 12 | Heartbeat | 0–4 | 0–4 | 4 |
| 13 | LeaveGroup | 0–5 | 0–5 | 4 |
| 14 | SyncGroup | 0–5 | 0–5 | 4 |
| 15 | DescribeGroups | 0–6 | 0–6 | 5 |
| 16 | ListGroups | 0–5 | 0–5 | 3 |
| 18 | ApiVersions | 0–5 | 0–5 | 3 |
| 19 | CreateTopics | 2–7 | 2–7 | 5 |
| 20 | DeleteTopics | 1–6 | 1–6 | 4 |
| 21 | DeleteRecords | 0–2 | 0–2 | 2 |
| 22 | InitProducerId | 0–5 | 0–5 | 2 |
| 23 | OffsetForLeaderEpoch | 2–4 | 2–4 | 4 |
| 24 | AddPartitionsToTxn | 0–5 | 0–5 | 3 |
| 25 | AddOffsetsToTxn | 0–4 | 0–4 | 3 |
| 26 | EndTxn | 0–5 | 0–5 | 3 |
| 27 | WriteTxnMarkers | 1–2 | 1–2 | 1 |
| 28 | TxnOffsetCommit | 0–6 | 0–6 | 3 |
| 32 | DescribeConfigs | 1–4 | 1–4 | 4 |
| 33 | AlterConfigs | 0–2 | 0–2 | 2 |
| 34 | AlterReplicaLogDirs | 1–2 | 1–2 | 2 |
| 35 | DescribeLogDirs | 1–5 | 1–5 | 2 |
| 37 | CreatePartitions | 0–3 | 0–3 | 2 |
| 42 | DeleteGroups | 0–3 | 0–3 | 2 |
| 43 | ElectLeaders | 0–2 | 0–2 | 2 |
| 44 | IncrementalAlterConfigs | 0–1 | 0–1 | 1 |
| 45 | AlterPartitionReassignments | 0–1 | 0–1 | 0 |
| 46 | ListPartitionReassignments | 0–0 | 0–0 | 0 |
| 47 | OffsetDelete | 0–0 | 0–0 | 1 |
| 55 | DescribeQuorum | 0–2 | 0–2 | 0 |
| 57 | UpdateFeatures | 0–2 | 0–2 | 0 |
| 59 | FetchSnapshot | 1–1 | – | 0 |
| 60 | DescribeCluster | 0–2 | 0–2 | 0 |
| 61 | DescribeProducers | 0–0 | 0–0 | 0 |
| 64 | UnregisterBroker | 0–0 | 0–0 | 0 |
| 65 | DescribeTransactions | 0–0 | 0–0 | 0 |
| 66 | ListTransactions | 0–2 | 0–2 | 0 |
| 68 | ConsumerGroupHeartbeat | 0–1 | 0–1 | 0 |
| 69 | ConsumerGroupDescribe | 0–1 | 0–1 | 0 |
| 74 | ListConfigResources | 0–1 | 0–1 | 0 |
| 75 | DescribeTopicPartitions | 0–0 | 0–0 | 0 |
`

func TestMarkdown(t *testing.T) {
	if diff := cmp.Diff(wantTable, Markdown()); diff != "" {
		t.Error(diff)
	}
}

// The table agrees with kmsg, which decodes by its own idea of versions and flexibility.
func TestTableMatchesKmsg(t *testing.T) {
	last := int16(-1)
	for _, a := range APIs() {
		if a.Key <= last {
			t.Errorf("%s: the table isn't sorted by key", a.Name)
		}
		last = a.Key
		req := kmsg.RequestForKey(a.Key)
		if a.Max > req.MaxVersion() || a.Min < 0 || a.Min > a.Max || a.AdvertisedMin > a.Min {
			t.Errorf("%s: versions %d–%d, kmsg has up to %d", a.Name, a.Min, a.Max, req.MaxVersion())
		}
		name := kmsg.NameForKey(a.Key)
		if a.Key == kmsg.AlterPartitionAssignments.Int16() {
			name = "AlterPartitionReassignments" // kmsg alone calls it otherwise
		}
		if !strings.EqualFold(a.Name, name) {
			t.Errorf("key %d: name %q, kmsg says %q", a.Key, a.Name, name)
		}
		for v := a.Min; v <= a.Max; v++ {
			req.SetVersion(v)
			resp := req.ResponseKind()
			resp.SetVersion(v)
			if req.IsFlexible() != a.flexible(v) || resp.IsFlexible() != a.flexible(v) {
				t.Errorf("%s version %d: flexible %v, kmsg says %v", a.Name, v, a.flexible(v), req.IsFlexible())
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		key, version int16
		want         bool
	}{
		{0, 3, true}, {0, 13, true}, {0, 2, false}, {0, 14, false}, // advertised from 0, served from 3
		{1, 3, false}, {1, 4, true}, {1, 18, true}, {1, 19, false},
		{18, 0, true}, {18, 5, true}, {18, 6, false}, {18, -1, false},
		{60, 0, true}, {7, 0, false}, {62, 0, false},
		{-1, 0, false}, {127, 0, false}, {128, 0, false}, {999, 0, false}, {-32768, 0, false}, {32767, 0, false},
	} {
		if got := Supported(c.key, c.version); got != c.want {
			t.Errorf("Supported(%d, %d) = %v", c.key, c.version, got)
		}
	}
	if a := Lookup(22); a == nil || a.Name != "InitProducerId" {
		t.Errorf("Lookup(22) = %+v", a)
	}
}

func TestAdvertised(t *testing.T) {
	got := Advertised()
	apis := slices.DeleteFunc(APIs(), func(a API) bool { return a.Internal })
	if len(got) != len(apis) || len(apis) == len(APIs()) {
		t.Fatalf("%d entries for %d APIs", len(got), len(apis))
	}
	for i, a := range apis {
		want := kmsg.ApiVersionsResponseApiKey{ApiKey: a.Key, MinVersion: a.AdvertisedMin, MaxVersion: a.Max}
		if got[i].ApiKey != want.ApiKey || got[i].MinVersion != want.MinVersion || got[i].MaxVersion != want.MaxVersion {
			t.Errorf("entry %d: %+v, want %+v", i, got[i], want)
		}
	}
}
