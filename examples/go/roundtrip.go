package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitionCount  = 6
	compressedCount = 2000 // records of each codec, beside the plain ones
)

// roundtrip produces, consumes in a group of three of which one is killed, consumes again in a second group, and checks all of
// it. The members are processes of their own, this program again with "consume".
type roundtrip struct {
	cluster
	plain int
}

func (r *roundtrip) total() int { return r.plain + compressedCount*(len(codecs)-1) }

func (r *roundtrip) run(ctx context.Context) error {
	start := time.Now()
	if err := r.createTopic(ctx, partitionCount); err != nil {
		return err
	}
	duplicates, err := r.firstGroup(ctx, r.topic+"-first")
	if err != nil {
		return err
	}
	if err := r.secondGroup(ctx, r.topic+"-second"); err != nil {
		return fmt.Errorf("second group: %w", err)
	}
	fmt.Printf("ok client=franz-go records=%d groups=2 duplicates=%d seconds=%.1f\n", r.total(), duplicates, time.Since(start).Seconds())
	return nil
}

func (r *roundtrip) firstGroup(ctx context.Context, name string) (duplicates int, err error) {
	g, err := r.startGroup(ctx, name, 3)
	if err != nil {
		return 0, err
	}
	defer g.destroy()
	if !g.readUntil(g.settled, 20*time.Second) {
		return 0, errors.New("the group did not settle")
	}
	produced := make(chan error, 1)
	go func() { produced <- r.produceAll(ctx) }()
	g.readUntil(func() bool { return len(g.records) >= r.total()/2 }, 40*time.Second)
	g.killOne()
	if err := <-produced; err != nil {
		return 0, err
	}
	g.readUntil(g.complete, 40*time.Second)
	return g.duplicates, r.finish(ctx, g)
}

func (r *roundtrip) secondGroup(ctx context.Context, name string) error {
	g, err := r.startGroup(ctx, name, 1)
	if err != nil {
		return err
	}
	defer g.destroy()
	g.readUntil(g.complete, 40*time.Second)
	return r.finish(ctx, g)
}

func (r *roundtrip) finish(ctx context.Context, g *group) error {
	g.stop()
	if err := g.verdict(); err != nil {
		return err
	}
	switch behind, err := r.lag(ctx, g.name); {
	case err != nil:
		return err
	case behind != 0:
		return fmt.Errorf("lag is %d", behind)
	}
	return nil
}

// produceAll sends the plain records and then a set of each codec; each key's values count on from set to set.
func (r *roundtrip) produceAll(ctx context.Context) error {
	next := map[string]int{}
	for _, codec := range slices.Sorted(maps.Keys(codecs)) {
		count := compressedCount
		if codec == "none" {
			count = r.plain
		}
		records := make([]*kgo.Record, count)
		for i := range records {
			key := fmt.Sprintf("key-%d", i%997)
			records[i] = &kgo.Record{Key: []byte(key), Value: fmt.Appendf(nil, "%d %s", next[key], strings.Repeat(".", 80))}
			next[key]++
		}
		if err := r.produce(ctx, codec, records); err != nil {
			return err
		}
	}
	return nil
}

// A place is where a record is; a reading is what a member found there.
type (
	place struct {
		partition int32
		offset    int64
	}
	reading struct {
		place
		key      string
		sequence int
		member   int
	}
)

// group is the members of one consumer group, all that they reported, and the verdict on it.
type group struct {
	name       string
	total      int
	members    []*exec.Cmd
	lines      chan line
	open       int        // members that have not closed their output
	assigned   [][]string // by member
	killed     int        // member, or −1
	records    map[place]reading
	committed  map[int32]int64
	duplicates int
	problems   []string
}

type line struct {
	member int
	text   string // "" when the member has closed its output
}

