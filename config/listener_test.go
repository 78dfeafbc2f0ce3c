package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListener(t *testing.T) {
	for _, test := range []struct {
		text string
		want Listener
		addr string
	}{
		{"PLAINTEXT://127.0.0.1:9092", Listener{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}, "127.0.0.1:9092"},
		{" plaintext://:9092 ", Listener{Name: "PLAINTEXT", Port: 9092}, ":9092"},
		{"PLAINTEXT://[::]:9092", Listener{Name: "PLAINTEXT", Host: "::", Port: 9092}, "[::]:9092"},
		{"PLAINTEXT://[::1]:0", Listener{Name: "PLAINTEXT", Host: "::1"}, "[::1]:0"},
		{"PLAINTEXT://[fe80::1%lo]:9092", Listener{Name: "PLAINTEXT", Host: "fe80::1%lo", Port: 9092}, "[fe80::1%lo]:9092"},
		{"IN_SIDE-2://broker-1.example.com:19092", Listener{Name: "IN_SIDE-2", Host: "broker-1.example.com", Port: 19092}, "broker-1.example.com:19092"},
	} {
		got, err := ParseListener(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if d := cmp.Diff(test.want, got); d != "" || got.Addr() != test.addr {
			t.Errorf("%s: %s %s", test.text, got.Addr(), d)
		}
		if again, err := ParseListener(got.String()); err != nil || again != got {
			t.Errorf("%s: comes back as %v, %v", got, again, err)
		}
	}
}

func TestParseListenerProblems(t *testing.T) {
	for text, want := range map[string]string{
		"PLAINTEXT://::1:9092":        "needs brackets, such as [::1]:9092",
		"PLAINTEXT://::1":             "needs brackets, such as [::1]:9092",
		"PLAINTEXT://:::9092":         "needs brackets, such as [::]:9092",
		"PLAINTEXT://fe80::1%lo:9092": "needs brackets, such as [fe80::1%lo]:9092",
		"PLAINTEXT://[::1]":           "the port is missing, expected [::1]:9092",
		"PLAINTEXT://[::1:9092":       "the closing bracket is missing",
		"PLAINTEXT://[[::1]]:9092":    "is no IPv6 address",
		"PLAINTEXT://[localhost]:1":   "brackets are for IPv6 addresses only",
		"PLAINTEXT://localhost":       "expected host:port",
		"PLAINTEXT://localhost:":      "expected a port from 0 to 65535",
		"PLAINTEXT://localhost:65536": "expected a port from 0 to 65535",
		"PLAINTEXT://localhost:-1":    "expected a port from 0 to 65535",
		"PLAINTEXT://local host:1":    "expected a host name or an IP address",
		"PLAINTEXT://a/b:1":           "expected a host name or an IP address",
		"PLAINTEXT:/localhost:1":      "expected NAME://host:port",
		"://localhost:1":              "expected NAME://host:port",
		"A B://localhost:1":           "a listener name has letters",
		"":                            "expected NAME://host:port",
	} {
		if l, err := ParseListener(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, l, err, want)
		}
	}
}

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"::1": "::1", "[::1]": "::1", "::": "::", "fe80::1%lo": "fe80::1%lo", "[fe80::1%eth0]": "fe80::1%eth0", "127.0.0.1": "127.0.0.1", "localhost": "localhost",
		"": "", "[::1": "", "[]": "", "::x": "", "a b": "", "한국": "",
	} {
		got, err := ParseHost(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestListenersOfAConfig(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       string // listeners ; advertised, or the problem
	}{
		{"default", "", "PLAINTEXT://127.0.0.1:9092 ;"},
		{"none: brokers come by command", "listeners=", " ;"},
		{"only advertised", "advertised.listeners=PLAINTEXT://example.com:19092", "PLAINTEXT://:19092 ; PLAINTEXT://example.com:19092"},
		{"advertised without a host", "listeners=PLAINTEXT://[::]:9092\nadvertised.listeners=PLAINTEXT://:9092", "PLAINTEXT://[::]:9092 ; PLAINTEXT://:9092"},
		{"two, names mapped", "listeners=IN://:1,OUT://:2\nlistener.security.protocol.map=IN:PLAINTEXT,out:plaintext", "IN://:1 OUT://:2 ;"},
		{"one name on IPv4 and IPv6", "listeners=PLAINTEXT://127.0.0.1:1,PLAINTEXT://[::1]:1", "PLAINTEXT://127.0.0.1:1 PLAINTEXT://[::1]:1 ;"},
		{"controllers left out", "listeners=PLAINTEXT://:1,CONTROLLER://:2,RAFT://:3\ncontroller.listener.names=raft", "PLAINTEXT://:1 ;"},
		{"controllers only", "listeners=CONTROLLER://:2", "expected a listener for clients"},
		{"meta-address", "advertised.listeners=PLAINTEXT://0.0.0.0:9092", "no client can connect to 0.0.0.0"},
		{"meta-address, IPv6", "advertised.listeners=PLAINTEXT://[::]:9092", "no client can connect to ::"},
		{"meta-address, mapped", "listeners=PLAINTEXT://:9092\nadvertised.listeners=PLAINTEXT://[::ffff:0.0.0.0]:9092", "no client can connect to ::ffff:0.0.0.0"},
		{"advertised name unknown", "listeners=PLAINTEXT://:1\nadvertised.listeners=SSL://a:1", "expected a name that stands in listeners, SSL doesn't"},
		{"TLS", "listeners=SSL://:1", "SSL is SSL, expected PLAINTEXT"},
		{"not in the map", "listeners=HOST://:1", "expected a security protocol for the listener HOST"},
		{"map", "listener.security.protocol.map=A", `"A": expected NAME:PROTOCOL`},
		{"map, protocol", "listener.security.protocol.map=A:B", `"A:B": expected PLAINTEXT, SSL`},
		{"map, twice", "listener.security.protocol.map=A:SSL,A:SSL", "the listener A stands twice"},
		{"name twice", "listeners=PLAINTEXT://a:1,PLAINTEXT://b:2", "the name PLAINTEXT stands twice"},
		{"address twice", "listeners=PLAINTEXT://a:1,B://a:1\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,B:PLAINTEXT", "PLAINTEXT://a:1 and B://a:1 have the same address"},
		{"ambiguous", "listeners=PLAINTEXT://::1:9092", "FILE:1: listeners=PLAINTEXT://::1:9092: \"::1:9092\" is ambiguous"},
	} {
		c, _, problem := load(t, test.file, nil)
		if problem != "" {
			if !strings.Contains(problem, test.want) {
				t.Errorf("%s: %s", test.name, problem)
			}
			continue
		}
		var words []string
		for _, l := range c.Listeners {
			words = append(words, l.String())
		}
		words = append(words, ";")
		if len(c.Listeners) == 0 {
			words = append([]string{""}, words...)
		}
		for _, l := range c.AdvertisedListeners {
			words = append(words, l.String())
		}
		if got := strings.Join(words, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
