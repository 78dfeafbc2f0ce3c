package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Params are what a workload can be told. Zero means the workload's own default where that says so.
type Params struct {
	RecordBytes Size // of a record as encoded
	BatchBytes  Size // of the records in a request
	Partitions  int
	Topics      int
	Connections int
	Depth       int // requests in flight on each connection
	Acks        int // 0, 1 or −1
	Codec       string
	Idempotent  bool
	Rate        float64 // requests a second; 0: as fast as the answers come
	FetchBytes  Size    // most bytes of a response
	Groups      int
	Active      int  // connections that work, of those that are open
	Retain      Size // what a server keeps of what is produced
	Backlog     Size // what is written before it is read
	FirstTouch  bool // measure while memory is touched for the first time
	Warm, Run   time.Duration
	BytesMax    Size // ends a window early; 0: no limit
	Client      string
}

// The kinds of client.
const (
	Raw   = "raw"
	Franz = "franz"
	Java  = "java"
)

// Base are the defaults that workloads start from.
func Base() Params {
	return Params{RecordBytes: 1 << 10, BatchBytes: 64 << 10, Partitions: 8, Topics: 1, Connections: 8, Depth: 8, Acks: 1,
		Codec: "none", FetchBytes: 65 << 10, Groups: 3, Active: 1000, Retain: 256 << 20, Backlog: 256 << 20,
		Warm: 500 * time.Millisecond, Run: 4 * time.Second, Client: Raw}
}

// Check refuses what makes no sense.
func (p *Params) Check() error {
	for name, v := range map[string]int{"record": int(p.RecordBytes), "batch": int(p.BatchBytes), "partitions": p.Partitions,
		"topics": p.Topics, "connections": p.Connections, "depth": p.Depth, "groups": p.Groups} {
		if v < 1 {
			return fmt.Errorf("%s is %d, at least 1 is expected", name, v)
		}
	}
	if p.RecordBytes < 20 {
		return fmt.Errorf("record is %d bytes, at least 20 are expected", p.RecordBytes)
	}
	if p.Acks < -1 || p.Acks > 1 {
		return fmt.Errorf("acks is %d, one of 0, 1, -1 is expected", p.Acks)
	}
	if p.Rate < 0 || p.Run <= 0 || p.Warm < 0 {
		return fmt.Errorf("rate, warm and run can't be negative, and run can't be 0")
	}
	if p.Client != Raw && p.Client != Franz && p.Client != Java {
		return fmt.Errorf("client is %q, one of raw, franz, java is expected", p.Client)
	}
	if p.Client == Java && p.BytesMax == 0 {
		p.BytesMax = 512 << 20 // the Java tools are told a number of records
	}
	return nil
}

// Map gives the parameters that a workload looks at, for a report.
func (p *Params) Map(names []string) map[string]any {
	all := map[string]any{"record": p.RecordBytes.String(), "batch": p.BatchBytes.String(), "partitions": p.Partitions,
		"topics": p.Topics, "connections": p.Connections, "depth": p.Depth, "acks": p.Acks, "codec": p.Codec,
		"idempotent": p.Idempotent, "rate": p.Rate, "fetch": p.FetchBytes.String(), "groups": p.Groups, "active": p.Active,
		"retain": p.Retain.String(), "backlog": p.Backlog.String(), "first-touch": p.FirstTouch, "bytes": p.BytesMax.String(), "run": p.Run.String()}
	m := map[string]any{}
	for _, n := range names {
		v := all[n]
		if v == 0.0 || v == false || n == "codec" && v == "none" || n == "topics" && v == 1 {
			continue // the usual, which needs no words
		}
		m[n] = v
	}
	return m
}

// Size is a number of bytes: 65536, 64K, 1M, 2G (powers of 1024).
type Size int64

// String prints the shortest exact form.
func (s Size) String() string {
	for i, unit := range []string{"G", "M", "K"} {
		if one := Size(1) << (10 * (3 - i)); s >= one && s%one == 0 {
			return strconv.FormatInt(int64(s/one), 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Set reads a size.
func (s *Size) Set(v string) error {
	number, shift := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(v), "B"), "I"), 0
	if i := strings.IndexAny(number, "KMG"); i > 0 && i == len(number)-1 {
		shift = 10 * (1 + strings.IndexByte("KMG", number[i]))
		number = number[:i]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return fmt.Errorf("%q: expected bytes (65536) or a size (64K, 1M, 2G)", v)
	}
	*s = Size(n << shift)
	return nil
}

// Type names the kind of value in a command's help.
func (s *Size) Type() string { return "size" }
