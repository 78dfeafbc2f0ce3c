package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a running cluster.
type Server struct {
	Bootstrap []string // host:port of each broker
	Console   string   // host:port of the control port; "": none
	PID       int      // 0: not our process

	cmd *exec.Cmd
	log *logBuffer
}

// Options of a server that a test starts for itself.
type Options struct {
	Brokers   int               // default 1
	Listeners string            // default PLAINTEXT://127.0.0.1:0
	Set       map[string]string // further properties
	Args      []string          // further arguments
}

// External says that the tests run against brokers that somebody else started.
func External() bool { return os.Getenv("BOOTSTRAP") != "" }

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared is the three-broker server of all tests that need nothing special. Tests use topics and groups with names of their own.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() {
		if External() {
			shared.server = &Server{Bootstrap: strings.Split(os.Getenv("BOOTSTRAP"), ","), Console: os.Getenv("CONSOLE")}
			return
		}
		shared.server, shared.err = start(Options{Brokers: 3})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// stopShared is for TestMain. It reports whether the server ended as it should.
func stopShared() error {
	if shared.server == nil || shared.server.cmd == nil {
		return nil
	}
	return shared.server.stop()
}

// Start starts a server for this test alone and stops it afterwards.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if External() {
		t.Skip("needs a server of its own")
	}
	s, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the server's log:\n%s", s.log.tail())
		}
	})
	return s
}

// StartFails starts a server that must refuse to start, and returns what it says.
func StartFails(t testing.TB, o Options) string {
	t.Helper()
	if External() {
		t.Skip("needs a server of its own")
	}
	s, err := start(o)
	if err == nil {
		s.stop()
		t.Fatalf("it started with %+v", o)
	}
	return err.Error()
}

// scratch is a folder for what is built once; TestMain removes it.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "millrace-e2e-") })

// program is the server's program, built once.
var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("MILLRACE_BIN"); path != "" {
		return path, nil
	}
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "millrace")
	build := exec.Command("go", "build", "-o", path, "./cmd/millrace")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

func start(o Options) (*Server, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	if o.Listeners == "" {
		o.Listeners = "PLAINTEXT://127.0.0.1:0"
	}
	args := []string{"server", "--brokers", fmt.Sprint(max(1, o.Brokers)), "--listeners", o.Listeners, "--set", "control.listener=127.0.0.1:0", "--set", "millrace.log.format=json"}
	for name, value := range o.Set {
		args = append(args, "--set", name+"="+value)
	}
	args = append(args, o.Args...)
	s := &Server{cmd: exec.Command(path, args...), log: &logBuffer{ready: make(chan readyLine, 1)}}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // ours are not the server's settings
		return strings.HasPrefix(v, "MILLRACE_") || strings.HasPrefix(v, "KAFKA_")
	})
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.PID = s.cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	s.log.ended = ended
	select {
	case ready := <-s.log.ready:
		s.Bootstrap, s.Console = strings.Split(ready.Bootstrap, ","), ready.Control
		return s, nil
	case err := <-ended:
		return nil, fmt.Errorf("the server ended at once (%v): %s", err, s.log.tail())
	case <-time.After(20 * time.Second):
		s.cmd.Process.Kill()
		return nil, fmt.Errorf("the server is not ready after 20 s: %s", s.log.tail())
	}
}

// stop asks the server to end. It must do so, with success, within a few seconds.
func (s *Server) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.log.ended:
		if err != nil {
			return fmt.Errorf("the server failed: %w\n%s", err, s.log.tail())
		}
		return nil
	case <-time.After(10 * time.Second):
		s.cmd.Process.Signal(syscall.SIGQUIT) // tells what its goroutines do
		select {
		case <-s.log.ended:
		case <-time.After(2 * time.Second):
			s.cmd.Process.Kill()
		}
		return fmt.Errorf("the server did not stop within 10 s\n%s", s.log.tail())
	}
}

// readyLine is the line with which the server says that it is there.
type readyLine struct {
	Message   string `json:"msg"`
	Bootstrap string `json:"bootstrap.servers"`
	Control   string `json:"control"`
}

// logBuffer keeps what the server prints and notices the line that says it is ready.
type logBuffer struct {
	ready chan readyLine
	ended chan error

	mu      sync.Mutex
	partial []byte
	lines   []string
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, b...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(b), nil
		}
		l.lines = append(l.lines, string(line))
		var ready readyLine
		if json.Unmarshal(line, &ready) == nil && ready.Message == "ready" {
			l.ready <- ready
		}
		l.partial = slices.Clone(rest)
	}
}

func (l *logBuffer) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines[max(0, len(l.lines)-200):], "\n") + string(l.partial)
}

// Log is what the server has printed so far.
func (s *Server) Log() string {
	if s.log == nil {
		return ""
	}
	return s.log.tail()
}

// Command says one line to the console and returns the answer; the test fails if it is not OK.
func (s *Server) Command(t testing.TB, format string, args ...any) string {
	t.Helper()
	answer, err := s.TryCommand(fmt.Sprintf(format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// NeedConsole leaves the test out if there is no control port to talk to.
func (s *Server) NeedConsole(t testing.TB) {
	t.Helper()
	if s.Console == "" {
		t.Skip("needs the console")
	}
}

// TryCommand is Command whose failure is an error. An answer's lines begin with a blank, but for the last one: OK … or ERR ….
func (s *Server) TryCommand(line string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Console, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	var answer strings.Builder
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		answer.WriteString(lines.Text() + "\n")
		switch text := lines.Text(); {
		case strings.HasPrefix(text, "OK"):
			return answer.String(), nil
		case strings.HasPrefix(text, "ERR"):
			return "", fmt.Errorf("%s: %s", line, text)
		}
	}
	return "", fmt.Errorf("%s: no answer: %q", line, answer.String())
}

// List is the bootstrap servers as clients want them.
func (s *Server) List() string { return strings.Join(s.Bootstrap, ",") }

var unfit = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// Name makes a name for a topic or group that nobody else uses.
func Name(t testing.TB, what string) string {
	return fmt.Sprintf("%s-%s-%d", unfit.ReplaceAllString(t.Name(), "-"), what, time.Now().UnixNano()%1e9)
}

// RSS is the server's resident memory in bytes.
func (s *Server) RSS(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// Descriptors counts the server's open files.
func (s *Server) Descriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
