package e2e

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A06: an answer that was ready early (an error, a throttle) overtook the one before it; Java and Python match answers by their order and
// fail. So: a thousand pipelined rounds in a random mix, and the ids must come back in order. acks=0 has no answer.
func TestA06_AnswersKeepTheirOrder(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 2)
	empty := Name(t, "empty")
	CreateTopic(t, s, empty, 1)
	address := Leader(t, s, topic, 0)
	c := Dial(t, address)
	random := rand.New(rand.NewPCG(1, 2))
	batch := NewBatch(Record{Timestamp: 1, Value: []byte("v")}).Encode(t)
	makers := []func() kmsg.Request{
		func() kmsg.Request { // is held until its time is over
			r := FetchRequest(11, empty, 0, 0)
			r.MaxWaitMillis, r.MinBytes = int32(random.IntN(4)), 1
			return r
		},
		func() kmsg.Request { return metadataAsk(9, false, topic) },
		func() kmsg.Request { return ProduceRequest(7, topic, 0, batch) },
		func() kmsg.Request { return ProduceRequest(7, "no-such-"+topic, 0, batch) },
		func() kmsg.Request { // unknown version: an error at once
			r := kmsg.NewPtrApiVersionsRequest()
			r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = 99, "e2e", "1"
			return r
		},
		func() kmsg.Request { // no answer
			r := ProduceRequest(7, topic, 0, batch)
			r.Acks = 0
			return r
		},
		func() kmsg.Request { // unknown group
			r := kmsg.NewPtrHeartbeatRequest()
			r.Version, r.Group, r.MemberID = 4, "no-such-group", "nobody"
			return r
		},
	}
	const rounds = 1000
	sent := make(chan int32, rounds*len(makers))
	go func() {
		defer close(sent)
		for range rounds {
			var frames []byte
			var ids []int32
			for _, i := range random.Perm(len(makers)) {
				r := makers[i]()
				frame, id := c.Frame(r)
				frames = append(frames, frame...)
				if p, ok := r.(*kmsg.ProduceRequest); !ok || p.Acks != 0 {
					ids = append(ids, id)
				}
			}
			if _, err := c.conn.Write(frames); err != nil {
				t.Error(err)
				return
			}
			for _, id := range ids {
				sent <- id
			}
		}
	}()
	for want := range sent {
		if got := int32(binary.BigEndian.Uint32(c.Read())); got != want {
			t.Fatalf("answer %d came where %d was due", got, want)
		}
	}
}

// A06: what is sent behind a fetch that waits is answered after it.
func TestA06_LongPollHoldsWhatFollows(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	c := Dial(t, Leader(t, s, topic, 0))
	r := FetchRequest(11, topic, 0, 0)
	r.MaxWaitMillis, r.MinBytes = 700, 1
	start := time.Now()
	first := c.Send(r)
	second := c.Send(metadataAsk(9, false))
	for _, want := range []int32{first, second} {
		if got := int32(binary.BigEndian.Uint32(c.Read())); got != want {
			t.Fatalf("answer %d came where %d was due", got, want)
		}
	}
	if took := time.Since(start); took < 600*time.Millisecond || took > 5*time.Second {
		t.Errorf("the fetch took %v, it asked for 700 ms", took)
	}
}

// A49: offsets jumped, fell, were negative or all 0 within a batch: each must come once, rising, from 0, whoever produces.
func TestA49_OffsetsRiseByOne(t *testing.T) {
	s := Shared(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	const producers, each = 8, 5000
	var all sync.WaitGroup
	for range producers {
		all.Go(func() {
			c := Client(t, s, kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(each))
			for i := range each {
				c.Produce(Context(t, 30*time.Second), kgo.StringRecord(fmt.Sprint(i)), func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			if err := c.Flush(Context(t, 30*time.Second)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	next := int64(0)
	for _, b := range Batches(t, FetchAll(t, s, topic, 0)) {
		if b.FirstOffset != next || b.LastOffsetDelta != b.NumRecords-1 {
			t.Fatalf("batch at %d with %d records, last delta %d; expected at %d", b.FirstOffset, b.NumRecords, b.LastOffsetDelta, next)
		}
		next += int64(b.NumRecords)
	}
	if next != producers*each {
		t.Errorf("%d records of %d", next, producers*each)
	}
}

// A49 with the program that showed it, librdkafka's performance tester.
func TestA49_RdkafkaPerformance(t *testing.T) {
	kcat, s := needTool(t, "kcat"), Shared(t)
	program := rdkafkaPerformance(t)
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	const count = 300_000
	Run(t, Program{Args: []string{program, "-P", "-b", s.List(), "-t", topic, "-p", "0", "-c", strconv.Itoa(count), "-s", "128", "-a", "1", "-q"},
		Timeout: 60 * time.Second})
	Run(t, Program{Args: []string{program, "-C", "-b", s.List(), "-t", topic, "-p", "0", "-o", "beginning", "-c", strconv.Itoa(count), "-q"},
		Timeout: 60 * time.Second})
	out := Run(t, Program{Args: []string{kcat, "-C", "-q", "-e", "-b", s.List(), "-t", topic, "-p", "0", "-f", "%o\n"}, Timeout: 60 * time.Second})
	next := 0
	for line := range strings.Lines(out.Stdout) {
		if strings.TrimSpace(line) != strconv.Itoa(next) {
			t.Fatalf("offset %q, expected %d", line, next)
		}
		next++
	}
	if next != count {
		t.Errorf("%d records of %d", next, count)
	}
}

// rdkafkaPerformance builds librdkafka's example with stand-ins for two headers of its source tree.
func rdkafkaPerformance(t *testing.T) string {
	source := "/usr/share/doc/librdkafka-dev/examples/rdkafka_performance.c"
	needFile(t, source)
	program := t.TempDir() + "/rdkafka_performance"
	out, err := exec.Command(needTool(t, "gcc"), "-O2", "-w", "-Iclients/c/include", "-I/usr/include/librdkafka", "-o", program, source,
		"-lrdkafka", "-lm", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return program
}
