package e2e

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// port is the port of host:port.
func port(t testing.TB, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A64: who listens on every interface told clients to connect to 0.0.0.0. They must be told the address that they came by.
func TestA64_NoMetaAddressOnTheWire(t *testing.T) {
	kcat := needTool(t, "kcat")
	for _, listen := range []string{"0.0.0.0", "[::]"} {
		t.Run(listen, func(t *testing.T) {
			if listen == "[::]" {
				needIPv6(t)
			}
			s := Start(t, Options{Brokers: 2, Listeners: "PLAINTEXT://" + listen + ":0"})
			hosts := []string{"127.0.0.1", "127.0.0.2"}
			if listen == "[::]" {
				hosts = append(hosts, "::1") // both families through one socket
			}
			for _, host := range hosts {
				out := Run(t, Program{Args: []string{kcat, "-L", "-b", net.JoinHostPort(host, port(t, s.Bootstrap[0]))}})
				told := regexp.MustCompile(`broker \d+ at (\S+)`).FindAllStringSubmatch(out.Stdout, -1)
				if len(told) != 2 {
					t.Fatalf("by %s: %s", host, out.Stdout)
				}
				for _, broker := range told {
					if !strings.HasPrefix(broker[1], host+":") {
						t.Errorf("whoever comes by %s is told %s", host, broker[1])
					}
				}
			}
			all := Dial(t, "127.0.0.1:"+port(t, s.Bootstrap[1])).Do(metadataAsk(9, false)).(*kmsg.MetadataResponse)
			for _, b := range all.Brokers {
				if b.Host != "127.0.0.1" {
					t.Errorf("broker %d is told at %q", b.NodeID, b.Host)
				}
			}
		})
	}
}

// A64: an advertised address that nobody can connect to is a mistake to be told at the start.
func TestA64_AdvertisedMetaAddressIsRefused(t *testing.T) {
	for _, advertised := range []string{"PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://[::]:9092"} {
		said := StartFails(t, Options{Set: map[string]string{"advertised.listeners": advertised}})
		if !strings.Contains(said, "advertised.listeners") {
			t.Errorf("%s: %s", advertised, said)
		}
	}
}

// A64: an advertised address is told as it stands.
func TestA64_AdvertisedAddressIsTold(t *testing.T) {
	s := Start(t, Options{Set: map[string]string{"advertised.listeners": "PLAINTEXT://broker.example:1234"}})
	m := Dial(t, s.Bootstrap[0]).Do(metadataAsk(9, false)).(*kmsg.MetadataResponse)
	if m.Brokers[0].Host != "broker.example" {
		t.Errorf("told %s:%d", m.Brokers[0].Host, m.Brokers[0].Port)
	}
}

func needIPv6(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	l.Close()
}

// A28: "[::1]:9092" kept its brackets and became "[[::1]]"; on the wire a host has none.
func TestA28_IPv6(t *testing.T) {
	needIPv6(t)
	s := Start(t, Options{Listeners: "PLAINTEXT://[::1]:0"})
	address := net.JoinHostPort("::1", port(t, s.Bootstrap[0]))
	for _, b := range Dial(t, address).Do(metadataAsk(9, false)).(*kmsg.MetadataResponse).Brokers {
		if b.Host != "::1" {
			t.Errorf("told host %q", b.Host)
		}
	}
	s.Bootstrap[0] = address
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 1)
	kcat := needTool(t, "kcat")
	Run(t, Program{Args: []string{kcat, "-P", "-b", address, "-t", topic}, Stdin: []byte("v\n")})
	if out := Run(t, Program{Args: []string{kcat, "-C", "-q", "-e", "-b", address, "-t", topic}}); out.Stdout != "v\n" {
		t.Errorf("kcat: %q", out.Stdout)
	}
	if out := Run(t, Program{Args: []string{Python(t), "clients/python/cases.py", "list-topics", address}}); !strings.Contains(out.Stdout, topic) {
		t.Errorf("kafka-python: %s", out.Stdout)
	}
	// kafkajs reads no brackets; it is led to ::1 by metadata from the other family in TestA28_KafkaJS.
	for _, form := range []string{"::1", "[::1]"} {
		if answer := s.Command(t, "CREATE_BROKER %s 0", form); strings.Contains(answer, "[[") {
			t.Errorf("CREATE_BROKER %s: %s", form, answer)
		}
	}
	for _, b := range Dial(t, address).Do(metadataAsk(9, false)).(*kmsg.MetadataResponse).Brokers {
		if b.Host != "::1" {
			t.Errorf("told host %q", b.Host)
		}
	}
}

