package peer

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// kafkaFiles are the list of jars for Maven and the configuration of the log.
//
//go:embed kafka/pom.xml kafka/log4j2.properties
var kafkaFiles embed.FS

func kafkaPeer() *Peer {
	return &Peer{Name: "kafka", Speaks: Kafka, Compiles: true, About: "Apache Kafka, one combined KRaft node, log on a tmpfs",
		Prepare: prepareKafka,
		start: func(ctx context.Context, c *Config, n Needs) (*Target, error) {
			ports, err := freePorts(2)
			if err != nil {
				return nil, err
			}
			t, err := launch("kafka", func(dir string) ([]string, error) {
				properties := filepath.Join(dir, "server.properties")
				text := strings.Join(append(kafkaOwn(dir, ports), kafkaSettings...), "\n") + "\n"
				if err := os.WriteFile(properties, []byte(text), 0o600); err != nil {
					return nil, err
				}
				format := kafkaJava(c, "-Xmx256M", "kafka.tools.StorageTool", "format", "--cluster-id",
					"bWlsbHJhY2UtYmVuY2gtMQ", "--config", properties)
				if out, err := exec.CommandContext(ctx, format[0], format[1:]...).CombinedOutput(); err != nil {
					return nil, fmt.Errorf("format: %w: %s", err, strings.TrimSpace(string(out)))
				}
				return kafkaJava(c, kafkaHeap+" "+kafkaJVM, "kafka.Kafka", properties), nil
			})
			if err != nil {
				return nil, err
			}
			t.Bootstrap = loopback(ports[0])
			t.Settings = append([]string{kafkaHeap}, kafkaSettings...)
			return t, nil
		}}
}

// The heap and the collector are those of kafka-server-start.sh.
const (
	kafkaHeap = "-Xmx1G -Xms1G"
	kafkaJVM  = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 " +
		"-XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true"
)

// kafkaSettings differ from the defaults: one node, and retention that acts at once, so that a run stays at its limit.
var kafkaSettings = []string{
	"offsets.topic.replication.factor=1",
	"transaction.state.log.replication.factor=1",
	"transaction.state.log.min.isr=1",
	"group.initial.rebalance.delay.ms=0",
	"log.retention.check.interval.ms=100",
	"log.initial.task.delay.ms=100",
	"log.segment.delete.delay.ms=0",
}

// kafkaOwn are a node's identity, ports and folders.
func kafkaOwn(dir string, ports []int) []string {
	return []string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@" + loopback(ports[1]),
		"controller.listener.names=CONTROLLER",
		"listeners=PLAINTEXT://" + loopback(ports[0]) + ",CONTROLLER://" + loopback(ports[1]),
		"advertised.listeners=PLAINTEXT://" + loopback(ports[0]),
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + filepath.Join(dir, "data"),
	}
}

// KafkaJars is the folder of Kafka's jars, which its own load generators need too.
func KafkaJars(c *Config) string { return filepath.Join(c.Cache, "kafka-"+kafkaVersion()) }

// KafkaLog is the log4j2 configuration beside them.
func KafkaLog(c *Config) string { return filepath.Join(KafkaJars(c), "log4j2.properties") }

func kafkaJava(c *Config, options, class string, args ...string) []string {
	argv := append([]string{"java"}, strings.Fields(options)...)
	argv = append(argv, "-Dlog4j2.configurationFile="+KafkaLog(c), "-cp", KafkaJars(c)+"/*", class)
	return append(argv, args...)
}

var versionPattern = regexp.MustCompile(`<kafka.version>(.*)</kafka.version>`)

func kafkaVersion() string {
	b, _ := kafkaFiles.ReadFile("kafka/pom.xml")
	if m := versionPattern.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return "unknown"
}

// prepareKafka has Maven gather the jars, once.
func prepareKafka(ctx context.Context, c *Config) (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", errors.New("java 17 or newer is needed")
	}
	dir := KafkaJars(c)
	complete := filepath.Join(dir, ".complete")
	if _, err := os.Stat(complete); err == nil {
		return kafkaVersion(), nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"pom.xml", "log4j2.properties"} {
		b, err := kafkaFiles.ReadFile("kafka/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", filepath.Join(dir, "pom.xml"),
		"org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies", "-DincludeScope=runtime",
		"-DoutputDirectory="+dir)
	if out, err := mvn.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mvn: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return kafkaVersion(), os.WriteFile(complete, nil, 0o600)
}
