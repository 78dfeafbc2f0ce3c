package millrace_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace"
	"millrace/protocol/console"
)

// line is a connection to a server's control port.
type line struct {
	testing.TB
	net.Conn
	lines *bufio.Scanner
}

func openControl(t *testing.T, s *millrace.Server) string {
	t.Helper()
	addr, err := s.OpenControl()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func dial(t testing.TB, addr string) *line {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return &line{t, c, bufio.NewScanner(c)}
}

// answer reads up to the line that ends an answer, or a part of one.
func (l *line) answer() (text string, end console.State) {
	l.Helper()
	for l.lines.Scan() {
		text += l.lines.Text() + "\n"
		if end = console.Classify(l.lines.Bytes()); end != console.Body {
			return text, end
		}
	}
	l.Fatalf("the connection ended after %q: %v", text, l.lines.Err())
	return
}

func (l *line) say(command string) (string, console.State) {
	l.Helper()
	fmt.Fprintf(l, "%s\n", command)
	return l.answer()
}

// do says a command that must succeed.
func (l *line) do(command string) string {
	l.Helper()
	text, end := l.say(command)
	if end != console.Success {
		l.Fatalf("%s: %s", command, text)
	}
	return text
}

func TestConsole(t *testing.T) {
	s := open(t, 0, "control.listener=127.0.0.1:0", "num.partitions=3")
	l := dial(t, openControl(t, s))
	for _, c := range []struct {
		command string
		end     console.State
		want    string // in the answer
	}{
		{"create_broker 127.0.0.1 0", console.Success, "broker 1 listens on 127.0.0.1:"},
		{"CREATE_BROKER ::1 0", console.Success, "broker 2 listens on [::1]:"},
		{"CREATE_BROKER 127.0.0.1 99999", console.Failure, "CREATE_BROKER <IP> <Port>"},
		{"CREATE_BROKER", console.Failure, "usage: CREATE_BROKER <IP> <Port>"},
		{"BROKERS", console.Success, "2 brokers"},
		{"CREATE_TOPIC t 6 1 retention.ms=60000", console.Success, "6 partitions"},
		{"CREATE_TOPIC t", console.Failure, "already exists"},
		{"CREATE_TOPIC u 2 9", console.Failure, "replica"},
		{"CREATE_TOPIC u 2 1 no.such.config=1", console.Failure, "no.such.config"},
		{"DESCRIBE_TOPIC t", console.Success, "retention.ms=60000"},
		{"DESCRIBE_TOPIC nope", console.Failure, "no topic nope"},
		{"PRODUCE t partition=4 key=k value", console.Success, "partition=4 offset=0"},
		{"PRODUCE t partition=6 value", console.Failure, "partitions 0 to 5"},
		{"PRODUCE made 'by the command'", console.Success, "topic=made"},
		{"CONSUME t 4 0", console.Success, "key=k value"},
		{"CONSUME t 4 7", console.Failure, "holds 0 to 1"},
		{"TOPICS", console.Success, "made"},
		{"GROUPS", console.Success, "0 groups"},
		{"LAG nobody", console.Failure, `no group "nobody"`},
		{"STATUS", console.Success, "brokers"},
		{"CREATE_BOKER 127.0.0.1 0", console.Failure, "CREATE_BROKER"},
		{"HELP", console.Success, "WATCH"},
		{"REMOVE_BROKER 9", console.Failure, "no broker"},
		{"REMOVE_BROKER 2", console.Success, "broker 2 is removed"},
		{"CONSUME t 4 start", console.Success, "key=k value"},
		{"DELETE_TOPIC t", console.Success, "t is deleted"},
		{"QUIT", console.Success, "bye"},
	} {
		text, end := l.say(c.command)
		if end != c.end || !strings.Contains(strings.ToLower(text), strings.ToLower(c.want)) {
			t.Errorf("%s: %q (%v), which should have %q", c.command, text, end, c.want)
		}
	}
	if _, err := l.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after QUIT: %v", err)
	}
}

// Text with spaces, quotes, Korean and newlines survives: what CONSUME prints can be said to PRODUCE, and JSON agrees.
func TestConsoleRoundTrip(t *testing.T) {
	s := open(t, 1, "control.listener=127.0.0.1:0")
	l := dial(t, openControl(t, s))
	l.do("CREATE_TOPIC t 1")
	for i, text := range []string{"plain", "with spaces", `"quotes" and 'quotes'`, "한글 값", "two\nlines\r\n\ttab", "a=b", "", `back\slash`} {
		said := "PRODUCE t key=" + console.Quote([]byte(text)) + " " + console.Quote([]byte(text))
		l.do(said)
		printed, _, _ := strings.Cut(l.do(fmt.Sprintf("CONSUME t 0 %d 1", 2*i)), "\n")
		l.do("PRODUCE t " + strings.TrimSpace(printed))
		l.do("FORMAT json")
		answer := l.do(fmt.Sprintf("CONSUME t 0 %d 1", 2*i+1))
		l.do("FORMAT text")
		var row struct{ Key, Value string }
		if err := json.Unmarshal([]byte(answer[:strings.IndexByte(answer, '\n')]), &row); err != nil {
			t.Fatal(err)
		}
		if row.Key != text || row.Value != text {
			t.Errorf("%q came back as key %q, value %q", text, row.Key, row.Value)
		}
	}
}

