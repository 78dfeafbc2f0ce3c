package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// RedisProduce adds messages of RecordBytes to streams, one command each: Connections (each has its own stream), Depth,
// Rate. RetainBytes is kept by MAXLEN ~.
func RedisProduce(ctx context.Context, s Spec) (*Result, error) {
	if err := redisFlush(s.Bootstrap); err != nil {
		return nil, err
	}
	return redisAdd(ctx, &s, nil)
}

func redisAdd(ctx context.Context, s *Spec, readers *askReaders) (*Result, error) {
	keep := max(s.RetainBytes/int64(max(s.RecordBytes, 1))/int64(max(s.Connections, 1)), 1000)
	value := letters(s.RecordBytes)
	return ask(ctx, s, func(_ *engine, i int) (*asker, error) {
		return &asker{request: redisCommand("XADD", redisKey(i), "MAXLEN", "~", strconv.FormatInt(keep, 10), "*", "v", value),
			cut: redisCut}, nil
	}, readers)
}

// RedisFetch reads filled streams: Connections, Depth, as many messages at once as FetchBytes hold. FillBytes are
// written first.
func RedisFetch(ctx context.Context, s Spec) (*Result, error) {
	if err := redisFlush(s.Bootstrap); err != nil {
		return nil, err
	}
	fill := s
	fill.Warm, fill.Run, fill.Rate, fill.RetainBytes = 0, 0, 0, 2*s.FillBytes
	if _, err := redisAdd(ctx, &fill, nil); err != nil {
		return nil, fmt.Errorf("fill: %w", err)
	}
	e, err := newEngine()
	if err != nil {
		return nil, err
	}
	defer e.close()
	s.FillBytes = 0
	m := newMeter(&s, ownThread)
	for i := range s.Connections {
		f := &redisRange{meter: m, key: redisKey(i), count: max(s.FetchBytes/max(s.RecordBytes, 1), 1)}
		for range max(s.Depth, 1) {
			f.slots = append(f.slots, redisSlot{from: "-"})
			f.turns = append(f.turns, len(f.turns))
		}
		if _, err := e.dial(s.Bootstrap, f); err != nil {
			return nil, err
		}
	}
	w := &window{meter: m}
	e.tick = w.tick
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	if w.result.Requests == 0 {
		return nil, errNothing
	}
	return w.result, nil
}

// RedisEndToEnd adds messages at a rate and reads each stream with XREAD BLOCK.
func RedisEndToEnd(ctx context.Context, s Spec) (*Result, error) {
	if err := redisFlush(s.Bootstrap); err != nil {
		return nil, err
	}
	readers := newAskReaders(s.Connections)
	readers.dial = func(e *engine, m *meter) error {
		for i := range s.Connections {
			if _, err := e.dial(s.Bootstrap, &redisTail{meter: m, readers: readers, index: i, last: "0-0", ready: true}); err != nil {
				return err
			}
		}
		return nil
	}
	return redisAdd(ctx, &s, readers)
}

// redisRange is the flow of a connection that reads a stream in several places at once, from its start to its end
// and again. Answers come in the order of the requests.
type redisRange struct {
	meter *meter
	key   string
	count int
	slots []redisSlot
	turns []int // slots whose request is to be sent
	sent  []int // slots whose answer is due, in order
}

type redisSlot struct {
	from string
	sent time.Time
}

func (f *redisRange) fill(c *client) error {
	for _, i := range f.turns {
		s := &f.slots[i]
		s.sent = time.Now()
		c.out.Push(redisCommand("XRANGE", f.key, s.from, "+", "COUNT", strconv.Itoa(f.count)))
		f.sent = append(f.sent, i)
	}
	f.turns = f.turns[:0]
	return nil
}

func (f *redisRange) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	for used < len(b) {
		n, missing, err := redisReply(b[used:])
		if err != nil || n == 0 {
			return used, missing, err
		}
		if len(f.sent) == 0 {
			return used, 0, fmt.Errorf("an answer to nothing")
		}
		i := f.sent[0]
		f.sent = f.sent[:copy(f.sent, f.sent[1:])]
		entries, last := redisEntries(b[used : used+n])
		s := &f.slots[i]
		if s.from = "(" + last; entries < f.count {
			s.from = "-" // round again
		}
		if entries > 0 {
			f.meter.answered(entries, n)
			f.meter.took(s.sent, now)
		}
		f.turns = append(f.turns, i)
		used += n
	}
	return used, 0, nil
}

