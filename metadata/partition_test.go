package metadata

import (
	"math"
	"slices"
	"testing"
)

func TestMinISR(t *testing.T) {
	three := []int32{1, 2, 3}
	tests := []struct {
		setting          int32
		replicas, adding []int32
		want             int
	}{
		{0, three, nil, 1}, {1, three, nil, 1}, {2, three, nil, 2}, {3, three, nil, 3}, {7, three, nil, 3},
		{2, []int32{1}, nil, 1}, {2, three, []int32{2, 3}, 1}, {3, three, []int32{3}, 2}, {2, three, three, 1},
		{math.MaxInt32, three, nil, 3},
	}
	for _, test := range tests {
		p := Partition{MinInSync: test.setting, Replicas: test.replicas, Adding: test.adding}
		if got := p.MinISR(); got != test.want {
			t.Errorf("min.insync.replicas=%d of %v, adding %v: %d, want %d", test.setting, test.replicas, test.adding, got, test.want)
		}
	}
}

func TestNewPartition(t *testing.T) {
	tests := []struct {
		lives  []uint64
		leader int32
		isr    []int32
	}{
		{[]uint64{7, 8, 9}, 1, []int32{1, 2, 3}},
		{[]uint64{0, 8, 9}, 2, []int32{2, 3}},
		{[]uint64{0, 0, 9}, 3, []int32{3}},
		{[]uint64{0, 0, 0}, NoBroker, nil},
	}
	for _, test := range tests {
		p := NewPartition([]int32{1, 2, 3}, test.lives, 2)
		if p.Leader != test.leader || !slices.Equal(p.ISR, test.isr) || p.OffsetCeiling != OffsetCeilingStep || p.BaseOffset != 0 {
			t.Errorf("with lives %v: %+v", test.lives, p)
		}
		for _, m := range p.ISRMembers() {
			if m.Incarnation == 0 || m.Incarnation != test.lives[m.Broker-1] {
				t.Errorf("with lives %v: %v is in sync", test.lives, m)
			}
		}
	}
}

// TestMembersCountInTheirLife: an entry is good while its broker is registered in that life, and can be elected
// unless it is fenced.
func TestMembersCountInTheirLife(t *testing.T) {
	img := Empty().Apply(
		BrokerRegistered{&Broker{ID: 1, Incarnation: 10}}, BrokerRegistered{&Broker{ID: 2, Incarnation: 20, Fenced: true}},
		BrokerRegistered{&Broker{ID: 3, Incarnation: 30, Draining: true}},
		BrokerAlive{ID: 1, Incarnation: 10}, BrokerAlive{ID: 2, Incarnation: 19},
	)
	tests := []struct {
		m          Member
		live, void bool
	}{
		{Member{1, 10}, true, false}, {Member{1, 11}, false, true}, {Member{2, 20}, false, false}, {Member{2, 19}, false, true},
		{Member{3, 30}, true, false}, {Member{4, 1}, false, true}, {Member{1, 0}, false, true}, {NoMember, false, true},
	}
	for _, test := range tests {
		if img.Live(test.m) != test.live || img.Void(test.m) != test.void {
			t.Errorf("%v: live %v, void %v", test.m, img.Live(test.m), img.Void(test.m))
		}
		p := NewPartition([]int32{test.m.Broker}, []uint64{test.m.Incarnation}, 1)
		want := NoBroker
		if test.live {
			want = test.m.Broker
		}
		if got := img.LeaderOf(&p); got != want {
			t.Errorf("led by %v: LeaderOf = %d, want %d", test.m, got, want)
		}
		if p.LedBy(test.m) != (test.m.Incarnation != 0) || p.LedBy(Member{test.m.Broker, 99}) {
			t.Errorf("LedBy(%v) = %v", test.m, p.LedBy(test.m))
		}
	}
	if img.Alive(1) != 10 || img.Alive(2) != 19 || img.Alive(3) != 0 || img.ControllerID() != 1 {
		t.Error("signs of life")
	}
	img = img.Apply(BrokerChanged{&Broker{ID: 1, Incarnation: 10, Fenced: true}}, BrokerSilent{1})
	if img.Alive(1) != 0 || img.Alive(2) != 19 || img.ControllerID() != 3 {
		t.Error("a fenced broker is told to clients as the controller")
	}
	if (&Broker{Fenced: true}).Active() || (&Broker{Draining: true}).Active() || !(&Broker{}).Active() {
		t.Error("Active")
	}
}

func TestLose(t *testing.T) {
	p := Partition{OffsetCeiling: 5000}
	p.Lose()
	if p.LossGeneration != 1 || p.BaseOffset != 5000 || p.OffsetCeiling != 5000+OffsetCeilingStep {
		t.Errorf("%+v", p)
	}
	p.OffsetCeiling = math.MaxInt64 - 1
	p.Lose()
	if p.LossGeneration != 2 || p.BaseOffset != math.MaxInt64-1 || p.OffsetCeiling < p.BaseOffset {
		t.Errorf("%+v", p)
	}
}

func TestEqual(t *testing.T) {
	for i, change := range []func(*Partition){
		func(p *Partition) { p.Leader++ }, func(p *Partition) { p.LeaderEpoch++ }, func(p *Partition) { p.PartitionEpoch++ },
		func(p *Partition) { p.LossGeneration++ }, func(p *Partition) { p.MinInSync++ }, func(p *Partition) { p.BaseOffset++ },
		func(p *Partition) { p.OffsetCeiling++ }, func(p *Partition) { p.Replicas = nil }, func(p *Partition) { p.SetISR(nil) },
		func(p *Partition) { p.SetISR([]Member{{3, 1}}) }, func(p *Partition) { p.SetELR(nil) }, func(p *Partition) { p.SetELR([]Member{{1, 8}}) },
		func(p *Partition) { p.Adding = nil }, func(p *Partition) { p.Removing = nil }, func(p *Partition) { p.Revision++ },
	} {
		p := somePartition
		if !p.Equal(&somePartition) || !p.Reassigning() {
			t.Error("a copy isn't equal")
		}
		change(&p)
		if p.Equal(&somePartition) {
			t.Errorf("change %d isn't seen", i)
		}
	}
}
