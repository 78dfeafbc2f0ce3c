package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"millrace/bench/proc"
	"millrace/bench/wire"
)

// What a target speaks.
const (
	Kafka = "kafka"
	RESP  = "redis"
	NATS  = "nats"
)

// Config says where things are.
type Config struct {
	Self     []string // the command that runs the floor
	Millrace string   // the binary
	// MillraceSettings are name=value on top of what a run needs.
	MillraceSettings []string
	Cache            string // for what is built or fetched
	Modules          string // the folder of the nested modules: bench/peers
	Log              io.Writer
}

// Needs says what a load wants of a target.
type Needs struct {
	// RetainBytes bounds what the floor keeps; the others are told by topic.
	RetainBytes int
	ShelfBytes  int
	BatchBytes  int
	RecordBytes int
	Partitions  int
	Fresh       bool // the floor's memory is not touched before the start
	// NoWait gives the target at once, without waiting until it serves.
	NoWait bool
}

// Peer is a kind of target.
type Peer struct {
	Name   string
	About  string
	Speaks string
	// Compiles says that it gets faster while it runs: a first run is thrown away.
	Compiles bool
	// Prepare builds or fetches what is needed and gives the version. It may be called again.
	Prepare func(ctx context.Context, c *Config) (version string, err error)
	start   func(ctx context.Context, c *Config, n Needs) (*Target, error)
}

// All are the peers, in the order of reports.
func All() []*Peer {
	return []*Peer{floorPeer(), millracePeer(), kfakePeer(), kafkaPeer(), natsPeer(), redisPeer()}
}

// ByName finds a peer.
func ByName(name string) (*Peer, error) {
	var names []string
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("no target %q; there are %s", name, strings.Join(names, ", "))
}