// redisTail is the flow of a connection that waits for what is added to a stream.
type redisTail struct {
	meter   *meter
	readers *askReaders
	index   int
	last    string
	ready   bool
}

func (f *redisTail) fill(c *client) error {
	if f.ready {
		f.ready = false
		c.out.Push(redisCommand("XREAD", "COUNT", "1000", "BLOCK", "500", "STREAMS", redisKey(f.index), f.last))
	}
	return nil
}

func (f *redisTail) receive(_ *client, b []byte) (used, missing int, err error) {
	now := time.Now()
	n, missing, err := redisReply(b)
	if err != nil || n == 0 {
		return 0, missing, err
	}
	f.ready = true
	if bytes.HasPrefix(b, []byte("*-1")) || bytes.HasPrefix(b, []byte("$-1")) {
		return n, 0, nil // nothing within the time
	}
	// One stream: *1, *2, its key, and then the entries as XRANGE has them.
	rest := b[:n]
	for range 2 {
		_, rest, _ = bytes.Cut(rest, []byte("\r\n"))
	}
	if k, _, err := redisReply(rest); err == nil {
		rest = rest[k:]
	}
	entries, last := redisEntries(rest)
	for range entries {
		f.readers.came(f.meter, f.index, n/max(entries, 1), now)
	}
	if entries > 0 {
		f.last = last
	}
	return n, 0, nil
}

func redisKey(i int) string { return "bench:" + strconv.Itoa(i) }

// letters are n capital letters.
func letters(n int) string {
	b := make([]byte, max(n, 1))
	for i := range b {
		b[i] = 'A' + byte(i*7%26)
	}
	return string(b)
}

// redisCommand encodes a command (https://redis.io/docs/latest/develop/reference/protocol-spec/).
func redisCommand(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

func redisCut(_ *client, b []byte) (used, missing int, answer bool, err error) {
	used, missing, err = redisReply(b)
	return used, missing, used > 0, err
}

// redisReply gives the length of the whole reply that b begins with; 0 if there is more to come. A reply that is an
// error becomes one.
func redisReply(b []byte) (n, missing int, err error) {
	at := 0
	for pending := 1; pending > 0; pending-- {
		eol := bytes.IndexByte(b[at:], '\n')
		if eol < 2 {
			if eol >= 0 {
				return 0, 0, fmt.Errorf("not RESP: %q", b[:min(len(b), 40)])
			}
			return 0, 0, nil
		}
		kind, line := b[at], b[at+1:at+eol-1]
		at += eol + 1
		switch kind {
		case '+', ':':
		case '-':
			return 0, 0, fmt.Errorf("redis: %s", line)
		case '$', '*':
			count, err := strconv.Atoi(string(line))
			if err != nil || count > 1<<29 {
				return 0, 0, fmt.Errorf("not RESP: %q", b[:min(len(b), 40)])
			}
			if kind == '*' {
				pending += max(count, 0)
			} else if count >= 0 {
				if at += count + 2; at > len(b) {
					return 0, at - len(b), nil
				}
			}
		default:
			return 0, 0, fmt.Errorf("not RESP: %q", b[:min(len(b), 40)])
		}
	}
	return at, 0, nil
}

// redisEntries counts the entries of a whole reply to XRANGE, and gives the id of the last.
func redisEntries(b []byte) (entries int, last string) {
	head, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if len(head) < 2 || head[0] != '*' {
		return 0, ""
	}
	total, _ := strconv.Atoi(string(head[1:]))
	for range total {
		_, body, _ := bytes.Cut(rest, []byte("\r\n")) // *2
		n, _, err := redisReply(body)
		if err != nil || n == 0 {
			return entries, last
		}
		if entries++; entries == total {
			if _, id, ok := bytes.Cut(body[:n], []byte("\r\n")); ok {
				last = string(bytes.TrimSuffix(id, []byte("\r\n")))
			}
		}
		fields, _, err := redisReply(body[n:])
		if err != nil || fields == 0 {
			return entries, last
		}
		rest = body[n+fields:]
	}
	return entries, last
}

// redisFlush empties the server.
func redisFlush(addr string) error {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(redisCommand("FLUSHALL")); err != nil {
		return err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && line != "+OK\r\n" {
		err = fmt.Errorf("FLUSHALL: %q", line)
	}
	return err
}

// RedisHello is a PING, as a client begins.
func RedisHello() []byte { return redisCommand("PING") }

var _ = []flow{(*redisRange)(nil), (*redisTail)(nil)}
