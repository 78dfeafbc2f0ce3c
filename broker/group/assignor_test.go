package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// assignTest assigns topics, which are all of the same size, to members that read some of them.
func assignTest(assignor string, size int32, reads ...[]string) *consumerGroup {
	c := newConsumerGroup()
	c.topics = map[string]Topic{}
	for i, names := range reads {
		x := &consumer{id: fmt.Sprintf("m%03d", i), reads: names}
		c.insert(x)
		for _, name := range names {
			c.topics[name] = Topic{name, testTopicID(name), size}
		}
	}
	c.reassign(assignor)
	return c
}

// reassign makes the members' next targets of those they have, and says how many partitions moved.
func (c *consumerGroup) reassign(assignor string) (moved int) {
	targets := c.assign(assignor)
	for i, x := range c.members {
		moved += len(x.target.minus(targets[i]))
		x.target = targets[i]
	}
	return moved
}

func (c *consumerGroup) sizes() (n []int) {
	for _, x := range c.members {
		n = append(n, len(x.target))
	}
	return n
}

func TestAssignors(t *testing.T) {
	a, ab, b := []string{"a"}, []string{"a", "b"}, []string{"b"}
	tests := []struct {
		assignor string
		size     int32
		reads    [][]string
		want     []int
	}{
		{AssignorUniform, 4, [][]string{a, a}, []int{2, 2}},
		{AssignorUniform, 5, [][]string{ab, ab, ab}, []int{4, 3, 3}},
		{AssignorUniform, 1, [][]string{a, a, a}, []int{1, 0, 0}},
		{AssignorUniform, 4, [][]string{ab, a}, []int{4, 4}},
		{AssignorUniform, 4, [][]string{a, ab, b}, []int{2, 3, 3}},
		{AssignorUniform, 6, [][]string{a, b, b, b}, []int{6, 2, 2, 2}},
		{AssignorUniform, 3, [][]string{nil, a}, []int{0, 3}},
		{AssignorUniform, 3, [][]string{nil, nil}, []int{0, 0}},
		{AssignorRange, 4, [][]string{a, a}, []int{2, 2}},
		{AssignorRange, 5, [][]string{ab, ab, ab}, []int{4, 4, 2}},
		{AssignorRange, 4, [][]string{ab, a}, []int{6, 2}},
		{AssignorRange, 1, [][]string{a, a}, []int{1, 0}},
	}
	for _, test := range tests {
		c := assignTest(test.assignor, test.size, test.reads...)
		if got := c.sizes(); !slices.Equal(got, test.want) {
			t.Errorf("%s of %d partitions each among %v: %v, want %v", test.assignor, test.size, test.reads, got, test.want)
		}
		if moved := c.reassign(test.assignor); moved != 0 {
			t.Errorf("%s among %v: %d moved though nothing changed", test.assignor, test.reads, moved)
		}
	}
	if got := assignTest(AssignorUniform, 0).sizes(); got != nil {
		t.Errorf("nobody got %v", got)
	}
}

// TestUniformMovesLittle: when a member comes, what moves is what it gets; when one goes, what it had.
func TestUniformMovesLittle(t *testing.T) {
	ab := []string{"a", "b"}
	c := assignTest(AssignorUniform, 50, ab, ab, ab, ab)
	c.insert(&consumer{id: "n", reads: ab})
	if moved := c.reassign(AssignorUniform); moved != 20 {
		t.Errorf("%d moved, want 20", moved)
	}
	c.withdraw(c.members[0])
	if moved := c.reassign(AssignorUniform); moved != 0 || slices.Max(c.sizes()) != 25 {
		t.Errorf("%d moved between those who stayed, sizes %v", moved, c.sizes())
	}
	// A subscription that changes takes a topic away from one.
	c.members[0].reads = []string{"a"}
	c.reassign(AssignorUniform)
	if slices.ContainsFunc(c.members[0].target, func(p TopicPartition) bool { return p.Topic != testTopicID("a") }) {
		t.Error("a member has partitions of a topic that it doesn't read")
	}
}

// TestUniformOfMany: mixed subscriptions, many members: each partition has one reader, and no single move makes it more even.
func TestUniformOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		var reads [][]string
		for range 1 + r.IntN(30) {
			var names []string
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				if r.IntN(2) == 0 {
					names = append(names, name)
				}
			}
			reads = append(reads, names)
		}
		c := assignTest(AssignorUniform, int32(1+r.IntN(20)), reads...)
		seen := map[TopicPartition]bool{}
		for _, x := range c.members {
			for _, p := range x.target {
				if seen[p] {
					t.Fatalf("%v twice", p)
				}
				seen[p] = true
				for _, y := range c.members {
					if slices.ContainsFunc(y.reads, func(n string) bool { return testTopicID(n) == p.Topic }) &&
						len(y.target)+1 < len(x.target) {
						t.Fatalf("%s has %d, %s could take one of them and has %d", x.id, len(x.target), y.id, len(y.target))
					}
				}
			}
		}
		want := 0
		for _, topic := range c.topics {
			want += int(topic.Partitions)
		}
		if len(seen) != want {
			t.Fatalf("%d partitions have a reader, want %d", len(seen), want)
		}
	}
}

func BenchmarkUniform(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		b.Run(fmt.Sprintf("mixed=%t", mixed), func(b *testing.B) {
			var reads [][]string
			for i := range 1000 {
				names := []string{"a", "b", "c", "d", "e"}
				if mixed {
					names = names[i%5:]
				}
				reads = append(reads, names)
			}
			c := assignTest(AssignorUniform, 1000, reads...)
			for b.Loop() {
				c.reassign(AssignorUniform)
			}
		})
	}
}
