package load

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Java says how Apache Kafka's own load generators are started.
type Java struct {
	Jars string // the folder of Kafka's jars
	// Config is the path of a log4j2 configuration.
	Config string
}

// JavaProduce runs ProducerPerformance with the Java producer's defaults but for acks: RecordBytes, Rate (records a
// second), BytesMax (how much is sent). The window is the life of the JVM, whose start costs the server nothing.
func (j Java) JavaProduce(ctx context.Context, s Spec) (*Result, error) {
	n := max(s.BytesMax/int64(max(s.RecordBytes, 1)), 1)
	rate := "-1"
	if s.Rate > 0 {
		rate = strconv.FormatFloat(s.Rate, 'f', 0, 64)
	}
	acks := strconv.Itoa(int(s.Acks))
	if s.Acks == -1 {
		acks = "all"
	}
	m := newMeter(&s, ownProcess)
	m.begin(time.Now())
	out, cpu, err := j.run(ctx, "org.apache.kafka.tools.ProducerPerformance", "--topic", s.Topic.Name, "--num-records",
		strconv.FormatInt(n, 10), "--record-size", strconv.Itoa(s.RecordBytes), "--throughput", rate,
		"--command-property", "bootstrap.servers="+s.Bootstrap, "acks="+acks)
	if err != nil {
		return nil, err
	}
	r := m.end()
	p, err := parsePerfLine(out)
	if err != nil {
		return nil, err
	}
	if p.records != n {
		return nil, fmt.Errorf("ProducerPerformance sent %d of %d records", p.records, n)
	}
	r.Records, r.Bytes = n, n*int64(s.RecordBytes)
	r.Latency, r.ClientCPU = nil, cpu
	r.extra("records_per_s", p.perSecond)
	r.extra("latency_p50_us", p.p50ms*1000)
	r.extra("latency_p99_us", p.p99ms*1000)
	return r, nil
}

// JavaFetch runs ConsumerPerformance with the Java consumer's defaults over BytesMax of a filled topic.
func (j Java) JavaFetch(ctx context.Context, s Spec) (*Result, error) {
	n := max(s.BytesMax/int64(max(s.RecordBytes, 1)), 1)
	m := newMeter(&s, ownProcess)
	m.begin(time.Now())
	out, cpu, err := j.run(ctx, "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", s.Bootstrap, "--topic",
		s.Topic.Name, "--num-records", strconv.FormatInt(n, 10), "--timeout", "60000")
	if err != nil {
		return nil, err
	}
	r := m.end()
	megabytes, records, perSecond, err := parseConsumerLine(out)
	if err != nil {
		return nil, err
	}
	r.Records, r.Bytes = records, int64(megabytes*(1<<20))
	r.Latency, r.ClientCPU = nil, cpu
	r.extra("records_per_s", perSecond)
	return r, nil
}

// run runs a class and gives what it printed and the CPU time that it took.
func (j Java) run(ctx context.Context, class string, args ...string) (out string, cpu time.Duration, err error) {
	java := []string{"-Xmx512M", "-Dlog4j2.configurationFile=" + j.Config, "-cp", j.Jars + "/*", class}
	cmd := exec.CommandContext(ctx, "java", append(java, args...)...)
	b, err := cmd.CombinedOutput()
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w: %s", class, err, lastLines(string(b), 5))
	}
	return string(b), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "; ")
}

// perfLine is the last line of ProducerPerformance.
type perfLine struct {
	records      int64
	perSecond    float64
	p50ms, p99ms float64
}

var perfPattern = regexp.MustCompile(`^(\d+) records sent, ([\d.,]+) records/sec .* ([\d.]+) ms 50th, .* ([\d.]+) ms 99th, `)

func parsePerfLine(out string) (p perfLine, err error) {
	for line := range strings.Lines(out) {
		m := perfPattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		p.records, _ = strconv.ParseInt(m[1], 10, 64)
		p.perSecond, _ = strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
		p.p50ms, _ = strconv.ParseFloat(m[3], 64)
		p.p99ms, _ = strconv.ParseFloat(m[4], 64)
	}
	if p.records == 0 {
		return p, fmt.Errorf("no result of ProducerPerformance in: %s", lastLines(out, 5))
	}
	return p, nil
}

// parseConsumerLine reads the one row of ConsumerPerformance: start, end, MB, MB/s, records, records/s, ….
func parseConsumerLine(out string) (megabytes float64, records int64, perSecond float64, err error) {
	for line := range strings.Lines(out) {
		f := strings.Split(line, ",")
		if len(f) < 6 {
			continue
		}
		mb, err1 := strconv.ParseFloat(strings.TrimSpace(f[2]), 64)
		n, err2 := strconv.ParseInt(strings.TrimSpace(f[4]), 10, 64)
		rate, err3 := strconv.ParseFloat(strings.TrimSpace(f[5]), 64)
		if err1 == nil && err2 == nil && err3 == nil {
			return mb, n, rate, nil
		}
	}
	return 0, 0, 0, fmt.Errorf("no result of ConsumerPerformance in: %s", lastLines(out, 5))
}
