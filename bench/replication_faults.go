package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/peer"
	"millrace/bench/report"
	"millrace/bench/wire"
)

// pulse produces record after record to one partition, whatever happens, and tells when the first is acknowledged that was sent after
// a moment.
type pulse struct {
	client *kgo.Client
	end    context.CancelFunc
	wait   sync.WaitGroup

	mu     sync.Mutex
	after  time.Time      // guarded by mu; zero: nobody asks
	answer chan time.Time // guarded by mu

	acked, errors atomic.Int64
	failed        atomic.Pointer[error]
}

// pulseGap is the time between two records.
const pulseGap = 2 * time.Millisecond

// pulseOptions are franz-go's defaults, but for what would be the client's own waiting instead of the broker's: five seconds between two
// questions for the metadata, and twenty for the answer of a broker that is frozen.
func pulseOptions(bootstrap []string, topic string) []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(bootstrap...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.ProduceRequestTimeout(300 * time.Millisecond), kgo.RequestTimeoutOverhead(100 * time.Millisecond), kgo.DialTimeout(time.Second),
		kgo.RetryBackoffFn(func(tries int) time.Duration {
			return min(time.Duration(tries)*20*time.Millisecond, 250*time.Millisecond)
		})}
}

func startPulse(ctx context.Context, bootstrap []string, topic string, partition int32) (*pulse, error) {
	client, err := kgo.NewClient(pulseOptions(bootstrap, topic)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &pulse{client: client, end: cancel}
	p.wait.Go(func() {
		tick := time.NewTicker(pulseGap)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			sent := time.Now()
			client.TryProduce(ctx, &kgo.Record{Partition: partition, Value: []byte("pulse")}, func(_ *kgo.Record, err error) { p.acknowledged(sent, err) })
		}
	})
	if _, err := p.next(time.Now(), 10*time.Second); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pulse) acknowledged(sent time.Time, err error) {
	now := time.Now()
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			p.errors.Add(1)
			p.failed.Store(&err)
		}
		return
	}
	p.acked.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.after.IsZero() && sent.After(p.after) {
		p.answer <- now
		p.after = time.Time{}
	}
}

// next waits for the first acknowledgement of a record sent after a moment.
func (p *pulse) next(after time.Time, limit time.Duration) (acked time.Time, err error) {
	answer := make(chan time.Time, 1)
	p.mu.Lock()
	p.after, p.answer = after, answer
	p.mu.Unlock()
	select {
	case at := <-answer:
		return at, nil
	case <-time.After(limit):
		if err := p.failed.Load(); err != nil {
			return acked, fmt.Errorf("nothing was acknowledged within %v: %w", limit, *err)
		}
		return acked, fmt.Errorf("nothing was acknowledged within %v", limit)
	}
}

// first waits for the first of several.
func first(pulses []*pulse, after time.Time, limit time.Duration) (acked time.Time, err error) {
	type outcome struct {
		acked time.Time
		err   error
	}
	all := make(chan outcome, len(pulses))
	for _, p := range pulses {
		go func() {
			acked, err := p.next(after, limit)
			all <- outcome{acked, err}
		}()
	}
	for range pulses {
		o := <-all
		if o.err == nil {
			return o.acked, nil
		}
		err = o.err
	}
	return acked, err
}

func (p *pulse) close() {
	p.end()
	p.wait.Wait()
	p.client.Close()
}

// failoverLimit is when it is given up.
const failoverLimit = 30 * time.Second

func (r *Replication) killBeside(ctx context.Context, c *report.Case) error {
	return r.repeat(ctx, c, r.rounds(3, 10), 1, beside, (*peer.Node).Kill)
}

func (r *Replication) killInOffice(ctx context.Context, c *report.Case) error {
	return r.repeat(ctx, c, r.rounds(3, 10), 1, inOffice, (*peer.Node).Kill)
}

// freezeClients are the clients of a frozen leader, of whom the first counts: one that happens to ask the frozen broker for the metadata
// waits for it for seconds of its own.
const freezeClients = 4

// freezeBeside stops leaders without a word, for longer than they may be silent.
func (r *Replication) freezeBeside(ctx context.Context, c *report.Case) error {
	return r.repeat(ctx, c, r.rounds(1, 5), freezeClients, beside, (*peer.Node).Freeze)
}

func (r *Replication) freezeInOffice(ctx context.Context, c *report.Case) error {
	return r.repeat(ctx, c, r.rounds(1, 5), freezeClients, inOffice, (*peer.Node).Freeze)
}

// inOffice chooses the node whose process is the controller, beside another one.
func inOffice(k *peer.Cluster) *peer.Node { return k.InOffice() }

func beside(k *peer.Cluster) *peer.Node {
	for _, n := range k.Nodes {
		if office := k.InOffice(); office != nil && n != office {
			return n
		}
	}
	return nil
}

func (r *Replication) repeat(ctx context.Context, c *report.Case, rounds, clients int, choose func(*peer.Cluster) *peer.Node, do func(*peer.Node)) error {
	for range rounds {
		if err := r.lead(ctx, c, clients, choose, do); err != nil {
			return err
		}
	}
	return nil
}

