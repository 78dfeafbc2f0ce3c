package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franz is a load by franz-go. Counters are shared by its callbacks.
type franz struct {
	spec  *Spec
	meter *meter

	records, bytes  atomic.Int64 // produced and acknowledged
	read, readBytes atomic.Int64
	mu              sync.Mutex // of the meter's histogram and failed
	failed          error
}

func newFranz(s *Spec) *franz { return &franz{spec: s, meter: newMeter(s, ownProcess)} }

// ownProcess is the CPU clock of this process: franz-go works in many goroutines.
func ownProcess() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// producerOptions are the defaults of franz-go, but for what the spec says.
func (f *franz) producerOptions() ([]kgo.Opt, error) {
	s := f.spec
	o := []kgo.Opt{kgo.SeedBrokers(s.Bootstrap), kgo.DefaultProduceTopic(s.Topic.Name),
		kgo.ProducerBatchMaxBytes(int32(max(s.BatchBytes+1024, 2048))), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.MaxBufferedRecords(max(s.Depth*s.records(), 256))}
	if !s.Idempotent {
		o = append(o, kgo.DisableIdempotentWrite())
	}
	switch s.Acks {
	case 0:
		o = append(o, kgo.RequiredAcks(kgo.NoAck()))
	case 1:
		o = append(o, kgo.RequiredAcks(kgo.LeaderAck()))
	default:
		o = append(o, kgo.RequiredAcks(kgo.AllISRAcks()))
	}
	codecs := map[string]kgo.CompressionCodec{"": kgo.NoCompression(), "none": kgo.NoCompression(),
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(),
		"zstd": kgo.ZstdCompression()}
	c, ok := codecs[s.Codec]
	if !ok {
		return nil, fmt.Errorf("no codec %q", s.Codec)
	}
	return append(o, kgo.ProducerBatchCompression(c)), nil
}

// clients is how many franz-go clients there are: each has its own connections.
func (f *franz) clients() int { return max(f.spec.Connections, 1) }

// values are what records carry: sixteen different ones, so that nothing is sent from a single hot cache line. The
// first eight bytes of one that is timed are its due time.
func (f *franz) value(due time.Time) []byte {
	v := make([]byte, max(f.spec.recordBytes()-10, 8))
	for i := range v {
		v[i] = 'A' + byte(i*7%26)
	}
	binary.BigEndian.PutUint64(v, uint64(due.UnixNano()))
	return v
}

// FranzProduce produces with franz-go: Connections clients, records of RecordBytes in batches of at most BatchBytes.
func FranzProduce(ctx context.Context, s Spec) (*Result, error) {
	f := newFranz(&s)
	return f.run(ctx, f.produce)
}

// FranzFetch consumes a filled topic with franz-go, from its start, again and again.
func FranzFetch(ctx context.Context, s Spec) (*Result, error) {
	f := newFranz(&s)
	f.spec.Rate = 0
	r, err := f.run(ctx, func(ctx context.Context) error { return f.consume(ctx, kgo.NewOffset().AtStart(), "", true) })
	if r != nil { // what was read is the main thing here
		r.Records, r.Bytes, r.ReadRecords, r.ReadBytes = r.ReadRecords, r.ReadBytes, 0, 0
	}
	return r, err
}

// FranzFanout produces, and consumes in Groups consumer groups; with one group and a rate it is the end-to-end load.
func FranzFanout(ctx context.Context, s Spec) (*Result, error) {
	f := newFranz(&s)
	return f.run(ctx, func(ctx context.Context) error {
		errs := make(chan error, s.Groups+1)
		for g := range max(s.Groups, 1) {
			group := ""
			if s.Groups > 1 {
				group = fmt.Sprintf("bench-%d-%d", time.Now().UnixNano(), g)
			}
			go func() { errs <- f.consume(ctx, kgo.NewOffset().AtEnd(), group, false) }()
		}
		go func() { errs <- f.produce(ctx) }()
		var first error
		for range max(s.Groups, 1) + 1 {
			if err := <-errs; err != nil && first == nil {
				first = err
			}
		}
		return first
	})
}

// run starts the work, lets it warm up, measures, and stops it.
func (f *franz) run(ctx context.Context, work func(context.Context) error) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	sleep := func(d time.Duration) error {
		select {
		case err := <-done:
			return errors.Join(errors.New("the load ended early"), err)
		case <-time.After(d):
			return f.failure()
		}
	}
	if err := f.settle(sleep); err != nil {
		return nil, err
	}
	records, bytes := f.records.Load(), f.bytes.Load()
	read, readBytes := f.read.Load(), f.readBytes.Load()
	f.mu.Lock()
	f.meter.begin(time.Now())
	f.mu.Unlock()
	for end := time.Now().Add(f.spec.Run); time.Now().Before(end); {
		if err := sleep(min(50*time.Millisecond, time.Until(end))); err != nil {
			return nil, err
		}
		if f.spec.BytesMax > 0 && max(f.bytes.Load()-bytes, f.readBytes.Load()-readBytes) >= f.spec.BytesMax {
			break
		}
	}
	f.mu.Lock()
	r := f.meter.end()
	f.mu.Unlock()
	r.Records, r.Bytes = f.records.Load()-records, f.bytes.Load()-bytes // how many requests that took isn't known
	r.ReadRecords, r.ReadBytes = f.read.Load()-read, f.readBytes.Load()-readBytes
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	f.mu.Lock()
	r.Latency = f.meter.latency.Clone()
	f.mu.Unlock()
	if r.Records == 0 && r.ReadRecords == 0 {
		return nil, errNothing
	}
	return r, nil
}