// Start starts a target and, unless NoWait, waits until it serves.
func (p *Peer) Start(ctx context.Context, c *Config, n Needs) (*Target, error) {
	t, err := p.start(ctx, c, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	t.Name, t.Speaks = p.Name, p.Speaks
	if n.NoWait {
		return t, nil
	}
	if err := t.AwaitReady(ctx); err != nil {
		t.Stop()
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return t, nil
}

// Target is a running process, or an external broker.
type Target struct {
	Name      string
	Speaks    string
	Bootstrap string
	Pids      []int
	Settings  []string
	// HTTP is the address of an endpoint that tells the number of goroutines; may be empty.
	HTTP string
	// Jars is where Apache Kafka's jars are, for its own load generators; only Kafka has it.
	Started time.Time

	cmd     *exec.Cmd
	dir     string
	logPath string
	done    chan struct{} // closed when the process has ended
}

// External is a broker that already runs.
func External(bootstrap string, pids []int, http string) *Target {
	return &Target{Name: "external", Speaks: Kafka, Bootstrap: bootstrap, Pids: pids, HTTP: http, Started: time.Now()}
}

// launch starts a process with a folder of its own for its log and whatever it keeps. The folder is on a tmpfs if
// there is one.
func launch(name string, argv func(dir string) ([]string, error)) (*Target, error) {
	dir, err := os.MkdirTemp(memoryDir(), "millrace-bench-"+name+"-")
	if err != nil {
		return nil, err
	}
	args, err := argv(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	t := &Target{dir: dir, logPath: filepath.Join(dir, "log"), done: make(chan struct{})}
	log, err := os.Create(t.logPath)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	defer func() { _ = log.Close() }()
	t.cmd = exec.Command(args[0], args[1:]...)
	t.cmd.Stdout, t.cmd.Stderr, t.cmd.Dir = log, log, dir
	// A group of its own, so that Ctrl-C reaches only the harness, which then stops what it started.
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.Started = time.Now()
	if err := t.cmd.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	t.Pids = []int{t.cmd.Process.Pid}
	go func() {
		_ = t.cmd.Wait()
		close(t.done)
	}()
	return t, nil
}

// memoryDir is a folder in memory, or the usual one for temporary files.
func memoryDir() string {
	if s, err := os.Stat("/dev/shm"); err == nil && s.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// Alive says that the process hasn't ended by itself.
func (t *Target) Alive() bool {
	if t.done == nil {
		return true
	}
	select {
	case <-t.done:
		return false
	default:
		return true
	}
}

// readyMax is for Apache Kafka on a busy machine.
const readyMax = 90 * time.Second

// AwaitReady waits until the target answers.
func (t *Target) AwaitReady(ctx context.Context) error {
	var last error
	for end := time.Now().Add(readyMax); time.Now().Before(end); {
		if !t.Alive() {
			return fmt.Errorf("it ended while starting: %s", t.LogTail())
		}
		if last = t.knock(); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("not ready after %v: %w: %s", readyMax, last, t.LogTail())
}

// knock asks a target for a sign of life. A Kafka broker must know itself: Apache Kafka listens before it does.
func (t *Target) knock() error {
	if t.Speaks != Kafka {
		c, err := net.DialTimeout("tcp", t.Bootstrap, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
	c, err := wire.Dial(t.Bootstrap, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	n, err := c.Brokers()
	if err == nil && n == 0 {
		err = errors.New("it knows no broker yet")
	}
	return err
}

// LogTail is the end of what the process has said.
func (t *Target) LogTail() string {
	b, err := os.ReadFile(t.logPath)
	if err != nil {
		return ""
	}
	if len(b) > 1500 {
		b = b[len(b)-1500:]
	}
	return strings.TrimSpace(string(b))
}

// stopMax is how long a process may take to stop before it is killed.
const stopMax = 10 * time.Second

// Stop ends the process and removes its folder. For an external target it does nothing.
func (t *Target) Stop() {
	if t.cmd == nil {
		return
	}
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-t.done:
	case <-time.After(stopMax):
		_ = t.cmd.Process.Kill()
		<-t.done
	}
	if t.dir != "" {
		_ = os.RemoveAll(t.dir)
	}
}

// Usage adds up the accounts of the target's processes.
func (t *Target) Usage() proc.Usage {
	var sum proc.Usage
	for _, pid := range t.Pids {
		u := proc.Read(pid)
		sum.Known = u.Known
		sum.CPU += u.CPU
		sum.RSSBytes += u.RSSBytes
		sum.Threads += u.Threads
		sum.Switches += u.Switches
		sum.ReadCalls += u.ReadCalls
		sum.WriteCalls += u.WriteCalls
	}
	return sum
}

// Goroutines asks the target's HTTP endpoint, if it has one: go_goroutines of /metrics, else the head of
// /debug/pprof/goroutine.
func (t *Target) Goroutines() (n int, ok bool) {
	if t.HTTP == "" {
		return 0, false
	}
	if n, ok = numberAfter(get("http://"+t.HTTP+"/metrics"), "\ngo_goroutines "); ok {
		return n, true
	}
	return numberAfter(get("http://"+t.HTTP+"/debug/pprof/goroutine?debug=1"), "goroutine profile: total ")
}

// get reads the start of a page, or nothing.
func get(url string) string {
	client := http.Client{Timeout: 2 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return "\n" + string(b)
}

func numberAfter(s, mark string) (int, bool) {
	_, rest, found := strings.Cut(s, mark)
	if !found {
		return 0, false
	}
	if i := strings.IndexAny(rest, "\n "); i >= 0 {
		rest = rest[:i]
	}
	n, err := strconv.Atoi(strings.TrimSpace(rest))
	return n, err == nil
}

// freePort gives an address that was free a moment ago.
func freePort() (port int, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// freePorts gives different ones.
func freePorts(n int) (ports []int, err error) {
	var held []net.Listener
	defer func() {
		for _, ln := range held {
			_ = ln.Close()
		}
	}()
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, ln)
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
