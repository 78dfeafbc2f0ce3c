package proc

import "time"

// Usage is what a process has used since it started, and what it holds.
type Usage struct {
	Known    bool
	CPU      time.Duration
	RSSBytes int64
	Threads  int
	// Switches are context switches of all threads that live, voluntary and forced.
	Switches int64
	// ReadCalls and WriteCalls are the system calls of the read and the write family, which include those on sockets
	// unless they are made as recv and send.
	ReadCalls, WriteCalls int64
}

// Since is what was used between an earlier reading and this one; RSSBytes becomes the growth, Threads stays.
func (u Usage) Since(earlier Usage) Usage {
	return Usage{
		Known:      u.Known && earlier.Known,
		CPU:        max(u.CPU-earlier.CPU, 0),
		RSSBytes:   u.RSSBytes - earlier.RSSBytes,
		Threads:    u.Threads,
		Switches:   max(u.Switches-earlier.Switches, 0),
		ReadCalls:  max(u.ReadCalls-earlier.ReadCalls, 0),
		WriteCalls: max(u.WriteCalls-earlier.WriteCalls, 0),
	}
}

// Machine is the shape of a machine, for the head of a report. Host names and addresses are left out on purpose.
type Machine struct {
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	Go          string `json:"go"`
	// Congestion is the TCP congestion control, which costs CPU on loopback too.
	Congestion string `json:"tcp_congestion_control"`
}

// Calls is the outcome of CountCalls.
type Calls struct {
	By    string // "perf" or "strace"
	Total int64
	Span  time.Duration
}
