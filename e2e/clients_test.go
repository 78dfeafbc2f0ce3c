package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Admin is franz-go's admin client for s.
func Admin(t testing.TB, s *Server, opts ...kgo.Opt) *kadm.Client {
	t.Helper()
	return kadm.NewClient(Client(t, s, opts...))
}

// Client is a franz-go client for s.
func Client(t testing.TB, s *Server, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.Bootstrap...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseAllowingRebalance)
	return c
}

// Context ends with the test or after the limit.
func Context(t testing.TB, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// CreateTopic makes a topic; configs are name, value, name, value ….
func CreateTopic(t testing.TB, s *Server, topic string, partitions int32, configs ...string) {
	t.Helper()
	settings := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		settings[configs[i]] = &configs[i+1]
	}
	if _, err := Admin(t, s).CreateTopic(Context(t, 20*time.Second), partitions, 1, settings, topic); err != nil {
		t.Fatalf("create %s: %v", topic, err)
	}
}

// roundTrip runs an example's check through the proxy: 108,000 records, three members one of which is killed, a second group.
func roundTrip(t *testing.T, command ...string) {
	t.Helper()
	s := Shared(t)
	_, bootstrap := StartProxy(t, s)
	topic := Name(t, "t")
	out := Run(t, Program{
		Args:    append(command, "roundtrip", "--bootstrap", bootstrap, "--topic", topic),
		Timeout: 100 * time.Second,
	})
	if !strings.HasPrefix(lastLine(out.Stdout), "ok client=") {
		t.Fatalf("stdout: %s\nstderr: %s", clip(out.Stdout), clip(out.Stderr))
	}
	t.Log(lastLine(out.Stdout))
	for _, group := range []string{topic + "-first", topic + "-second"} {
		if lag := lagOf(t, s, group); lag != 0 {
			t.Errorf("group %s: lag is %d", group, lag)
		}
	}
}

func lagOf(t testing.TB, s *Server, group string) int64 {
	t.Helper()
	lags, err := Admin(t, s).Lag(Context(t, 10*time.Second), group)
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return lags[group].Lag.Total()
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// exampleClients are the programs under examples/, by the name of the client.
var exampleClients = map[string]func(testing.TB) []string{
	"cpp":              func(t testing.TB) []string { return []string{needFile(t, "../examples/cpp/build/client")} },
	"java":             func(t testing.TB) []string { return append(Java(t), "example.Client") },
	"confluent-python": func(t testing.TB) []string { return pythonExample(t, "confluent-kafka") },
	"kafka-python":     func(t testing.TB) []string { return pythonExample(t, "kafka-python") },
	"kafkajs":          func(t testing.TB) []string { return []string{Node(t), needFile(t, "../examples/node/client.js")} },
	"franz": func(t testing.TB) []string {
		path, err := goExample()
		if err != nil {
			t.Fatal(err)
		}
		return []string{path}
	},
	"kcat": func(t testing.TB) []string {
		needTool(t, "kcat")
		return []string{needFile(t, "../examples/kcat/client.sh")}
	},
}

func pythonExample(t testing.TB, client string) []string {
	return []string{Python(t), needFile(t, "../examples/python/client.py"), "--client", client}
}

func TestCpp(t *testing.T)             { roundTrip(t, exampleClients["cpp"](t)...) }
func TestJava(t *testing.T)            { roundTrip(t, exampleClients["java"](t)...) }
func TestConfluentPython(t *testing.T) { roundTrip(t, exampleClients["confluent-python"](t)...) }
func TestKafkaPython(t *testing.T)     { roundTrip(t, exampleClients["kafka-python"](t)...) }
func TestKafkaJS(t *testing.T)         { roundTrip(t, exampleClients["kafkajs"](t)...) }
func TestFranz(t *testing.T)           { roundTrip(t, exampleClients["franz"](t)...) }

// kcat can't make a topic: the console does, or franz-go where there is none.
func TestKcat(t *testing.T) {
	command := exampleClients["kcat"](t)
	s := Shared(t)
	_, bootstrap := StartProxy(t, s)
	topic := Name(t, "t")
	args := append(command, "roundtrip", "--bootstrap", bootstrap, "--topic", topic)
	if s.Console != "" {
		args = append(args, "--console", s.Console)
	} else {
		CreateTopic(t, s, topic, 6)
	}
	out := Run(t, Program{Args: args, Timeout: 100 * time.Second})
	t.Log(lastLine(out.Stdout))
	groups := []string{topic + "-first", topic + "-second"}
	if strings.Contains(out.Stdout, " duplicates=0 ") {
		// The member that was killed had read all of its share, so the others were done before they took it over, and
		// nobody has committed it.
		groups = groups[1:]
	}
	for _, group := range groups {
		if lag := lagOf(t, s, group); lag != 0 {
			t.Errorf("group %s: lag is %d", group, lag)
		}
	}
}

// A key must land on the same partition whoever produces it, else two programs in two languages break each other's order.
func TestSameKeySamePartition(t *testing.T) {
	s := Shared(t)
	keys := []string{"a", "b", "key-1", "key-2", "user:42", "한글 키", "ключ", "with space", "0", "x=y"}
	placed := map[string]map[string]int32{}
	for name, command := range exampleClients {
		topic := Name(t, name)
		CreateTopic(t, s, topic, 6)
		args := append(command(t), "partition-of", "--bootstrap", s.List(), "--topic", topic)
		out := Run(t, Program{Args: append(args, keys...)})
		got := map[string]int32{}
		if err := json.Unmarshal([]byte(lastLine(out.Stdout)), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out.Stdout)
		}
		placed[name] = got
	}
	if s.Console != "" {
		placed["console"] = consolePartitions(t, s, keys)
	}
	for name, got := range placed {
		if !maps.Equal(got, placed["java"]) {
			t.Errorf("%s: %v, java: %v", name, got, placed["java"])
		}
	}
}

func consolePartitions(t *testing.T, s *Server, keys []string) map[string]int32 {
	topic := Name(t, "console")
	s.Command(t, "CREATE_TOPIC %s 6", topic)
	placed := map[string]int32{}
	for _, key := range keys {
		answer := s.Command(t, `PRODUCE %s key="%s" 0`, topic, key)
		_, rest, _ := strings.Cut(answer, "partition=")
		placed[key] = int32(rest[0] - '0')
	}
	return placed
}
