//go:build !noembed

package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"golang.org/x/crypto/bcrypt"

	"millrace/metadata"
)

// certificates makes a CA and a certificate of it for 127.0.0.1.
func certificates(t *testing.T) TLSFiles {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	make := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, caKey := make(ca, ca, nil)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "member"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	leafDER, leafKey := make(leaf, ca, caKey)
	keyDER, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	return TLSFiles{CertFile: write("cert", "CERTIFICATE", leafDER), KeyFile: write("key", "EC PRIVATE KEY", keyDER), CAFile: write("ca", "CERTIFICATE", caDER)}
}

// TestTLS has members that talk TLS to each other and to clients, and let nobody in
// without a certificate.
func TestTLS(t *testing.T) {
	files := certificates(t)
	c := newCluster(t)
	c.tls = &files
	c.start("a", "b", "c")
	config, err := files.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	e := c.members["b"]
	s := open(t, Options{Endpoints: e.Endpoints(), TLS: config})
	if _, err := commitOn(t, s, metadata.Txn{Ops: []metadata.Op{put("k", "v")}}); err != nil {
		t.Error(err)
	}
	c.kill("c")
	c.start("c")

	bare, err := TLSFiles{CAFile: files.CAFile}.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Open(Options{Endpoints: e.Endpoints(), TLS: bare, DialTimeout: 300 * time.Millisecond}); err == nil {
		s.Close()
		t.Error("a client without a certificate was let in")
	}
	bad := &Embedded{options: c.options("a"), http: e.http}
	bad.options.TLS = nil
	var st memberStatus
	if err := bad.request(t.Context(), "b", frontPath+"status", nil, &st); err == nil {
		t.Error("a peer without TLS was answered")
	}
}

// external starts an etcd that isn't one of ours, and checks passwords quickly.
func external(t *testing.T) (endpoint string) {
	t.Helper()
	addr := freePorts(t, 1)[0]
	c := embed.NewConfig()
	c.Dir = inRAM(t)
	c.ListenPeerUrls = []url.URL{{Scheme: "unix", Host: filepath.Join(c.Dir, "peer")}}
	c.ListenClientUrls = []url.URL{{Scheme: "http", Host: addr}}
	c.AdvertiseClientUrls = c.ListenClientUrls
	c.BcryptCost = uint(bcrypt.MinCost)
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	<-e.Server.ReadyNotify()
	t.Cleanup(e.Close)
	return addr
}

// TestPassword uses an etcd that asks for one.
func TestPassword(t *testing.T) {
	endpoints := []string{external(t)}
	admin, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	_, err = admin.RoleAdd(t.Context(), "root")
	if err == nil {
		_, err = admin.UserAdd(t.Context(), "root", "secret")
	}
	if err == nil {
		_, err = admin.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = admin.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Username: "root", Password: "wrong"}} {
		o.Endpoints, o.DialTimeout = endpoints, time.Second
		if s, err := Open(o); err == nil {
			s.Close()
			t.Errorf("user %q was let in", o.Username)
		}
	}
	s := open(t, Options{Endpoints: endpoints, Username: "root", Password: "secret"})
	w := &watched{t: t}
	defer s.Watch(1, w.deliver)()
	lease, err := s.Grant(t.Context(), time.Minute)
	if err == nil {
		err = s.KeepAlive(t.Context(), lease)
	}
	if err != nil {
		t.Fatal(err)
	}
	n := &counter{t: t, s: s}
	for range 5 {
		n.step()
	}
	w.reach(5)

	// etcd forgets whom it has let in, as it does when it restarts.
	root, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Username: "root", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	if _, err = root.AuthDisable(t.Context()); err == nil {
		_, err = admin.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Range(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := s.KeepAlive(t.Context(), lease); err != nil {
		t.Error(err)
	}
	for range 5 {
		n.step()
	}
	w.reach(10)
}
