//go:build !noembed

package etcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/metadata"
)

func TestDecide(t *testing.T) {
	config := map[string]string{"a": "", "b": "", "c": ""}
	me := memberStatus{Name: "a", Cluster: config, Nonce: "a1"}
	empty := func(nonce string) memberStatus { return memberStatus{Nonce: nonce} }
	chosen := func(member bool, nonces ...string) memberStatus {
		return memberStatus{Nonce: "x", Member: member, Chosen: map[string]string{"a": nonces[0], "b": nonces[1], "c": nonces[2]}}
	}
	all := map[string]string{"a": "a1", "b": "b1", "c": "c1"}
	tests := []struct {
		name   string
		others map[string]memberStatus
		want   step
	}{
		{"nobody", nil, step{}},
		{"one is missing", map[string]memberStatus{"b": empty("b1")}, step{}},
		{"all are empty", map[string]memberStatus{"b": empty("b1"), "c": empty("c1")}, step{chosen: all}},
		{"another was quicker", map[string]memberStatus{"b": chosen(true, "a1", "b1", "c1")}, step{chosen: all}},
		{"another was quicker, the third is gone", map[string]memberStatus{"b": chosen(true, "a1", "b1", "c1"), "c": empty("c2")}, step{chosen: all}},
		{"my former self was chosen", map[string]memberStatus{"b": chosen(true, "a0", "b1", "c1"), "c": empty("c1")}, step{join: []string{"b"}}},
		{"a running cluster", map[string]memberStatus{"b": {Member: true}, "c": {Member: true}}, step{join: []string{"b", "c"}}},
		{"half a running cluster", map[string]memberStatus{"c": {Member: true}}, step{join: []string{"c"}}},
		{"a running member and an empty one", map[string]memberStatus{"b": empty("b1"), "c": {Member: true}}, step{join: []string{"c"}}},
		{"two clusters, one mine", map[string]memberStatus{"b": chosen(true, "a0", "b1", "c0"), "c": chosen(true, "a1", "b2", "c1")},
			step{chosen: map[string]string{"a": "a1", "b": "b2", "c": "c1"}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, decide(me, test.others), cmp.AllowUnexported(step{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if one := decide(memberStatus{Name: "a", Nonce: "a1", Cluster: map[string]string{"a": ""}}, nil); one.chosen["a"] != "a1" {
		t.Errorf("a cluster of one: %v", one)
	}
}

func TestToken(t *testing.T) {
	seen := make(map[string]bool)
	for _, nonces := range []map[string]string{{"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": "1"}, {"a": "1\nb=1"}} {
		seen[token(nonces)] = true
	}
	if len(seen) < 4 || token(map[string]string{"a": "1", "b": "2"}) != token(map[string]string{"b": "2", "a": "1"}) {
		t.Errorf("tokens %v", seen)
	}
}

// TestDurable restarts a cluster with data dirs as a whole, and one member whose
// former self was removed meanwhile.
func TestDurable(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	dir := inRAM(t)
	for name := range c.addrs {
		c.dirs[name] = filepath.Join(dir, name)
	}
	c.start("a", "b", "c")
	s := open(t, Options{Endpoints: c.endpoints("a")})
	revision, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("k", "v")}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	ids := make(map[string]bool)
	for _, name := range []string{"a", "b", "c"} {
		ids[c.members[name].etcd.Server.MemberID().String()] = true
		c.kill(name)
	}
	c.start("c", "b", "a")
	for _, e := range c.members {
		if id := e.etcd.Server.MemberID().String(); !ids[id] {
			t.Errorf("member %s is new", id)
		}
	}
	s = open(t, Options{Endpoints: c.endpoints("b")})
	if kvs, _, err := s.Range(t.Context(), ""); err != nil || len(kvs) != 1 || kvs[0].Revision != revision {
		t.Errorf("Range = %v, %v", kvs, err)
	}

	// a loses its disk, gets a new one, joins, and then finds the old one again.
	old := c.dirs["a"]
	c.kill("a")
	c.dirs["a"] = old + "-new"
	c.start("a")
	c.kill("a")
	c.dirs["a"] = old
	if _, err := StartEmbedded(within(t), c.options("a")); err == nil || !strings.Contains(err.Error(), adviceRemoved) {
		t.Errorf("StartEmbedded with the data of a removed member = %v", err)
	}
}

// TestDataDirs refuses what isn't this member's data, and touches nothing.
func TestDataDirs(t *testing.T) {
	cluster := map[string]string{"a": "127.0.0.1:1"}
	foreign := t.TempDir()
	if err := os.Mkdir(filepath.Join(foreign, "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "data")
	for range 2 {
		e, err := StartEmbedded(within(t), EmbeddedOptions{Name: "a", Cluster: cluster, DataDir: own})
		if err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
	tests := []struct {
		name string
		o    EmbeddedOptions
		want string
	}{
		{"another etcd's", EmbeddedOptions{Name: "a", Cluster: cluster, DataDir: foreign}, "isn't Millrace's"},
		{"another member's", EmbeddedOptions{Name: "b", Cluster: map[string]string{"b": "127.0.0.1:1"}, DataDir: own}, "is of member a"},
		{"another address's", EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "127.0.0.1:2"}, DataDir: own}, "go back to that"},
		{"no folder", EmbeddedOptions{Name: "a", Cluster: cluster, DataDir: filepath.Join(own, milestoneName)}, "not a directory"},
		{"no address", EmbeddedOptions{Name: "a", Cluster: cluster, ClientListen: "127.0.0.1:http-alt-alt"}, "unknown port"},
	}
	for _, test := range tests {
		e, err := StartEmbedded(within(t), test.o)
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: StartEmbedded = %v, want an error with %q", test.name, err, test.want)
		}
	}
	if _, err := os.Stat(filepath.Join(foreign, "member")); err != nil {
		t.Error(err)
	}
	e, err := StartEmbedded(within(t), EmbeddedOptions{Name: "a", Cluster: cluster, DataDir: own, ClientListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Endpoints(); len(got) != 1 || !strings.HasPrefix(got[0], "http://127.0.0.1:") || strings.HasSuffix(got[0], ":0") {
		t.Errorf("Endpoints = %v", got)
	}
	e.Close()
}

// TestMisconfigured members don't form a cluster, and the first to see it says so.
func TestMisconfigured(t *testing.T) {
	ports := freePorts(t, 4)
	ctx, cancel := context.WithCancel(within(t))
	errs := make(chan error, 2)
	for name, third := range map[string]string{"a": ports[2], "b": ports[3]} {
		go func() {
			_, err := StartEmbedded(ctx, EmbeddedOptions{Name: name, Cluster: map[string]string{"a": ports[0], "b": ports[1], "c": third}})
			errs <- err
		}()
	}
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "was started as") {
		t.Errorf("StartEmbedded = %v", err)
	}
	cancel()
	if err := <-errs; err == nil {
		t.Error("the other one started")
	}
}

// TestScratch: what a process left that was killed is removed by the next one, what
// is in use is not.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	one, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	two, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	one.lock.Close() // as the system does for the dead
	three, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*scratch]bool{one: false, two: true, three: true} {
		if _, err := os.Stat(s.dir); (err == nil) != want {
			t.Errorf("%s: %v", s.dir, err)
		}
	}
	two.remove()
	three.remove()
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEmbeddedOptions(t *testing.T) {
	three := map[string]string{"a": "h:1", "b": "h:2", "c": "h:3"}
	tests := []struct {
		o    EmbeddedOptions
		want string // in the error; "": none
	}{
		{EmbeddedOptions{Name: "a", Cluster: three}, ""},
		{EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "h:1"}}, ""},
		{EmbeddedOptions{}, "isn't in the cluster"},
		{EmbeddedOptions{Name: "d", Cluster: three}, "isn't in the cluster"},
		{EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "h:1", "b": "h:2"}}, "1, 3, 5 or 7"},
		{EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "h"}}, "isn't host:port"},
		{EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": ":1"}}, "isn't host:port"},
		{EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "h:0"}}, "isn't host:port"},
		{EmbeddedOptions{Name: "a=", Cluster: map[string]string{"a=": "h:1"}}, "can't be in it"},
		{EmbeddedOptions{Name: "a", Cluster: map[string]string{"a": "h:1", "b": "h:1", "c": "h:3"}}, "same peer address"},
		{EmbeddedOptions{Name: "a", Cluster: three, HeartbeatInterval: 100, ElectionTimeout: 400}, "less than 5 heartbeat"},
	}
	for _, test := range tests {
		_, err := test.o.withDefaults()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.o, err, test.want)
		}
	}
}