// WATCH pushes a change at once, long before its interval is over, and ends with the next line, which is carried out.
func TestConsoleWatch(t *testing.T) {
	s := open(t, 1, "control.listener=127.0.0.1:0")
	addr := openControl(t, s)
	watcher, other := dial(t, addr), dial(t, addr)
	if text, end := watcher.say("WATCH 60"); end != console.Part {
		t.Fatalf("%s", text)
	}
	for _, c := range []struct{ command, want string }{
		{"CREATE_TOPIC pushed 2", "pushed"},
		{"CREATE_BROKER 127.0.0.1 0", "2 "},
		{"PRODUCE pushed partition=1 x", "pushed"},
	} {
		began := time.Now()
		other.do(c.command)
		for {
			text, end := watcher.answer()
			if end != console.Part {
				t.Fatalf("%s", text)
			}
			if strings.Contains(text, c.want) {
				break
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s was pushed after %v", c.command, took)
		}
	}
	fmt.Fprintln(watcher, "BROKERS")
	for {
		if text, end := watcher.answer(); end == console.Success {
			if !strings.Contains(text, "end of WATCH") {
				t.Errorf("WATCH ended with %q", text)
			}
			break
		}
	}
	if text, end := watcher.answer(); end != console.Success || !strings.Contains(text, "2 brokers") {
		t.Errorf("the line that ended WATCH answered %q", text)
	}
}

// A client that leaves while it watches leaves nothing behind; goleak looks at the end.
func TestConsoleWatcherLeaves(t *testing.T) {
	s := open(t, 1, "control.listener=127.0.0.1:0")
	l := dial(t, openControl(t, s))
	l.say("WATCH")
	l.Close()
}

// A web page that is open on this machine can make a browser post lines to the port.
func TestConsoleHangsUpOnHTTP(t *testing.T) {
	s := open(t, 1, "control.listener=127.0.0.1:0")
	l := dial(t, openControl(t, s))
	fmt.Fprint(l, "GET / HTTP/1.1\r\nHost: x\r\n\r\nCREATE_TOPIC evil\r\n")
	if got, err := io.ReadAll(l); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, %v", got, err) // it was not hung up on
	}
	if s.Image().Topic("evil") != nil {
		t.Error("a line behind the HTTP request was carried out")
	}
}

// The console and a Kafka client see the same groups, records and lags.
func TestConsoleLag(t *testing.T) {
	t.Run("classic", func(t *testing.T) { checkLag(t) })
	t.Run("consumer", func(t *testing.T) { checkLag(t, kgo.ServerSideBalancer()) })
}

func checkLag(t *testing.T, opts ...kgo.Opt) {
	s := open(t, 3, "control.listener=127.0.0.1:0", "num.partitions=4")
	l := dial(t, openControl(t, s))
	l.do("CREATE_TOPIC t")
	for i := range 8 {
		l.do(fmt.Sprintf("PRODUCE t partition=%d x", i%4))
	}
	c := client(t, s, append(opts, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	for n, ctx := 0, soon(t); n < 8; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		n += fetches.NumRecords()
	}
	if err := c.CommitUncommittedOffsets(context.Background()); err != nil {
		t.Fatal(err)
	}
	if text := l.do("LAG g"); !strings.Contains(text, "Stable, 1 member, lag 0") {
		t.Errorf("%s", text)
	}
	l.do("PRODUCE t partition=2 x")
	if text := l.do("LAG g"); !strings.Contains(text, "lag 1") {
		t.Errorf("%s", text)
	}
	if text := l.do("GROUPS"); !strings.Contains(text, "1 group") {
		t.Errorf("%s", text)
	}
}

func TestTakenPort(t *testing.T) {
	s := open(t, 1)
	_, err := s.CreateBroker("127.0.0.1", int(mustPort(t, s.Bootstrap())))
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
	if n := len(s.Brokers()); n != 1 {
		t.Errorf("%d brokers after a failed creation", n)
	}
}

func mustPort(t *testing.T, addr string) uint16 {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.AddrPort().Port()
}

// Brokers come and go under a client that produces and consumes; nothing is lost, and nothing is left behind.
func TestBrokersComeAndGo(t *testing.T) {
	const n = 2000
	s := open(t, 3, "num.partitions=6")
	c := client(t, s, kgo.ConsumeTopics("t"), kgo.MetadataMinAge(50*time.Millisecond))
	for i := range n {
		c.Produce(soon(t), &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "%d", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
		switch i {
		case n / 4:
			if err := s.RemoveBroker(2); err != nil {
				t.Fatal(err)
			}
		case n / 2:
			if _, err := s.CreateBroker("127.0.0.1", 0); err != nil {
				t.Fatal(err)
			}
		case 3 * n / 4:
			if err := s.RemoveBroker(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for ctx := soon(t); len(seen) < n; {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records", len(seen), n)
		}
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
	}
}
