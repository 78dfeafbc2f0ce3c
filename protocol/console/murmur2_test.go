package console

import "testing"

// The numbers come from org.apache.kafka.common.utils.Utils of kafka-clients 4.4.0.
func TestMurmur2(t *testing.T) {
	for _, test := range []struct {
		key         string
		hash        int32
		partitionOf int32 // of 6
	}{
		{"", 275646681, 3},
		{"a", -1563381124, 4},
		{"ab", 316155434, 2},
		{"abc", 479470107, 3},
		{"abcd", -1323649548, 2},
		{"21", -973932308, 0},
		{"foobar", -790332482, 0},
		{"a-little-bit-long-string", -985981536, 2},
		{"키", 1505507041, 1},
		{"한국어 키", -1397770812, 2},
		{"user-1", 1404122828, 2},
		{"user-42", 1459644460, 4},
		{"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971, 5},
		{"\xff\x80\x00\x01\xfe", -173560464, 2},
	} {
		if h, p := Murmur2([]byte(test.key)), PartitionFor([]byte(test.key), 6); h != test.hash || p != test.partitionOf {
			t.Errorf("%q: %d, partition %d; Java has %d, %d", test.key, h, p, test.hash, test.partitionOf)
		}
	}
}

func TestMurmur2Allocations(t *testing.T) {
	key := []byte("user-4242")
	if n := testing.AllocsPerRun(100, func() { PartitionFor(key, 6) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
