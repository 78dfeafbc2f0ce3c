package link_test

import (
	"testing"
	"time"

	"millrace/broker"
)

// A fetch in the steady state allocates nothing, at the follower and at the leader together.
func TestFetchAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	f := newFollower(t, 20)
	f.append(f.led[0], "1", "2", "3")
	var all []broker.ReplicaPosition
	for _, index := range f.led {
		all = append(all, f.at(index, 0))
	}
	f.fetch(all...)
	changed := all[:2]
	fetch := func() {
		f.begin(time.Second, changed)
		<-f.done
		if len(f.request.Found) != 1 || f.request.Err != nil {
			t.Fatalf("%v, %+v", f.request.Err, f.request.Found)
		}
	}
	for range 100 {
		fetch()
	}
	if n := testing.AllocsPerRun(2000, fetch); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFetch is one question and one answer with a record, over the loopback.
func BenchmarkFetch(b *testing.B) {
	f := newFollower(b, 2)
	f.append(f.led[0], "1")
	changed := []broker.ReplicaPosition{f.at(f.led[0], 0)}
	b.ReportAllocs()
	for b.Loop() {
		f.begin(time.Second, changed)
		<-f.done
	}
}

// BenchmarkFetchLarge reads 8 MiB at a time.
func BenchmarkFetchLarge(b *testing.B) {
	f := newFollower(b, 2, "max.message.bytes=1048576")
	value := string(make([]byte, 256<<10))
	for range 32 {
		f.append(f.led[0], value)
	}
	f.request.PartitionBytesMax = 8 << 20
	changed := []broker.ReplicaPosition{f.at(f.led[0], 0)}
	b.SetBytes(8 << 20)
	b.ReportAllocs()
	for b.Loop() {
		f.begin(time.Second, changed)
		<-f.done
	}
}

// BenchmarkFetchOfMany has one partition of three thousand with news.
func BenchmarkFetchOfMany(b *testing.B) {
	f := newFollower(b, 6000)
	f.append(f.led[0], "1")
	var all []broker.ReplicaPosition
	for _, index := range f.led {
		all = append(all, f.at(index, 0))
	}
	f.fetch(all...)
	b.ReportAllocs()
	for b.Loop() {
		f.begin(time.Second, all[:1])
		<-f.done
	}
}

// BenchmarkFetchOfBusy has news in each of a thousand partitions each time.
func BenchmarkFetchOfBusy(b *testing.B) {
	f := newFollower(b, 2000)
	var all []broker.ReplicaPosition
	for _, index := range f.led {
		all = append(all, f.at(index, 0))
		f.append(index, "1")
	}
	b.ReportAllocs()
	for b.Loop() {
		f.begin(time.Second, all)
		<-f.done
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)), "ns/partition")
}
