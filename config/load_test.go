package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// load runs Load with a file of this text; "FILE" in the results stands for its path.
func load(t *testing.T, text string, environ []string, overrides ...string) (*Config, *Report, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, r, err := Load(Input{File: file, Environ: environ, Overrides: overrides})
	if (c == nil) != (err != nil) {
		t.Fatalf("config %v with error %v", c, err)
	}
	for i, w := range r.Warnings {
		r.Warnings[i] = strings.ReplaceAll(w, file, "FILE")
	}
	for i := range r.Ignored {
		r.Ignored[i].Origin = strings.ReplaceAll(r.Ignored[i].Origin, file, "FILE")
	}
	if err != nil {
		return c, r, strings.ReplaceAll(err.Error(), file, "FILE")
	}
	return c, r, ""
}

func TestPrecedence(t *testing.T) {
	for _, test := range []struct {
		name      string
		file      string
		environ   []string
		overrides []string
		want      int32
	}{
		{"default", "", nil, nil, 1},
		{"file", "num.partitions=2", nil, nil, 2},
		{"the last line of a file counts", "num.partitions=2\nnum.partitions = 3", nil, nil, 3},
		{"kafka's environment above the file", "num.partitions=2", []string{"KAFKA_NUM_PARTITIONS=4"}, nil, 4},
		{"ours above kafka's", "num.partitions=2", []string{"MILLRACE_NUM_PARTITIONS=5", "KAFKA_NUM_PARTITIONS=4"}, nil, 5},
		{"command line above all", "num.partitions=2", []string{"MILLRACE_NUM_PARTITIONS=5"}, []string{"num.partitions=6"}, 6},
		{"the last one on the command line counts", "", nil, []string{"num.partitions=6", " num.partitions = 7 "}, 7},
		{"a variable without a value isn't set", "num.partitions=2", []string{"KAFKA_NUM_PARTITIONS="}, nil, 2},
		{"colon", "num.partitions: 8", nil, nil, 8},
		{"blank, continued", "# comment \\\nnum.partitions \\\r\n   9\r\n", nil, nil, 9},
		{"byte order mark", "\ufeffnum.partitions=10", nil, nil, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _, problem := load(t, test.file, test.environ, test.overrides...)
			if problem != "" {
				t.Fatal(problem)
			}
			if c.NumPartitions != test.want {
				t.Errorf("got %d, want %d", c.NumPartitions, test.want)
			}
		})
	}
}

