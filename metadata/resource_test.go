package metadata

import (
	"fmt"
	"testing"
)

func TestReplayResources(t *testing.T) {
	for _, test := range []struct {
		name, key string
		value     []byte // nil: deleted
		want      string // the delta, "" none
		failed    bool
	}{
		{"all brokers'", "configs/brokers/default", encodeConfigs(map[string]string{"a": "1"}), "{{1 } map[a:1] 9}", false},
		{"a broker's", "configs/brokers/7", encodeConfigs(nil), "{{1 7} map[] 9}", false},
		{"a group's, deleted", "configs/groups/a/b", nil, "{{2 a/b} map[] 0}", false},
		{"client metrics'", "configs/client-metrics/m", encodeConfigs(nil), "{{3 m} map[] 9}", false},
		{"malformed", "configs/groups/g", []byte{}, "", true},
		{"of broker 01", "configs/brokers/01", encodeConfigs(nil), "", false},
		{"of nothing", "configs/groups/", encodeConfigs(nil), "", false},
		{"of a later release's", "configs/moons/1", encodeConfigs(nil), "", false},
	} {
		ev := Event{Key: test.key, Value: test.value, Deleted: test.value == nil, Revision: 9}
		img, deltas, err := Empty().Replay(Batch{Revision: 9, Events: []Event{ev}})
		got := ""
		for _, d := range deltas {
			got += fmt.Sprint(d)
			r := d.(ResourceConfigChanged).Resource
			if key := resourceKey(r); key != test.key {
				t.Errorf("%s: written to %q, read from %q", test.name, key, test.key)
			}
			if len(img.ConfigResources()) > 0 && img.ConfigResources()[0] != r {
				t.Errorf("%s: %v", test.name, img.ConfigResources())
			}
		}
		if got != test.want || (err != nil) != test.failed {
			t.Errorf("%s: %s, error %v; want %s", test.name, got, err, test.want)
		}
	}
}
