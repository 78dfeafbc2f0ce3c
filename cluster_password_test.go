//go:build !noembed && !race

package millrace_test

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/client/v3"

	"millrace"
	"millrace/config"
	"millrace/metadata/etcd"
)

// Without the race detector: etcd's check of a password is made to be slow, and takes seconds with it.

// TestExternalSecured: an etcd that wants TLS, a certificate, and a user with a password.
func TestExternalSecured(t *testing.T) {
	files, set := certificate(t)
	e, err := etcd.StartEmbedded(soon(t), etcd.EmbeddedOptions{Name: "x", Cluster: map[string]string{"x": "127.0.0.1:1"},
		ClientListen: "127.0.0.1:0", TLS: &files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	secured(t, e.Endpoints(), files)
	endpoints := "millrace.etcd.endpoints=" + strings.Join(e.Endpoints(), ",")
	user := append(set("millrace.etcd.tls"), endpoints, "millrace.etcd.user=root", "millrace.etcd.password=secret")
	c := &cluster{TB: t, set: map[string][]string{"a": user, "b": user}, servers: map[string]*millrace.Server{}}
	c.start("a", "b")
	c.createTopic("a", "t", 2)
	c.roundTrip("t", 30)

	// Who isn't let in is told so, and doesn't wait.
	cfg, _, err := config.Load(config.Input{Overrides: append(user, "millrace.etcd.password=wrong")})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := millrace.OpenContext(soon(t), millrace.Options{Config: cfg}); err == nil || !strings.Contains(err.Error(), "authentication failed") {
		t.Errorf("OpenContext with a wrong password = %v", err)
		if s != nil {
			s.Close()
		}
	}
}

// secured has an etcd ask for root's password.
func secured(t testing.TB, endpoints []string, files etcd.TLSFiles) {
	t.Helper()
	tls, err := files.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: tls})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	ctx := soon(t)
	_, err = admin.UserAdd(ctx, "root", "secret")
	if err == nil {
		_, err = admin.UserGrantRole(ctx, "root", "root")
	}
	if err == nil {
		_, err = admin.AuthEnable(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}
