package controller

import (
	"slices"
	"strings"

	"millrace/metadata"
)

// placement deals partitions out to brokers in turn. It goes on where the image's
// last topic ended, so that ten topics of one partition don't all end up on the
// first broker.
//
// The brokers stand in a circle, those of different racks beside each other.
// Leaders go round it. The followers of one leader go round too, one place
// further with each lap: if they were always the same, a broker that dies would leave
// all it led to one other.
type placement struct {
	circle []*metadata.Broker // that new work may be given to
	spare  []*metadata.Broker // others: they get a replica only if there is nobody else, and are not in sync
	turn   int64

	lists map[[2]int]members // by start and shift
}

type members struct {
	ids   []int32
	lives []uint64 // 0: not in sync
}

func newPlacement(img *metadata.Image) placement {
	p := placement{turn: img.Placed(), lists: make(map[[2]int]members)}
	for _, b := range img.Brokers() {
		if b.Active() {
			p.circle = append(p.circle, b)
		} else {
			p.spare = append(p.spare, b)
		}
	}
	p.circle = alternate(p.circle)
	return p
}

// alternate takes a broker of each rack in turn. brokers are sorted by id.
func alternate(brokers []*metadata.Broker) []*metadata.Broker {
	racks := slices.Clone(brokers)
	slices.SortStableFunc(racks, func(a, b *metadata.Broker) int { return strings.Compare(a.Rack, b.Rack) })
	if len(racks) == 0 || racks[0].Rack == racks[len(racks)-1].Rack {
		return brokers
	}
	circle := make([]*metadata.Broker, 0, len(racks))
	for depth := 0; len(circle) < len(racks); depth++ {
		in := 0 // the place of a broker in its rack
		for i, b := range racks {
			if i > 0 && b.Rack != racks[i-1].Rack {
				in = 0
			}
			if in == depth {
				circle = append(circle, b)
			}
			in++
		}
	}
	return circle
}

// partitions places count partitions of factor replicas each. factor is at most
// the number of brokers, and there is one at least that isn't spare.
func (p *placement) partitions(count, factor int, minInSync int32) []metadata.Partition {
	list := make([]metadata.Partition, count)
	for i := range list {
		m := p.next(factor)
		list[i] = metadata.NewPartition(m.ids, m.lives, minInSync)
	}
	return list
}

// next returns the replicas of the next partition. The lists are shared.
func (p *placement) next(factor int) members {
	n := int64(len(p.circle))
	at := [2]int{int(p.turn % n), int(p.turn / n % max(1, n-1))}
	p.turn++
	m, known := p.lists[at]
	if !known || len(m.ids) != factor {
		m = p.replicas(at[0], at[1], factor)
		p.lists[at] = m
	}
	return m
}

func (p *placement) replicas(start, shift, factor int) (m members) {
	n := len(p.circle)
	walk := make([]*metadata.Broker, 0, n+len(p.spare))
	walk = append(walk, p.circle[start])
	for k := range n - 1 {
		walk = append(walk, p.circle[(start+1+(k+shift)%(n-1))%n])
	}
	walk = append(walk, p.spare...)
	racks := make(map[string]int)
	for range factor {
		b := leastRack(walk, racks, func(b *metadata.Broker) bool { return !slices.Contains(m.ids, b.ID) })
		racks[b.Rack]++
		m.ids, m.lives = append(m.ids, b.ID), append(m.lives, 0)
		if b.Active() {
			m.lives[len(m.lives)-1] = b.Incarnation
		}
	}
	return m
}

// leastRack is the first broker that will do whose rack has the fewest replicas,
// those that are active before the others; nil if none will do.
func leastRack(walk []*metadata.Broker, racks map[string]int, ok func(*metadata.Broker) bool) (best *metadata.Broker) {
	for _, b := range walk {
		if !ok(b) {
			continue
		}
		switch {
		case best == nil, b.Active() && !best.Active(), b.Active() == best.Active() && racks[b.Rack] < racks[best.Rack]:
			best = b
		}
	}
	return best
}

// instead returns an active broker that isn't among replicas, to take the place
// of the one that stands at index i, or with −1 to stand beside them; nil if there is
// none.
func (p *placement) instead(img *metadata.Image, replicas []int32, i int) *metadata.Broker {
	n := len(p.circle)
	if n == 0 {
		return nil
	}
	racks := make(map[string]int)
	for k, id := range replicas {
		if b := img.Broker(id); b != nil && k != i {
			racks[b.Rack]++
		}
	}
	start := int(p.turn % int64(n))
	walk := slices.Concat(p.circle[start:], p.circle[:start])
	b := leastRack(walk, racks, func(b *metadata.Broker) bool { return !slices.Contains(replicas, b.ID) })
	if b != nil {
		p.turn++
	}
	return b
}
