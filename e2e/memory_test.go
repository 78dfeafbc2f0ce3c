package e2e

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The figures here are printed; the targets stand in the comments, and what fails a test is well beyond them, since the
// machine may be busy.

// overWarm is what a server that has worked keeps beyond an idle one: its heap between two collections.
const overWarm = 32 << 20

// An idle broker's memory: 16 MiB is the target.
func TestIdleServer(t *testing.T) {
	s := Start(t, Options{Brokers: 1})
	rss := s.RSS(t)
	t.Logf("one idle broker: RSS %.1f MiB", mib(rss))
	if rss > 48<<20 {
		t.Errorf("RSS %.1f MiB", mib(rss))
	}
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// writer produces one batch to a partition again and again, as fast as the answers come.
type writer struct {
	conn  net.Conn
	frame []byte
	chunk []byte // frames that are written at once
	each  int    // how many they are
}

func newWriter(t testing.TB, s *Server, topic string, partition int32, batch []byte) *writer {
	c := Dial(t, s.Bootstrap[0])
	r := ProduceRequest(9, topic, partition, batch)
	r.Acks = 1
	w := &writer{conn: c.conn}
	w.frame, _ = c.Frame(r)
	for w.each = 0; w.each == 0 || len(w.chunk) < 256<<10; w.each++ {
		w.chunk = append(w.chunk, w.frame...)
	}
	return w
}

// write produces at least n batches and returns how many were taken, and the last other error code.
func (w *writer) write(t testing.TB, n int) (taken int, code int16) {
	t.Helper()
	failed := make(chan error, 1)
	rounds := (n + w.each - 1) / w.each
	go func() {
		var err error
		for range rounds {
			if _, err = w.conn.Write(w.chunk); err != nil {
				break
			}
		}
		failed <- err
	}()
	for range rounds * w.each {
		b, err := readFrame(w.conn)
		if err != nil {
			t.Fatal(err)
		}
		r := ProduceRequest(9, "", 0)
		_, response, err := parse(r, b)
		if err != nil {
			t.Fatal(err)
		}
		if p := response.(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode == 0 {
			taken++
		} else {
			code = p.ErrorCode
		}
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return taken, code
}

// batchOf has n records with values of the given size.
func batchOf(t testing.TB, n, valueBytes int) []byte {
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{Timestamp: time.Now().UnixMilli(), Value: make([]byte, valueBytes)}
	}
	return NewBatch(records...).Encode(t)
}

// Memory for each byte that is kept: at 2 GB the targets are 1.05 for batches of 64 KiB, of the batches' bytes, and 1.6
// for single records of 200 bytes, of the records' own bytes. Here it is less data, so what is there before, and what a
// server takes that has begun to work, is left out: the first partition is filled before memory is looked at.
func TestMemoryForEachByteKept(t *testing.T) {
	const partitions = 8
	for _, c := range []struct {
		name                string
		records, valueBytes int
		total               int // bytes of values
		ratioMax            float64
	}{
		{"64 KiB batches of 1 KiB records", 63, 1 << 10, 256 << 20, 1.2},
		{"single records of 200 bytes", 1, 200, 64 << 20, 2.0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Start(t, Options{Brokers: 1, Set: map[string]string{"millrace.memory.max": "1GiB"}})
			s.Command(t, "CREATE_TOPIC kept %d", partitions)
			batch := batchOf(t, c.records, c.valueBytes)
			var kept, before int64
			for partition := range int32(partitions) {
				w := newWriter(t, s, "kept", partition, batch)
				taken, code := w.write(t, c.total/partitions/(c.records*c.valueBytes))
				if code != 0 {
					t.Fatalf("error %d", code)
				}
				w.conn.Close()
				if kept += int64(taken * c.records * c.valueBytes); partition == 0 {
					kept, before = 0, s.RSS(t)
				}
			}
			rss := s.RSS(t)
			ratio := float64(rss-before) / float64(kept)
			t.Logf("%.0f MiB of values kept: RSS %.1f MiB, %.1f MiB of it before; %.3f bytes for each", mib(kept), mib(rss),
				mib(before), ratio)
			if ratio > c.ratioMax {
				t.Errorf("%.3f bytes for each byte of the values, at most %.2f", ratio, c.ratioMax)
			}
		})
	}
}

// Over the ceiling producers get KAFKA_STORAGE_ERROR. What was acknowledged can be read, the memory stays where it is,
// and falls when the records go.
func TestMemoryCeiling(t *testing.T) {
	const ceiling, storageError = 64 << 20, 56
	s := Start(t, Options{Brokers: 1, Set: map[string]string{
		"millrace.memory.max": fmt.Sprint(ceiling), "millrace.memory.trim.ms": "200"}})
	idle := s.RSS(t)
	s.Command(t, "CREATE_TOPIC full 1")
	w := newWriter(t, s, "full", 0, batchOf(t, 63, 1<<10))
	var taken int
	var code int16
	for range 3 { // each could fill it
		n, c := w.write(t, 2*ceiling/(64<<10))
		taken, code = taken+n, c
	}
	rss := s.RSS(t)
	t.Logf("%d batches taken, then error %d; RSS %.1f MiB, ceiling %d MiB and %.1f MiB when idle", taken, code, mib(rss), ceiling>>20, mib(idle))
	if code != storageError {
		t.Errorf("error %d, expected %d", code, storageError)
	}
	if over := rss - ceiling - idle; over > overWarm {
		t.Errorf("%.1f MiB above ceiling and idle memory", mib(over))
	}
	records := 0
	for _, b := range Batches(t, FetchAll(t, s, "full", 0)) {
		records += int(b.NumRecords)
	}
	if records != taken*63 {
		t.Errorf("%d records read, %d acknowledged", records, taken*63)
	}
	s.Command(t, "CREATE_TOPIC small 1")
	s.Command(t, "DELETE_TOPIC full")
	until(t, 10*time.Second, "the memory is given back", func() bool { return s.RSS(t) < idle+overWarm })
	if p := Produce(Dial(t, s.Bootstrap[0]), 9, "small", 0, batchOf(t, 1, 10)); p.ErrorCode != 0 {
		t.Errorf("produce after the deletion: error %d", p.ErrorCode)
	}
	t.Logf("deleted: RSS %.1f MiB", mib(s.RSS(t)))
}

// A full server takes records again when retention has made room, and gives back what it doesn't need.
func TestMemoryFallsWithRetention(t *testing.T) {
	const ceiling = 64 << 20
	s := Start(t, Options{Brokers: 1, Set: map[string]string{
		"millrace.memory.max": fmt.Sprint(ceiling), "millrace.memory.trim.ms": "200", "log.retention.ms": "3000"}})
	idle := s.RSS(t)
	s.Command(t, "CREATE_TOPIC brief 2")
	batch := batchOf(t, 63, 1<<10)
	full := newWriter(t, s, "brief", 0, batch)
	for code, end := int16(0), time.Now().Add(30*time.Second); code == 0; {
		if time.Now().After(end) {
			t.Fatal("the memory was never full")
		}
		_, code = full.write(t, 2*ceiling/(64<<10))
	}
	until(t, 20*time.Second, "retention gives the memory back", func() bool { return s.RSS(t) < idle+overWarm })
	t.Logf("RSS %.1f MiB, %.1f MiB when idle", mib(s.RSS(t)), mib(idle))
	if p := Produce(Dial(t, s.Bootstrap[0]), 9, "brief", 1, batch); p.ErrorCode != 0 {
		t.Errorf("produce: error %d", p.ErrorCode)
	}
}

// A topic of 10,000 partitions: 300 ms is the target. Made and deleted again and again it leaves nothing.
func TestTenThousandPartitions(t *testing.T) {
	s := Start(t, Options{Brokers: 1})
	idle := s.RSS(t)
	c := Dial(t, s.Bootstrap[0])
	var console, kafka, remove []time.Duration
	var with, after int64
	for range 10 {
		began := time.Now()
		s.Command(t, "CREATE_TOPIC wide 10000")
		console = append(console, time.Since(began))
		with = max(with, s.RSS(t))
		began = time.Now()
		s.Command(t, "DELETE_TOPIC wide")
		remove = append(remove, time.Since(began))
		began = time.Now()
		createTopics(t, c, "wide", 1, 10_000)
		kafka = append(kafka, time.Since(began))
		s.Command(t, "DELETE_TOPIC wide")
		after = s.RSS(t)
	}
	t.Logf("10,000 partitions: console %v, CreateTopics %v, delete %v; RSS %.1f MiB idle, %.1f MiB with the first, %.1f MiB after 20",
		best(console), best(kafka), best(remove), mib(idle), mib(with), mib(after))
	for what, took := range map[string]time.Duration{"console": best(console), "CreateTopics": best(kafka), "delete": best(remove)} {
		if took > 900*time.Millisecond {
			t.Errorf("%s: %v", what, took)
		}
	}
	if after > idle+2*overWarm {
		t.Errorf("%.1f MiB are left", mib(after-idle))
	}
}

func best(all []time.Duration) time.Duration {
	least := all[0]
	for _, d := range all {
		least = min(least, d)
	}
	return least.Round(100 * time.Microsecond)
}

// createTopics makes name, or name-0 … with one request for each 20,000 partitions: the server takes no more at once.
func createTopics(t testing.TB, c *Conn, name string, topics int, partitions int32) {
	t.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version, r.TimeoutMillis = 7, 60_000
	for i := range topics {
		one := kmsg.NewCreateTopicsRequestTopic()
		one.Topic, one.NumPartitions, one.ReplicationFactor = name, partitions, 1
		if topics > 1 {
			one.Topic = fmt.Sprintf("%s-%d", name, i)
		}
		if r.Topics = append(r.Topics, one); i+1 < topics && (len(r.Topics)+1)*int(partitions) <= 20_000 {
			continue
		}
		for _, topic := range c.Do(r).(*kmsg.CreateTopicsResponse).Topics {
			if topic.ErrorCode != 0 {
				t.Fatalf("%s: error %d", topic.Topic, topic.ErrorCode)
			}
		}
		r.Topics = nil
	}
}

// 10,000 topics of four partitions: what they cost, and that Metadata of all of them comes from a cache, for which
// 10 ms is the target. Reading and decoding 3 MB on the client's side is part of the figure.
func TestTenThousandTopics(t *testing.T) {
	const topics, partitions = 10_000, 4
	s := Start(t, Options{Brokers: 1})
	idle := s.RSS(t)
	c := Dial(t, s.Bootstrap[0])
	began := time.Now()
	createTopics(t, c, "many", topics, partitions)
	made := time.Since(began)
	rss := s.RSS(t)
	ask := kmsg.NewPtrMetadataRequest()
	ask.Version, ask.Topics = 12, nil
	frame, _ := c.Frame(ask)
	var took []time.Duration
	for range 6 {
		began = time.Now()
		c.Write(frame)
		if n := len(c.Read()); n < topics*partitions*20 {
			t.Fatalf("an answer of %d bytes", n)
		}
		took = append(took, time.Since(began))
	}
	t.Logf("%d topics of %d partitions: made in %v, %d bytes of RSS for each partition; Metadata of all: first %v, then %v", topics, partitions,
		made.Round(time.Millisecond), (rss-idle)/(topics*partitions), took[0].Round(100*time.Microsecond), best(took[1:]))
	if best(took[1:]) > 30*time.Millisecond {
		t.Errorf("Metadata: %v", best(took[1:]))
	}
	if each := (rss - idle) / (topics * partitions); each > 6<<10 {
		t.Errorf("%d bytes for each partition", each)
	}
}

// Many clients ask for a large cluster at once and don't read: they share one answer, and others are served.
func TestA65_SlowReadersShareTheAnswer(t *testing.T) {
	const readers = 500
	s := Start(t, Options{Brokers: 1})
	c := Dial(t, s.Bootstrap[0])
	createTopics(t, c, "large", 40, 1000)
	ask := kmsg.NewPtrMetadataRequest()
	ask.Version, ask.Topics = 12, nil
	frame, _ := c.Frame(ask)
	c.Write(frame)
	size := len(c.Read())
	before := s.RSS(t)
	var conns []*Conn
	for range readers {
		slow := Dial(t, s.Bootstrap[0])
		slow.Write(frame)
		conns = append(conns, slow)
	}
	for _, slow := range conns { // the answer has begun, so all of it is on its way
		if _, err := io.ReadFull(slow.conn, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	c.Versions()
	after := s.RSS(t)
	t.Logf("%d clients that don't read an answer of %d KiB: %.1f MiB more; another is answered in %v", readers, size>>10, mib(after-before),
		time.Since(began).Round(10*time.Microsecond))
	if after-before > overWarm {
		t.Errorf("%.1f MiB more", mib(after-before))
	}
	for _, slow := range conns {
		if n, err := io.CopyN(io.Discard, slow.conn, int64(size)); err != nil {
			t.Fatalf("%d bytes read: %v", n, err)
		}
	}
}