// lead does something to the leader of a partition that is produced to, and measures the time until the next acknowledgement. Then it
// makes the cluster whole again.
func (r *Replication) lead(ctx context.Context, c *report.Case, clients int, choose func(*peer.Cluster) *peer.Node, do func(*peer.Node)) error {
	k, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	topic, err := replicatedTopic(k.Nodes[0].Addr, 6, 3, 0)
	if err != nil {
		return err
	}
	victim := choose(k)
	if victim == nil {
		return errors.New("the logs don't say which node is in office")
	}
	partition := int32(-1)
	for i, addr := range topic.Leaders {
		if addr == victim.Addr {
			partition = int32(i)
		}
	}
	if partition < 0 {
		return fmt.Errorf("node %s leads nothing: %v", victim.Name, topic.Leaders)
	}
	var pulses []*pulse
	for range clients {
		p, err := startPulse(ctx, k.Bootstrap(), topic.Name, partition)
		if err != nil {
			return err
		}
		defer p.close()
		pulses = append(pulses, p)
	}
	time.Sleep(200 * time.Millisecond)
	at := time.Now()
	do(victim)
	acked, err := first(pulses, time.Now(), failoverLimit) // what was sent before may have been acknowledged by the dying
	if victim.Alive() {
		victim.Thaw()
	}
	if err != nil {
		return err
	}
	f := report.Figures{"failover_ms": ms(acked.Sub(at))}
	for _, p := range pulses {
		f["errors"] += float64(p.errors.Load())
	}
	c.Result("millrace").Add(f, nil)
	if err := k.StartAll(ctx); err != nil {
		return err
	}
	if err := k.AwaitWhole(ctx, len(topic.Leaders), wholeLimit); err != nil {
		return err
	}
	deleteTopic(k.Nodes[0].Addr, topic.Name)
	return nil
}

// killBroker kills one of three brokers of a process, by its console.
func (r *Replication) killBroker(ctx context.Context, c *report.Case) error {
	one, err := peer.StartBrokers(ctx, r.Config, 3)
	if err != nil {
		return err
	}
	defer one.Stop()
	all := strings.Split(one.Bootstrap, ",")
	topic, err := replicatedTopic(all[0], 3, 3, 0)
	if err != nil {
		return err
	}
	for range r.rounds(5, 10) {
		conn, err := wire.Dial(all[1], adminTimeout)
		if err != nil {
			return err
		}
		now, err := conn.AwaitTopic(topic.Name, 3)
		if err == nil {
			var h *wire.Health
			if h, err = conn.Health(topic.Name); err == nil {
				err = r.killOne(ctx, c, one, all, topic.Name, now.Leaders[0], h)
			}
		}
		_ = conn.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Replication) killOne(ctx context.Context, c *report.Case, one *peer.OneProcess, all []string, topic, leader string, h *wire.Health) error {
	id := int32(-1)
	for b, addr := range h.Addresses {
		if addr == leader {
			id = b
		}
	}
	p, err := startPulse(ctx, all, topic, 0)
	if err != nil {
		return err
	}
	defer p.close()
	time.Sleep(100 * time.Millisecond)
	at := time.Now()
	if err := command(one.Control, fmt.Sprintf("KILL_BROKER %d", id)); err != nil {
		return err
	}
	acked, err := p.next(time.Now(), failoverLimit)
	if err != nil {
		return err
	}
	c.Result("millrace").Add(report.Figures{"failover_ms": ms(acked.Sub(at)), "errors": float64(p.errors.Load())}, nil)
	if err := command(one.Control, fmt.Sprintf("START_BROKER %d", id)); err != nil {
		return err
	}
	for _, addr := range all {
		n := peer.Node{Name: addr, Addr: addr}
		if err := n.AwaitHealth(ctx, wholeLimit, func(h *wire.Health) bool { return h.Whole(3) && len(h.Addresses) == 3 }); err != nil {
			return err
		}
	}
	return nil
}

// command says a line to a control port. Its answer ends with OK … or ERR ….
func command(control, line string) error {
	conn, err := net.DialTimeout("tcp", control, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return err
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		switch text := lines.Text(); {
		case strings.HasPrefix(text, "OK"):
			return nil
		case strings.HasPrefix(text, "ERR"):
			return fmt.Errorf("%s: %s", line, text)
		}
	}
	return fmt.Errorf("%s: no answer", line)
}

// rolling restarts every node in turn while it is produced to with acks=all, and then counts what is there.
func (r *Replication) rolling(ctx context.Context, c *report.Case) error {
	k, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	const partitions = 6
	topic, err := replicatedTopic(k.Nodes[0].Addr, partitions, 3, 0)
	if err != nil {
		return err
	}
	defer deleteTopic(k.Nodes[0].Addr, topic.Name)
	l, err := startLedger(ctx, k.Bootstrap(), topic.Name, partitions)
	if err != nil {
		return err
	}
	defer l.close()
	began := time.Now()
	for _, n := range k.Nodes {
		if err := n.Drain(30 * time.Second); err != nil {
			return err
		}
		if err := n.Launch(); err != nil {
			return err
		}
		if err := n.AwaitReady(ctx); err != nil {
			return err
		}
	}
	took := time.Since(began)
	if err := l.stop(wholeLimit); err != nil {
		return err
	}
	lost, doubled, err := l.audit(ctx, k.Bootstrap())
	if err != nil {
		return err
	}
	c.Result("millrace").Add(report.Figures{"errors": float64(l.errors.Load()), "lost": float64(lost), "duplicated": float64(doubled),
		"acked": float64(l.acked.Load()), "restarts_s": took.Seconds(), "pause_max_ms": ms(l.pauseMax())}, nil)
	return k.AwaitWhole(ctx, partitions, wholeLimit)
}

// numbered is a record's value.
func numbered(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
