package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// unavailable skips the test for want of a tool, or fails it where all tools must be there.
func unavailable(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("MILLRACE_E2E_ALL") != "" {
		t.Fatalf("%s is missing; .ci/setup-clients.sh installs it", what)
	}
	t.Skipf("%s is missing; .ci/setup-clients.sh installs it", what)
}

// needTool wants a program on the PATH.
func needTool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		unavailable(t, name)
	}
	return path
}

// needFile wants a file, by a path from this folder, and returns its absolute path.
func needFile(t testing.TB, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(absolute)
	}
	if err != nil {
		unavailable(t, path)
	}
	return absolute
}

// installed is a file in the folder where .ci/setup-clients.sh puts what it builds.
func installed(t testing.TB, path ...string) string {
	t.Helper()
	clients := os.Getenv("MILLRACE_CLIENTS")
	if clients == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		clients = filepath.Join(cache, "millrace-clients")
	}
	return needFile(t, filepath.Join(append([]string{clients}, path...)...))
}

// Python is the interpreter of the environment that has the clients.
func Python(t testing.TB) string { return installed(t, "venv", "bin", "python") }

// Rust is the program of clients/rust.
func Rust(t testing.TB) string { return installed(t, "rust", "debug", "cases") }

// Node returns node, and makes kafkajs known to scripts outside of its folder.
func Node(t testing.TB) string {
	t.Helper()
	t.Setenv("NODE_PATH", needFile(t, "../examples/node/node_modules"))
	return needTool(t, "node")
}

// Java returns java with a class path that has the examples and the cases of clients/java.
func Java(t testing.TB) []string {
	t.Helper()
	java, path := needTool(t, "java"), javaClassPath(t)
	// A small machine runs several of these at once, each for a few seconds.
	return []string{java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", path}
}

var javaCases struct {
	once sync.Once
	dir  string
	err  error
}

func javaClassPath(t testing.TB) string {
	t.Helper()
	needTool(t, "javac")
	needFile(t, "../examples/java/target/lib")
	lib, err := filepath.Abs("../examples/java/target")
	if err != nil {
		t.Fatal(err)
	}
	javaCases.once.Do(func() {
		dir, err := scratch()
		if err != nil {
			javaCases.err = err
			return
		}
		javaCases.dir = filepath.Join(dir, "java")
		sources, _ := filepath.Glob("clients/java/*.java")
		out, err := exec.Command("javac", append([]string{"-d", javaCases.dir, "-cp", lib + "/lib/*"}, sources...)...).CombinedOutput()
		if err != nil {
			javaCases.err = fmt.Errorf("javac: %w\n%s", err, out)
		}
	})
	if javaCases.err != nil {
		t.Fatal(javaCases.err)
	}
	return strings.Join([]string{javaCases.dir, lib + "/classes", lib + "/lib/*"}, ":")
}

// goExample builds the franz-go example once.
var goExample = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "example")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../examples/go"
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// Program is an external program that a test runs.
type Program struct {
	Args    []string
	Env     []string // beside the test's own
	Stdin   []byte
	Dir     string
	Timeout time.Duration // default 30 s; then it and its children are killed
}

// Output is what a program printed.
type Output struct{ Stdout, Stderr string }

// Run runs a program that must succeed.
func Run(t testing.TB, p Program) Output {
	t.Helper()
	out, err := p.run()
	if err != nil {
		t.Fatalf("%s: %v\nstdout: %s\nstderr: %s", strings.Join(p.Args, " "), err, clip(out.Stdout), clip(out.Stderr))
	}
	return out
}

func (p Program) run() (Output, error) {
	if p.Timeout == 0 {
		p.Timeout = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.Timeout)
	defer cancel()
	cmd := p.command(ctx)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("not done after %v: %w", p.Timeout, err)
	}
	return Output{stdout.String(), stderr.String()}, err
}

// command has a process group of its own, so that a client's children die with it.
func (p Program) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdin, cmd.Dir = bytes.NewReader(p.Stdin), p.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// Running is a program that goes on while the test does something else.
type Running struct {
	Lines chan string // what it prints, closed at its end
	cmd   *exec.Cmd
	stop  context.CancelFunc
	mu    sync.Mutex
	text  strings.Builder
	ended chan error
}

// Launch starts a program; it is killed at the end of the test if it still runs.
func Launch(t testing.TB, p Program) *Running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &Running{Lines: make(chan string, 100_000), cmd: p.command(ctx), stop: cancel, ended: make(chan error, 1)}
	r.cmd.Stdout, r.cmd.Stderr = &lineWriter{r: r}, os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		err := r.cmd.Wait()
		close(r.Lines)
		r.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// lineWriter cuts a program's output into lines.
type lineWriter struct {
	r       *Running
	partial string
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.r.mu.Lock()
	w.r.text.Write(b)
	w.r.mu.Unlock()
	lines := strings.Split(w.partial+string(b), "\n")
	w.partial = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		w.r.Lines <- line
	}
	return len(b), nil
}

// Await reads lines until one begins with prefix, and returns it.
func (r *Running) Await(t testing.TB, prefix string, limit time.Duration) string {
	t.Helper()
	deadline := time.After(limit)
	for {
		select {
		case line, open := <-r.Lines:
			if !open {
				t.Fatalf("%s ended before it said %q: %s", r.cmd.Path, prefix, r.Text())
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-deadline:
			t.Fatalf("%s did not say %q within %v: %s", r.cmd.Path, prefix, limit, r.Text())
		}
	}
}

// Text is all that it has printed.
func (r *Running) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return clip(r.text.String())
}

// Signal sends a signal to the program and its children.
func (r *Running) Signal(s syscall.Signal) { syscall.Kill(-r.cmd.Process.Pid, s) }

// Wait waits for the end.
func (r *Running) Wait(t testing.TB, limit time.Duration) error {
	t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err // for Cleanup
		return err
	case <-time.After(limit):
		t.Fatalf("%s still runs after %v: %s", r.cmd.Path, limit, r.Text())
		return nil
	}
}

// clip shortens what a program printed for a message.
func clip(text string) string {
	const most = 20_000
	if len(text) <= most {
		return text
	}
	return text[:most/2] + "\n…\n" + text[len(text)-most/2:]
}
