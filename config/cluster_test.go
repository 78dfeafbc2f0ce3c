package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCluster(t *testing.T) {
	c, _, problem := load(t, `millrace.node.name=b
millrace.cluster=a=10.0.0.1:2380, b=10.0.0.2:2380, c=[fe80::1]:2380
listeners=PLAINTEXT://:9092
broker.session.timeout.ms=3000
`, []string{"MILLRACE_DATA_DIR=/var/lib/millrace"})
	if problem != "" {
		t.Fatal(problem)
	}
	want := Cluster{NodeName: "b", Members: map[string]string{"a": "10.0.0.1:2380", "b": "10.0.0.2:2380", "c": "[fe80::1]:2380"},
		DataDir: "/var/lib/millrace", EtcdEndpoints: []string{}, EtcdPrefix: "millrace/"}
	if d := cmp.Diff(want, c.Cluster); d != "" {
		t.Error(d)
	}
	if !c.Cluster.Several() || c.Cluster.Host() != "10.0.0.2" || c.BrokerSessionTimeoutMs != 3000 {
		t.Errorf("%+v", c.Cluster)
	}
	if d := Default(); d.Cluster.Several() || d.Cluster.Host() != "" {
		t.Errorf("%+v", d.Cluster)
	}
	secret, _, problem := load(t, "millrace.etcd.endpoints=https://h:2379\nmillrace.etcd.user=u\nmillrace.etcd.password=secret\nadvertised.listeners=PLAINTEXT://h:9092\n", nil)
	if problem != "" || secret.Cluster.EtcdPassword != "secret" {
		t.Fatal(problem)
	}
	if e, _ := secret.Describe("millrace.etcd.password"); e.Value != nil || !e.Sensitive {
		t.Errorf("the password is shown: %+v", e)
	}
}

func TestClusterProblems(t *testing.T) {
	const three = "millrace.node.name=a\nmillrace.cluster=a=h:1,b=h:2,c=h:3\n"
	tests := []struct{ text, want string }{
		{"millrace.cluster=a=h:1\nlisteners=PLAINTEXT://h:1", "millrace.node.name=: expected one of the names"},
		{"millrace.node.name=a\nmillrace.cluster=a=h:1,b=h:2", "1, 3, 5 or 7"},
		{"millrace.node.name=a\nmillrace.cluster=a=h:1,a=h:2,c=h:3", "stands twice"},
		{"millrace.node.name=a\nmillrace.cluster=h:1", "expected name=host:port"},
		{"millrace.node.name=a\nmillrace.cluster=a=:1", "that the other members reach"},
		{"millrace.node.name=a\nmillrace.cluster=a=h:http", "expected a port"},
		{three + "millrace.etcd.endpoints=h:4", "either this or millrace.cluster"},
		{three + "millrace.cluster.tls.ca.file=x\nlisteners=PLAINTEXT://h:1", "together"},
		{three, "this machine only"},
		{three + "millrace.cluster.listener=h\nlisteners=PLAINTEXT://h:1", "expected host:port"},
		{"millrace.etcd.endpoints=h:4\nlisteners=PLAINTEXT://:9092", "at which the other brokers of the cluster reach this one"},
		{"millrace.etcd.user=u", "expected a user and a password"},
		{"millrace.etcd.tls.key.file=u", "together"},
		{three + "listeners=PLAINTEXT://:1", ""},
		{three + "listeners=PLAINTEXT://h:1", ""},
		{"millrace.etcd.endpoints=h:4", ""},
		{"millrace.node.name=a\nmillrace.cluster=a=127.0.0.1:1,b=localhost:2,c=[::1]:3", ""},
	}
	for _, test := range tests {
		_, _, problem := load(t, test.text, nil)
		if (problem == "") != (test.want == "") || !strings.Contains(problem, test.want) {
			t.Errorf("%q: %q, want %q", test.text, problem, test.want)
		}
	}
}