// A28 with kafkajs, which can't be given an IPv6 address but is led to one: its first broker is on IPv4, the topic's leader on ::1.
func TestA28_KafkaJS(t *testing.T) {
	needIPv6(t)
	node, s := Node(t), Start(t, Options{})
	s.Command(t, "CREATE_BROKER ::1 0")
	topic := Name(t, "t")
	CreateTopic(t, s, topic, 2)
	for range 4 { // both partitions are written to
		Run(t, Program{Args: []string{node, "clients/node/cases.js", "produce", s.Bootstrap[0], topic, "v"}})
	}
}

// A28: the ambiguous form is told, with what was expected.
func TestA28_AmbiguousIPv6(t *testing.T) {
	said := StartFails(t, Options{Listeners: "PLAINTEXT://::1:9092"})
	if !strings.Contains(said, "[::1]:9092") {
		t.Errorf("no hint at [::1]:9092: %s", said)
	}
}

const crowdSize = 5000

// crowd is the program of TestA70's other process: thousands of connections that idle, produce, or wait in a fetch. It ends by a kill.
func crowd(address string) {
	batch := NewBatch(Record{Timestamp: 1, Value: []byte("v")}).Encode(&testing.T{})
	var open sync.WaitGroup
	slots := make(chan bool, 100)
	conns := make([]net.Conn, crowdSize) // held: the collector closes what nobody holds
	for i := range crowdSize {
		slots <- true
		open.Go(func() {
			defer func() { <-slots }()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				fmt.Println("failed", err)
				os.Exit(1)
			}
			conns[i] = conn
			c := &Conn{conn: conn}
			var r kmsg.Request
			switch i % 3 {
			case 0: // a produce whose answer nobody reads
				r = ProduceRequest(7, "crowd", 0, batch)
			case 1: // a fetch that waits longer than the test
				f := FetchRequest(11, "quiet", 0, 0)
				f.MaxWaitMillis, f.MinBytes = 120_000, 1
				r = f
			default:
				return
			}
			frame, _ := c.Frame(r)
			if _, err := conn.Write(frame); err != nil {
				fmt.Println("failed", err)
				os.Exit(1)
			}
		})
	}
	open.Wait()
	fmt.Println("connected")
	time.Sleep(time.Hour)
	runtime.KeepAlive(conns)
}

// A70: after thousands of clients were killed, some of their connections stayed for ever. All must go at once, with what waits in them.
func TestA70_KilledClientsLeaveNothing(t *testing.T) {
	s := Start(t, Options{Set: map[string]string{"millrace.loops": "1"}})
	CreateTopic(t, s, "crowd", 1)
	CreateTopic(t, s, "quiet", 1)
	before := s.Descriptors(t)
	r := Launch(t, Program{Args: []string{os.Args[0]}, Env: []string{"E2E_CROWD=" + s.Bootstrap[0]}})
	r.Await(t, "connected", 30*time.Second)
	until(t, 10*time.Second, "all are accepted", func() bool { return s.Descriptors(t) >= before+crowdSize })
	r.Signal(syscall.SIGKILL)
	until(t, 10*time.Second, "all descriptors are given back", func() bool { return s.Descriptors(t) <= before+2 })
	// Parked fetches of the dead must not keep the server from stopping at once: Start's cleanup checks that.
}

// A70: a client that hangs without a FIN goes after connections.max.idle.ms.
func TestA70_HangingClientsAreDropped(t *testing.T) {
	s := Start(t, Options{Set: map[string]string{"connections.max.idle.ms": "1000"}})
	c := Dial(t, s.Bootstrap[0])
	c.Versions()
	if !c.Closed(10 * time.Second) {
		t.Error("an idle connection stays open")
	}
}