func (r *roundtrip) startGroup(ctx context.Context, name string, size int) (*group, error) {
	g := &group{
		name: name, total: r.total(), killed: -1, assigned: make([][]string, size), lines: make(chan line, 1024),
		records: make(map[place]reading, r.total()), committed: map[int32]int64{},
	}
	for i := range size {
		cmd := exec.CommandContext(ctx, os.Args[0], "consume", "-bootstrap", strings.Join(r.bootstrap, ","), "-topic", r.topic, "-group", name)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			g.destroy()
			return nil, err
		}
		g.members = append(g.members, cmd)
		g.open++
		go g.read(i, out)
	}
	return g, nil
}

func (g *group) read(member int, out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadString('\n')
		if err != nil { // what the kill cut short is no line
			g.lines <- line{member, ""}
			return
		}
		g.lines <- line{member, strings.TrimSuffix(text, "\n")}
	}
}

func (g *group) readUntil(done func() bool, limit time.Duration) bool {
	deadline := time.After(limit)
	for !done() {
		select {
		case l := <-g.lines:
			g.take(l)
		case <-deadline:
			return false
		}
	}
	return true
}

func (g *group) take(l line) {
	kind, rest, _ := strings.Cut(l.text, " ")
	switch kind {
	case "":
		g.open--
	case "assigned":
		g.assigned[l.member] = strings.FieldsFunc(rest, func(c rune) bool { return c == ',' })
	case "committed":
		var at place
		fmt.Sscan(rest, &at.partition, &at.offset)
		g.committed[at.partition] = max(g.committed[at.partition], at.offset)
	case "record":
		now := reading{member: l.member}
		if _, err := fmt.Sscan(rest, &now.partition, &now.offset, &now.key, &now.sequence); err != nil {
			g.problems = append(g.problems, l.text)
			return
		}
		g.record(now)
	default:
		g.problems = append(g.problems, fmt.Sprintf("member %d: %s", l.member, l.text))
	}
}

func (g *group) record(now reading) {
	first, again := g.records[now.place]
	if !again {
		g.records[now.place] = now
		return
	}
	g.duplicates++
	// A second delivery is right only where the first went to a member that died before it committed.
	if first.member != g.killed || now.offset < g.committed[now.partition] {
		g.problems = append(g.problems, fmt.Sprintf("%+v came to member %d and again to %d", now.place, first.member, now.member))
	}
}

func (g *group) complete() bool { return len(g.records) == g.total }

// settled tells whether each member owns something and all partitions are owned once.
func (g *group) settled() bool {
	var all []string
	for _, owned := range g.assigned {
		if len(owned) == 0 {
			return false
		}
		all = append(all, owned...)
	}
	slices.Sort(all)
	return len(all) == partitionCount && len(slices.Compact(all)) == partitionCount
}

func (g *group) killOne() {
	g.killed = 0
	g.members[0].Process.Kill()
}

// stop asks the members to leave, reads what they still have to say, and waits for them.
func (g *group) stop() {
	for _, m := range g.members {
		m.Process.Signal(syscall.SIGTERM)
	}
	for g.open > 0 {
		g.take(<-g.lines)
	}
	for i, m := range g.members {
		if err := m.Wait(); err != nil && i != g.killed {
			g.problems = append(g.problems, fmt.Sprintf("member %d: %v", i, err))
		}
	}
}

func (g *group) destroy() {
	for _, m := range g.members {
		m.Process.Kill()
	}
}

// verdict checks that all came and that each key's sequence rises with the offset.
func (g *group) verdict() error {
	if !g.complete() {
		g.problems = append(g.problems, fmt.Sprintf("%d of %d records arrived", len(g.records), g.total))
	}
	next := map[string]int{}
	for _, r := range slices.SortedFunc(maps.Values(g.records), func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	}) {
		if r.sequence != next[r.key] {
			g.problems = append(g.problems, fmt.Sprintf("key %s is out of order at %+v", r.key, r.place))
		}
		next[r.key] = r.sequence + 1
	}
	if len(g.problems) > 0 {
		return errors.New(strings.Join(g.problems[:min(5, len(g.problems))], "; "))
	}
	return nil
}