func TestEnvironmentNames(t *testing.T) {
	c, r, problem := load(t, "", []string{
		"KAFKA_LOG_RETENTION_MS=5", "MILLRACE_MEMORY_MAX=64MiB", "MILLRACE_MILLRACE_WORKERS=3", "KAFKA_MILLRACE_LOOPS=2", "MILLRACE_CONTROL_LISTENER=none",
		"KAFKA_VERSION=4.4.0", "KAFKA_HEAP_OPTS=-Xmx1g", "KAFKA_PORT=tcp://10.0.0.7:9092", "KAFKA_PORT_9092_TCP_ADDR=10.0.0.7", "MILLRACE_SERVICE_HOST=10.0.0.8",
		"KAFKA_NOT_A_CONFIG=1", "KAFKA_PROCESS_ROLES=broker,controller", "PATH=/bin", "KAFKA_SASL_ENABLED_MECHANISMS=PLAIN",
	})
	if problem != "" {
		t.Fatal(problem)
	}
	if c.TopicDefaults.RetentionMs != 5 || c.MemoryMaxBytes != 64<<20 || c.Workers != 3 || c.Loops != 2 || c.ControlListener != "" {
		t.Errorf("%+v", c)
	}
	want := &Report{
		Warnings: []string{
			`environment KAFKA_NOT_A_CONFIG: there is no config "not.a.config"`,
			`environment KAFKA_SASL_ENABLED_MECHANISMS: sasl.enabled.mechanisms is ignored: there is neither TLS nor authentication nor authorisation yet`,
		},
		Ignored: []Ignored{{"process.roles", "environment KAFKA_PROCESS_ROLES", "the central server takes the place of KRaft and ZooKeeper"}},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	for rest, want := range map[string]string{"A_B": "a.b", "A__B": "a_b", "A___B": "a-b", "A____B": "a-.b"} {
		if got := environName(rest); got != want {
			t.Errorf("%s: %s, want %s", rest, got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for _, test := range []struct{ file, override, want string }{
		{"\n# c\nnum.partitions=abc", "", "FILE:3: num.partitions=abc: expected a whole number of 32 bits, at least 1"},
		{"num.partitions=0", "", "FILE:1: num.partitions=0: expected a whole number of 32 bits, at least 1"},
		{"num.partitions=99999999999", "", "FILE:1: num.partitions=99999999999: expected a whole number of 32 bits, at least 1"},
		{"auto.create.topics.enable=yes", "", "FILE:1: auto.create.topics.enable=yes: expected true or false"},
		{"", "log.cleanup.policy=delete,shred", "command line: log.cleanup.policy=delete,shred: expected any of compact, delete"},
		{"", "num.partitions", `command line: "num.partitions": expected name=value`},
		{"compression.type=gzip", "", "FILE:1: compression.type=gzip: expected producer (the broker never compresses)"},
		{"log.retention.ms=0", "", "FILE:1: log.retention.ms=0: expected a whole number of 64 bits, -1 for no limit, or at least 1"},
		{"a=\\\n\\u12\nnum.partitions=x", "", "FILE:1: invalid unicode literal"},
		{"num.partitions=x\nfetch.max.bytes=y", "", "FILE:1: num.partitions=x: expected a whole number of 32 bits, at least 1\n" +
			"FILE:2: fetch.max.bytes=y: expected a whole number of 32 bits, at least 1024"},
		{"group.min.session.timeout.ms=5\ngroup.max.session.timeout.ms=4", "", "FILE:1: group.min.session.timeout.ms=5: expected no more than group.max.session.timeout.ms, which is 4"},
		{"log.cleaner.min.compaction.lag.ms=5\nlog.cleaner.max.compaction.lag.ms=4", "", "FILE:1: log.cleaner.min.compaction.lag.ms=5: expected no more than log.cleaner.max.compaction.lag.ms, which is 4"},
		{"millrace.memory.max=lots", "", "FILE:1: millrace.memory.max=lots: expected bytes (1073741824), a size (512MiB, 4GiB) or a percentage (50%)"},
		{"millrace.log.level=loud\\n!", "", `FILE:1: millrace.log.level="loud\n!": expected one of debug, info, warn, error`},
		{"http.listener=0.0.0.0:9091", "", `FILE:1: http.listener=0.0.0.0:9091: expected an address of the loopback, such as 127.0.0.1:9091: it shows profiles to anyone`},
		{"control.listener=localhost", "", `FILE:1: control.listener=localhost: "localhost": expected host:port`},
	} {
		var overrides []string
		if test.override != "" {
			overrides = append(overrides, test.override)
		}
		_, _, problem := load(t, test.file, nil, overrides...)
		if !strings.HasPrefix(problem, test.want) || problem == "" {
			t.Errorf("%q %q:\n got %s\nwant %s", test.file, test.override, problem, test.want)
		}
	}
}

func TestFileProblems(t *testing.T) {
	if _, _, err := Load(Input{File: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "can't read the configuration") {
		t.Errorf("missing file: %v", err)
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(Input{File: large}); err == nil || !strings.Contains(err.Error(), "expected a .properties file") {
		t.Errorf("large file: %v", err)
	}
}

func TestReport(t *testing.T) {
	_, r, problem := load(t, `num.partions=3
log.dirs=/tmp/kafka
retention.ms=5
zookeeper.connect=localhost:2181
totally.different=1
log.flush.interval.ms=1000
num.partitions=2
num.partitions=3
ssl.keystore.password=secret
default.replication.factor=3
control.listener=0.0.0.0:9090
message.max.bytes=209715200
`, nil)
	if problem != "" {
		t.Fatal(problem)
	}
	want := &Report{
		Warnings: []string{
			`FILE:1: there is no config "num.partions"; did you mean num.partitions?`,
			`FILE:3: there is no config "retention.ms"; for a broker it is called log.retention.ms`,
			`FILE:5: there is no config "totally.different"`,
			`FILE:8: num.partitions stands in line 7 already; this one counts`,
			`FILE:9: ssl.keystore.password is ignored: there is neither TLS nor authentication nor authorisation yet`,
			`message.max.bytes=209715200: a request of that size is refused, socket.request.max.bytes is 104857600`,
			`control.listener=0.0.0.0:9090: anyone who reaches this machine can command the server, there is no authentication`,
		},
		Ignored: []Ignored{
			{"log.dirs", "FILE:2", "nothing is kept on disk"},
			{"zookeeper.connect", "FILE:4", "the central server takes the place of KRaft and ZooKeeper"},
			{"log.flush.interval.ms", "FILE:6", "no effect in RAM"},
		},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
}

// The file that Kafka ships for a combined node, and the environment of its image, start Millrace without a warning.
func TestKafkasOwnConfiguration(t *testing.T) {
	c, r, problem := load(t, `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`, []string{"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=100"})
	if problem != "" {
		t.Fatal(problem)
	}
	if len(r.Warnings) > 0 {
		t.Error(r.Warnings)
	}
	if len(r.Ignored) != 11 {
		t.Errorf("%d names ignored: %v", len(r.Ignored), r.Ignored)
	}
	want := []Listener{{"PLAINTEXT", "", 9092, "PLAINTEXT"}}
	if d := cmp.Diff(want, c.Listeners); d != "" {
		t.Error(d)
	}
	want[0].Host = "localhost"
	if d := cmp.Diff(want, c.AdvertisedListeners); d != "" {
		t.Error(d)
	}
	if c.NodeID != 1 || c.GroupInitialRebalanceDelayMs != 100 || c.OffsetsTopicReplicationFactor != 1 {
		t.Errorf("%+v", c)
	}
}

// The sample that is installed says the truth: it loads without a word, and each line that is commented out is the default.
func TestSample(t *testing.T) {
	text, err := os.ReadFile("../deploy/server.properties")
	if err != nil {
		t.Fatal(err)
	}
	_, r, problem := load(t, string(text), nil)
	if problem != "" || len(r.Warnings)+len(r.Ignored) > 0 {
		t.Error(problem, r)
	}
	samples := 0
	for line := range strings.Lines(string(text)) {
		setting, commented := strings.CutPrefix(strings.TrimSpace(line), "#")
		name, value, found := strings.Cut(setting, "=")
		if !commented || !found || strings.Contains(name, " ") {
			continue
		}
		samples++
		e, ok := Default().Describe(name)
		if !ok || shown(e.Value) != value && name != "advertised.listeners" {
			t.Errorf("%s: the default is %s", setting, shown(e.Value))
		}
	}
	if samples < 15 {
		t.Errorf("%d settings found", samples)
	}
}