// settle fills and warms up: until the bytes are there, then for the time, then until something was answered.
func (f *franz) settle(sleep func(time.Duration) error) error {
	for f.bytes.Load() < f.spec.FillBytes {
		if err := sleep(5 * time.Millisecond); err != nil {
			return err
		}
	}
	if err := sleep(f.spec.Warm); err != nil {
		return err
	}
	for end := time.Now().Add(silence); f.records.Load()+f.read.Load() == 0 && time.Now().Before(end); {
		if err := sleep(5 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// silence is how long a broker may say nothing at the start.
const silence = 20 * time.Second

func (f *franz) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *franz) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
}

func (f *franz) took(due, now time.Time) {
	f.mu.Lock()
	f.meter.took(due, now)
	f.mu.Unlock()
}

// produce sends until ctx is done: at the rate, or as fast as the clients' buffers empty.
func (f *franz) produce(ctx context.Context) error {
	o, err := f.producerOptions()
	if err != nil {
		return err
	}
	if f.spec.Rate > 0 {
		o = append(o, kgo.ProducerLinger(0))
	}
	var clients []*kgo.Client
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	for range f.clients() {
		c, err := kgo.NewClient(o...)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	if f.spec.Rate > 0 {
		return f.paced(ctx, clients)
	}
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			value := f.value(time.Now())
			for ctx.Err() == nil {
				f.send(ctx, c, value, time.Now(), true)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// paced sends at the rate; a client that falls behind catches up in one go.
func (f *franz) paced(ctx context.Context, clients []*kgo.Client) error {
	p := newPace(time.Now(), f.spec.Rate*float64(f.spec.records()))
	for ctx.Err() == nil {
		for due := p.due(); !due.After(time.Now()); due = p.due() {
			f.send(ctx, clients[p.sent%int64(len(clients))], f.value(due), due, f.spec.Groups == 0)
			p.sent++
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(p.due())):
		}
	}
	return ctx.Err()
}

func (f *franz) send(ctx context.Context, c *kgo.Client, value []byte, due time.Time, timed bool) {
	c.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
		if err != nil {
			if ctx.Err() == nil {
				f.fail(fmt.Errorf("franz-go: produce: %w", err))
			}
			return
		}
		f.records.Add(1)
		f.bytes.Add(int64(len(value)))
		if timed {
			f.took(due, time.Now())
		}
	})
}

// consume reads until ctx is done. again starts a new client whenever everything was read.
func (f *franz) consume(ctx context.Context, from kgo.Offset, group string, again bool) error {
	ends := int64(-1)
	if again {
		ends = 0
		for _, l := range byLeader(f.spec.Topic) {
			for p, end := range l.ends {
				ends += end - l.starts[p]
			}
		}
		if ends == 0 {
			return fmt.Errorf("topic %s is empty", f.spec.Topic.Name)
		}
	}
	o := []kgo.Opt{kgo.SeedBrokers(f.spec.Bootstrap), kgo.ConsumeTopics(f.spec.Topic.Name), kgo.ConsumeResetOffset(from)}
	if f.spec.FetchBytes > 0 {
		o = append(o, kgo.FetchMaxPartitionBytes(int32(f.spec.FetchBytes)))
	}
	if group != "" {
		o = append(o, kgo.ConsumerGroup(group), kgo.DisableAutoCommit())
	}
	for ctx.Err() == nil {
		c, err := kgo.NewClient(o...)
		if err != nil {
			return err
		}
		err = f.poll(ctx, c, ends)
		c.Close()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// poll counts what a client gets, until it had `want` records (below 0: until ctx is done).
func (f *franz) poll(ctx context.Context, c *kgo.Client, want int64) error {
	for n := int64(0); want < 0 || n < want; {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("franz-go: fetch %s/%d: %w", e.Topic, e.Partition, e.Err)
		}
		now := time.Now()
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			f.read.Add(1)
			f.readBytes.Add(int64(len(r.Value)))
			if f.spec.Rate > 0 && len(r.Value) >= 8 {
				f.took(time.Unix(0, int64(binary.BigEndian.Uint64(r.Value))), now)
			}
		})
	}
	return nil
}
